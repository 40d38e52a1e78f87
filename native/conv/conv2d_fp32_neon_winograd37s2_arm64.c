// conv2d_fp32_neon_winograd37s2: Winograd F(3x3, 7x7) of step 2 over three or four channels, 6x16 tiles.
//
// Formula, blocking, error and source: conv_winograd_body.h and conv_winograd_stem.h. Preconditions: 7x7, step 2, no dilation, one
// group, 3 or 4 channels, K a multiple of 32, padding of 3 at most; any alignment. FLOP (direct count) 2*N*Ho*Wo*K*C*49, 42 of 147 done;
// bytes x, w and y once. Limit: arithmetic of the 126C products of 9 outputs, and the transforms beside them.
// Versions: 1, this one; tested under emulation, not timed.
#include "../include/ridge.h"

#define RIDGE_VL 4
#define RIDGE_MR 6
#define RIDGE_NV 4
#define RIDGE_VT
#define CONV_FP32
#define CONV_STEM
#define CONV_FN ridge_conv2d_fp32_neon_winograd37s2
#include "conv_winograd_body.h"
