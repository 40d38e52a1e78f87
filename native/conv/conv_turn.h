// Turning rows to columns: filters to panels of channels, NCHW pixels to channels and back.
#ifndef RIDGE_CONV_TURN_H
#define RIDGE_CONV_TURN_H

#include "conv_vector.h"

// CONV_DOT: panels and pixels are units of 32 bits as an instruction multiplies them, 2 bf16 or 4 bytes. Bytes of x are
// copied as x + 128, unsigned, and sums start at -128 times the filter's sum (conv_window.h). Channels are padded
// to whole units in copies: what a unit holds of another pixel could be infinite.
#if defined(CONV_DOT) && defined(CONV_INT8)
typedef uint8_t wt; // element of a copy
enum { PAIR = 4, PADDING = 128 };  // elements of x in one me; what a copy holds where there is no image
#elif defined(CONV_DOT)
typedef ridge_bf16 wt;
enum { PAIR = 2, PADDING = 0 };
#elif defined(CONV_INT8)
typedef int16_t wt;
enum { PAIR = 2, PADDING = 0 };
#else
typedef float wt;
enum { PAIR = 1, PADDING = 0 };
#endif

// Elements of a pixel's copy.
RIDGE_INLINE int64_t pitch_of(int64_t channels) {
#if defined(CONV_DOT)
  return (channels + PAIR - 1) / PAIR * PAIR;
#else
  return channels;
#endif
}

RIDGE_INLINE wt widen(xt x) {
#if defined(CONV_DOT) && defined(CONV_INT8)
  return (uint8_t)x ^ PADDING;
#elif defined(CONV_BF16) && !defined(CONV_DOT)
  return ridge_bf16_to_float(x);
#else
  return x;
#endif
}

// Four quarters of vectors turned: lane group h (four lanes) of out[i] holds element i of the four
// rows src + (4h .. 4h+3)*ld, so out[0..3] are VL rows' elements 0..3. Loads of four elements and
// eight shuffles within lane groups; int8 elements come as four pairs of int16, with CONV_DOT all come as four units.
typedef me quad __attribute__((vector_size(16)));
typedef me quad_any __attribute__((vector_size(16), aligned(1), may_alias));
typedef uint32_t quad_u __attribute__((vector_size(16)));
typedef uint16_t quad_h_any __attribute__((vector_size(8), aligned(2), may_alias));
typedef int8_t quad_b_any __attribute__((vector_size(8), aligned(1), may_alias));
typedef int16_t quad_s __attribute__((vector_size(16)));

RIDGE_INLINE RIDGE_VT quad load_quad(const xt *p) {
#if defined(CONV_DOT)
  return *(const quad_any *)p;
#elif defined(CONV_BF16)
  return (quad)(__builtin_convertvector(*(const quad_h_any *)p, quad_u) << 16);
#elif defined(CONV_INT8)
  return (quad) __builtin_convertvector(*(const quad_b_any *)p, quad_s);
#else
  return *(const quad_any *)p;
#endif
}

#if RIDGE_VL == 4
#define CONV_JOIN(f, p, ld) f(p)
#define CONV_LO32 0, 4, 1, 5
#define CONV_HI32 2, 6, 3, 7
#define CONV_LO64 0, 1, 4, 5
#define CONV_HI64 2, 3, 6, 7
#elif RIDGE_VL == 8
#define CONV_JOIN(f, p, ld) __builtin_shufflevector(f(p), f((p) + 4 * (ld)), 0, 1, 2, 3, 4, 5, 6, 7)
#define CONV_LO32 0, 8, 1, 9, 4, 12, 5, 13
#define CONV_HI32 2, 10, 3, 11, 6, 14, 7, 15
#define CONV_LO64 0, 1, 8, 9, 4, 5, 12, 13
#define CONV_HI64 2, 3, 10, 11, 6, 7, 14, 15
#else
#define CONV_JOIN8(f, p, ld) __builtin_shufflevector(f(p), f((p) + 4 * (ld)), 0, 1, 2, 3, 4, 5, 6, 7)
#define CONV_JOIN(f, p, ld)                                                                             \
  __builtin_shufflevector(CONV_JOIN8(f, p, ld), CONV_JOIN8(f, (p) + 8 * (ld), ld), 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, \
                          11, 12, 13, 14, 15)
