// Depthwise convolution in NCHW that reads x where it lies: 3x3 and 5x5 of steps 1 and 2.
//
// A block is B output rows of a group of columns; a loaded vector serves all rows of the block that see it. Rows of a plane follow each
// other, so that a group at an edge reads its neighbours' pixels in place of padding, which a row of masks takes away. Rows that would be read
// beyond either end of x are copied first (the first of all and the last few); rows outside the image are a row of zeros.
// Rows shorter than a group are stored whole: what is too much is the beginning of the rows below, which come later.
//
// Groups of columns, AVX2, per block of four rows, 3x3/1:
//   fp32  one vector of 8 (5x5: two), each tap a load:             18 loads, 36 FMA: 18 cycles for 32 outputs
//   bf16  the even and the odd columns of 16: a load of 16 pixels is two vectors by a shift and an AND, and taps 0 to 2 of both are pixels 0
//         to 3 of that kind: 12 loads, 24 integer operations, 72 FMA, 40 to round and join: 36 cycles for 64 outputs, 136 of 144 slots of arithmetic
//   int8  the same columns; a load of 16 bytes widened to int16, times pairs of taps, (w0, w1) and (w2, 0) for the even columns, (0, w0) and
//         (w1, w2) for the odd ones: 12 loads, 48 vpmaddwd and 48 additions: 30 cycles for 64 outputs with the loads of weights. vpmaddubsw on the bytes would take half of
//         it and saturates: 255*128 twice, x moved to unsigned, is twice what 16 bits hold. int16 pairs are exact: 2*128*128 in 32 bits.
// Step 2: bf16 and int8 do the even columns alone; fp32 takes even and odd lanes of two loads, in the order that a shuffle within 128-bit
// halves gives, and puts the sums in order at the end.
#ifndef RIDGE_CONV_DEPTHWISE_IN_PLACE_H
#define RIDGE_CONV_DEPTHWISE_IN_PLACE_H

enum { DN_ROWS = 4, DN_SEEN = (DN_ROWS - 1) * 2 + 5 }; // output rows of a block at most; rows of x that they see

#if defined(CONV_FP32)
typedef int32_t lane; // what a mask covers
#else
typedef int16_t lane;
#endif

// Vectors of a group: fp32 alone may choose.
enum { DN_GROUP = sizeof(lane) == sizeof(int16_t) ? 2 : 1 };

RIDGE_INLINE int reads_in_place(const ridge_conv_args *a) {
  return a->R == a->S && (a->R == 3 || a->R == 5) && a->dil_h == 1 && a->dil_w == 1 && a->stride_h == a->stride_w && a->stride_h <= 2 &&
         a->pad_w <= a->S / 2;
}

// Elements of a row that its groups read, from the first one's first tap; and of a row of scratch.
RIDGE_INLINE int64_t row_span(const ridge_conv_args *a) { return (a->Wo > 2 * VL ? a->Wo : 2 * VL) * a->stride_w + a->S; }
RIDGE_INLINE int64_t row_pitch(const ridge_conv_args *a) {
  const int64_t span = row_span(a), hold = a->pad_w + a->W;
  return ceil_div(span > hold ? span : hold, 2 * VL) * 2 * VL;
}

// A thread's scratch in elements: a block's rows, zeros, masks, a block's sums.
RIDGE_INLINE int64_t in_place_elements(const ridge_conv_args *a) { return (DN_SEEN + 2 + DN_ROWS) * row_pitch(a); }

// What the planes of a thread share.
typedef struct in_place {
  const xt *x;            // all planes
  int64_t at, end;        // where this plane begins, where all end
  int inside;             // no row of this plane is read beyond an end of x
  int64_t span, pitch;    // row_span, row_pitch
  xt *copies;             // rows of pitch elements
  const xt *zeros;        // a row outside the image
  const lane *mask;       // -1 for columns of the image in a padded row
  me *sums;               // rows of pitch elements
} in_place;

