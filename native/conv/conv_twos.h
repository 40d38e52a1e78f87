// The last elements of a tile on AVX2 (in conv_tile.h): by pairs of pixels over three elements, each pair to its end and to y before the next
// one. On Zen 3 stores beside multiply-adds take their place unless they are spread among them: 12 behind a tile cost 19 to 25 cycles, four
// behind each 12 multiply-adds none or one (gemm_exact.h has the table). The bias is added from memory, where loads have room.
#define CONV_TWOS
enum { TWOS_ELEMENTS = 3 };

// One element of one pixel: in one piece of assembly, in this order (why: gemm_exact.h).
RIDGE_INLINE RIDGE_VT void twos_row(mv acc[RIDGE_NV], const me_any *p, const mv bv[RIDGE_NV]) {
  mv x;
  __asm__("vbroadcastss %3, %2\n\tvfmadd231ps %4, %2, %0\n\tvfmadd231ps %5, %2, %1"
          : "+&x"(acc[0]), "+&x"(acc[1]), "=&x"(x)
          : "m"(*p), "x"(bv[0]), "x"(bv[1]));
}

// One tap's elements, as tile_tap. The count ends at 0, and empty instructions hide it and the pointers from gcc, which would make more of
// them and spill.
RIDGE_INLINE RIDGE_VT const me *twos_tap(const int mr, const char *const *pixel, int64_t offset, int64_t run, const me *b, mv acc[RIDGE_MR][RIDGE_NV]) {
  const me_any *p[RIDGE_MR];
  RIDGE_UNROLL_ALL
  for (int i = 0; i < mr; i++) {
    p[i] = (const me_any *)(pixel[i] + offset) + run;
    __asm__("" : "+r"(p[i]));
  }
#define TWOS_STEP(q)                                                                                 \
  do {                                                                                               \
    const mv bv[RIDGE_NV] = {*(const mv_any *)(b + (q) * NR), *(const mv_any *)(b + (q) * NR + VL)}; \
    RIDGE_UNROLL_ALL                                                                                 \
    for (int i = 0; i < mr; i++) twos_row(acc[i], p[i] + e + (q), bv);                               \
  } while (0)
  int64_t e = -run;
  for (; e <= -4; e += 4, b += 4 * NR) {
    TWOS_STEP(0);
    TWOS_STEP(1);
    TWOS_STEP(2);
    TWOS_STEP(3);
    __asm__ volatile("" : "+r"(e), "+r"(b));
  }
  for (; e < 0; e++, b += NR) {
    TWOS_STEP(0);
    __asm__ volatile("" : "+r"(e), "+r"(b));
  }
#undef TWOS_STEP
  return b;
}

// Bias, residual and activation of pixels lo .. hi-1, channel k on; returns the residual's next pixel.
RIDGE_INLINE RIDGE_VT const yt *twos_finish(const ridge_conv_args *a, int64_t k, const int lo, const int hi, const yt *residual, mv acc[RIDGE_MR][RIDGE_NV]) {
  if (a->bias) {
    RIDGE_UNROLL_ALL
    for (int v = 0; v < RIDGE_NV; v++) {
      const mv bias = load_out((const yt *)a->bias + k + v * VL);
      RIDGE_UNROLL_ALL
      for (int r = lo; r < hi; r++) acc[r][v] = plus(acc[r][v], bias);
    }
  }
  if (residual) {
    RIDGE_UNROLL_ALL
    for (int r = lo; r < hi; r++, residual += a->K) {
      RIDGE_UNROLL_ALL
      for (int v = 0; v < RIDGE_NV; v++) acc[r][v] = plus(acc[r][v], load_out(residual + v * VL));
    }
  }
  if (a->act == RIDGE_ACT_RELU) {
    RIDGE_UNROLL_ALL
    for (int r = lo; r < hi; r++) {
      RIDGE_UNROLL_ALL
      for (int v = 0; v < RIDGE_NV; v++) acc[r][v] = activate(acc[r][v], RIDGE_ACT_RELU);
    }
  }
  return residual;
}