#define CONV_LO32 0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29
#define CONV_HI32 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31
#define CONV_LO64 0, 1, 16, 17, 4, 5, 20, 21, 8, 9, 24, 25, 12, 13, 28, 29
#define CONV_HI64 2, 3, 18, 19, 6, 7, 22, 23, 10, 11, 26, 27, 14, 15, 30, 31
#endif

#define CONV_TURN(out, r0, r1, r2, r3)                                                                \
  do {                                                                                                \
    mv a_ = __builtin_shufflevector(r0, r1, CONV_LO32), b_ = __builtin_shufflevector(r0, r1, CONV_HI32); \
    mv c_ = __builtin_shufflevector(r2, r3, CONV_LO32), d_ = __builtin_shufflevector(r2, r3, CONV_HI32); \
    (out)[0] = __builtin_shufflevector(a_, c_, CONV_LO64);                                            \
    (out)[1] = __builtin_shufflevector(a_, c_, CONV_HI64);                                            \
    (out)[2] = __builtin_shufflevector(b_, d_, CONV_LO64);                                            \
    (out)[3] = __builtin_shufflevector(b_, d_, CONV_HI64);                                            \
  } while (0)

RIDGE_INLINE RIDGE_VT void turn_elements(const xt *src, int64_t ld, mv out[4]) {
  mv r0 = CONV_JOIN(load_quad, src, ld), r1 = CONV_JOIN(load_quad, src + ld, ld);
  mv r2 = CONV_JOIN(load_quad, src + 2 * ld, ld), r3 = CONV_JOIN(load_quad, src + 3 * ld, ld);
  CONV_TURN(out, r0, r1, r2, r3);
}

#if RIDGE_VL == 16
// The same of eight rows: half the inserts a vector, and stores of 32 bytes, which Zen 4 makes in a cycle (5.2 to 7 cycles for 16
// elements where turn_elements takes 8 to 10).
typedef me half __attribute__((vector_size(32)));
typedef me half_any __attribute__((vector_size(32), aligned(2), may_alias));
RIDGE_INLINE RIDGE_VT void turn_eight(const xt *src, int64_t ld, half out[4]) {
  half r[4];
  RIDGE_UNROLL_ALL
  for (int j = 0; j < 4; j++) r[j] = CONV_JOIN8(load_quad, src + j * ld, ld);
  half a = __builtin_shufflevector(r[0], r[1], 0, 8, 1, 9, 4, 12, 5, 13), b = __builtin_shufflevector(r[0], r[1], 2, 10, 3, 11, 6, 14, 7, 15);
  half c = __builtin_shufflevector(r[2], r[3], 0, 8, 1, 9, 4, 12, 5, 13), d = __builtin_shufflevector(r[2], r[3], 2, 10, 3, 11, 6, 14, 7, 15);
  out[0] = __builtin_shufflevector(a, c, 0, 1, 8, 9, 4, 5, 12, 13), out[1] = __builtin_shufflevector(a, c, 2, 3, 10, 11, 6, 7, 14, 15);
  out[2] = __builtin_shufflevector(b, d, 0, 1, 8, 9, 4, 5, 12, 13), out[3] = __builtin_shufflevector(b, d, 2, 3, 10, 11, 6, 7, 14, 15);
}
#endif

