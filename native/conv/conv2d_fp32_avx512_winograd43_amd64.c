// conv2d_fp32_avx512_winograd43: Winograd F(4x4, 3x3) with 8x32 tiles.
//
// Formula, blocking, error and source: conv_winograd_body.h. Preconditions: 3x3, step 1, no dilation, one
// group, C a multiple of 16 and K of 32; any alignment. FLOP (direct count) 2*N*Ho*Wo*K*C*9, a quarter of it done;
// bytes x, w and y once. Limit: arithmetic of the 36 products, and the transforms beside them.
// Versions, two threads of Zen 4: 1, 486 GFLOP/s for 64 channels of 56x56. 2, threads apart where each has 48 tiles: 1.10 times (0.90 of it with 24
// tiles each, 0.8 with 8); filters asked for ahead: 1 to 1.05. 3, lines of y and the residual asked for during the products, NCHW planes ended as whole
// rows: one thread 1.13 (64 channels of 56x56), 1.06 (128 of 28x28), 1.03 (256 of 14x14), with a residual 1.23, 1.11, 1.06; two threads 1.08, 1.04, 1.02, with a
// residual 1.16, 1.06, 1.05; NHWC 1.05 to 1.1. 4, short tiles at the edges: one thread, packed beforehand, 1.11 to 1.27 (14x14, 13x13), 1.16 (four images of
// 7x7); tiles of 2x2 for one image of 7x7, where the direct kernel was chosen: 1.2 to 1.33, NCHW 1.3 to 1.65; filters of NHWC copied together: 1.34 (512
// channels of 7x7), 1.13 (256 of 14x14), 0.99 to 1.01 (64 and 128).
#include "../include/ridge.h"

#define RIDGE_VL 16
#define RIDGE_MR 8
#define RIDGE_NV 2
#define RIDGE_VT RIDGE_TARGET_AVX512
#define CONV_FP32
#define CONV_APART 48
#define CONV_FN ridge_conv2d_fp32_avx512_winograd43
#include "conv_winograd_body.h"
