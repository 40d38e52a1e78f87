// Tiles of AMX: eight registers of 16 rows x 64 bytes (palette 1). With RIDGE_AMX_MODEL they are an array, which TILE_STATE declares
// in the function that uses them. Products are the includer's: they differ by type; their models are the ridge_tile_dot_ functions here.
//
// Inline assembly, because gcc 12 lacks the fp16 instructions of the set. Source: Intel 64 and IA-32 SDM.
#ifndef RIDGE_AMX_H
#define RIDGE_AMX_H

#include <stdint.h>
#include <string.h>

#if defined(RIDGE_AMX_MODEL)
#define TILE_STATE uint32_t tiles[8][16][16];
#define TILE_ZERO(d) memset(tiles[d], 0, 1024)
#define TILE_LOAD(d, p, stride) \
  for (int r_ = 0; r_ < 16; r_++) memcpy(tiles[d][r_], (const char *)(p) + r_ * (stride), 64)
#define TILE_LOAD_T1 TILE_LOAD
#define TILE_STORE(d, p, stride) \
  for (int r_ = 0; r_ < 16; r_++) memcpy((char *)(p) + r_ * (stride), tiles[d][r_], 64)
#define TILE_BEGIN
#define TILE_END

// The loops of models' products are built without the sanitizers' checks, which took most of the time of the sanitized tests: all that they touch are whole tiles.
#define TILE_PLAIN static __attribute__((noinline, unused, no_sanitize("address", "undefined")))

// The two bf16 halves of each of a tile's units, the lower ones first.
TILE_PLAIN void ridge_tile_bf16(float halves[2][16][16], uint32_t tile[16][16], int rows) {
  for (int r = 0; r < rows; r++)
    for (int u = 0; u < 16; u++) {
      const uint32_t low = tile[r][u] << 16, high = tile[r][u] & 0xffff0000u;
      memcpy(&halves[0][r][u], &low, 4);
      memcpy(&halves[1][r][u], &high, 4);
    }
}

// d[m][n] += a[.][m][k] * b[.][k][n] over the units k, of each the lower half first; rows of d and a.
TILE_PLAIN void ridge_tile_dot_halves(uint32_t d[16][16], float a[2][16][16], float b[2][16][16], int rows) {
  for (int m = 0; m < rows; m++) {
    float s[16];
    memcpy(s, d[m], 64);
    for (int k = 0; k < 16; k++)
      for (int h = 0; h < 2; h++)
        for (int n = 0; n < 16; n++) s[n] += a[h][m][k] * b[h][k][n];
    memcpy(d[m], s, 64);
  }
}
TILE_PLAIN void ridge_tile_dot_bf16(uint32_t d[16][16], uint32_t a[16][16], uint32_t b[16][16], int rows) {
  float x[2][16][16], y[2][16][16];
  ridge_tile_bf16(x, a, rows);
  ridge_tile_bf16(y, b, 16);
  ridge_tile_dot_halves(d, x, y, rows);
}

