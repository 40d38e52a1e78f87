// transpose of 1-byte elements with AVX2: blocks of 32 x 16.
//
// Versions: 1, this one.
#include <immintrin.h>

#include "../include/ridge.h"

#define T uint8_t
#define TARGET RIDGE_TARGET_AVX2
#define MR 32
#define MC 16
#define TR 256
#define TC 64

// Rows r and r+16 share a register (as in the fp32 kernel). Eight columns of the 16 rows of each half take four
// stages of perfect shuffles: rows i and i+8 are interleaved byte by byte, then registers j and j+4 three times: 32
// shuffles for 256 bytes, 16 cycles at two a cycle. The rows are loaded twice, once for each half of their
// columns, so that 16 registers hold everything.
#define ROW_PAIR(s, i, ld) \
  _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)((s) + (i) * (ld)))), \
                          _mm_loadu_si128((const __m128i *)((s) + ((i) + 16) * (ld))), 1)
#define SHUFFLE(to, from)                                                             \
  RIDGE_UNROLL(4) for (int j_ = 0; j_ < 4; j_++) {                                    \
    to[2 * j_] = _mm256_unpacklo_epi8(from[j_], from[j_ + 4]);                        \
    to[2 * j_ + 1] = _mm256_unpackhi_epi8(from[j_], from[j_ + 4]);                    \
  }
#define HALF_BLOCK(UNPACK, src, ld, dst, ldd)                                         \
  do {                                                                                \
    const uint8_t *s_ = (src);                                                        \
    uint8_t *d_ = (dst);                                                              \
    __m256i q_[8], u_[8];                                                             \
    RIDGE_UNROLL(8) for (int i = 0; i < 8; i++) q_[i] = UNPACK(ROW_PAIR(s_, i, ld), ROW_PAIR(s_, i + 8, ld)); \
    SHUFFLE(u_, q_)                                                                   \
    SHUFFLE(q_, u_)                                                                   \
    SHUFFLE(u_, q_)                                                                   \
    RIDGE_UNROLL(8) for (int i = 0; i < 8; i++) _mm256_storeu_si256((__m256i *)(d_ + i * (ldd)), u_[i]); \
  } while (0)

#define MICRO(src, ld, dst, ldd)                                          \
  do {                                                                    \
    HALF_BLOCK(_mm256_unpacklo_epi8, src, ld, dst, ldd);                  \
    MEMORY_OPAQUE(); /* else all 32 rows are loaded once and kept on the stack */ \
    HALF_BLOCK(_mm256_unpackhi_epi8, src, ld, (dst) + 8 * (ldd), ldd);    \
  } while (0)

#include "transpose_tile.h"
#include "transpose_rows_avx2.h"

TRANSPOSE_KERNEL(ridge_transpose_int8_avx2, row_ordinary, no_fence, 0)
TRANSPOSE_KERNEL(ridge_transpose_int8_avx2_nt, row_nt, _mm_sfence, 1)
