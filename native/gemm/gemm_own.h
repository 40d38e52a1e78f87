// Exact tiles that pack B themselves (template, in gemm_driver.h, for variants with GEMM_EXACT): each thread has a
// part of C to itself and packs all that it needs, so no thread waits for another.
//
//   each thread of a tm x tn grid, for its rows by MC:
//     packs A[ic:ic+MC, :], block after block of K (a block in L2)
//     for its columns by groups of four panels, for pc in K by KC:
//       for panels of A, for the group's panels of B (L2): the tile; beside its multiply-adds it packs its part of the next
//       group. The first group, and every group where the rows are few, is packed by the first row of tiles, which reads B where
//       it lies (gemm_exact.h), while the lines of the next panel are asked for
//
// A panel of A is read from L2 once for four tiles, a group's panels stay in L2 for MC/MR tiles. B is read
// from memory once for every MC rows, which the multiply-adds hide from 16 rows on. The group's columns of
// C stay in L2 while K advances. On Zen 4, fp32 1024^3 on one thread, of the FMA probe: Goto's loops with
// shared packed B 0.87 to 0.89, this with all of A packed at once (L3) 0.87, MC = 128, KC = 512 0.98.
// On Zen 5, with two multiply-adds a cycle, a first row of tiles that waits for L3 costs twice as much: packing beside, 24 rows of B asked
// for ahead instead of a panel (of 512 lines 4 KiB apart an L2 of 16 ways holds half), 2048^3 1.06 times as fast.

// How a team shares C: a thread's work is its tiles, packing its rows of A (as 16 columns) and reading its
// columns of B (as 8 rows).
RIDGE_INLINE void GEMM_F(own_grid)(const ridge_gemm_args *g, int nthreads, int *tm, int *tn) {
  const int64_t panels = (g->N + GEMM_NR - 1) / GEMM_NR;
  int64_t best = INT64_MAX;
  *tm = nthreads, *tn = 1;
  for (int m = 1; m <= nthreads; m++) {
    const int n = nthreads / m;
    const int64_t rows = (g->M + m - 1) / m, cols = (panels + n - 1) / n * GEMM_NR, cost = rows * (cols + 16) + cols * 8;
    if (cost < best) best = cost, *tm = m, *tn = n;
  }
}

// A group of B that tiles of the group before pack beside their multiply-adds, panel after panel (or, where B comes packed beforehand,
// ask for). The rows of B that a chunk reads were asked for GEMM_BESIDE_AHEAD units before.
#define GEMM_BESIDE_AHEAD 24
// Where one tile of 6 rows meets packed B, it asks for what it reads itself so many bytes later: Zen 3, 4x4096x4096 1.1 times as fast as with the next group.
#define GEMM_GIVEN_AHEAD 1024
// Rows up to which nothing is asked for. On Granite Rapids a single stream that is not asked for reads 12.5 GB/s, asked for 2 KiB ahead or more 27.
#ifdef GEMM_COVE
#define GEMM_GIVEN_FEW 0
#else
#define GEMM_GIVEN_FEW (GEMM_MR == 6 ? 2 : 4)
#endif
// Where rows of B lie pages apart a panel of them, asked for ahead, takes all the ways of its sets in L2: fresh tiles ask for rows of the same panel there, as
// the tiles that pack beside do. Emerald Rapids, one thread, 16 rows ahead and 32: 7x2048x2048 1.10, 1.12, 16x1024x1024 1.05 both, 32x2048x512 1.13, 1.10; where L2 holds all
// of B 0.96 to 0.99.
#if defined(GEMM_COVE) && GEMM_SAME
#define GEMM_OWN_NEAR(g) ((g)->ldb * (int64_t)sizeof(GEMM_TB) % 4096 == 0 && (g)->K * (g)->N * (int64_t)sizeof(GEMM_TB) > 1 << 20)
#else
#define GEMM_OWN_NEAR(g) 0
#endif
typedef struct GEMM_F(beside) {
  const GEMM_TB *b; // the panel that is being packed, in memory
  char *to;         // and packed; NULL: B is packed
  int64_t ldb, units, panels; // panels: left, with this one
  int64_t panel;    // bytes of a packed panel
  int64_t at;       // units of the panel that are done
  int64_t chunk;    // units for a tile
  int fast;         // packed B, by four units at a time
  int runs;         // fast, and the lines of these from as many parts of what is asked for
} GEMM_F(beside);

