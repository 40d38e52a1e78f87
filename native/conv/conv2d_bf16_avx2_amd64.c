// conv2d_bf16_avx2: implicit GEMM with 6x16 tiles (bf16 widened to fp32 while packing, fp32 sums over the whole reduction).
//
// Formula, layouts, blocking and source: conv_gemm_body.h. Preconditions: sizes below 2^30, any
// alignment. FLOP 2*N*Ho*Wo*K*(C/groups)*R*S; bytes x, w and y once. Limit: arithmetic,
// as fp32: there is no faster bf16 instruction in AVX2; packing costs about one
// load and store per panel element, shared by all channels of a task.
// Versions: 1, as fp32's first. 2, the residual's lines asked for before a tile's last products (conv_gemm_body.h; not measured here).
#include "../include/ridge.h"

#define RIDGE_VL 8
#define RIDGE_MR 6
#define RIDGE_NV 2
#define RIDGE_VT RIDGE_TARGET_AVX2
#define CONV_BF16
#define CONV_FN ridge_conv2d_bf16_avx2
#include "conv_gemm_body.h"
