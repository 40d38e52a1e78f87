// Depthwise convolution in NHWC, read in place: blocks of neighbouring outputs, channels innermost, so that a block's windows are
// visited as runs of C elements and neighbouring pixels' runs abut.
//
// Each column of x is loaded once for the S outputs of its row that use it (and once for both rows of a pair); the weights of
// the row lie in registers. 3x3 step 1 on AVX2, a pair of rows of 4 outputs of 8 channels: 72 FMA (36 cycles), 24 loads of x, 18 of
// weights, 8 stores. Pairs read 3 lines of x per line of y from L2 into L1, single rows of 7 outputs 3.9. Where channels are a multiple of
// 2 KiB, the columns of a window meet in two sets of L1: blocks of one row and 4 outputs of a whole line (16 channels) touch each line once.
// 5x5: 10 outputs, 250 FMA, 70 loads of x and 25 of weights. Sums in flight: 8 to 10, as many as hide an addition's latency of 4 cycles.
// The instructions beside the FMAs matter as much as cycles where a neighbour shares the core: addresses of columns are registers and scales.
// Padding: whole blocks have no tests of columns; blocks cut by the padding of "same" convolutions are forms of their own; all others
// test each column. Rows outside are skipped. Filters lie as [chunk][tap][vector of channels], turned once per thread and launch.
// Channels that fill no chunk are done with their neighbours again (the last chunk overlaps the one before), as are outputs.
// gcc keeps all sums in registers; clang 14 stores those of single rows besides, once per FMA (pairs are clean).
#ifndef RIDGE_CONV_DEPTHWISE_NHWC_H
#define RIDGE_CONV_DEPTHWISE_NHWC_H

#include "conv_turn.h"

#if defined(RIDGE_MODEL)
#define DW_UNROLL
#elif defined(__clang__)
#define DW_UNROLL RIDGE_PRAGMA(clang loop unroll(full))
#else
#define DW_UNROLL RIDGE_PRAGMA(GCC unroll 32)
#endif

// Keeps a column in its register: gcc reads it anew in each multiply-add, by an address with an index, which Intel's cores then split in two (docs/kernels/gemm.md,
// Emerald Rapids). One thread there: 144x56x56 3x3 1.04 and 5x5 of step 2 1.11, 256x28x28 3x3 1.03, the others of the peers' table 0.99 to 1.01. Of
// 16 registers there is none to keep it in.
#if RIDGE_VL == 16 && !defined(RIDGE_MODEL) && defined(__x86_64__)
#define DW_KEEP(x) __asm__("" : "+v"(x))
#else
#define DW_KEEP(x) (void)0
#endif

// A step in bytes and its multiples in the registers that addressing modes multiply by 2, 4 and 8.
typedef struct steps {
  int64_t one, three, five, seven;
} steps;

RIDGE_INLINE steps steps_of(int64_t bytes) { return (steps){bytes, 3 * bytes, 5 * bytes, 7 * bytes}; }

// Compilers would keep every multiple in a register of its own, which there are not.
RIDGE_INLINE void hide_steps(steps *s) {
  __asm__("" : "+r"(s->one));
  __asm__("" : "+r"(s->three));
  __asm__("" : "+r"(s->five));
  __asm__("" : "+r"(s->seven));
}

// p + n steps.
RIDGE_INLINE const void *step_by(const void *p, const steps *s, const int n) {
  const char *from = (const char *)p + s->one * (n & ~7);
  switch (n & 7) {
    case 0: return from;
    case 3: case 6: return from + s->three * ((n & 7) / 3);
    case 5: return from + s->five;
    case 7: return from + s->seven;
    default: return from + s->one * (n & 7);
  }
}

// What a block of outputs sees.
typedef struct window {
  const xt *x;       // its first tap, channel 0; may lie outside the image
  int64_t r0, r1;    // rows of taps inside the image
  int64_t lo, hi, n; // columns inside the image; outputs to store
  int64_t at;        // first output in y, channel 0
  int64_t k0, k1;    // channels
  const me *w;       // their filters
} window;

enum { DW_SUMS = 16 };

// The end of rows x n sums of `lanes` channels from k.
__attribute__((noinline)) RIDGE_VT static void block_finish(const ridge_conv_args *a, const mv *sums, int64_t rows, int64_t row, int64_t n,
                                                            int64_t vectors, int64_t k, int64_t at) {
  for (int64_t g = 0; g < rows; g++)
    for (int64_t o = 0; o < n; o++)
      for (int64_t u = 0; u < vectors; u++) finish_channels(a, sums[(g * row + o) * vectors + u], k + u * VL, at + (g * a->Wo + o) * a->K + u * VL);
}

