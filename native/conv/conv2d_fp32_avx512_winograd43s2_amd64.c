// conv2d_fp32_avx512_winograd43s2: Winograd F(4x4, 3x3) of step 2 by phases, 8x32 tiles.
//
// Formula, blocking, error and source: conv_winograd_body.h and conv_winograd_phases.h. Preconditions: 3x3, step 2, no dilation, one
// group, C a multiple of 16 and K of 32; any alignment. FLOP (direct count) 2*N*Ho*Wo*K*C*9, 81/144 of it done;
// bytes x, w and y once. Limit: arithmetic of the 81 products, and the transforms beside them.
// Versions: 1, the body of conv2d_fp32_avx512_winograd43 with 9x9 positions; Zen 4, beside conv2d_fp32_avx512_indirect in the same rounds (A B B A, medians of
// three, one thread, NHWC): 1.40 (128 channels of 56x56 to 28x28, packed beforehand; unpacked 1.42, two threads 1.40), 1.29 (256 of 28x28; 1.30, 1.39), 1.27 (four
// images of 512 of 14x14; one image, refused: 0.98, 0.93), batch 16 1.40, 1.37 and 1.23; NCHW (two series) 1.56 and 1.30. Floor by count 1.78, of which 14x14 keeps 1.72.
#include "../include/ridge.h"

#define RIDGE_VL 16
#define RIDGE_MR 8
#define RIDGE_NV 2
#define RIDGE_VT RIDGE_TARGET_AVX512
#define CONV_FP32
#define CONV_STEP2
#define CONV_FN ridge_conv2d_fp32_avx512_winograd43s2
#include "conv_winograd_body.h"