// The last elements of a tile, b of theirs, `from` bytes behind where the last tap's pixels point; the result to place `at`, channel k, of y.
RIDGE_INLINE RIDGE_VT void twos_end(const int mr, const tile *t, const char *const *pixel, int64_t from, const me *b, int64_t k, int64_t at,
                                    mv acc[RIDGE_MR][RIDGE_NV]) {
  const ridge_conv_args *a = t->a;
  const int64_t K = a->K;
  const yt *residual = a->residual ? (const yt *)a->residual + at : NULL;
  yt *y = (yt *)a->y + at;
  RIDGE_UNROLL_ALL
  for (int i = 0; i < mr; i += 2) {
    const int end = i + 2 < mr ? i + 2 : mr;
    RIDGE_UNROLL_ALL
    for (int e = 0; e < TWOS_ELEMENTS; e++) {
      const mv bv[RIDGE_NV] = {*(const mv_any *)(b + e * NR), *(const mv_any *)(b + e * NR + VL)};
      RIDGE_UNROLL_ALL
      for (int r = i; r < end; r++) twos_row(acc[r], (const me_any *)(pixel[r] + from) + e, bv);
    }
    if (t->add) {
      RIDGE_UNROLL_ALL
      for (int r = i; r < end; r++) {
        RIDGE_UNROLL_ALL
        for (int v = 0; v < RIDGE_NV; v++) acc[r][v] = plus(acc[r][v], *(const mv_any *)(t->sums + r * NR + v * VL));
      }
    }
    residual = twos_finish(a, k, i, end, residual, acc);
    RIDGE_UNROLL_ALL
    for (int r = i; r < end; r++, y += K) store_pixel(y, RIDGE_NV, acc[r]);
    __asm__ volatile("" : "+r"(b), "+r"(y) : : "memory"); // pairs in this order
  }
}

// A tile times `panels` panels that follow each other, or, where `down` is not 0, so many tiles of pixels that lie `down` bytes on times one panel: little
// stands between the end of one and the multiply-adds of the next.
RIDGE_INLINE RIDGE_VT void twos_tiles(const int mr, const tile *t) {
  const me *b = t->panel;
  int64_t k = t->k, at = t->at, from = t->from * (int64_t)sizeof(me);
  const int64_t right = t->down ? mr * t->a->K : NR;
  for (int64_t left = t->panels; left > 0; left--) {
    mv acc[RIDGE_MR][RIDGE_NV];
    RIDGE_UNROLL_ALL
    for (int i = 0; i < mr; i++) {
      RIDGE_UNROLL_ALL
      for (int v = 0; v < RIDGE_NV; v++) acc[i][v] = (mv){0};
    }
    if (t->far) { // the lines that are written next
      const yt *y = (const yt *)t->a->y + at + (left > 1 ? right : t->next);
      RIDGE_UNROLL_ALL
      for (int i = 0; i < mr; i++, y += t->a->K) __builtin_prefetch(y, 1);
    }
    if (t->a->residual) {
      const yt *r = (const yt *)t->a->residual + at;
      RIDGE_UNROLL_ALL
      for (int i = 0; i < mr; i++, r += t->a->K) __builtin_prefetch(r);
    }
    const char *const *pixel = t->pixel;
    int64_t offset = from;
    for (int64_t taps = t->taps; taps > 1; taps--, pixel += t->advance, offset += t->pitch) b = twos_tap(mr, pixel, offset, t->run, b, acc);
    b = twos_tap(mr, pixel, offset, t->run - TWOS_ELEMENTS, b, acc);
    twos_end(mr, t, pixel, offset + (t->run - TWOS_ELEMENTS) * (int64_t)sizeof(me), b, k, at, acc);
    at += right;
    if (t->down) from += t->down, b = t->panel;
    else k += NR, b += TWOS_ELEMENTS * NR;
  }
}

// Bytes from one of six pixels to the next, if they lie at even distances and each tap `pitch` behind the one before; else 0.
RIDGE_INLINE int64_t twos_pitch(const tile *t) {
  const int64_t pitch = t->pixel[1] - t->pixel[0];
  int even = t->run > TWOS_ELEMENTS && (t->taps == 1 || t->advance == 0);
  for (int i = 2; i < 6; i++) even &= t->pixel[i] - t->pixel[i - 1] == pitch;
  return even ? pitch : 0;
}

