// B packed for tiles (template, in gemm_dot.h): a panel of 32 columns as [16 units of K][two tiles][16 units][16 columns], zeros beyond K and the
// columns. 64 bytes of K are 16 units. From B[K,N] 16-bit numbers take 2 loads, 2 shuffles and 2 stores for two units of 16 columns, bytes 4 loads,
// 14 shuffles and 2 stores; B[N,K] is turned by 16 x 16 units, 16 loads, 64 shuffles and 16 stores for 1 KiB.

// Unit rows of both tiles from GEMM_PK rows of B[K,N].
GEMM_INLINE void GEMM_F(unit_rows)(uint32_t *dst, const GEMM_TB *b, int64_t ld) {
#if defined(GEMM_MODEL)
  for (int t = 0; t < 2; t++)
    for (int j = 0; j < 16; j++) memcpy(dst + t * 256 + j, (GEMM_TB[]){b[t * 16 + j], b[ld + t * 16 + j], b[(GEMM_PK - 2) * ld + t * 16 + j], b[(GEMM_PK - 1) * ld + t * 16 + j]}, 4);
#elif GEMM_FLOAT
  const __m512i x = _mm512_loadu_si512(b), y = _mm512_loadu_si512(b + ld), zip = _mm512_set_epi16(47, 15, 46, 14, 45, 13, 44, 12, 43, 11, 42, 10, 41, 9, 40, 8, 39, 7, 38, 6, 37, 5, 36, 4, 35, 3, 34, 2, 33, 1, 32, 0);
  _mm512_store_si512(dst, _mm512_permutex2var_epi16(x, zip, y));
  _mm512_store_si512(dst + 256, _mm512_permutex2var_epi16(x, _mm512_add_epi16(zip, _mm512_set1_epi16(16)), y));
#else
  // Four columns to each quarter of a vector, then bytes and pairs of bytes side by side.
  const __m512i first = _mm512_set_epi32(3, 3, 3, 3, 2, 2, 2, 2, 1, 1, 1, 1, 0, 0, 0, 0);
  __m512i r[4];
  for (int q = 0; q < 4; q++) r[q] = _mm512_castsi256_si512(_mm256_loadu_si256((const __m256i *)(b + q * ld)));
  for (int t = 0; t < 2; t++) {
    const __m512i at = _mm512_add_epi32(first, _mm512_set1_epi32(4 * t));
    const __m512i lo = _mm512_unpacklo_epi8(_mm512_permutexvar_epi32(at, r[0]), _mm512_permutexvar_epi32(at, r[1]));
    const __m512i hi = _mm512_unpacklo_epi8(_mm512_permutexvar_epi32(at, r[2]), _mm512_permutexvar_epi32(at, r[3]));
    _mm512_store_si512(dst + t * 256, _mm512_unpacklo_epi16(lo, hi));
  }
#endif
}

// Units of up to 16 rows of B[N,K] side by side, 16 of them; ks elements of K are there.
GEMM_INLINE void GEMM_F(turn_tile)(uint32_t *dst, const GEMM_TB *b, int64_t ld, int64_t rows, int64_t ks) {
  if (rows >= 16 && ks >= GEMM_KU) {
    GEMM_F(turn16)(dst, (const char *)b, ld * (int64_t)sizeof(GEMM_TB), 0, 16, 16);
    return;
  }
  GEMM_TB t[16][GEMM_KU];
  memset(t, 0, sizeof t);
  for (int64_t i = 0; i < gemm_min(16, rows); i++) memcpy(t[i], b + i * ld, (size_t)gemm_min(ks, GEMM_KU) * sizeof(GEMM_TB));
  GEMM_F(turn16)(dst, (const char *)t, sizeof t[0], 0, 16, 16);
}

GEMM_NOINLINE void GEMM_F(pack_b)(void *to, const GEMM_TB *b, int64_t ldb, int trans, int64_t cols, int64_t kc) {
  uint32_t *dst = to;
  for (int64_t j = 0; j < cols; j += GEMM_NR)
    for (int64_t k = 0; k < kc; k += GEMM_KU, dst += 512) {
      const int64_t w = cols - j, ks = gemm_min(GEMM_KU, kc - k);
      if (trans) {
        for (int64_t t = 0; t < 2; t++)
          if (w > t * 16) GEMM_F(turn_tile)(dst + t * 256, b + (j + t * 16) * ldb + k, ldb, w - t * 16, ks);
          else memset(dst + t * 256, 0, 1024);
        continue;
      }
      const GEMM_TB *src = b + k * ldb + j;
      for (int64_t u = 0; u < 16; u++, src += GEMM_PK * ldb) {
        const int64_t left = ks - u * GEMM_PK;
        if (w >= GEMM_NR && left >= GEMM_PK) {
          GEMM_F(unit_rows)(dst + u * 16, src, ldb);
          continue;
        }
        for (int64_t t = 0; t < 2; t++) GEMM_F(interleave_edge)(dst + t * 256 + u * 16, src + t * 16, ldb, 16, w - t * 16, left);
      }
    }
}
