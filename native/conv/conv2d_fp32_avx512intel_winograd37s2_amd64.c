// conv2d_fp32_avx512intel_winograd37s2: a 7x7 stem of step 2 by Winograd's F(3x3, 4x4) with 6x64 tiles, for Intel's cores without AVX512-FP16.
//
// Formula, blocking, error and source: conv_winograd_body.h and conv_winograd_stem.h. Preconditions: 7x7, step 2, no dilation, one
// group, three or four channels, K a multiple of 64; any alignment. FLOP (direct count) 2*N*Ho*Wo*K*C*49, 42/147 of it done; bytes x, w and y once.
// Limit: arithmetic of the products, and the transforms beside them. Plain AVX-512: conv.go tells the cores.
// Versions: 1, conv2d_fp32_avx512_winograd37s2 with tiles of 6x64, 10 loads for 24 multiply-adds where 10x32 has 12 for 20. Ice Lake, one thread, of its speed, 3x224x224 to 64 (A B B A, 15 rounds):
// NHWC packed beforehand 1.14, batch 16 1.10, packed in the call 1.03, NCHW 0.98, where it is not chosen.
#include "../include/ridge.h"

#define RIDGE_VL 16
#define RIDGE_MR 6
#define RIDGE_NV 4
#define RIDGE_VT RIDGE_TARGET_AVX512
#define CONV_FP32
#define CONV_STEM
#define CONV_FN ridge_conv2d_fp32_avx512intel_winograd37s2
#include "conv_winograd_body.h"