RIDGE_VT static in_place in_place_of(const ridge_conv_args *a, me *scratch) {
  const int64_t pitch = row_pitch(a);
  xt *zeros = (xt *)(scratch + DN_SEEN * pitch);
  lane *mask = (lane *)(scratch + (DN_SEEN + 1) * pitch);
  for (int64_t i = 0; i < pitch; i++) {
    zeros[i] = 0;
    mask[i] = i >= a->pad_w && i < a->pad_w + a->W ? -1 : 0;
  }
  return (in_place){a->x, 0, a->N * a->C * a->H * a->W, 0, row_span(a), pitch, (xt *)scratch, zeros, mask, scratch + (DN_SEEN + 2) * pitch};
}

// The first padded column of each of the rows from `top` on: rows that lie outside the image, or that groups would read beyond an end of x.
__attribute__((noinline)) static void find_rows(const ridge_conv_args *a, const in_place *p, int64_t top, int seen, const xt **rows) {
  for (int i = 0; i < seen; i++) {
    const int64_t from = p->at + (top + i) * a->W, first = from - a->pad_w;
    if (top + i < 0 || top + i >= a->H) {
      rows[i] = p->zeros;
    } else if (first >= 0 && first + p->span <= p->end) {
      rows[i] = p->x + first;
    } else {
      xt *copy = p->copies + i * p->pitch;
      memcpy(copy + a->pad_w, p->x + from, (size_t)a->W * sizeof(xt));
      rows[i] = copy;
    }
  }
}

// Taps of a row as they are multiplied: one by one, or in pairs.
#if defined(CONV_INT8)
#define DN_TERMS(R) (((R) + 1) / 2)
#define DN_WEIGHT(R, r, u, t) (((r) * 2 + (u)) * DN_TERMS(R) + (t))
#else
#define DN_TERMS(R) (R)
#define DN_WEIGHT(R, r, u, t) ((r) * (R) + (t))
#endif
enum { DN_WEIGHTS = 30 };

// The filter of channel k, each weight in all lanes.
RIDGE_INLINE RIDGE_VT void spread_filter(const ridge_conv_args *a, int64_t k, const int R, mv *f) {
  const xt *w = (const xt *)a->w + k * R * R;
#if defined(CONV_INT8)
  DW_UNROLL
  for (int r = 0; r < R; r++) {
    DW_UNROLL
    for (int u = 0; u < 2; u++) {
      DW_UNROLL
      for (int t = 0; t < DN_TERMS(R); t++) {
        const int s = 2 * t - u; // the odd columns' window begins a pixel later
        const uint32_t low = s >= 0 ? (uint16_t)(int16_t)w[r * R + s] : 0, high = s + 1 < R ? (uint32_t)(int32_t)w[r * R + s + 1] << 16 : 0;
        f[DN_WEIGHT(R, r, u, t)] = (me)(high | low) - (mv){0};
      }
    }
  }
#else
  DW_UNROLL
  for (int i = 0; i < R * R; i++) f[i] = load_one(w + i) - (mv){0};
#endif
}

#if defined(CONV_INT8)
typedef int16_t shorts __attribute__((vector_size(4 * RIDGE_VL)));
typedef int8_t bytes_any __attribute__((vector_size(2 * RIDGE_VL), aligned(1), may_alias));

// sum + products of pairs of int16, exact.
RIDGE_INLINE RIDGE_VT mv multiply_add(mv sum, mv x, mv w) {
#if defined(__x86_64__) && !defined(RIDGE_MODEL) && RIDGE_VL == 8
  return sum + (mv)_mm256_madd_epi16((__m256i)x, (__m256i)w);
#elif defined(__x86_64__) && !defined(RIDGE_MODEL)
  return sum + (mv)_mm512_madd_epi16((__m512i)x, (__m512i)w);
#else
  return sum + ((mv)((ridge_vu)x << 16) >> 16) * ((mv)((ridge_vu)w << 16) >> 16) + (x >> 16) * (w >> 16);
#endif
}
#else
RIDGE_INLINE RIDGE_VT mv multiply_add(mv sum, mv x, mv w) { return sum + x * w; }
#endif