// Asks for packed panels at b, of so many elements of B in all and for m rows of C, beside the tiles of a block of so many rows and panels: as a
// run of memory, in even parts. Few tiles have to ask for much, which is worth it for B in memory: where the caches of the chip hold it (16 MiB, as in gemm_thin.h) the hardware's
// prefetchers do as well, and asking costs up to 4 rows a third of the rate; so it does beyond them (Zen 4, packed B of 64 MiB, one thread: 2 rows 0.63, 4 rows 0.89 of what
// they have without).
// runs (ridge_ctx; 0 or 1: no): a core that reads several runs of memory faster than one is asked for a line of as many parts of the block as four units have lines (8). Ice Lake, one
// thread, packed B of 4096x4096, of the rate without: fp32 1 and 2 rows 1.08 to 1.13, 4 1.19 to 1.21, 8 1.25 to 1.27, 16 1.20, 24 1.22, 32 1.11 to 1.29, 48 1.11; fp64 1 row
// 1.06, 4 1.24, 8 1.31, 16 1.20; bf16 2 1.01, 4 1.15, 6 1.24, 16 1.24; int8 (8192x8192) 4 0.96 to 1.08, 8 1.24 to 1.27, 16 1.14 to 1.18; of 1 and 2 rows of int8 it is not done.
RIDGE_INLINE void GEMM_F(beside_given)(GEMM_F(beside) *s, int runs, int64_t m, int64_t elements, const char *b, int64_t bytes, int64_t rows, int64_t panels) {
  const int64_t tiles = (rows + GEMM_MR - 1) / GEMM_MR;
  s->fast = tiles < 5 || rows / tiles < GEMM_BESIDE_ROWS;
  if (s->fast && (m <= (runs > 1 ? gemm_min(GEMM_GIVEN_FEW, 2) : GEMM_GIVEN_FEW) || elements * (int64_t)sizeof(GEMM_UNIT) / GEMM_PK <= 16 << 20)) return;
  s->b = (const GEMM_TB *)b, s->panels = 1, s->runs = s->fast && GEMM_ASKS_PARTS && runs > 1;
  s->units = bytes / ((s->fast ? 4 : 1) * GEMM_NV * GEMM_VEC);
  s->chunk = (s->units + tiles * panels - 1) / (tiles * panels);
}

// What the next tile does.
RIDGE_INLINE GEMM_F(source) GEMM_F(beside_next)(GEMM_F(beside) *s) {
  GEMM_F(source) from = {.b = s->b + s->at * GEMM_PK * s->ldb, .ldb = s->ldb, .units = gemm_min(s->chunk, s->units - s->at), .to = s->to};
  if (s->to) {
    from.to = s->to + s->at * GEMM_NV * GEMM_VEC;
    const int64_t turn = s->units - GEMM_BESIDE_AHEAD; // from here on rows of the next panel are asked for
    if (s->at < turn) {
      from.units = gemm_min(from.units, turn - s->at);
      from.ahead = GEMM_BESIDE_AHEAD * GEMM_PK * s->ldb;
    } else if (s->panels > 1 && turn > 0) {
      from.ahead = GEMM_NR - turn * GEMM_PK * s->ldb;
    }
  } else {
    const int64_t step = (s->fast ? 4 : 1) * GEMM_NV * GEMM_VEC;
    from.ahead = s->fast;
    from.ldb = s->runs ? s->units * 64 : 0;
    from.b = (const GEMM_TB *)((const char *)s->b + s->at * (s->runs ? 64 : step));
  }
  s->at += from.units;
  if (s->at == s->units) s->at = 0, s->panels--, s->b += GEMM_NR, s->to += s->to ? s->panel : 0;
  return from;
}

// Where the rows of C from i on of the block lie at column jr: the sums of K blocks, else the result.
RIDGE_INLINE void GEMM_F(own_soon)(const ridge_gemm_args *g, const GEMM_F(block) *k, int64_t i, int64_t jr, GEMM_F(source) *from) {
  from->soon = NULL;
  if (k->acc) {
    from->soon = (const char *)(k->acc + i * k->acc_ld + jr);
    from->down = k->acc_ld * (int64_t)sizeof(GEMM_S);
  } else if (!g->scale) {
    from->soon = (const char *)((const GEMM_TC *)g->C + (k->i0 + i) * g->ldc + k->j0 + jr);
    from->down = g->ldc * (int64_t)sizeof(GEMM_TC);
  }
}

