// The body of transpose_DTYPE_simt.cu: y[cols,rows] = a[rows,cols]ᵀ, batch matrices behind each other.
// Bytes: 2·rows·cols. The memory's bandwidth should bind: a tile goes through shared memory, so that rows of both matrices are moved in full lines.
//
//   prefix           tiles of 32×32 elements, one at a time; the pitch of 33 keeps the columns on 32 banks
//   prefix##_packs   16 bytes at a time where rows of both matrices begin at multiples of them. A tile is kept as words of 32 bits: an element of 4 bytes, or
//                    two neighbours of a column of 2 bytes each, which a thread joins from the two rows that it loads. A pitch one word above a multiple of 32
//                    puts what a warp writes (8 runs of 4 words in 4 rows, or 4 runs of 8 words in 8) and what it reads (8 times 4 rows in 4 columns) on 32 banks.
//                    Tiles are numbered down the columns of a, so that neighbours write the same rows of y; stores do not stay in the caches.
//
// Measured on an H200 on prototypes of the loops (GB/s of both matrices; medians of 4 rounds): fp32 8192 x 8192 in tiles of 32 by single elements 3366, of 64 by packs and 512 threads numbered along the rows 3795, down
// the columns 3915, 256 threads along the rows 3699, their stores with st.cs 3770; bf16 2202, by packs and 256 threads 3373, with st.cs 3605, down the columns 3492 (torch 1051 and 561).
// Here, with both for both: 8192 x 8192 fp32 4090, bf16 3829; 1024 x 1024 2.9 and 2.1 us as graph nodes, by elements 4.3 and 4.3.
#ifndef RIDGE_TRANSPOSE_CUH
#define RIDGE_TRANSPOSE_CUH

#include "ptx_memory.cuh"

constexpr int WIDE = 64; // columns of a tile; WORDS: its rows of words, 64 elements in either case
template <class T> constexpr int WORDS = 16 * sizeof(T);
template <class T> constexpr int PACK_THREADS = 128 * sizeof(T);

// The words of a run of columns, of one row or of two.
__device__ __forceinline__ void words_of(const Run<float, 4> (&v)[1], unsigned *w) {
#pragma unroll
  for (int k = 0; k < 4; k++) w[k] = __float_as_uint(v[0].at[k]);
}
__device__ __forceinline__ void words_of(const Run<ridge_bf16, 8> (&v)[2], unsigned *w) {
#pragma unroll
  for (int k = 0; k < 8; k++) w[k] = v[0].at[k].bits | (unsigned)v[1].at[k].bits << 16;
}
__device__ __forceinline__ void from_words(const unsigned *w, Run<float, 4> *r) {
#pragma unroll
  for (int k = 0; k < 4; k++) r->at[k] = __uint_as_float(w[k]);
}
__device__ __forceinline__ void from_words(const unsigned *w, Run<ridge_bf16, 8> *r) {
#pragma unroll
  for (int k = 0; k < 4; k++) r->at[2 * k].bits = (unsigned short)w[k], r->at[2 * k + 1].bits = (unsigned short)(w[k] >> 16);
}

template <class T> __device__ __forceinline__ void transpose_packs(int64_t rows, int64_t cols, const T *a, T *y, unsigned *tile) {
  constexpr int W = 16 / sizeof(T), DEEP = 4 / sizeof(T), HIGH = WORDS<T>, THREADS = PACK_THREADS<T>, PITCH = WIDE + 1; // DEEP: elements of a word
  constexpr int ACROSS = 32 / W, TURNS = HIGH * WIDE / W / THREADS, OUT = HIGH * WIDE / 4 / THREADS; // runs of a warp's row; turns of loads and stores
  typedef Run<T, W> Pack;
  const int64_t down = rows > 64 ? (rows + 63) / 64 : 1, z = (int64_t)blockIdx.z * rows * cols;
  const int64_t r0 = blockIdx.x % down * 64, c0 = blockIdx.x / down * WIDE;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  Pack v[TURNS][DEEP] = {};
#pragma unroll
  for (int u = 0; u < TURNS; u++) {
    const int g = warp + u * (THREADS / 32), c = (g % (WIDE / 32) * ACROSS + lane % ACROSS) * W, r = (g / (WIDE / 32) * W + lane / ACROSS) * DEEP;
#pragma unroll
    for (int d = 0; d < DEEP; d++)
      if (r0 + r < rows && c0 + c < cols) v[u][d] = load_once((const Pack *)(a + z + (r0 + r + d) * cols + c0 + c));
  }
#pragma unroll
  for (int u = 0; u < TURNS; u++) {
    const int g = warp + u * (THREADS / 32), c = (g % (WIDE / 32) * ACROSS + lane % ACROSS) * W, r = g / (WIDE / 32) * W + lane / ACROSS;
    unsigned w[W];
    words_of(v[u], w);
#pragma unroll
    for (int k = 0; k < W; k++) tile[r * PITCH + c + k] = w[k];
  }
  __syncthreads();
#pragma unroll
  for (int u = 0; u < OUT; u++) {
    const int g = warp + u * (THREADS / 32), q = g % (HIGH / 32) * 8 + lane % 8, c = g / (HIGH / 32) * 4 + lane / 8;
    if (r0 + q * W >= rows || c0 + c >= cols) continue;
    unsigned w[4];
#pragma unroll
    for (int k = 0; k < 4; k++) w[k] = tile[(4 * q + k) * PITCH + c];
    Pack p;
    from_words(w, &p);
    store_once((Pack *)(y + z + (c0 + c) * rows + r0 + q * W), p);
  }
}

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

#define RIDGE_TRANSPOSE_PACKS(entry, T)                                        \
  RIDGE_KERNEL(entry, PACK_THREADS<T>)                                         \
  (int64_t rows, int64_t cols, const T *a, T *y) {                             \
    RIDGE_SHARED(unsigned, tile, [WORDS<T> * (WIDE + 1)]);                     \
    transpose_packs(rows, cols, a, y, tile);                                   \
  }                                                                            \
  RIDGE_ENTRY(entry)

#endif
