// Which tile of C a block has, and how its sums leave it.
#ifndef RIDGE_MMA_OUTPUT_CUH
#define RIDGE_MMA_OUTPUT_CUH

#include "ridge_mma_tile.cuh"
#include "ridge_tile_place.cuh"

// The first row and column of tile number `tile` of an output of m × n in tiles of rows × columns.
__device__ __forceinline__ TilePlace tile_place(int64_t tile, int64_t m, int64_t n, int rows, int columns) {
  const TilePlace at = tile_place(tile, (m + rows - 1) / rows, (n + columns - 1) / columns);
  return {at.row * rows, at.column * columns};
}

// Stores value(sum, row, column) of a tile T to C of m × n, rows ldc apart: in runs of a lane's neighbours where they lie at a multiple of their size.
template <class T, class TC, class F>
__device__ __forceinline__ void mma_store(const typename T::sum (&acc)[T::RM][T::RN][4], const TilePlace &tile, int64_t m, int64_t n, TC *c,
                                          int64_t ldc, F value) {
  constexpr int N = T::PER;
  typedef Run<TC, N> run;
  const bool aligned = (uintptr_t)c % sizeof(run) == 0 && ldc % N == 0;
  T::each(acc, [&](int r, int j, const Run<typename T::sum, N> &v) {
    const int64_t row = tile.row + r, column = tile.column + j;
    if (row >= m || column >= n) return;
    TC *to = c + row * ldc + column;
    run all;
#pragma unroll
    for (int e = 0; e < N; e++) all.at[e] = column + e < n ? value(v.at[e], row, column + e) : TC();
    if (aligned && column + N <= n) {
      *(run *)to = all;
    } else {
#pragma unroll
      for (int e = 0; e < N; e++)
        if (column + e < n) to[e] = all.at[e];
    }
  });
}

#endif
