// conv2d_fp32_avx2: implicit GEMM with 6x16 tiles (fp32 throughout).
//
// Formula, layouts, blocking and source: conv_gemm_body.h. Preconditions: sizes below 2^30, any
// alignment. FLOP 2*N*Ho*Wo*K*(C/groups)*R*S; bytes x, w and y once. Limit: arithmetic,
// 6 cycles per k and tile at two FMA a cycle; packing costs about one
// load and store per panel element, shared by all channels of a task.
// Versions: 1, sums in scratch for every tile. 2, whole tiles of a short reduction written straight to y:
// 3 to 64 channels at 224x224 from 43 to 62, 1x1 64 to 256 at 56x56 from 69 to 88 GFLOP/s (one core of Zen 3 at
// 3.2 GHz, best samples on a busy machine).
// 3, whole tiles with an epilogue too go straight to y and are ended in L1, the residual's lines asked for before the products: 1x1 64 to 256 at
// 56x56 with bias and ReLU 1.04 of the time without (before 1.10), with a residual 1.13 (1.30).
#include "../include/ridge.h"

#define RIDGE_VL 8
#define RIDGE_MR 6
#define RIDGE_NV 2
#define RIDGE_VT RIDGE_TARGET_AVX2
#define CONV_FP32
#define CONV_FN ridge_conv2d_fp32_avx2
#include "conv_gemm_body.h"