// G rows of T outputs of U vectors of channels. LO, HI: columns of the window cut off by the image; ANY: as the window says.
RIDGE_INLINE RIDGE_VT void block_sums(const ridge_conv_args *a, const window *v, const int S, const int step, const int G, const int U, const int T,
                                      const int LO, const int HI, const int ANY) {
  const int plain = a->act == RIDGE_ACT_NONE && !a->bias && !a->residual && !a->scale, cols = (T - 1) * step + S;
  const int simple = (a->act == RIDGE_ACT_NONE || a->act == RIDGE_ACT_RELU) && !a->scale;
  const int64_t R = a->R, K = a->K, line = a->W * K * (G > 1 ? 1 : a->dil_h), r0 = v->r0, r1 = v->r1, lo = v->lo, hi = v->hi, n = v->n, below = a->Wo * K;
  const int64_t last = v->k1 - U * VL;
  const unsigned rows = (1u << (G > 1 ? r1 : 0)) - (1u << (G > 1 ? r0 : 0));
  const xt *x0 = v->x + (G > 1 ? 0 : r0 * line);
  yt *y0 = (yt *)a->y + v->at;
  const me *w = v->w;
  steps st = steps_of(K * (int64_t)sizeof(xt));
  for (int64_t c = v->k0;; c = c + U * VL < last ? c + U * VL : last) {
    hide_steps(&st);
    mv acc[2][DW_SUMS][2];
    if (G == 1 || ANY) {
      DW_UNROLL
      for (int g = 0; g < G; g++) {
        DW_UNROLL
        for (int o = 0; o < T; o++) {
          DW_UNROLL
          for (int u = 0; u < U; u++) acc[g][o][u] = (mv){0};
        }
      }
    }
    if (G == 2) {
      DW_UNROLL
      for (int q = 0; q < S + step; q++) {
        const int i = q == 0 ? step : q <= step ? q - 1 : q; // the first row taken is one that both outputs see and no padding hides
        if ((ANY || q > 0) && !(rows >> i & 1)) continue;
        const xt *p = x0 + i * line + c;
        mv f[2][7][2];
        DW_UNROLL
        for (int g = 0; g < 2; g++) {
          DW_UNROLL
          for (int s = 0; s < S; s++) {
            DW_UNROLL
            for (int u = 0; u < U; u++)
              if (i - g * step >= 0 && i - g * step < S) f[g][s][u] = *(const mv_any *)(w + (((i - g * step) * S + s) * U + u) * VL);
          }
        }
        DW_UNROLL
        for (int j = LO; j < cols - HI; j++) {
          if (ANY && (j < lo || j >= hi)) continue;
          DW_UNROLL
          for (int u = 0; u < U; u++) {
            mv x = load_vector((const xt *)step_by(p + u * VL, &st, j));
            DW_KEEP(x);
            DW_UNROLL
            for (int s = 0; s < S; s++) {
              const int o = (j - s) / step;
              if (j < s || (j - s) % step || o >= T) continue;
              const int first = !ANY && q == 0 && (s == 0 || j == LO);
              if (i < S) acc[0][o][u] = first ? x * f[0][s][u] : acc[0][o][u] + x * f[0][s][u];
              if (i >= step) acc[1][o][u] = first ? x * f[1][s][u] : acc[1][o][u] + x * f[1][s][u];
            }
          }
        }
      }
    } else {
      const xt *p = x0 + c;
      const me *wr = w + r0 * S * U * VL;
      for (int64_t r = r0; r < r1; r++, p += line, wr += S * U * VL) {
        mv f[7][2];
        DW_UNROLL
        for (int s = 0; s < S; s++) {
          DW_UNROLL
          for (int u = 0; u < U; u++) f[s][u] = *(const mv_any *)(wr + (s * U + u) * VL);
        }
        DW_UNROLL
        for (int j = LO; j < cols - HI; j++) {
          if (ANY && (j < lo || j >= hi)) continue;
          DW_UNROLL
          for (int u = 0; u < U; u++) {
            mv x = load_vector((const xt *)step_by(p + u * VL, &st, j));
            DW_KEEP(x);
            DW_UNROLL
            for (int s = 0; s < S; s++) {
              const int o = (j - s) / step;
              if (j < s || (j - s) % step || o >= T) continue;
              acc[0][o][u] += x * f[s][u];
            }
          }
        }
      }
    }
    if (__builtin_expect(simple, 1)) {
      if (!plain) { // on the registers: a block's end through memory took as long as its sums
        if (a->bias) {
          DW_UNROLL
          for (int u = 0; u < U; u++) {
            const mv bias = load_out((const yt *)a->bias + c + u * VL);
            DW_UNROLL
            for (int g = 0; g < G; g++) {
              DW_UNROLL
              for (int o = 0; o < T; o++) acc[g][o][u] = plus(acc[g][o][u], bias);
            }
          }
        }
        if (a->residual) {
          DW_UNROLL
          for (int g = 0; g < G; g++) {
            const yt *r = (const yt *)a->residual + v->at + c + g * below;
            DW_UNROLL
            for (int o = 0; o < T; o++) {
              if (ANY && o >= n) break;
              DW_UNROLL
              for (int u = 0; u < U; u++)
                acc[g][o][u] = plus(acc[g][o][u], load_out((const yt *)step_by(r + u * VL, &st, o * (int)(sizeof(yt) / sizeof(xt)))));
            }
          }
        }
#if !defined(CONV_INT8)
        if (a->act == RIDGE_ACT_RELU) {
          DW_UNROLL
          for (int g = 0; g < G; g++) {
            DW_UNROLL
            for (int o = 0; o < T; o++) {
              DW_UNROLL
              for (int u = 0; u < U; u++) acc[g][o][u] = activate(acc[g][o][u], RIDGE_ACT_RELU);
            }
          }
        }
#endif
      }
      DW_UNROLL
      for (int g = 0; g < G; g++) {
        yt *y = y0 + c + g * below;
        DW_UNROLL
        for (int o = 0; o < T; o++) {
          if (ANY && o >= n) break;
          DW_UNROLL
          for (int u = 0; u < U; u++)
            store_out((yt *)step_by(y + u * VL, &st, o * (int)(sizeof(yt) / sizeof(xt))), acc[g][o][u]);
        }
      }
    } else {
      mv sums[DW_SUMS];
      DW_UNROLL
      for (int g = 0; g < G; g++) {
        DW_UNROLL
        for (int o = 0; o < T; o++) {
          DW_UNROLL
          for (int u = 0; u < U; u++) sums[(g * T + o) * U + u] = acc[g][o][u];
        }
      }
      block_finish(a, sums, G, T, ANY ? n : T, U, c, v->at + c);
    }
    if (c == last) return;
    w += R * S * U * VL;
  }
}

