// conv2d_bf16_avx512_winograd43s2: Winograd F(4x4, 3x3) of step 2 by phases, 8x32 tiles, in fp32; bf16 is widened as it is loaded.
//
// Formula, blocking, error and source: conv_winograd_body.h and conv_winograd_phases.h. Preconditions: 3x3, step 2, no dilation, one
// group, C a multiple of 16 and K of 32; any alignment. FLOP (direct count) 2*N*Ho*Wo*K*C*9, 81/144 of it done;
// bytes x, w and y once. Limit: arithmetic of the 81 products, and the transforms beside them.
// Versions: 1, the body of the fp32 kernel, bf16 widened as it is loaded; one thread of Zen 4 beside conv2d_bf16_avx512_indirect in the same rounds: 1.56 (128
// channels of 56x56, packed beforehand), 1.37 (256 of 28x28). VDPBF16PS multiplies twice as fast as this: there it has no such kernel.
#include "../include/ridge.h"

#define RIDGE_VL 16
#define RIDGE_MR 8
#define RIDGE_NV 2
#define RIDGE_VT RIDGE_TARGET_AVX512
#define CONV_BF16
#define CONV_STEP2
#define CONV_FN ridge_conv2d_bf16_avx512_winograd43s2
#include "conv_winograd_body.h"
