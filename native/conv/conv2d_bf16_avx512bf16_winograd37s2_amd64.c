// conv2d_bf16_avx512bf16_winograd37s2: Winograd F(3x3, 7x7) of step 2 over three or four channels, 10x32 tiles, in fp32; bf16 is widened as it is copied,
// outputs are rounded by VCVTNEPS2BF16.
//
// Formula, blocking, error and source: conv_winograd_body.h and conv_winograd_stem.h. Preconditions: 7x7, step 2, no dilation, one
// group, 3 or 4 channels, K a multiple of 32, padding of 3 at most; any alignment. FLOP (direct count) 2*N*Ho*Wo*K*C*49, 42 of 147 done;
// bytes x, w and y once. Limit: arithmetic of the 126C products of 9 outputs at the rate of fp32, half of what VDPBF16PS makes of the 441C, and the
// transforms beside them.
// Versions: 1, the body of the fp32 kernel; one thread of Zen 4 with neighbours, against the kernel of VDPBF16PS in the same rounds: 1.10 (NHWC), 1.15 (NCHW),
// batch 8 1.04, 1.03; rounded by integer instructions 0.92 to 0.94 of it. Zen 5: not yet measured.
#include <immintrin.h>

#include "../include/ridge.h"

#define RIDGE_VL 16
#define RIDGE_MR 8
#define RIDGE_NV 2
#define RIDGE_VT __attribute__((target("avx512bf16,avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,f16c")))
#define CONV_BF16
#define CONV_STEM
#define CONV_FN ridge_conv2d_bf16_avx512bf16_winograd37s2
#define RIDGE_NARROW(p, v) _mm256_storeu_si256((__m256i *)(p), (__m256i)_mm512_cvtneps_pbh((__m512)(v)))
#include "conv_winograd_body.h"
