// A block of values at a time (template): FILL_F(name), FILL_TARGET. No include guard.
//
// Every value but those of FILL_BALANCED and FILL_SCALES takes the upper 32 bits of its hash alone, and is an integer of at most 24 bits times a
// unit: loops over a block without a branch, which the compiler makes vectors of. Kind and format are asked once a block and not for each element.
// One thread of an Emerald Rapids core, ns an element of fp32, bf16, fp16 and int8 (uniform, random): an element at a time 2.1, 3.3, 3.9, 1.2 (bytes);
// SSE2 1.6, 1.5, 3.2, 1.3; AVX2 1.1, 1.1, 2.2, 1.0; AVX-512 0.66, 0.55, 0.67, 0.51 (beside other work).

// The upper halves of the hashes of n elements from i0 on.
FILL_TARGET static inline void FILL_F(upper)(uint32_t *restrict hi, uint64_t key, int64_t i0, int32_t n) {
  uint64_t at = key + ((uint64_t)i0 + 1) * RIDGE_GOLDEN;
  for (int32_t j = 0; j < n; j++) {
    hi[j] = (uint32_t)(ridge_mix64(at) >> 32);
    at += RIDGE_GOLDEN;
  }
}

// floor(h m / 2^32) + c.
FILL_TARGET static inline void FILL_F(scaled)(int32_t *restrict k, const uint32_t *restrict hi, int32_t n, uint32_t m, int32_t c) {
  for (int32_t j = 0; j < n; j++) k[j] = (int32_t)((uint64_t)hi[j] * m >> 32) + c;
}

// Writes n <= FILL_BLOCK elements to row, which may have any alignment that its elements allow.
FILL_TARGET static void FILL_F(block)(const ridge_fill_args *a, const fill_case *f, char *row, int64_t i0, int32_t n) {
  uint32_t hi[FILL_BLOCK] __attribute__((aligned(64)));
  int32_t k[FILL_BLOCK] __attribute__((aligned(64)));
  FILL_F(upper)(hi, a->key, i0, n);
  if (f->multiple)
    FILL_F(scaled)(k, hi, n, f->multiple, f->plus);
  else if (f->shift == 24)
    for (int32_t j = 0; j < n; j++) k[j] = (int32_t)hi[j] >> 24;
  else
    for (int32_t j = 0; j < n; j++) k[j] = (int32_t)(hi[j] >> f->shift) + f->plus;
  const float unit = f->unit;
#define FILL_STORE(type, expr) \
  for (int32_t j = 0; j < n; j++) ((type *)row)[j] = (expr)
  switch (a->dtype) {
    case RIDGE_D_FP64: FILL_STORE(double, (double)((float)k[j] * unit)); break;
    case RIDGE_D_FP32: FILL_STORE(float, (float)k[j] * unit); break;
    case RIDGE_D_FP16: FILL_STORE(uint16_t, finite_to_fp16((float)k[j] * unit)); break;
    case RIDGE_D_BF16: FILL_STORE(uint16_t, finite_to_bf16((float)k[j] * unit)); break;
    case RIDGE_D_INT8:
    case RIDGE_D_UINT8: FILL_STORE(uint8_t, (uint8_t)k[j]); break;
    case RIDGE_D_INT32: FILL_STORE(int32_t, k[j]); break;
    default: FILL_STORE(int64_t, k[j]);
  }
#undef FILL_STORE
}
