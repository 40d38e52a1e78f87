// The body of swiglu_DTYPE_simt.cu: Y[M,N] = silu(X[M,K]·G[N,K]ᵀ) ∘ (X[M,K]·U[N,K]ᵀ), row-major; sums in fp32.
// FLOP: 4·M·N·K + 6·M·N. Bytes: X and both weights once, Y once.
//
// A tile of 128 columns holds 64 of the gate and, behind them, the same 64 of up: a thread's second group of columns is the
// other half of its first, so both sums of an output meet in one thread. Counts as for products of 128 × 128 (ridge_product.cuh).
#ifndef RIDGE_SWIGLU_SIMT_CUH
#define RIDGE_SWIGLU_SIMT_CUH

#include "ridge_act.cuh"
#include "ridge_product.cuh"

template <class E> __device__ __forceinline__ void swiglu_block(int64_t m, int64_t n, int64_t k, const E *a, const E *gate, const E *up, E *c) {
  typedef Tile<SumFloat, 128, 128, 8> T;
  constexpr int HALF = T::COLS / 2;
  const int64_t across = n > 0 ? (n + HALF - 1) / HALF : 1;
  const int64_t row0 = blockIdx.x / across * T::ROWS, col0 = blockIdx.x % across * HALF;
  float acc[T::RM][T::RN] = {};
  T::product(
      k, true, true, [&](int r, int64_t kk) { return row0 + r < m && kk < k ? load(a[(row0 + r) * k + kk]) : 0; },
      [&](int j, int64_t kk) {
        const int64_t col = col0 + j % HALF;
        return col < n && kk < k ? load((j < HALF ? gate : up)[col * k + kk]) : 0;
      },
      [](int64_t) {}, acc);
#pragma unroll
  for (int i = 0; i < T::RM; i++)
#pragma unroll
    for (int j = 0; j < T::RN / 2; j++) {
      const int64_t row = row0 + T::row(i), col = col0 + T::col(j);
      if (row < m && col < n) c[row * n + col] = element<E>::store(silu(acc[i][j]) * acc[i][j + T::RN / 2]);
    }
}

#define RIDGE_SWIGLU(entry, E)                                                                                          \
  RIDGE_KERNEL(entry, 256)(int64_t m, int64_t n, int64_t k, const E *a, const E *gate, const E *up, E *c) {             \
    swiglu_block(m, n, k, a, gate, up, c);                                                                              \
  }                                                                                                                     \
  RIDGE_ENTRY(entry)

#endif
