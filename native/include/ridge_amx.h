// Tiles of AMX: eight registers of 16 rows x 64 bytes (palette 1). With RIDGE_AMX_MODEL they are an array, which TILE_STATE declares
// in the function that uses them. Products are the includer's: they differ by type.
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
#define TILE_BEGIN ridge_amx_configure();
#define TILE_END __asm__ volatile("tilerelease" :::);
#endif

#endif
