// conv2d_bf16_avx512bf16_winograd43: Winograd F(4x4, 3x3) with 8x32 tiles, in fp32; outputs rounded by VCVTNEPS2BF16.
//
// Formula, blocking, error and source: conv_winograd_body.h. Preconditions: 3x3, step 1, no dilation, one
// group, C a multiple of 16 and K of 32; any alignment. FLOP (direct count) 2*N*Ho*Wo*K*C*9, a quarter of it done;
// bytes x, w and y once. Limit: arithmetic of the 36 products at the rate of fp32, half of what VDPBF16PS makes of the 144, and the transforms beside them.
// Versions: 1, the body of the fp32 kernel; one thread of Zen 4 beside the kernel of VDPBF16PS in the same rounds, filters packed beforehand: 1.53 (64
// channels of 56x56), 1.64 (128 of 28x28), 1.49 (256 of 14x14). Rounded by integer instructions (conv2d_bf16_avx512_winograd43) 0.94 to 1.01 of it.
#include <immintrin.h>

#include "../include/ridge.h"

#define RIDGE_VL 16
#define RIDGE_MR 8
#define RIDGE_NV 2
#define RIDGE_VT __attribute__((target("avx512bf16,avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,f16c")))
#define CONV_BF16
#define CONV_APART 48
#define CONV_FN ridge_conv2d_bf16_avx512bf16_winograd43
#define RIDGE_NARROW(p, v) _mm256_storeu_si256((__m256i *)(p), (__m256i)_mm512_cvtneps_pbh((__m512)(v)))
#include "conv_winograd_body.h"