// What a load from x gives; masked: without what the masks hide. Of 16-bit elements and bytes, pairs.
RIDGE_INLINE RIDGE_VT ridge_vu load_columns(const xt *x, const lane *mask, const int masked) {
#if defined(CONV_INT8) && defined(RIDGE_VECTOR_X86) && RIDGE_VL == 16
  const ridge_vu v = (ridge_vu)_mm512_cvtepi8_epi16(_mm256_loadu_si256((const __m256i *)x));
#elif defined(CONV_INT8) && defined(RIDGE_VECTOR_X86)
  const ridge_vu v = (ridge_vu)_mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)x));
#elif defined(CONV_INT8)
  const ridge_vu v = (ridge_vu)__builtin_convertvector(*(const bytes_any *)x, shorts);
#elif defined(CONV_BF16)
  const ridge_vu v = *(const words_any *)x;
#else
  const ridge_vu v = (ridge_vu)load_vector(x);
#endif
#if defined(CONV_FP32)
  return masked ? v & (ridge_vu)*(const ridge_vi_any *)mask : v;
#else
  return masked ? v & *(const words_any *)mask : v;
#endif
}

#if defined(CONV_FP32)
// Every other lane of two vectors, in the order of a shuffle within 128-bit halves; and the columns of that order in their own.
RIDGE_INLINE RIDGE_VT mv every_other(ridge_vu a, ridge_vu b, const int odd) {
#if RIDGE_VL == 8
  return (mv)(odd ? __builtin_shufflevector(a, b, 1, 3, 9, 11, 5, 7, 13, 15) : __builtin_shufflevector(a, b, 0, 2, 8, 10, 4, 6, 12, 14));
#else
  return (mv)(odd ? odd_lanes((ridge_vi)a, (ridge_vi)b) : even_lanes((ridge_vi)a, (ridge_vi)b));
#endif
}
RIDGE_INLINE RIDGE_VT mv in_order(mv v) {
#if RIDGE_VL == 8
  return __builtin_shufflevector(v, v, 0, 1, 4, 5, 2, 3, 6, 7);
#else
  return v;
#endif
}
#endif

// What a group sees of padding: with at most half a window of it, the taps before the middle on the left, those behind it on the right.
enum { DN_INNER = 0, DN_LEFT = 1, DN_RIGHT = 2, DN_BOTH = 3 };
RIDGE_INLINE int hides(const int edges, const int R, const int step, const int t) { // of a load of tap t, in pairs and with step 2 of t + 1 too
  return (edges & DN_LEFT && t < R / 2) || (edges & DN_RIGHT && t + (DN_GROUP == 2 || step == 2) > R / 2);
}

