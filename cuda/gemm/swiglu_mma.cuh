// The body of swiglu_DTYPE_sm80.cu: Y[M,N] = silu(X[M,K]·G[N,K]ᵀ) ∘ (X[M,K]·U[N,K]ᵀ) on tensor cores, row-major; sums in fp32. K is a multiple of 16
// bytes (mma.go asks). FLOP: 4·M·N·K + 6·M·N. Bytes: X and both weights once, Y once.
//
// A warp's 64 columns are 32 of the gate and, behind them, the same 32 of up, so that both sums of an output pass through the same line of shared memory and
// one lane multiplies them. Counts as for products of 128 × 128 and 128 × 256 (gemm_mma.cuh), a row's end: some 45 instructions for 32 outputs
// (one exponential and one division each) against 160 a stage: 0.14 of the issue slots at K = 1024. 64 bytes of Y leave at once.
// Disassembled (sm_80), a stage and warp: 64 mma of 150 instructions, wide 137. 244 registers, no spill.
// Predicted of the roof on an H200 at 4096 × 14336 × 4096: 0.48 to 0.55, as the product of 4096 × 28672 × 4096. not yet measured.
#ifndef RIDGE_SWIGLU_MMA_CUH
#define RIDGE_SWIGLU_MMA_CUH

#include "ridge_act.cuh"
#include "ridge_mma_output.cuh"

template <class P, class E, int... SIZES> struct MmaSwiglu : MmaTile<P, true, SIZES...> {
  typedef MmaTile<P, true, SIZES...> T;
  static constexpr int HALF = T::PER * 16; // columns of a warp's outputs
  static __device__ __forceinline__ void block(int64_t m, int64_t n, int64_t k, const E *x, const E *gate, const E *up, E *y) {
    if (m == 0 || n == 0) return;
    const TilePlace tile = tile_place(blockIdx.x, m, n, T::ROWS, T::COLS / 2);
    float acc[T::RM][T::RN][4] = {};
    const RowsAlong<P, T::MOVED_B, T::THREADS / 4> weights([&](int r) {
      const int64_t column = min(tile.column + r / (2 * HALF) * HALF + r % HALF, n - 1);
      return (r / HALF % 2 ? up : gate) + column * k;
    });
    T::product(k, T::source_a(x + tile.row * k, k, m - tile.row), weights, acc);
    T::template each<true>(acc, [&](int r, int j, const Run<float, 2> &v) {
      const int64_t row = tile.row + r, column = tile.column + j;
      if (row < m && column < n) y[row * n + column] = element<E>::store(silu(v.at[0]) * v.at[1]);
    });
  }
};

// The tile: P, rows and columns of a block and of a warp; columns count gate and up.
#define RIDGE_SWIGLU_MMA(entry, P, E, ...)                                                                            \
  RIDGE_KERNEL(entry, (MmaSwiglu<P, E, __VA_ARGS__>::THREADS))                                                        \
  (int64_t m, int64_t n, int64_t k, const E *a, const E *gate, const E *up, E *c) {                                   \
    MmaSwiglu<P, E, __VA_ARGS__>::block(m, n, k, a, gate, up, c);                                                     \
  }                                                                                                                   \
  RIDGE_ENTRY(entry)

#endif
