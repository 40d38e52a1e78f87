// conv2d_fp32_avx512intel_winograd43: Winograd F(4x4, 3x3) with 6x64 tiles, for Intel's cores without AVX512-FP16.
//
// Formula, blocking, error and source: conv_winograd_body.h. Preconditions: 3x3, step 1, no dilation, one
// group, C a multiple of 16 and K of 64; any alignment. FLOP (direct count) 2*N*Ho*Wo*K*C*9, a quarter of it done;
// bytes x, w and y once. Limit: arithmetic of the 36 products, and the transforms beside them. Plain AVX-512: conv.go tells the cores.
// An element has 24 multiply-adds (12 cycles), 4 loads and 6 broadcasts; 8x32 10 for 16, which on Ice Lake, where 1.13 vectors of 512 bits are loaded in a cycle
// (docs/kernels/gemm.md), are 8.8 cycles for 8.
// Versions, Ice Lake, one thread, packed beforehand, of the speed of conv2d_fp32_avx512_winograd43 (A B B A, 11 to 21 rounds): 1, its body with these tiles: 64 channels of 56x56 1.04 to 1.08, 128 of 28x28 1.01 to
// 1.11, 256 of 14x14 1.07 to 1.10, 512 of 7x7 1.02; batch 16 1.11 to 1.15, 1.08 to 1.10, 1.08 to 1.13, 1.12. 2, blocks of 1 MiB, but 64 tiles at least (2 MiB and six tiles: filters of 512 channels were read
// for 28 tiles at a time): 1.12, 1.05, 1.07, and batch 16 1.12, 1.11, 1.19, 1.66; 56 tiles 1.16, 1.10, 1.02; 1.14, 1.19, 1.11, 1.35; 112 tiles 1.11, 1.09, 1.09; 1.13, 1.08, 1.08, 1.34.
// Filters transformed in the call: 64 to 512 channels 0.90 to 0.98 of it, so it is chosen for packed filters alone.
#include "../include/ridge.h"

#define RIDGE_VL 16
#define RIDGE_MR 6
#define RIDGE_NV 4
#define RIDGE_VT RIDGE_TARGET_AVX512
#define CONV_FP32
#define CONV_APART 48
#define CONV_VMAX (256 << 10)
#define CONV_TS 64
#define CONV_FN ridge_conv2d_fp32_avx512intel_winograd43
#include "conv_winograd_body.h"