// Sums of B rows of a group of U vectors of columns; rows[i] + c is its first tap in row i.
RIDGE_INLINE RIDGE_VT void group_sums(const xt *const *rows, const lane *mask, int64_t c, const mv *f, const int edges, const int R, const int step, const int B,
                                      const int U, mv acc[DN_ROWS][2]) {
  __asm__ volatile("" : "+r"(c)); // or gcc would take the products that forms for different edges share out of them, and add separately
  DW_UNROLL
  for (int b = 0; b < B; b++) {
    DW_UNROLL
    for (int u = 0; u < U; u++) acc[b][u] = (mv){0};
  }
  DW_UNROLL
  for (int i = 0; i < (B - 1) * step + R; i++) {
    const xt *row = rows[i] + c;
    const lane *m = mask + c;
    mv x[2];
    ridge_vu pair[2] = {{0}, {0}};
    DW_UNROLL
    for (int t = 0; t < DN_TERMS(R); t++) {
#if defined(CONV_INT8)
      x[0] = x[1] = (mv)load_columns(row + 2 * t, m + 2 * t, hides(edges, R, step, 2 * t));
#elif defined(CONV_BF16)
      // x[u] is pixel t + u of each pair's; even ones come with a load.
      if (t == 0 || U == 1) {
        if (t % 2 == 0) pair[0] = load_columns(row + t, m + t, hides(edges, R, step, t));
        x[0] = t % 2 == 0 ? even_columns(pair[0]) : odd_columns(pair[0]);
      } else {
        x[0] = x[1];
      }
      if (U == 2 && t % 2 == 1) pair[0] = load_columns(row + t + 1, m + t + 1, hides(edges, R, step, t + 1));
      if (U == 2) x[1] = t % 2 == 0 ? odd_columns(pair[0]) : even_columns(pair[0]);
#else
      if (step == 1) {
        DW_UNROLL
        for (int u = 0; u < U; u++) x[u] = (mv)load_columns(row + u * VL + t, m + u * VL + t, hides(edges, R, step, t));
      } else {
        if (t % 2 == 0) {
          pair[0] = load_columns(row + t, m + t, hides(edges, R, step, t));
          pair[1] = load_columns(row + VL + t, m + VL + t, hides(edges & DN_RIGHT, R, step, t));
        }
        x[0] = every_other(pair[0], pair[1], t % 2);
      }
#endif
      DW_UNROLL
      for (int b = 0; b < B; b++) {
        const int r = i - b * step;
        if (r < 0 || r >= R) continue;
        DW_UNROLL
        for (int u = 0; u < U; u++) acc[b][u] = multiply_add(acc[b][u], x[u], f[DN_WEIGHT(R, r, u, t)]);
      }
    }
    (void)pair;
  }
#if defined(CONV_FP32)
  DW_UNROLL
  for (int b = 0; b < B; b++)
    if (step == 2) acc[b][0] = in_order(acc[b][0]);
#endif
}

// B output rows from ho, the first at `at` of y.
RIDGE_INLINE RIDGE_VT void rows_in_place(const ridge_conv_args *a, const in_place *p, const ending *of, const mv *f, int64_t ho, int64_t at, const int R,
                                         const int step, const int B, const int U) {
  const ending end = *of, *e = &end; // copies of what stores cannot change, to be kept in registers
  const int64_t Wo = a->Wo, columns = U * VL, last = Wo > columns ? Wo - columns : 0, top = ho * step - a->pad_h, pitch = p->pitch;
  const int64_t first = a->pad_w, inner = a->pad_w + a->W - (columns - 1) * step - R; // groups from and up to here see no padding
  const int keep = end.slow || at + (B - 1) * Wo + last + columns > end.limit, seen = (B - 1) * step + R;
  const lane *mask = p->mask;
  const xt *rows[DN_SEEN], *found[DN_SEEN];
  if (__builtin_expect(p->inside, 1)) {
    DW_UNROLL
    for (int i = 0; i < seen; i++) rows[i] = top + i >= 0 && top + i < a->H ? p->x + (p->at + (top + i) * a->W - a->pad_w) : p->zeros;
  } else {
    find_rows(a, p, top, seen, found);
    DW_UNROLL
    for (int i = 0; i < seen; i++) rows[i] = found[i];
  }
  char *y = (char *)a->y + at * end.size;
  const yt *res = a->residual ? (const yt *)a->residual + at : NULL;
  me *kept = p->sums;
  for (int64_t o = 0;; o = o + columns < last ? o + columns : last) {
    const int64_t c = o * step;
    mv acc[DN_ROWS][2];
    const int edges = (c < first ? DN_LEFT : 0) | (c > inner ? DN_RIGHT : 0);
    if (edges == DN_INNER) group_sums(rows, mask, c, f, DN_INNER, R, step, B, U, acc);
    else if (edges == DN_LEFT && B == DN_ROWS) group_sums(rows, mask, c, f, DN_LEFT, R, step, B, U, acc);
    else if (edges == DN_RIGHT && B == DN_ROWS) group_sums(rows, mask, c, f, DN_RIGHT, R, step, B, U, acc);
    else group_sums(rows, mask, c, f, DN_BOTH, R, step, B, U, acc);
    if (__builtin_expect(!keep, 1)) {
      end_group(e, acc, y + o * end.size, res ? res + o : NULL, Wo, B, U, 0);
    } else {
      DW_UNROLL
      for (int b = 0; b < B; b++) {
        DW_UNROLL
        for (int u = 0; u < U; u++) *(mv_any *)(kept + b * pitch + u * VL) = acc[b][u];
      }
      kept += columns;
    }
    if (o == last) break;
  }
  if (keep && U == 1) end_kept_1(of, p->sums, pitch, at, B);
  if (keep && U == 2) end_kept_2(of, p->sums, pitch, at, B);
}