// Kernels of any width, step and dilation: every tap of every output is a load.
RIDGE_INLINE RIDGE_VT void block_taps(const ridge_conv_args *a, const window *v, const int U, const int T, const int ANY) {
  const int64_t S = a->S, K = a->K, line = a->W * K * a->dil_h, step = a->stride_w * K, last = v->k1 - U * VL;
  const me *w = v->w;
  for (int64_t c = v->k0;; c = c + U * VL < last ? c + U * VL : last) {
    mv acc[DW_SUMS][2];
    DW_UNROLL
    for (int o = 0; o < T; o++) {
      DW_UNROLL
      for (int u = 0; u < U; u++) acc[o][u] = (mv){0};
    }
    for (int64_t r = v->r0; r < v->r1; r++) {
      for (int64_t s = 0; s < S; s++) {
        const xt *p = v->x + r * line + s * a->dil_w * K + c;
        mv f[2];
        DW_UNROLL
        for (int u = 0; u < U; u++) f[u] = *(const mv_any *)(w + ((r * S + s) * U + u) * VL);
        DW_UNROLL
        for (int o = 0; o < T; o++, p += step) {
          int64_t j = o * a->stride_w + s * a->dil_w;
          if (ANY && (j < v->lo || j >= v->hi)) continue;
          DW_UNROLL
          for (int u = 0; u < U; u++) acc[o][u] += load_vector(p + u * VL) * f[u];
        }
      }
    }
    mv sums[DW_SUMS];
    DW_UNROLL
    for (int o = 0; o < T; o++) {
      DW_UNROLL
      for (int u = 0; u < U; u++) sums[o * U + u] = acc[o][u];
    }
    block_finish(a, sums, 1, T, ANY ? v->n : T, U, c, v->at + c);
    if (c == last) return;
    w += a->R * S * U * VL;
  }
}

