// Stores of one row of a transpose's stage (step 2 of transpose_tile.h) with AVX2.
#define ELEMENTS(bytes) ((int64_t)((bytes) / sizeof(T)))

static inline void no_fence(void) {}

TARGET static inline void row_ordinary(T *y, const T *x, int64_t n) {
  int64_t i = 0;
  for (; i + ELEMENTS(32) <= n; i += ELEMENTS(32))
    _mm256_storeu_si256((__m256i *)(y + i), _mm256_load_si256((const __m256i *)(x + i)));
  for (; i < n; i++) {
    y[i] = x[i];
    MEMORY_OPAQUE();
  }
}

// Whole lines go around the caches, the ragged ends of a row through them.
TARGET static inline void row_nt(T *y, const T *x, int64_t n) {
  int64_t i = 0, head = (int64_t)(-((uintptr_t)y / sizeof(T)) % (RIDGE_CACHE_LINE / sizeof(T)));
  for (; i < head && i < n; i++) {
    y[i] = x[i];
    MEMORY_OPAQUE();
  }
  for (; i + ELEMENTS(64) <= n; i += ELEMENTS(64)) {
    _mm256_stream_si256((__m256i *)(y + i), _mm256_loadu_si256((const __m256i *)(x + i)));
    _mm256_stream_si256((__m256i *)(y + i + ELEMENTS(32)), _mm256_loadu_si256((const __m256i *)(x + i + ELEMENTS(32))));
  }
  for (; i < n; i++) {
    y[i] = x[i];
    MEMORY_OPAQUE();
  }
}
