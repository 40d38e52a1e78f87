// transpose of 2-byte elements with AVX2: blocks of 16 x 8.
#include <immintrin.h>

#include "../include/ridge.h"

#define T uint16_t
#define TARGET RIDGE_TARGET_AVX2
#define MR 16
#define MC 8
#define TR 128
#define TC 128

// Rows r and r+8 share a register (as in the fp32 kernel); three stages of unpacks of 16, 32 and 64
// bits leave 8 columns of 16 elements: 24 shuffles for 128 elements.
#define MICRO(src, ld, dst, ldd)                                                                    \
  do {                                                                                              \
    const uint16_t *s_ = (src);                                                                     \
    uint16_t *d_ = (dst);                                                                           \
    __m256i q_[8], u_[8];                                                                           \
    RIDGE_UNROLL(8) for (int i = 0; i < 8; i++) q_[i] = _mm256_inserti128_si256(                    \
        _mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)(s_ + i * (ld)))),                  \
        _mm_loadu_si128((const __m128i *)(s_ + (i + 8) * (ld))), 1);                                \
    RIDGE_UNROLL(4) for (int i = 0; i < 4; i++) { /* u[2i], u[2i+1]: rows 2i and 2i+1 interleaved */ \
      u_[2 * i] = _mm256_unpacklo_epi16(q_[2 * i], q_[2 * i + 1]);                                  \
      u_[2 * i + 1] = _mm256_unpackhi_epi16(q_[2 * i], q_[2 * i + 1]);                              \
    }                                                                                               \
    RIDGE_UNROLL(2) for (int i = 0; i < 2; i++) { /* rows 4i..4i+3: columns 01, 23, 45, 67 */       \
      q_[4 * i] = _mm256_unpacklo_epi32(u_[4 * i], u_[4 * i + 2]);                                  \
      q_[4 * i + 1] = _mm256_unpackhi_epi32(u_[4 * i], u_[4 * i + 2]);                              \
      q_[4 * i + 2] = _mm256_unpacklo_epi32(u_[4 * i + 1], u_[4 * i + 3]);                          \
      q_[4 * i + 3] = _mm256_unpackhi_epi32(u_[4 * i + 1], u_[4 * i + 3]);                          \
    }                                                                                               \
    RIDGE_UNROLL(4) for (int i = 0; i < 4; i++) {                                                   \
      _mm256_storeu_si256((__m256i *)(d_ + 2 * i * (ldd)), _mm256_unpacklo_epi64(q_[i], q_[i + 4])); \
      _mm256_storeu_si256((__m256i *)(d_ + (2 * i + 1) * (ldd)), _mm256_unpackhi_epi64(q_[i], q_[i + 4])); \
    }                                                                                               \
  } while (0)

#include "transpose_tile.h"
#include "transpose_rows_avx2.h"

TRANSPOSE_KERNEL(ridge_transpose_bf16_avx2, row_ordinary, no_fence, 0)
TRANSPOSE_KERNEL(ridge_transpose_bf16_avx2_nt, row_nt, _mm_sfence, 1)
