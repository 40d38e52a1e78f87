// Tiles whose pixels lie at even distances, on AVX-512 (in conv_tile.h): one after another, and nothing but x, the panel and y is read and written on the way.
//
// Behind the stores of a tile any load waits whose address agrees with one of theirs in its low 12 bits, until that store is done: where pointers and
// counters came from memory between two tiles, all of the next one waited for them, 50 to 100 cycles of the 768 that a tile of 64 elements takes. Here they stay in registers, and
// the stores cost nothing measurable, all behind the tile's last element as they are. Three addresses, of pixels 0 and 3 and the distance, lead to all six
// pixels: an element of 6x64 takes 35 instructions, 34 of which do the work (six pointers: 39), which counts beside a busy thread on the other half of the core.
// What was measured: docs/kernels/conv.md, Emerald Rapids.
#define CONV_EVEN
#if !defined(CONV_FP32) || defined(CONV_EDGES)
#error "even tiles take whole fp32 elements and no account of edges"
#endif
enum { EVEN_PIXELS = 5, EVEN_VECTORS = 3 }; // the least of a tile

#define EVEN_AT_0 "(%[low])"
#define EVEN_AT_1 "(%[low],%[pitch])"
#define EVEN_AT_2 "(%[low],%[pitch],2)"
#define EVEN_AT_3 "(%[high])"
#define EVEN_AT_4 "(%[high],%[pitch])"
#define EVEN_AT_5 "(%[high],%[pitch],2)"
// Pixel i's element at `at` bytes times a row of the panel. (Compilers would make six pointers of the addresses.)
#define EVEN_PIXEL(i, at)                                                                                                                    \
  if (i < mr) {                                                                                                                              \
    __asm__ volatile("vbroadcastss " at EVEN_AT_##i ", %[x]" : [x] "=v"(x) : [low] "r"(low), [high] "r"(high), [pitch] "r"(pitch) : "memory"); \
    RIDGE_UNROLL_ALL                                                                                                                         \
    for (int v = 0; v < nv; v++) RIDGE_MAC_REGISTER(acc[i][v], bv[v], x);                                                                    \
  }
#define EVEN_ELEMENT(e, at)                                                                                     \
  do {                                                                                                          \
    mv bv[RIDGE_NV], x;                                                                                         \
    RIDGE_UNROLL_ALL                                                                                            \
    for (int v = 0; v < nv; v++) RIDGE_BRING(bv[v], *(const mv_any *)(b + ((e) * nv + v) * VL));                \
    EVEN_PIXEL(0, at) EVEN_PIXEL(1, at) EVEN_PIXEL(2, at) EVEN_PIXEL(3, at) EVEN_PIXEL(4, at) EVEN_PIXEL(5, at) \
  } while (0)
#define EVEN_ONE_BY_ONE(n)                                             \
  for (; n > 0; n--) {                                                 \
    EVEN_ELEMENT(0, "0");                                              \
    low += sizeof(me), high += sizeof(me), b += nv * VL;               \
    __asm__ volatile("" : "+r"(n), "+r"(b), "+r"(low), "+r"(high));    \
  }
#define EVEN_SUMS(i, v)            \
  RIDGE_UNROLL_ALL                 \
  for (int i = 0; i < mr; i++)     \
    RIDGE_UNROLL_ALL               \
    for (int v = 0; v < nv; v++)

// Bytes from one of mr pixels to the next, if they lie at even distances; else 0.
RIDGE_INLINE int64_t even_pitch(int64_t mr, const char *const *pixel) {
  const int64_t pitch = pixel[1] - pixel[0];
  int64_t off = 0;
  for (int64_t i = 2; i < mr; i++) off |= pixel[i] - pixel[i - 1] - pitch;
  return off ? 0 : pitch;
}

// t->tiles times mr pixels, t->down bytes apart, each times t->panels panels. asks: lines from t->ahead on are asked for meanwhile. plain: no bias, no
// residual, no activation.
RIDGE_INLINE RIDGE_VT void even_tiles(const int mr, const int nv, const int asks, const int plain, const tile *t, const int64_t pitch) {
  const int64_t side = nv * VL * (int64_t)sizeof(yt);
  const ridge_conv_args *a = t->a;
  const int64_t row = a->K * (int64_t)sizeof(yt), run = t->run, panels = t->panels, all = panels * run * nv * VL;
  const int64_t two = !plain && mr == RIDGE_MR && nv == RIDGE_NV && run >= 2 ? 2 : 0; // elements behind the bias: the same bits as tile_rows
  const int64_t pace = 4 * t->pace, rest = (two + (run - two) % 4) * t->pace;
  const int64_t next_x = t->down, next_y = mr * row - panels * side;
  const char *low = t->pixel[0] + t->from * (int64_t)sizeof(me), *high = low + 3 * pitch, *ahead = t->ahead, *y = (const char *)((const yt *)a->y + t->at);
  const char *residual = a->residual ? (const char *)((const yt *)a->residual + t->at) : NULL;
  const yt *bias = a->bias ? (const yt *)a->bias + t->k : NULL;
  const me *b = t->panel;
  const int act = a->act == RIDGE_ACT_RELU, far = t->far;
  for (int64_t tiles = t->tiles, left = panels; tiles > 0;) {
    if (far) { // the lines that are written next
      const char *line = y + (left > 1 ? side : next_y + side);
      RIDGE_UNROLL_ALL
      for (int i = 0; i < mr; i++, line += row) {
        RIDGE_UNROLL_ALL
        for (int v = 0; v < nv; v++) __builtin_prefetch(line + v * 64, 1);
      }
    }
    mv acc[RIDGE_MR][RIDGE_NV];
    EVEN_SUMS(i, v) acc[i][v] = (mv){0};
    int64_t n = run - two;
    for (; n >= 4; n -= 4) {
      if (asks) {
        __builtin_prefetch(ahead);
        __builtin_prefetch(ahead + pace / 2);
        ahead += pace;
      }
      EVEN_ELEMENT(0, "0");
      EVEN_ELEMENT(1, "4");
      EVEN_ELEMENT(2, "8");
      EVEN_ELEMENT(3, "12");
      low += 4 * sizeof(me), high += 4 * sizeof(me), b += 4 * nv * VL;
      __asm__ volatile("" : "+r"(n), "+r"(b), "+r"(low), "+r"(high), "+r"(ahead));
      EVEN_SUMS(i, v) __asm__ volatile("" : "+v"(acc[i][v])); // else gcc moves some of them about
    }
    EVEN_ONE_BY_ONE(n);
    if (!plain && bias) {
      RIDGE_UNROLL_ALL
      for (int v = 0; v < nv; v++) {
        const mv one = load_out(bias + v * VL);
        RIDGE_UNROLL_ALL
        for (int i = 0; i < mr; i++) acc[i][v] = plus(acc[i][v], one);
      }
      bias += nv * VL;
    }
    if (two) {
      n = two;
      EVEN_ONE_BY_ONE(n);
    }
    if (!plain && residual) {
      const char *from = residual;
      RIDGE_UNROLL_ALL
      for (int i = 0; i < mr; i++, from += row) {
        RIDGE_UNROLL_ALL
        for (int v = 0; v < nv; v++) acc[i][v] = plus(acc[i][v], load_out((const yt *)from + v * VL));
      }
      residual += side;
    }
    if (!plain && act) EVEN_SUMS(i, v) acc[i][v] = activate(acc[i][v], RIDGE_ACT_RELU);
    char *to = (char *)y;
    RIDGE_UNROLL_ALL
    for (int i = 0; i < mr; i++, to += row) store_pixel((yt *)to, nv, acc[i]);
    low -= run * (int64_t)sizeof(me), high -= run * (int64_t)sizeof(me), y += side, ahead += rest;
    if (--left == 0) {
      low += next_x, high += next_x, y += next_y, b -= all, left = panels, tiles--;
      if (!plain && bias) bias -= panels * nv * VL;
      if (!plain && residual) residual += next_y;
    }
    __asm__ volatile("" : "+r"(low), "+r"(high), "+r"(y), "+r"(b) : : "memory");
  }
}
#define EVEN(mr, nv, asks, plain) \
  __attribute__((noinline)) RIDGE_VT static void even_##mr##_##nv##_##asks##_##plain(const tile *t, int64_t pitch) { even_tiles(mr, nv, asks, plain, t, pitch); }
#define EVEN_ENDS(mr, nv) EVEN(mr, nv, 0, 0) EVEN(mr, nv, 0, 1) EVEN(mr, nv, 1, 0) EVEN(mr, nv, 1, 1)
EVEN_ENDS(5, 3) EVEN_ENDS(5, 4) EVEN_ENDS(6, 3) EVEN_ENDS(6, 4)
#define EVEN_NAMES(mr, nv) {{even_##mr##_##nv##_0_0, even_##mr##_##nv##_0_1}, {even_##mr##_##nv##_1_0, even_##mr##_##nv##_1_1}}
typedef void (*even_fn)(const tile *, int64_t);
static const even_fn even_table[2][2][2][2] = {{EVEN_NAMES(5, 3), EVEN_NAMES(5, 4)}, {EVEN_NAMES(6, 3), EVEN_NAMES(6, 4)}};

// Whether tiles of mr pixels by so many vectors go this way; 0, or the pixels' distance.
RIDGE_INLINE int64_t even_can(int64_t mr, int64_t nv, const tile *t) {
  return mr >= EVEN_PIXELS && nv >= EVEN_VECTORS && t->taps == 1 && !t->keep && !t->tail && !t->add ? even_pitch(mr, t->pixel) : 0;
}
RIDGE_INLINE void run_even(int64_t mr, int64_t nv, const tile *t, int64_t pitch) {
  const ridge_conv_args *a = t->a;
  even_table[mr - EVEN_PIXELS][nv - EVEN_VECTORS][t->pace > 0][!a->bias && !a->residual && a->act == RIDGE_ACT_NONE](t, pitch);
}
