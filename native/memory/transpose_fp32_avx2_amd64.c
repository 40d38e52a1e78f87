// transpose of 4-byte elements with AVX2: blocks of 8 x 8.
//
// Log (Zen 3, one thread of a busy machine, 8192 x 8192 fp32, best of 12 by CPU time):
//   tiles of 64 x 64 9.4 GB/s, 128 x 64 9.1, 64 x 32 5.8, 32 x 64 7.5; with non-temporal stores 12.2, 13.6, 7.4, 10.0.
//   A prefetch of the next tile changed nothing beyond the noise and was dropped.
#include <immintrin.h>

#include "../include/ridge.h"

#define T float
#define TARGET RIDGE_TARGET_AVX2
#define MR 8
#define MC 8
#define TR 128
#define TC 64

// Rows r and r+4 share a register by a load into its upper half, which needs no shuffle port; two
// stages of unpacks then leave columns: 8 shuffles for 8 x 4 elements.
#define HALF_BLOCK(src, ld, dst, ldd)                                                           \
  do {                                                                                          \
    const float *s_ = (src);                                                                    \
    float *d_ = (dst);                                                                          \
    __m256 q_[4], u_[4];                                                                        \
    RIDGE_UNROLL(4) for (int i = 0; i < 4; i++) q_[i] = _mm256_insertf128_ps(                   \
        _mm256_castps128_ps256(_mm_loadu_ps(s_ + i * (ld))), _mm_loadu_ps(s_ + (i + 4) * (ld)), 1); \
    u_[0] = _mm256_unpacklo_ps(q_[0], q_[1]), u_[1] = _mm256_unpackhi_ps(q_[0], q_[1]);         \
    u_[2] = _mm256_unpacklo_ps(q_[2], q_[3]), u_[3] = _mm256_unpackhi_ps(q_[2], q_[3]);         \
    _mm256_storeu_ps(d_, _mm256_shuffle_ps(u_[0], u_[2], 0x44));                                 \
    _mm256_storeu_ps(d_ + (ldd), _mm256_shuffle_ps(u_[0], u_[2], 0xee));                         \
    _mm256_storeu_ps(d_ + 2 * (ldd), _mm256_shuffle_ps(u_[1], u_[3], 0x44));                     \
    _mm256_storeu_ps(d_ + 3 * (ldd), _mm256_shuffle_ps(u_[1], u_[3], 0xee));                     \
  } while (0)

#define MICRO(src, ld, dst, ldd)                             \
  do {                                                       \
    HALF_BLOCK(src, ld, dst, ldd);                           \
    HALF_BLOCK((src) + 4, ld, (dst) + 4 * (ldd), ldd);       \
  } while (0)

#include "transpose_tile.h"
#include "transpose_rows_avx2.h"

TRANSPOSE_KERNEL(ridge_transpose_fp32_avx2, row_ordinary, no_fence, 0)
TRANSPOSE_KERNEL(ridge_transpose_fp32_avx2_nt, row_nt, _mm_sfence, 1)
