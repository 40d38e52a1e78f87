// conv2d_fp32_depthwise_avx2: one channel per group, vectors of 8.
//
// Formula, layouts, limit and source: conv_depthwise_body.h. Preconditions: groups = C, and K = C
// in NHWC; any alignment. FLOP 2*N*Ho*Wo*K*R*S; bytes x, w and y once.
// Versions, NHWC, GB/s of x and y on one core of Zen 3 at 256 channels of 28x28, 3x3 (a copy: 41, old version beside it
// in each run): 1, one output at a time, 2.0. 2, seven outputs of 8 channels, three rows of columns read in place: 8.3 (busy core).
// 3, whole cache lines of 16 channels: 13 (quiet). 4, a ring of copied lines, walked down the image: 7.2 (busy), 5x5 5.4
// against 4.3 of version 3. 5, outputs fetched a row ahead, no tests in the plain end: 9.6; 5x5 5.8, 7x7 3.7 (before: 0.8, 0.5).
// 6, read in place in register blocks, no ring: 19.8 where version 5 had 10.3 and a copy 51 in the same rounds (busy core); 5x5 8.3 against 6.6.
// 7, bias, residual and ReLU on the registers: with bias and ReLU 1.13 to 1.16 of the time without (2.06 and 1.92 in version 6, through memory).
// NCHW, us of two threads at 4x128x56x56, 3x3: 1, a row of nine FMA in a chain for each vector, rows copied: 816. 2, blocks of four rows: 340 (5x5 2.6 to 3 times
// as fast, 3x3/2 1.9, 7x7 images 2.8). 3, rows read in place (3x3/1): 255, NHWC beside it 269; with bias and ReLU 271 (788).
// 4, 3x3/2, 5x5 and images of 7x7 in place too: 64x112x112 3x3/2 117 -> 77, 144x56x56 5x5/2 175 -> 109, 1024x7x7 68 -> 28; 256x28x28 3x3/1 41 -> 45.
#include "../include/ridge.h"

#define RIDGE_VL 8
#define RIDGE_VT RIDGE_TARGET_AVX2
#define CONV_FP32
#define CONV_FN ridge_conv2d_fp32_depthwise_avx2
#include "conv_depthwise_body.h"