// Blocks as rows, vectors, outputs of a row, by the number of vector registers: the sums, one row of weights (two for a pair) and x.
// Widths of networks are multiples of 7.
#if RIDGE_VL == 8
#define DW_PAIR 2, 1, 4
#define DW_LINES 1, 2, 4
#define DW_5 1, 1, 10
#define DW_7 1, 1, 8
enum { DW_PAIR_T = 4, DW_LINES_T = 4, DW_5_U = 1, DW_5_T = 10, DW_7_U = 1, DW_7_T = 8 };
#else
#define DW_PAIR 2, 1, 7
#define DW_LINES 1, 2, 7
#define DW_5 1, 2, 7
#define DW_7 1, 2, 7
enum { DW_PAIR_T = 7, DW_LINES_T = 7, DW_5_U = 2, DW_5_T = 7, DW_7_U = 2, DW_7_T = 7 };
#endif
#if RIDGE_VL == 16
#define DW_5_WIDE 1, 1, 14 // a vector is a whole line
enum { DW_5_WIDE_T = 14 };
#endif

// A kind of block: how the window's columns are cut says which of its four forms is called.
enum { DW_WHOLE, DW_LEFT, DW_RIGHT, DW_ANY };
#define DEPTHWISE(name, S, step, ...)                                                                        \
  __attribute__((noinline)) RIDGE_VT static void name(const ridge_conv_args *a, const window *v, int form) { \
    if (form == DW_WHOLE) block_sums(a, v, S, step, __VA_ARGS__, 0, 0, 0);                                   \
    else if (form == DW_LEFT) block_sums(a, v, S, step, __VA_ARGS__, S / 2, 0, 0);                           \
    else if (form == DW_RIGHT) block_sums(a, v, S, step, __VA_ARGS__, 0, S / 2 - (step - 1), 0);             \
    else block_sums(a, v, S, step, __VA_ARGS__, 0, 0, 1);                                                    \
  }
DEPTHWISE(depthwise_pair, 3, 1, DW_PAIR)
DEPTHWISE(depthwise_31, 3, 1, 1, 1, 7)
DEPTHWISE(depthwise_31_lines, 3, 1, DW_LINES)
DEPTHWISE(depthwise_32_lines, 3, 2, DW_LINES)
DEPTHWISE(depthwise_51, 5, 1, DW_5)
DEPTHWISE(depthwise_51_narrow, 5, 1, 1, 1, 7)
DEPTHWISE(depthwise_52, 5, 2, DW_5)
#if defined(DW_5_WIDE)
DEPTHWISE(depthwise_51_wide, 5, 1, DW_5_WIDE)
DEPTHWISE(depthwise_52_wide, 5, 2, DW_5_WIDE)
#endif
DEPTHWISE(depthwise_71, 7, 1, DW_7)
#define DEPTHWISE_TAPS(name, U, T)                                                                           \
  __attribute__((noinline)) RIDGE_VT static void name(const ridge_conv_args *a, const window *v, int form) { \
    if (form == DW_WHOLE) block_taps(a, v, U, T, 0);                                                         \
    else block_taps(a, v, U, T, 1);                                                                          \
  }
DEPTHWISE_TAPS(depthwise_any_vector, 1, 6)
DEPTHWISE_TAPS(depthwise_any, 2, 6)

// The blocks of a convolution: of one row of outputs and, where it gains, of two.
typedef struct plan {
  void (*block)(const ridge_conv_args *, const window *, int form);
  int64_t vectors, outputs; // of a block
  int64_t pairs;            // outputs in a row of depthwise_pair, 0: not used
} plan;

RIDGE_INLINE plan plan_of(const ridge_conv_args *a) {
  const int64_t S = a->S, st = a->stride_w, vectors = a->K / VL;
  if (a->dil_w == 1) {
    // Pixels this far apart put the columns of a pair into two sets of L1: its lines would leave between the halves, where a vector is half a line.
    const int conflicts = VL * sizeof(xt) < 64 && a->K * (int64_t)sizeof(xt) % 2048 == 0;
    if (S == 3 && st == 1 && conflicts && vectors >= 2) return (plan){depthwise_31_lines, 2, DW_LINES_T, 0};
    if (S == 3 && st == 1) return (plan){depthwise_31, 1, 7, a->R == 3 && a->dil_h == 1 && a->stride_h == 1 && a->pad_h <= 1 ? DW_PAIR_T : 0};
    if (S == 3 && st == 2 && vectors >= 2) return (plan){depthwise_32_lines, 2, DW_LINES_T, 0};
#if defined(DW_5_WIDE)
    // Twice the outputs of one vector where two vectors would do more of them again: odd numbers of vectors, and rows of whole blocks.
    const int wide = S == 5 && st <= 2 && a->Wo >= DW_5_WIDE_T &&
                     ceil_div(a->Wo, DW_5_WIDE_T) * DW_5_WIDE_T * vectors <= ceil_div(a->Wo, DW_5_T) * DW_5_T * ceil_div(vectors, DW_5_U) * DW_5_U;
    if (wide) return (plan){st == 1 ? depthwise_51_wide : depthwise_52_wide, 1, DW_5_WIDE_T, 0};
#endif
    // Rows that blocks of 10 would do half again.
    const int narrow = 10 * ceil_div(a->Wo, DW_5_T) * DW_5_T > 11 * ceil_div(a->Wo, 7) * 7;
    if (S == 5 && st == 1 && (narrow || vectors < DW_5_U)) return (plan){depthwise_51_narrow, 1, 7, 0};
    if (S == 5 && st == 1) return (plan){depthwise_51, DW_5_U, DW_5_T, 0};
    if (S == 5 && st == 2 && vectors >= DW_5_U) return (plan){depthwise_52, DW_5_U, DW_5_T, 0};
    if (S == 7 && st == 1 && vectors >= DW_7_U) return (plan){depthwise_71, DW_7_U, DW_7_T, 0};
  }
  return vectors >= 2 ? (plan){depthwise_any, 2, 6, 0} : (plan){depthwise_any_vector, 1, 6, 0};
}