// As twos_tiles, six pixels `pitch` bytes apart: three addresses lead to all six, so that four elements take 84 instructions, 80 of which do the work.
// Counted by single steps, a tile of 64 elements takes 1468, with six pointers 1528. Where another thread has the other half of the core each counts: it takes in
// six a cycle for both, and an element's 12 multiply-adds come with 8 loads. Preconditions: twos_pitch; t->add and t->keep are 0.
RIDGE_VT __attribute__((noinline, unused)) static void twos_six(const tile *t, int64_t pitch) {
  const ridge_conv_args *a = t->a;
  const int64_t K = a->K, right = t->down ? 6 * K : NR, body = t->run - TWOS_ELEMENTS, rest = t->pitch - t->run * (int64_t)sizeof(me);
  const char *pixel = t->pixel[0] + t->from * (int64_t)sizeof(me);
  const me *panel = t->panel;
  int64_t k = t->k, at = t->at;
  for (int64_t left = t->panels; left > 0; left--) {
    if (t->far) { // the lines that are written next
      const yt *y = (const yt *)a->y + at + (left > 1 ? right : t->next);
      RIDGE_UNROLL_ALL
      for (int i = 0; i < 6; i++, y += K) __builtin_prefetch(y, 1);
    }
    if (a->residual) {
      const yt *r = (const yt *)a->residual + at;
      RIDGE_UNROLL_ALL
      for (int i = 0; i < 6; i++, r += K) __builtin_prefetch(r);
    }
    mv acc[6][RIDGE_NV], x, b0, b1;
    const char *low = pixel, *high = pixel + 3 * pitch;
    const me *b = panel;
    int64_t taps = t->taps, n = taps > 1 ? t->run - 1 : body - 1;
#define SIX_ROW(op, place, s0, s1) "vbroadcastss " place ", %[x]\n\t" op " %[b0], %[x], %" s0 "\n\t" op " %[b1], %[x], %" s1 "\n\t"
#define SIX_STEP(op, e, at0, at1)                                                                                        \
  "vmovups " at0 "(%[b]), %[b0]\n\tvmovups " at1 "(%[b]), %[b1]\n\t"                                                   \
  SIX_ROW(op, e "(%[low])", "0", "1") SIX_ROW(op, e "(%[low],%[pitch])", "2", "3") SIX_ROW(op, e "(%[low],%[pitch],2)", "4", "5") \
  SIX_ROW(op, e "(%[high])", "6", "7") SIX_ROW(op, e "(%[high],%[pitch])", "8", "9") SIX_ROW(op, e "(%[high],%[pitch],2)", "10", "11")
    // The first element starts the sums; then, of each tap, four at a time and what is left one by one; of the last tap all but TWOS_ELEMENTS.
    __asm__ volatile(SIX_STEP("vmulps", "0", "0", "32") "add $4, %[low]\n\tadd $4, %[high]\n\tadd $64, %[b]\n\t"
                     "0:\n\tsub $4, %[n]\n\tjl 2f\n\t.p2align 5\n1:\n\t"
                     SIX_STEP("vfmadd231ps", "0", "0", "32") SIX_STEP("vfmadd231ps", "4", "64", "96")
                     SIX_STEP("vfmadd231ps", "8", "128", "160") SIX_STEP("vfmadd231ps", "12", "192", "224")
                     "add $16, %[low]\n\tadd $16, %[high]\n\tadd $256, %[b]\n\tsub $4, %[n]\n\tjge 1b\n2:\n\t"
                     "add $4, %[n]\n\tjz 4f\n3:\n\t"
                     SIX_STEP("vfmadd231ps", "0", "0", "32") "add $4, %[low]\n\tadd $4, %[high]\n\tadd $64, %[b]\n\tsub $1, %[n]\n\tjg 3b\n4:\n\t"
                     "sub $1, %[taps]\n\tjz 5f\n\tadd %[rest], %[low]\n\tadd %[rest], %[high]\n\tmov %[run], %[n]\n\tcmp $1, %[taps]\n\tjne 0b\n\t"
                     "sub %[last], %[n]\n\tjmp 0b\n5:"
                     : "=&x"(acc[0][0]), "=&x"(acc[0][1]), "=&x"(acc[1][0]), "=&x"(acc[1][1]), "=&x"(acc[2][0]), "=&x"(acc[2][1]), "=&x"(acc[3][0]),
                       "=&x"(acc[3][1]), "=&x"(acc[4][0]), "=&x"(acc[4][1]), "=&x"(acc[5][0]), "=&x"(acc[5][1]), [x] "=&x"(x), [b0] "=&x"(b0),
                       [b1] "=&x"(b1), [low] "+&r"(low), [high] "+&r"(high), [b] "+&r"(b), [n] "+&r"(n), [taps] "+&r"(taps)
                     : [pitch] "r"(pitch), [rest] "r"(rest), [run] "m"(t->run), [last] "i"(TWOS_ELEMENTS)
                     : "memory", "cc");
#undef SIX_ROW
#undef SIX_STEP
    yt *y = (yt *)a->y + at;
    const yt *residual = a->residual ? (const yt *)a->residual + at : NULL;
    RIDGE_UNROLL_ALL
    for (int i = 0; i < 6; i += 2, low += 2 * pitch) {
      RIDGE_UNROLL_ALL
      for (int e = 0; e < TWOS_ELEMENTS; e++) {
        const mv bv[RIDGE_NV] = {*(const mv_any *)(b + e * NR), *(const mv_any *)(b + e * NR + VL)};
        twos_row(acc[i], (const me_any *)low + e, bv);
        twos_row(acc[i + 1], (const me_any *)(low + pitch) + e, bv);
      }
      residual = twos_finish(a, k, i, i + 2, residual, acc);
      RIDGE_UNROLL_ALL
      for (int r = i; r < i + 2; r++, y += K) store_pixel(y, RIDGE_NV, acc[r]);
      __asm__ volatile("" : "+r"(b), "+r"(y), "+r"(low) : : "memory"); // pairs in this order
    }
    at += right;
    if (t->down) pixel += t->down;
    else k += NR, panel += t->taps * t->run * NR;
  }
}
