// conv2d_fp32_avx2_winograd43: Winograd F(4x4, 3x3) with 6x16 tiles.
//
// Formula, blocking, error and source: conv_winograd_body.h. Preconditions: 3x3, step 1, no dilation, one
// group, C a multiple of 16 and K of 32; any alignment. FLOP (direct count) 2*N*Ho*Wo*K*C*9, a quarter of it done;
// bytes x, w and y once. Limit: arithmetic of the 36 products, and the transforms beside them.
// Versions, GFLOP/s of the direct count, one core of Zen 3 (probe 102): 1, 64 channels of 56x56 182, 128 of 28x28 256, 256 of
// 14x14 139, where the indirect kernel had 76, 88 and 82 in the same rounds; blocks of 1 or 4 MiB of inputs: the same within noise.
// 2, NCHW too: 139, 177 and 95.
// 3, NCHW ends outputs after turning them, for a residual comes before the activation; its quads joined by shuffles, its lines asked for a tile ahead:
// 1.07 of the time without a residual (joined through memory 1.49).
// 4, lines of y and the residual asked for during the products, NCHW planes ended as whole rows: one thread of Zen 4 1.11 (64 channels of 56x56) and 1.08
// (128 of 28x28), with a residual 1.23 and 1.15; NHWC 1.07 to 1.1.
#include "../include/ridge.h"

#define RIDGE_VL 8
#define RIDGE_MR 6
#define RIDGE_NV 2
#define RIDGE_VT RIDGE_TARGET_AVX2
#define CONV_FP32
#define CONV_FN ridge_conv2d_fp32_avx2_winograd43
#include "conv_winograd_body.h"