// Output rows u0 .. u1-1, counted over all images.
RIDGE_VT static void depthwise_rows(const ridge_conv_args *a, const plan *p, int64_t u0, int64_t u1, int64_t k0, int64_t k1, const me *w) {
  const int64_t st = a->stride_w, dil = a->dil_h, left_cut = a->S / 2, right_cut = a->S / 2 - (st - 1);
  window v = {.k0 = k0, .k1 = k1, .w = w};
  for (int64_t u = u0, rows; u < u1; u += rows) {
    int64_t n = u / a->Ho, ho = u % a->Ho, h = ho * a->stride_h - a->pad_h;
    rows = p->pairs && ho + 1 < a->Ho && u + 1 < u1 ? 2 : 1;
    const int64_t taps = a->R + rows - 1, T = rows == 2 ? p->pairs : p->outputs, cols = (T - 1) * st + (a->S - 1) * a->dil_w + 1;
    v.r0 = h >= 0 ? 0 : (-h + dil - 1) / dil;
    v.r1 = h >= a->H ? 0 : (a->H - h + dil - 1) / dil;
    if (v.r1 > taps) v.r1 = taps;
    if (v.r0 > v.r1) v.r0 = v.r1;
    for (int64_t wo = 0; wo < a->Wo; wo += T) {
      if (wo + T > a->Wo && a->Wo >= T) wo = a->Wo - T; // the last block overlaps the one before
      int64_t left = wo * st - a->pad_w;
      v.lo = left < 0 ? -left : 0;
      v.hi = a->W - left < cols ? a->W - left : cols;
      v.n = a->Wo - wo < T ? a->Wo - wo : T;
      v.x = (const xt *)a->x + ((n * a->H + h) * a->W + left) * a->K;
      v.at = (u * a->Wo + wo) * a->K;
      int form = DW_ANY;
      if (v.n == T && v.hi == cols) form = v.lo == 0 ? DW_WHOLE : v.lo == left_cut ? DW_LEFT : DW_ANY;
      else if (v.n == T && v.lo == 0 && v.hi == cols - right_cut) form = DW_RIGHT;
      if (rows == 2) depthwise_pair(a, &v, form);
      else p->block(a, &v, form);
    }
  }
}

// Filters [K][taps] of channels k0 .. k1-1 in the order of use: [chunk][tap][vectors][VL].
RIDGE_VT static void turn_filters(const ridge_conv_args *a, int64_t vectors, int64_t k0, int64_t k1, me *out) {
  int64_t taps = a->R * a->S, last = k1 - vectors * VL;
  for (int64_t c = k0;; c = c + vectors * VL < last ? c + vectors * VL : last) {
    for (int64_t u = 0; u < vectors; u++) {
      const xt *w = (const xt *)a->w + (c + u * VL) * taps;
      int64_t t = 0;
#if !defined(CONV_INT8)
      for (; t + 4 <= taps; t += 4) {
        mv four[4];
        turn_elements(w + t, taps, four);
        for (int j = 0; j < 4; j++) *(mv_any *)(out + ((t + j) * vectors + u) * VL) = four[j];
      }
#endif
      for (; t < taps; t++)
        for (int l = 0; l < VL; l++) out[(t * vectors + u) * VL + l] = load_one(w + l * taps + t);
    }
    if (c == last) return;
    out += taps * vectors * VL;
  }
}

#endif
