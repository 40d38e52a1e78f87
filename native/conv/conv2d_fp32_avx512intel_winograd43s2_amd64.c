// conv2d_fp32_avx512intel_winograd43s2: Winograd F(4x4, 3x3) of step 2 by phases with 6x64 tiles, for Intel's cores without AVX512-FP16.
//
// Formula, blocking, error and source: conv_winograd_body.h and conv_winograd_phases.h. Preconditions: 3x3, step 2, no dilation, one
// group, C a multiple of 16 and K of 64; any alignment. FLOP (direct count) 2*N*Ho*Wo*K*C*9, 81/144 of it done;
// bytes x, w and y once. Limit: arithmetic of the 81 products, and the transforms beside them. Plain AVX-512: conv.go tells the cores.
// An element has 24 multiply-adds (12 cycles), 4 loads and 6 broadcasts; 8x32 10 for 16, which on Ice Lake, where 1.13 vectors of 512 bits are loaded in a cycle
// (docs/kernels/gemm.md), are 8.8 cycles for 8.
// Versions, Ice Lake, one thread, packed beforehand, of the speed of conv2d_fp32_avx512_winograd43s2 (A B B A, 11 rounds): 1, its body with these tiles: 128 channels of 56x56 1.00 to 1.06, 256 of 28x28 1.12,
// batch 16 1.09 to 1.15, 1.08, 512 of 14x14 1.07. 2, blocks of 1 MiB, but 32 tiles at least: 1.06, 1.11; 1.20, 1.28, 1.61 (64 tiles 1.02, 1.07; 1.11, 1.35, 1.70). Where it is ahead of the indirect
// kernel: conv.go.
#include "../include/ridge.h"

#define RIDGE_VL 16
#define RIDGE_MR 6
#define RIDGE_NV 4
#define RIDGE_VT RIDGE_TARGET_AVX512
#define CONV_FP32
#define CONV_STEP2
#define CONV_VMAX (256 << 10)
#define CONV_TS 32
#define CONV_FN ridge_conv2d_fp32_avx512intel_winograd43s2
#include "conv_winograd_body.h"