// Tiles of one block. b: its corner of B, with so many whole units of K, or NULL where B is packed; next: elements from the block's corner of
// B to what is read after it, 0 for nothing. s: what is done beside.
GEMM_NOINLINE void GEMM_F(own_block)(const ridge_gemm_args *g, GEMM_F(block) *k, const GEMM_TB *b, int64_t units,
                                     int64_t next, GEMM_F(beside) *s) {
  const int64_t tiles = (k->rows + GEMM_MR - 1) / GEMM_MR;
  for (int64_t t = 0; t < tiles; t++) {
    const GEMM_F(place) place = GEMM_F(place_of)(k, t);
    int64_t jr = 0;
#ifdef GEMM_EXACT_RUNS
    if (!(b && t == 0) && s->panels == 0 && k->acc && (!k->last || k->plain) && k->kc >= GEMM_LAST && k->ahead.left == 0 && k->cols >= GEMM_NR) {
      jr = k->cols / GEMM_NR * GEMM_NR;
      GEMM_F(runs)[place.m](k->kc, place.a, k->b, k->acc + place.ir * k->acc_ld, k->acc_ld, !k->first, jr / GEMM_NR);
    }
#endif
    for (; jr < k->cols; jr += GEMM_NR) {
      gemm_ahead_step(&k->ahead);
      const int64_t left = k->cols - jr;
      const int fresh = b && t == 0 && left >= GEMM_NR;
      GEMM_F(source) from = {0};
      if (fresh) {
        const int64_t panel = left >= 2 * GEMM_NR ? GEMM_NR : next ? next - jr : 0;
        from.b = b + jr, from.ldb = g->ldb, from.ahead = GEMM_OWN_NEAR(g) ? GEMM_BESIDE_AHEAD * GEMM_PK * g->ldb : panel, from.units = units;
      } else if (s->panels > 0 && (!GEMM_LYING || left >= GEMM_NR)) { // tail_tile does nothing beside
        from = GEMM_F(beside_next)(s);
      }
      // Where C comes from afar, the next tile's is asked for.
      if (k->far && (left > GEMM_NR || t + 1 < tiles))
        GEMM_F(own_soon)(g, k, left > GEMM_NR ? place.ir : place.ir + place.m, left > GEMM_NR ? jr + GEMM_NR : 0, &from);
      from.a_down = k->a_down;
      GEMM_F(one_tile)(g, k, &place, jr, fresh, &from);
    }
  }
  if (s->to)
    while (s->panels > 0) { // for what the tiles had no room
      GEMM_F(source) from = GEMM_F(beside_next)(s);
      for (; from.units > 0; from.units--, from.b += GEMM_PK * from.ldb, from.to += GEMM_NV * GEMM_VEC)
        GEMM_F(fresh_row)((GEMM_F(vec) *)from.to, from.b, from.ldb);
    }
}

// Tiles of a block whose panels of B the team has packed (the loops of gemm_driver.h): by groups of four panels, while tiles of 14 rows
// ask for the next group; behind the last the first, for the next rows.
GEMM_INLINE void GEMM_F(own_groups)(const ridge_gemm_args *g, int runs, const GEMM_F(block) *block) {
  for (int64_t j = 0; j < block->cols; j += GEMM_GROUP) {
    GEMM_F(block) k = *block;
    GEMM_F(beside) s;
    memset(&s, 0, sizeof s);
    k.j0 += j, k.cols = gemm_min(GEMM_GROUP, block->cols - j);
    k.b += j / GEMM_NR * k.b_panel;
    if (k.acc) k.acc += j;
    k.far = 1;
#ifndef GEMM_EXACT_RUNS // they ask for nothing: the hardware follows a group, which is a run of memory
    const int64_t next = j + GEMM_GROUP < block->cols ? j + GEMM_GROUP : 0;
    GEMM_F(beside_given)(&s, runs, g->M, g->K * g->N, block->b + next / GEMM_NR * k.b_panel, (gemm_min(GEMM_GROUP, block->cols - next) + GEMM_NR - 1) / GEMM_NR * k.b_panel,
                         k.rows, (k.cols + GEMM_NR - 1) / GEMM_NR);
#endif
    GEMM_F(own_block)(g, &k, NULL, 0, 0, &s);
  }
}