// Output rows h0 .. h1-1 of channel k, row 0 at `at` of y.
RIDGE_INLINE RIDGE_VT void plane_in_place(const ridge_conv_args *a, const in_place *p, const ending *e, int64_t k, int64_t at, int64_t h0, int64_t h1, const int R,
                                          const int step, const int U) {
  mv f[DN_WEIGHTS];
  spread_filter(a, k, R, f);
  int64_t ho = h0;
  for (; ho + 4 <= h1; ho += 4) rows_in_place(a, p, e, f, ho, at + ho * a->Wo, R, step, 4, U);
  if (ho + 2 <= h1) {
    rows_in_place(a, p, e, f, ho, at + ho * a->Wo, R, step, 2, U);
    ho += 2;
  }
  if (ho < h1) rows_in_place(a, p, e, f, ho, at + ho * a->Wo, R, step, 1, U);
}

#define IN_PLACE(name, R, step, U)                                                                                                           \
  __attribute__((noinline)) RIDGE_VT static void name(const ridge_conv_args *a, const in_place *p, const ending *e, int64_t k, int64_t at,   \
                                                      int64_t h0, int64_t h1) {                                                             \
    plane_in_place(a, p, e, k, at, h0, h1, R, step, U);                                                                                     \
  }
IN_PLACE(in_place_31, 3, 1, DN_GROUP)
IN_PLACE(in_place_32, 3, 2, 1)
IN_PLACE(in_place_51, 5, 1, 2)
IN_PLACE(in_place_52, 5, 2, 1)
#if defined(CONV_FP32)
IN_PLACE(in_place_51_narrow, 5, 1, 1)
#endif

// Output rows h0 .. h1-1 of plane (n, k).
RIDGE_VT static void rows_where_they_lie(const ridge_conv_args *a, in_place *p, int64_t n, int64_t k, int64_t h0, int64_t h1, int64_t limit) {
  const int64_t at = (n * a->K + k) * a->Ho * a->Wo;
  const ending e = ending_of(a, k, limit);
  p->at = (n * a->C + k / (a->K / a->C)) * a->H * a->W;
  p->inside = p->at >= a->pad_w && p->at + (a->H - 1) * a->W - a->pad_w + p->span <= p->end;
  if (a->R == 3 && a->stride_h == 1) in_place_31(a, p, &e, k, at, h0, h1);
  else if (a->R == 3) in_place_32(a, p, &e, k, at, h0, h1);
#if defined(CONV_FP32)
  else if (a->stride_h == 1 && a->Wo <= VL) in_place_51_narrow(a, p, &e, k, at, h0, h1);
#endif
  else if (a->stride_h == 1) in_place_51(a, p, &e, k, at, h0, h1);
  else in_place_52(a, p, &e, k, at, h0, h1);
}

#endif
