// Inputs as a function: element i of a tensor is a pure function of (key, i), bit-equal to
// goharness/op.FillValue. The constants are SplitMix64's (Stafford variant 13).
#ifndef RIDGE_FILL_H
#define RIDGE_FILL_H

#include "ridge_half.h"

enum { RIDGE_FILL_UNIFORM = 0, RIDGE_FILL_POSITIVE = 1, RIDGE_FILL_BYTES = 2, RIDGE_FILL_CHASE = 3, RIDGE_FILL_WIDE = 4,
       RIDGE_FILL_BALANCED = 5, RIDGE_FILL_SCALES = 6, RIDGE_FILL_WEIGHTS = 7 };
enum { RIDGE_D_FP64, RIDGE_D_FP32, RIDGE_D_FP16, RIDGE_D_BF16, RIDGE_D_INT8, RIDGE_D_UINT8, RIDGE_D_INT32, RIDGE_D_INT64 };

typedef struct ridge_fill_args {
  void *ptr;           // first logical element
  int64_t rows, row, ld; // storage: rows of row elements, ld apart
  uint64_t key;
  int64_t range; // integer mode: {-range..range}; balanced: the odd ones; scales: the exponent in every mode; weights: in random mode
  int32_t dtype; // RIDGE_D_*
  int32_t kind;  // RIDGE_FILL_*
  int32_t integer;
  int32_t poison; // >= 0: write poison pattern 0 or 1 instead of values; -1: values
  int64_t guard;  // bytes of poison kept before and after the storage
} ridge_fill_args;

RIDGE_INLINE uint64_t ridge_mix64(uint64_t x) {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9ull;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebull;
  return x ^ x >> 31;
}

#define RIDGE_GOLDEN 0x9E3779B97F4A7C15ull

RIDGE_INLINE uint64_t ridge_hash(uint64_t key, int64_t i) {
  return ridge_mix64(key + ((uint64_t)i + 1) * RIDGE_GOLDEN);
}

#endif
