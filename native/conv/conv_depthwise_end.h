// How sums of neighbouring columns of a plane end (NCHW): bias, residual, activation, rounding and store, on the registers.
//
// A group of columns is U vectors. In fp32 they follow each other; in bf16 and int8 two vectors are the even and the odd columns of 2*VL, for
// that is how 16-bit elements come apart, and how results of 16 bits go together again: no element crosses a lane.
// Rounding to bf16, nearest even, is four additions and shifts a vector and two to join a pair. No NaN needs a case of its own: those of sums of
// bf16 products are quiet and have the lower half that the operands or the processor's own NaN have, 0, so that no rounding carries.
#ifndef RIDGE_CONV_DEPTHWISE_END_H
#define RIDGE_CONV_DEPTHWISE_END_H

#if defined(__x86_64__) && !defined(RIDGE_MODEL)
#include <immintrin.h>
#endif

typedef uint32_t words_any __attribute__((vector_size(RIDGE_VL * 4), aligned(2), may_alias)); // pairs of 16-bit elements

// What the ends of a plane share; copied to registers where it is used, for stores might change memory.
typedef struct ending {
  const ridge_conv_args *a;
  int64_t limit, size;         // outputs of this thread end there in y; bytes of one
  int bias, relu, slow, scale; // a bias; ReLU; another activation; int8 results
  mv b;
#if defined(CONV_INT8)
  ridge_vf factor;
  float low;
#endif
} ending;

RIDGE_INLINE RIDGE_VT ending ending_of(const ridge_conv_args *a, int64_t k, int64_t limit) {
  ending e = {.a = a, .limit = limit, .size = sizeof(yt)};
  e.bias = a->bias != NULL;
#if defined(CONV_INT8)
  if (a->bias) e.b = ((const yt *)a->bias)[k] - e.b;
  if (a->scale) {
    e.scale = 1;
    e.size = 1;
    e.factor = a->scale[k] - e.factor;
    e.low = ridge_requant_low(a->act);
  }
#else
  if (a->bias) e.b = load_one((const xt *)a->bias + k) - e.b;
  e.relu = a->act == RIDGE_ACT_RELU;
  e.slow = a->act != RIDGE_ACT_NONE && !e.relu;
#endif
  return e;
}

#if !defined(CONV_INT8)
// The other activations, whose code would be in the way.
__attribute__((noinline)) RIDGE_VT static void activate_group(mv *v, int n, int act) {
  for (int u = 0; u < n; u++) {
    v[u] = activate(v[u], act);
#if defined(CONV_BF16)
    ridge_vu bits = (ridge_vu)v[u], nan = (ridge_vu)((bits & 0x7fffffff) > 0x7f800000);
    v[u] = (mv)((bits & ~nan) | ((bits | 0x400000) & 0xffff0000 & nan)); // the lower half 0, which rounding relies on
#endif
  }
}
#endif

#if defined(CONV_BF16)
RIDGE_INLINE RIDGE_VT mv even_columns(ridge_vu pairs) { return (mv)(pairs << 16); }
RIDGE_INLINE RIDGE_VT mv odd_columns(ridge_vu pairs) { return (mv)(pairs & 0xffff0000); }

// bf16 in the upper halves.
RIDGE_INLINE RIDGE_VT ridge_vu round_upper(mv v) {
  const ridge_vu bits = (ridge_vu)v;
  return bits + 0x7fff + (bits >> 16 & 1);
}
#endif