// What of a group no tile packs: units of K with rows missing, a panel with columns missing.
GEMM_INLINE void GEMM_F(own_edges)(const ridge_gemm_args *g, const GEMM_TB *b, char *to, int64_t cols, int64_t kc) {
  const int64_t whole = cols / GEMM_NR * GEMM_NR, units = kc / GEMM_PK, panel = GEMM_B_PANEL(gemm_ceil(kc, GEMM_KU));
  if (units * GEMM_PK < kc)
    for (int64_t jr = 0; jr < whole; jr += GEMM_NR)
      GEMM_F(pack_b)(to + jr / GEMM_NR * panel + units * GEMM_NV * GEMM_VEC, b + units * GEMM_PK * g->ldb + jr, g->ldb, 0, GEMM_NR, kc - units * GEMM_PK);
  if (whole < cols) GEMM_F(pack_b)(to + whole / GEMM_NR * panel, b + whole, g->ldb, 0, cols - whole, kc);
}

GEMM_NOINLINE int GEMM_F(run_own)(const ridge_gemm_args *g, const ridge_ctx *ctx, const GEMM_F(plan) *p) {
  int tm, tn;
  GEMM_F(own_grid)(g, ctx->nthreads, &tm, &tn);
  if (ctx->tid >= tm * tn) return RIDGE_OK;
  int64_t r0, r1, from, to;
  ridge_share(g->M, 1, ctx->tid / tn, tm, &r0, &r1);
  ridge_share(g->N, GEMM_NR, ctx->tid % tn, tn, &from, &to);
  char *ws = ctx->workspace, *b_pack = ws + ctx->tid * p->b_bytes;
  char *a_pack = ws + p->a_at + ctx->tid * p->a_bytes;
  GEMM_S *acc = p->acc_ld ? (GEMM_S *)(ws + p->acc_at + ctx->tid * p->acc_bytes) : NULL;
  GEMM_F(block) k;
  memset(&k, 0, sizeof k);
  k.plain = GEMM_C_IS_S && GEMM_F(plain)(g);
  k.padded = !GEMM_F(in_c)(g);
  k.b = b_pack;
  int turn = 0, ready = 0; // which half of b_pack holds the group; whether the tiles of the group before have packed it
  const int64_t step = gemm_block(r1 - r0, p->rows, 1);
  for (int64_t ic = r0; ic < r1; ic += step) {
    k.i0 = ic, k.rows = gemm_min(step, r1 - ic);
    const int64_t tiles = (k.rows + GEMM_MR - 1) / GEMM_MR;
    for (int64_t pc = 0, at = 0; !GEMM_LYING && pc < g->K; pc += p->kc) {
      const int64_t kc = gemm_min(p->kc, g->K - pc), panel = GEMM_A_PANEL(gemm_ceil(kc, GEMM_KU));
      for (int64_t t = 0; t < tiles; t++, at += panel) {
        int m;
        const int64_t i = ic + GEMM_F(tile_at)(k.rows, t, &m);
        GEMM_F(pack_a)(a_pack + at, (const GEMM_TA *)g->A + i * g->lda + pc, g->lda, m, kc);
      }
    }
    for (int64_t j = from; j < to; j += GEMM_GROUP) {
      k.j0 = j, k.cols = gemm_min(GEMM_GROUP, to - j);
      k.acc = acc, k.acc_ld = p->acc_ld;
      if (GEMM_F(in_c)(g)) k.acc_ld = g->ldc, k.acc = (GEMM_S *)g->C + ic * g->ldc + j;
      k.a = a_pack;
      for (int64_t pc = 0; pc < g->K; pc += p->kc) {
        const int64_t kc = gemm_min(p->kc, g->K - pc);
        k.kc = gemm_ceil(kc, GEMM_KU);
        k.a_panel = GEMM_A_PANEL(k.kc), k.b_panel = GEMM_B_PANEL(k.kc);
        k.first = pc == 0, k.last = pc + kc >= g->K, k.far = k.first;
        if (GEMM_LYING) GEMM_F(lying)(g, &k, pc);
        // What comes next: the next block of K, else the next group, else the first for the next rows.
        const int64_t npc = k.last ? 0 : pc + kc, nj = !k.last ? j : j + k.cols < to ? j + k.cols : from;
        const int more = !k.last || j + k.cols < to || ic + step < r1;
        const GEMM_TB *here = (const GEMM_TB *)g->B + (g->trans_b ? j * g->ldb + pc : pc * g->ldb + j);
        k.ahead.left = 0;
        GEMM_F(beside) s;
        memset(&s, 0, sizeof s);
        const int64_t room = (tiles - 1) * (k.kc / GEMM_PK / 4); // units that the tiles of a panel but one have room for: chunk at most each
        const int64_t ncols = gemm_min(GEMM_GROUP, to - nj), nkc = gemm_min(p->kc, g->K - npc), nunits = nkc / GEMM_PK;
        const int beside = more && !g->packing && !g->trans_b && k.rows / tiles >= GEMM_BESIDE_ROWS && tiles > 1 && room >= nunits;
        if (beside) {
          s.ldb = g->ldb, s.units = nunits, s.panels = ncols / GEMM_NR, s.panel = GEMM_B_PANEL(gemm_ceil(nkc, GEMM_KU));
          s.chunk = (nunits + tiles - 2) / (tiles - 1);
        }
        if (g->packing) {
          k.b = GEMM_F(given)(g, p, pc, j);
          const int64_t panels = (k.cols + GEMM_NR - 1) / GEMM_NR;
          if (GEMM_MR == 6 && tiles == 1)
            GEMM_F(beside_given)(&s, 0, g->M, g->K * g->N, k.b + GEMM_GIVEN_AHEAD, panels * k.b_panel, k.rows, panels);
          else if (more)
            GEMM_F(beside_given)(&s, ctx->runs, g->M, g->K * g->N, GEMM_F(given)(g, p, npc, nj), (ncols + GEMM_NR - 1) / GEMM_NR * GEMM_B_PANEL(gemm_ceil(nkc, GEMM_KU)), k.rows, panels);
          GEMM_F(own_block)(g, &k, NULL, 0, 0, &s);
        } else if (!g->trans_b) {
          k.b = b_pack + turn * (p->b_bytes / 2);
          if (!ready) GEMM_F(own_edges)(g, here, k.b, k.cols, kc);
          if (beside) {
            s.b = (const GEMM_TB *)g->B + npc * g->ldb + nj, s.to = b_pack + (turn ^ 1) * (p->b_bytes / 2);
            GEMM_F(own_edges)(g, s.b, s.to, ncols, nkc);
            for (int64_t r = 0; r < gemm_min(GEMM_BESIDE_AHEAD * GEMM_PK, nkc) && s.panels > 0; r++)
              for (int l = 0; l < GEMM_NR * (int)sizeof(GEMM_TB); l += 64) __builtin_prefetch((const char *)(s.b + r * g->ldb) + l + 63, 0, 2);
          }
          GEMM_F(own_block)(g, &k, ready ? NULL : here, kc / GEMM_PK, more && !beside ? (npc - pc) * g->ldb + nj - j : 0, &s);
          ready = beside, turn ^= beside;
        } else {
          GEMM_F(pack_b)(b_pack, here, g->ldb, g->trans_b, k.cols, kc);
          const GEMM_TB *next = (const GEMM_TB *)g->B + (g->trans_b ? nj * g->ldb + npc : npc * g->ldb + nj);
          const int64_t n = ncols, ks = nkc, b = sizeof(GEMM_TB);
          const int64_t steps = tiles * ((k.cols + GEMM_NR - 1) / GEMM_NR);
          if (more)
            k.ahead = g->trans_b ? gemm_ahead_of(next, g->ldb * b, n, ks * b, steps)
                                 : gemm_ahead_of(next, g->ldb * b, ks, n * b, steps);
          GEMM_F(own_block)(g, &k, NULL, 0, 0, &s);
        }
        k.a += tiles * k.a_panel;
      }
    }
  }
  return RIDGE_OK;
}