// The same of four bytes a unit, b's signed, modulo 2^32.
TILE_PLAIN void ridge_tile_dot_bytes(uint32_t d[16][16], uint32_t a[16][16], int a_signed, uint32_t b[16][16], int rows) {
  int16_t y[4][16][16];
  for (int k = 0; k < 16; k++)
    for (int q = 0; q < 4; q++)
      for (int n = 0; n < 16; n++) y[q][k][n] = (int8_t)(b[k][n] >> 8 * q);
  for (int m = 0; m < rows; m++)
    for (int k = 0; k < 16; k++)
      for (int q = 0; q < 4; q++) {
        const int16_t x = a_signed ? (int8_t)(a[m][k] >> 8 * q) : (uint8_t)(a[m][k] >> 8 * q);
        for (int n = 0; n < 16; n++) d[m][n] += (uint32_t)(int32_t)(int16_t)(x * y[q][k][n]); // 255 * -128 fits
      }
}
#else
#define TILE_STATE
#define TILE_ZERO(d) __asm__ volatile("tilezero %%tmm" #d ::)
#define TILE_LOAD(d, p, stride) \
  __asm__ volatile("tileloadd (%0,%1,1), %%tmm" #d ::"r"(p), "r"((int64_t)(stride)) : "memory")
// With a hint that keeps what is in L1 there.
#define TILE_LOAD_T1(d, p, stride) \
  __asm__ volatile("tileloaddt1 (%0,%1,1), %%tmm" #d ::"r"(p), "r"((int64_t)(stride)) : "memory")
#define TILE_STORE(d, p, stride) \
  __asm__ volatile("tilestored %%tmm" #d ", (%0,%1,1)" ::"r"(p), "r"((int64_t)(stride)) : "memory")

// Tiles are configured per thread: `rows` rows in all but tmm6 and tmm7, which have 16.
static inline void ridge_amx_configure_rows(int rows) {
  struct {
    uint8_t palette, start, reserved[14];
    uint16_t colsb[16];
    uint8_t rows[16];
  } t __attribute__((aligned(64)));
  memset(&t, 0, sizeof t);
  t.palette = 1;
  for (int i = 0; i < 8; i++) t.colsb[i] = 64, t.rows[i] = (uint8_t)(i >= 6 ? 16 : rows);
  __asm__ volatile("ldtilecfg %0" ::"m"(t) : "memory");
}
static inline void ridge_amx_configure(void) { ridge_amx_configure_rows(16); }

static inline uint64_t ridge_amx_time(void) {
  uint32_t low, high;
  __asm__ volatile("lfence\n\trdtsc\n\tlfence" : "=a"(low), "=d"(high)::"memory");
  return (uint64_t)high << 32 | low;
}
// Whether registers are renamed from few now, as they are while another thread has the core's other half (docs/kernels/gemm.md, Emerald Rapids): two steps of
// 2x2 tiles in all eight registers, 8 products and 8 loads, against 8 products in four, the shorter of two turns each: 205 to 225 and 175 to
// 180 ticks of 2.1 GHz, or 355 to 370 and 190. About 1 us. For a thread whose tile unit is at work: the first products after a pause take thousands of cycles. Leaves the tiles configured for 16 rows and cleared. It may
// tell wrong: it is for choices between orders that give the same.
#define AMX_ON(d, x, y) "tdpbssd %%tmm" #y ", %%tmm" #x ", %%tmm" #d "\n\t"
#define AMX_FROM(x) "tileloadd (%0,%1,1), %%tmm" #x "\n\t"
#define AMX_MANY AMX_FROM(4) AMX_FROM(6) AMX_ON(0, 4, 6) AMX_FROM(5) AMX_ON(1, 5, 6) AMX_FROM(7) AMX_ON(2, 5, 7) AMX_ON(3, 4, 7)
#define AMX_FEW AMX_ON(0, 4, 6) AMX_ON(1, 4, 6) AMX_ON(0, 4, 6) AMX_ON(1, 4, 6)
static inline int ridge_amx_crowded(void) {
  char row[64] __attribute__((aligned(64)));
  uint64_t many = UINT64_MAX, few = UINT64_MAX;
  memset(row, 0, sizeof row);
  ridge_amx_configure();
  for (int i = 0; i < 2; i++) {
    uint64_t t = ridge_amx_time();
    __asm__ volatile(AMX_MANY AMX_MANY ::"r"(row), "r"((int64_t)0) : "memory");
    t = ridge_amx_time() - t;
    if (t < many) many = t;
  }
  __asm__ volatile("tilerelease" :::);
  ridge_amx_configure();
  __asm__ volatile(AMX_FROM(4) AMX_FROM(6)::"r"(row), "r"((int64_t)0) : "memory");
  for (int i = 0; i < 2; i++) {
    uint64_t t = ridge_amx_time();
    __asm__ volatile(AMX_FEW AMX_FEW :::);
    t = ridge_amx_time() - t;
    if (t < few) few = t;
  }
  __asm__ volatile("tilerelease" :::);
  ridge_amx_configure();
  return 2 * many > 3 * few;
}
#define TILE_BEGIN ridge_amx_configure();
#define TILE_END __asm__ volatile("tilerelease" :::);
#endif

#endif