// B rows of U vectors of sums to y, rows `below` outputs apart; res: what is added, or NULL. No calls: they would take all registers. slow: the other
// activations, where that does not matter.
RIDGE_INLINE RIDGE_VT void end_group(const ending *e, mv (*v)[2], char *y, const yt *res, int64_t below, const int B, const int U, const int slow) {
  if (e->bias) {
    DW_UNROLL
    for (int b = 0; b < B; b++) {
      DW_UNROLL
      for (int u = 0; u < U; u++) v[b][u] = plus(v[b][u], e->b);
    }
  }
#if defined(CONV_INT8)
  if (e->scale) {
    DW_UNROLL
    for (int b = 0; b < B; b++) {
      if (U == 1) store_requantised((int8_t *)y + b * below, v[b][0], e->factor, e->low);
      else store_requantised_pairs((int8_t *)y + b * below, v[b][0], v[b][1], e->factor, e->low);
    }
    return;
  }
  DW_UNROLL
  for (int b = 0; b < B && U == 2; b++) {
    const mv even = v[b][0], odd = v[b][1];
    v[b][0] = __builtin_shufflevector(even, odd, RIDGE_ZIP_LO);
    v[b][1] = __builtin_shufflevector(even, odd, RIDGE_ZIP_HI);
  }
#endif
  if (res) {
    DW_UNROLL
    for (int b = 0; b < B; b++) {
#if defined(CONV_BF16)
      if (U == 2) {
        const ridge_vu pairs = *(const words_any *)(res + b * below);
        v[b][0] += even_columns(pairs);
        v[b][1] += odd_columns(pairs);
        continue;
      }
#endif
      DW_UNROLL
      for (int u = 0; u < U; u++) v[b][u] = plus(v[b][u], load_out(res + b * below + u * VL));
    }
  }
#if !defined(CONV_INT8)
  if (e->relu) {
    DW_UNROLL
    for (int b = 0; b < B; b++) {
      DW_UNROLL
      for (int u = 0; u < U; u++) v[b][u] = activate(v[b][u], RIDGE_ACT_RELU);
    }
  }
  if (slow && e->slow) activate_group(v[0], U, e->a->act);
#endif
  DW_UNROLL
  for (int b = 0; b < B; b++) {
    yt *to = (yt *)y + b * below;
#if defined(CONV_BF16)
    const ridge_vu low = round_upper(v[b][0]) >> 16;
    if (U == 1) {
      *(ridge_vh_any *)to = __builtin_convertvector(low, ridge_vh_any);
    } else {
      const ridge_vu high = round_upper(v[b][1]);
#if RIDGE_VL == 8 && defined(__x86_64__) && !defined(RIDGE_MODEL)
      *(words_any *)to = (ridge_vu)_mm256_blend_epi16((__m256i)low, (__m256i)high, 0xaa);
#else
      *(words_any *)to = low | (high & 0xffff0000);
#endif
    }
#else
    DW_UNROLL
    for (int u = 0; u < U; u++) store_out(to + u * VL, v[b][u]);
#endif
  }
}

// U vectors of sums for n columns at `at` of y: whole where the thread writes what is too much later, else exactly n.
RIDGE_INLINE RIDGE_VT void end_row(const ending *e, mv (*v)[2], int64_t at, int64_t n, const int U) {
  const yt *res = e->a->residual ? (const yt *)e->a->residual + at : NULL;
  char *y = (char *)e->a->y + at * e->size;
  if (at + U * VL <= e->limit) {
    end_group(e, v, y, res, 0, 1, U, 1);
    return;
  }
  char out[2 * VL * sizeof(yt)];
  yt in[2 * VL] = {0};
  if (res) memcpy(in, res, (size_t)n * sizeof(yt));
  end_group(e, v, out, res ? in : NULL, 0, 1, U, 1);
  memcpy(y, out, (size_t)(n * e->size));
}

// Sums of whole rows, kept in memory as [row][group][U*VL] with rows `pitch` elements apart: rows that end where the thread's outputs do, and activations.
RIDGE_INLINE RIDGE_VT void end_kept(const ending *e, const me *sums, int64_t pitch, int64_t at, int64_t rows, const int U) {
  const int64_t Wo = e->a->Wo, columns = U * VL, last = Wo > columns ? Wo - columns : 0, n = Wo < columns ? Wo : columns;
  for (int64_t b = 0; b < rows; b++, sums += pitch, at += Wo) {
    const me *from = sums;
    for (int64_t o = 0;; o = o + columns < last ? o + columns : last, from += columns) {
      mv v[1][2];
      for (int u = 0; u < U; u++) v[0][u] = *(const mv_any *)(from + u * VL);
      end_row(e, v, at + o, n, U);
      if (o == last) break;
    }
  }
}
__attribute__((noinline)) RIDGE_VT static void end_kept_1(const ending *e, const me *sums, int64_t pitch, int64_t at, int64_t rows) { end_kept(e, sums, pitch, at, rows, 1); }
__attribute__((noinline)) RIDGE_VT static void end_kept_2(const ending *e, const me *sums, int64_t pitch, int64_t at, int64_t rows) { end_kept(e, sums, pitch, at, rows, 2); }

#endif
