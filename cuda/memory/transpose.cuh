// The body of transpose_DTYPE_simt.cu: y[cols,rows] = a[rows,cols]ᵀ, batch matrices behind each other.
// Bytes: 2·rows·cols. The memory's bandwidth should bind: a tile of 32×32 goes through shared memory, so
// that rows of both matrices are moved in full lines; the pitch of 33 keeps the columns on 32 banks.
#ifndef RIDGE_TRANSPOSE_CUH
#define RIDGE_TRANSPOSE_CUH

#include "ridge_cuda.cuh"

// Threads (32, 8). Tiles are numbered along x; the matrix is blockIdx.z.
#define RIDGE_TRANSPOSE(entry, T)                                                              \
  RIDGE_KERNEL(entry, 256)(int64_t rows, int64_t cols, const T *a, T *y) {                     \
    RIDGE_SHARED(T, tile, [32][33]);                                                           \
    const int64_t across = cols > 32 ? (cols + 31) / 32 : 1, z = (int64_t)blockIdx.z * rows * cols;            \
    const int64_t r0 = blockIdx.x / across * 32, c0 = blockIdx.x % across * 32;                \
    const int tx = threadIdx.x, ty = threadIdx.y;                                              \
    for (int i = ty; i < 32; i += 8)                                                           \
      if (r0 + i < rows && c0 + tx < cols) tile[i][tx] = a[z + (r0 + i) * cols + c0 + tx];     \
    __syncthreads();                                                                           \
    for (int i = ty; i < 32; i += 8)                                                           \
      if (c0 + i < cols && r0 + tx < rows) y[z + (c0 + i) * rows + r0 + tx] = tile[tx][i];     \
  }                                                                                            \
  RIDGE_ENTRY(entry)

#endif