#if defined(CONV_INT8) || defined(CONV_DOT)
// The same of units (src[e], src[e + next], ...) where elements lie apart; bytes in pairs are widened to int16. Row l is src + l*ld.
typedef int8_t quad_b4_any __attribute__((vector_size(4), aligned(1), may_alias));
RIDGE_INLINE RIDGE_VT quad load_pairs(const xt *p, int64_t next) {
#if defined(CONV_DOT) && defined(CONV_INT8)
  typedef int8_t bytes __attribute__((vector_size(16)));
  int32_t part[4];
  for (int i = 0; i < 4; i++) memcpy(part + i, p + i * next, 4);
  bytes b = (bytes)(quad_u){(uint32_t)part[0], (uint32_t)part[1], (uint32_t)part[2], (uint32_t)part[3]};
  return (quad)__builtin_shufflevector(b, b, 0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
#elif defined(CONV_DOT)
  return (quad)__builtin_shufflevector(*(const quad_h_any *)p, *(const quad_h_any *)(p + next), 0, 4, 1, 5, 2, 6, 3, 7);
#else
  return (quad) __builtin_convertvector(
      __builtin_shufflevector(*(const quad_b4_any *)p, *(const quad_b4_any *)(p + next), 0, 4, 1, 5, 2, 6, 3, 7), quad_s);
#endif
}
RIDGE_INLINE RIDGE_VT void turn_pairs(const xt *src, int64_t ld, int64_t next, mv out[4]) {
#define CONV_PAIRS(p) load_pairs(p, next)
  mv r0 = CONV_JOIN(CONV_PAIRS, src, ld), r1 = CONV_JOIN(CONV_PAIRS, src + ld, ld);
  mv r2 = CONV_JOIN(CONV_PAIRS, src + 2 * ld, ld), r3 = CONV_JOIN(CONV_PAIRS, src + 3 * ld, ld);
  CONV_TURN(out, r0, r1, r2, r3);
}
#endif

#define CONV_SUM_QUAD(p) (*(const quad_any *)(p))
RIDGE_INLINE RIDGE_VT void turn_sums(const me *src, int64_t ld, mv out[4]) {
  mv r0 = CONV_JOIN(CONV_SUM_QUAD, src, ld), r1 = CONV_JOIN(CONV_SUM_QUAD, src + ld, ld);
  mv r2 = CONV_JOIN(CONV_SUM_QUAD, src + 2 * ld, ld), r3 = CONV_JOIN(CONV_SUM_QUAD, src + 3 * ld, ld);
  CONV_TURN(out, r0, r1, r2, r3);
}

// n columns of a row of an NCHW image (channels ld apart), turned to pixels of all channels: a cache line of a pixel (16 units)
// at once, for pixels of 2^n channels meet in few sets of L1. pitch: elements of a pixel's copy.
__attribute__((unused)) RIDGE_VT static void turn_row(const xt *row, int64_t ld, int64_t channels, int64_t n, int64_t pitch, wt *dst) {
  int64_t c = 0;
  enum { LINE = 16 * PAIR };
  for (; c + LINE <= channels; c += LINE) {
    int64_t i = 0;
    for (; i + 4 <= n; i += 4)
      for (int v = 0; v < LINE; v += VL * PAIR) {
        mv out[4];
        const xt *from = row + (c + v) * ld + i;
#if defined(CONV_INT8) || defined(CONV_DOT)
        turn_pairs(from, PAIR * ld, ld, out);
#else
        turn_elements(from, ld, out);
#endif
        for (int j = 0; j < 4; j++) {
#if defined(CONV_DOT) && defined(CONV_INT8)
          out[j] ^= (int32_t)0x80808080;
#endif
          *(mv_any *)(dst + (i + j) * pitch + c + v) = out[j];
        }
      }
    for (; i < n; i++)
      for (int l = 0; l < LINE; l++) dst[i * pitch + c + l] = widen(row[(c + l) * ld + i]);
  }
  for (; c < pitch; c++)
    for (int64_t i = 0; i < n; i++) dst[i * pitch + c] = c < channels ? widen(row[c * ld + i]) : PADDING;
}

#endif
