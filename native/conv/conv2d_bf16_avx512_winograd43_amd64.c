// conv2d_bf16_avx512_winograd43: Winograd F(4x4, 3x3) with 8x32 tiles, in fp32; for machines without AVX512-BF16 and those where that is slow.
//
// Formula, blocking, error and source: conv_winograd_body.h. Preconditions: 3x3, step 1, no dilation, one
// group, C a multiple of 16 and K of 32; any alignment. FLOP (direct count) 2*N*Ho*Wo*K*C*9, a quarter of it done;
// bytes x, w and y once. Limit: arithmetic of the 36 products, and the transforms beside them.
// Versions: 1, the body of the fp32 kernel, bf16 widened as it is loaded; one thread of Zen 4 beside conv2d_bf16_avx512_indirect in the same rounds, filters
// packed beforehand: 3.0 (64 channels of 56x56), 3.5 (128 of 28x28), 3.2 (256 of 14x14).
#include "../include/ridge.h"

#define RIDGE_VL 16
#define RIDGE_MR 8
#define RIDGE_NV 2
#define RIDGE_VT RIDGE_TARGET_AVX512
#define CONV_BF16
#define CONV_APART 48
#define CONV_FN ridge_conv2d_bf16_avx512_winograd43
#include "conv_winograd_body.h"
