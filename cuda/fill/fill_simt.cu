// Inputs as a function: element i of a tensor is a pure function of (key, i), bit-equal to
// goharness/op.FillValue and native/fill. Storage is rows of row elements, ld apart; padding and
// guards are set by memset before.
//
// One thread an element, striding over the grid. About 20 integer multiply-adds of 64 bits an
// element bind, not the store; a 64-bit division where rows are padded. It runs before timing only.
#include "ridge_narrow.cuh"

enum { UNIFORM, POSITIVE, BYTES, CHASE, WIDE, BALANCED, SCALES, WEIGHTS };       // op.Fill
enum { D_FP64, D_FP32, D_FP16, D_BF16, D_INT8, D_UINT8, D_INT32, D_INT64, D_FP8E4M3 }; // cuda/fill/fill.go

__device__ __forceinline__ uint64_t mix64(uint64_t x) {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9ull;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebull;
  return x ^ x >> 31;
}

__device__ __forceinline__ uint64_t hash(uint64_t key, int64_t i) {
  return mix64(key + ((uint64_t)i + 1) * 0x9E3779B97F4A7C15ull);
}

__device__ __forceinline__ double random_value(uint64_t h, int64_t kind) {
  switch (kind) {
    case BYTES: return (double)(signed char)(h >> 56);
    case POSITIVE: return 0.5 + (double)(h >> 41) * 0x1p-23;
    case WIDE: return ((double)(h >> 40) * 0x1p-23 - 1) * 8;
  }
  return (double)(h >> 40) * 0x1p-23 - 1;
}

// Integers that are never 0 and sum to 0 (goharness/op.balanced says why and how).
__device__ int64_t balanced_value(uint64_t key, int64_t n, int64_t range, int64_t i) {
  int64_t c = n - n / 3 - n / 19, alone = -1;
  if (n % 2 == 0) {
    c = (c | 1) % n;
  } else {
    alone = c % n;
    c = 2 * alone % n;
  }
  int64_t j = c - i, d = i - alone;
  if (j < 0) j += n;
  if (alone >= 0 && n > 1) {
    if (d == 0) return 2;
    if (d == 1 || d == 1 - n) return 1;
    if (d == -1 || d == n - 1) return -3;
  }
  const int64_t r1 = ((range - 1) | 1) + 1;
  int64_t v = 2 * (int64_t)((hash(key, i < j ? i : j) >> 32) * (uint64_t)r1 >> 32) - (r1 - 1);
  return j < i ? -v : v;
}

// The value of element i of n, before rounding to dtype.
__device__ double fill_value(uint64_t key, int64_t n, int64_t range, int64_t dtype, int64_t kind, int64_t integer, int64_t i) {
  uint64_t h = hash(key, i);
  if (kind == SCALES) // near 2^-range
    return integer ? ldexp(0.5, -(int)((h >> 32) * 3 >> 32)) : ldexp(random_value(h, POSITIVE), -(int)range);
  if (!integer) {
    if (kind == BYTES && dtype == D_UINT8) return (double)(h >> 56);
    if (kind == WEIGHTS) return ldexp(random_value(h, UNIFORM), -(int)range);
    return random_value(h, kind);
  }
  if (dtype == D_UINT8) return (double)((h >> 32) * (uint64_t)(range + 1) >> 32);
  if (kind == POSITIVE) return (double)(1 + ((h >> 32) * (uint64_t)range >> 32));
  if (kind == BALANCED) return (double)balanced_value(key, n, range, i);
  return (double)((int64_t)((h >> 32) * (uint64_t)(2 * range + 1) >> 32) - range);
}

RIDGE_KERNEL(fill_simt, 256)
(void *ptr, int64_t rows, int64_t row, int64_t ld, uint64_t key, int64_t range, int64_t dtype, int64_t kind, int64_t integer) {
  const int64_t n = rows * row;
  for (int64_t i = global_thread(); i < n; i += all_threads()) {
    const double v = fill_value(key, n, range, dtype, kind, integer, i);
    const int64_t o = ld == row ? i : i / row * ld + i % row;
    // Random values have at most 24 significant bits: float holds them, and the conversion to
    // 16 bits is the only rounding. Integers are rounded to even; uint8 has no negative ones.
    switch (dtype) {
      case D_FP64: ((double *)ptr)[o] = v; break;
      case D_FP32: ((float *)ptr)[o] = (float)v; break;
      case D_FP16: ((ridge_fp16 *)ptr)[o] = element<ridge_fp16>::store((float)v); break;
      case D_BF16: ((ridge_bf16 *)ptr)[o] = element<ridge_bf16>::store((float)v); break;
      case D_FP8E4M3: ((ridge_e4m3 *)ptr)[o] = element<ridge_e4m3>::store((float)v); break;
      case D_INT8: ((signed char *)ptr)[o] = (signed char)rint(v); break;
      case D_UINT8: ((unsigned char *)ptr)[o] = v > 0 ? (unsigned char)rint(v) : 0; break;
      case D_INT32: ((int32_t *)ptr)[o] = (int32_t)rint(v); break;
      default: ((int64_t *)ptr)[o] = (int64_t)rint(v);
    }
  }
}
RIDGE_ENTRY(fill_simt)

// A bijection of 0..n-1 (op.feistel): four rounds on the next power of four, walked until inside.
__device__ uint64_t feistel(uint64_t key, uint64_t n, uint64_t x) {
  unsigned half = 1;
  while (1ull << (2 * half) < n) half++;
  const uint64_t mask = (1ull << half) - 1;
  do {
    uint64_t l = x >> half, r = x & mask;
    for (uint64_t i = 0; i < 4; i++) {
      uint64_t next = l ^ (mix64(key + i * 0x9E3779B97F4A7C15ull + r) & mask);
      l = r, r = next;
    }
    x = l << half | r;
  } while (x >= n);
  return x;
}

// One random cycle through all 64-byte lines of n int64 elements: the line at position p of the
// permutation links to the line at position p + 1. Other words are 0, so is a last part of a line.
RIDGE_KERNEL(fill_simt_chase, 256)(int64_t *out, int64_t n, uint64_t key) {
  const int64_t lines = n / 8;
  for (int64_t p = global_thread(); p < lines; p += all_threads()) {
    const uint64_t at = feistel(key, lines, p), next = feistel(key, lines, (uint64_t)(p + 1) % lines);
    out[at * 8] = (int64_t)next * 8;
    for (int w = 1; w < 8; w++) out[at * 8 + w] = 0;
  }
  for (int64_t w = lines * 8 + global_thread(); w < n; w += all_threads()) out[w] = 0;
}
RIDGE_ENTRY(fill_simt_chase)
