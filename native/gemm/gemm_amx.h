// The register tile on AMX (part of gemm_dot.h): 32 x 32 of C in four tile registers of 16
// rows x 64 bytes, two of A, one of B in turn (gemm_tiles.h). Per 64 bytes of K: 4 tile loads and 4 tile products of
// 16 cycles each, so the product unit binds (loads take 8 cycles each, on two ports).
//
// A is packed per 64 bytes of K as 32 rows of 64 bytes, B as two tiles of 16 rows of 16 units (side by side, a tile every other 64 bytes, strips
// had 0.05 less of the probe). Tiles: ridge_amx.h; tdpfp16ps is spelled in bytes for older assemblers.
#define GEMM_END_IN_MEMORY
#ifdef GEMM_MODEL
#define RIDGE_AMX_MODEL
#endif
#include "../include/ridge_amx.h"

#ifdef GEMM_MODEL
#if GEMM_KIND == GEMM_AMX_INT8
#define TILE_DOT(d, x, y) ridge_tile_dot_bytes(tiles[d], tiles[x], GEMM_A_SIGNED, tiles[y], 16)
#elif GEMM_KIND == GEMM_AMX_BF16
#define TILE_DOT(d, x, y) ridge_tile_dot_bf16(tiles[d], tiles[x], tiles[y], 16)
#else
#define TILE_DOT(d, x, y) GEMM_F(tile_dot)(tiles[d], tiles[x], tiles[y])

GEMM_INLINE void GEMM_F(tile_dot)(uint32_t d[16][16], uint32_t a[16][16], uint32_t b[16][16]) {
  float x[2][16][16], y[2][16][16];
  for (int h = 0; h < 2; h++)
    for (int r = 0; r < 16; r++)
      for (int u = 0; u < 16; u++) {
        x[h][r][u] = GEMM_LOADS((uint16_t)(a[r][u] >> 16 * h));
        y[h][r][u] = GEMM_LOADS((uint16_t)(b[r][u] >> 16 * h));
      }
  ridge_tile_dot_halves(d, x, y, 16);
}
#endif
#else
#if GEMM_KIND == GEMM_AMX_BF16
#define TILE_DOT(d, x, y) __asm__ volatile("tdpbf16ps %%tmm" #y ", %%tmm" #x ", %%tmm" #d ::)
#elif GEMM_KIND == GEMM_AMX_FP16 // VEX.128.F2.0F38.W0 5C: ModRM.reg d, ModRM.rm x, vvvv (inverted) y
#define TILE_DOT(d, x, y) \
  __asm__ volatile(".byte 0xc4, 0xe2, %c0, 0x5c, %c1" ::"i"((~(y)&15) << 3 | 3), "i"(0xc0 | (d) << 3 | (x)))
#elif GEMM_A_SIGNED
#define TILE_DOT(d, x, y) __asm__ volatile("tdpbssd %%tmm" #y ", %%tmm" #x ", %%tmm" #d ::)
#else
#define TILE_DOT(d, x, y) __asm__ volatile("tdpbusd %%tmm" #y ", %%tmm" #x ", %%tmm" #d ::)
#endif

#endif
#define GEMM_BEGIN TILE_BEGIN
#define GEMM_END TILE_END

// 32 rows in slices of 64 bytes of K, zeros beyond rows and kc.
GEMM_NOINLINE void GEMM_F(pack_a)(void *to, const GEMM_TA *a, int64_t lda, int64_t rows, int64_t kc) {
  char *dst = to;
  for (int64_t k = 0; k < kc; k += GEMM_KU)
    for (int i = 0; i < GEMM_MR; i++, dst += 64) {
      const size_t n = i < rows ? (size_t)gemm_min(GEMM_KU, kc - k) * sizeof(GEMM_TA) : 0;
      if (n == 64) {
        memcpy(dst, a + i * lda + k, 64);
        continue;
      }
      memset(dst, 0, 64);
      if (n) memcpy(dst, a + i * lda + k, n);
    }
}

GEMM_NOINLINE void GEMM_F(tile)(int64_t kc, const void *ap, const void *bp, GEMM_S *c, int64_t ldc, int add, const GEMM_F(end) *end) {
  (void)end; // tile registers go through memory: gemm_driver.h gives none
  const char *a = ap, *b = bp;
  GEMM_S *c1 = c + 16 * ldc;
  TILE_STATE
  if (add) {
    TILE_LOAD(0, c, ldc * 4);
    TILE_LOAD(1, c + 16, ldc * 4);
    TILE_LOAD(2, c1, ldc * 4);
    TILE_LOAD(3, c1 + 16, ldc * 4);
  } else {
    TILE_ZERO(0);
    TILE_ZERO(1);
    TILE_ZERO(2);
    TILE_ZERO(3);
  }
  for (int64_t k = 0; k < kc; k += GEMM_KU, a += 2048, b += 2048) {
    TILE_LOAD(4, a, 64);
    TILE_LOAD(6, b, 64);
    TILE_DOT(0, 4, 6);
    TILE_LOAD(5, a + 1024, 64);
    TILE_DOT(2, 5, 6);
    TILE_LOAD(6, b + 1024, 64);
    TILE_DOT(3, 5, 6);
    TILE_DOT(1, 4, 6);
  }
  TILE_STORE(0, c, ldc * 4);
  TILE_STORE(1, c + 16, ldc * 4);
  TILE_STORE(2, c1, ldc * 4);
  TILE_STORE(3, c1 + 16, ldc * 4);
}

