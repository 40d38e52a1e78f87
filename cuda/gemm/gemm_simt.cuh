// The body of gemm_DTYPE_simt.cu: C[M,N] = act(alpha·A[M,K]·op(B) + beta·D + bias[N]), row-major with
// pitches, op(B) = B[K,N] or the transpose of B[N,K], batch products behind each other; sums in fp32.
// FLOP: 2·M·N·K a product. Bytes: each matrix once. No alignment or divisibility is asked for.
//
// The fp32 multiply-adds should bind. A block of 256 threads makes a tile of 128×128, a thread 8×8 of it
// (rows and columns in two groups of four, 64 apart, so that a warp's 16-byte reads of a row of B cover all
// banks). Per step of k a warp issues 64 FMA instructions, 16 cycles of a multiprocessor's four
// schedulers, and reads 4 × 16 bytes a thread from shared memory in about 6 wavefronts: the FMA pipe
// binds by 16 to 6. Registers: 64 sums, 16 operands, 16 prefetched elements and addresses, about 128, so
// two blocks a multiprocessor. The tiles are double-buffered: the next one is loaded to registers
// before the current one is used and stored after, with one barrier a tile.
// The design is the usual one (MAGMA, Nath et al. 2010; siboehm/SGEMM_CUDA).
//
// Not measured on a device yet. Floor for 4096³ on an H200 at 1.83 GHz: 137 GFLOP / 62 TFLOP/s = 2.2 ms.
#ifndef RIDGE_GEMM_SIMT_CUH
#define RIDGE_GEMM_SIMT_CUH

#include "ridge_act.cuh"

constexpr int TILE = 128, STEP = 16, PITCH = TILE + 4; // pitch: 16-byte aligned rows; of a transposed store two lanes meet in a bank

struct GemmShape {
  int64_t m, n, k, lda, ldb, ldc;
  bool transposed;
};

// The tile's elements that a thread moves: 8 of A and 8 of B. Out of range they are 0.
// A is read along k: 16 threads a row, 16 rows at a time. B along n: 128 threads a row, 2 rows at a
// time; transposed it is read as A.
template <class T>
__device__ __forceinline__ void load_rows(const T *p, int64_t ld, int64_t rows, int64_t k, int64_t row0, int64_t k0, float (&r)[8]) {
  const int64_t kk = k0 + threadIdx.x % STEP;
#pragma unroll
  for (int i = 0; i < 8; i++) {
    const int64_t row = row0 + threadIdx.x / STEP + 16 * i;
    r[i] = row < rows && kk < k ? load(p[row * ld + kk]) : 0.0f;
  }
}
template <class T>
__device__ __forceinline__ void load_cols(const T *p, int64_t ld, int64_t k, int64_t cols, int64_t k0, int64_t col0, float (&r)[8]) {
  const int64_t col = col0 + threadIdx.x % TILE;
#pragma unroll
  for (int i = 0; i < 8; i++) {
    const int64_t kk = k0 + threadIdx.x / TILE + 2 * i;
    r[i] = kk < k && col < cols ? load(p[kk * ld + col]) : 0.0f;
  }
}
// In shared memory both tiles lie as [k][row or column].
__device__ __forceinline__ void store_rows(float (*s)[PITCH], const float (&r)[8]) {
#pragma unroll
  for (int i = 0; i < 8; i++) s[threadIdx.x % STEP][threadIdx.x / STEP + 16 * i] = r[i];
}
__device__ __forceinline__ void store_cols(float (*s)[PITCH], const float (&r)[8]) {
#pragma unroll
  for (int i = 0; i < 8; i++) s[threadIdx.x / TILE + 2 * i][threadIdx.x % TILE] = r[i];
}

template <class T>
__device__ __forceinline__ void gemm_tile(const GemmShape &g, const T *a, const T *b, const T *d, const T *bias, T *c, float alpha, float beta,
                                          int act, float (*as)[STEP][PITCH], float (*bs)[STEP][PITCH]) {
  const int tx = threadIdx.x % 16, ty = threadIdx.x / 16;
  const int64_t row0 = (int64_t)blockIdx.y * TILE, col0 = (int64_t)blockIdx.x * TILE;
  float acc[8][8] = {}, ra[8], rb[8];
  const int64_t tiles = (g.k + STEP - 1) / STEP;
  auto fetch = [&](int64_t k0) {
    load_rows(a, g.lda, g.m, g.k, row0, k0, ra);
    if (g.transposed)
      load_rows(b, g.ldb, g.n, g.k, col0, k0, rb);
    else
      load_cols(b, g.ldb, g.k, g.n, k0, col0, rb);
  };
  auto keep = [&](int buffer) {
    store_rows(as[buffer], ra);
    if (g.transposed)
      store_rows(bs[buffer], rb);
    else
      store_cols(bs[buffer], rb);
  };
  if (tiles > 0) {
    fetch(0);
    keep(0);
    __syncthreads();
  }
  for (int64_t t = 0; t < tiles; t++) {
    const int now = (int)(t & 1);
    if (t + 1 < tiles) fetch((t + 1) * STEP);
#pragma unroll
    for (int k = 0; k < STEP; k++) {
      const pack<float> a0 = load_pack((const pack<float> *)&as[now][k][ty * 4]), a1 = load_pack((const pack<float> *)&as[now][k][64 + ty * 4]);
      const pack<float> b0 = load_pack((const pack<float> *)&bs[now][k][tx * 4]), b1 = load_pack((const pack<float> *)&bs[now][k][64 + tx * 4]);
#pragma unroll
      for (int i = 0; i < 8; i++)
#pragma unroll
        for (int j = 0; j < 8; j++) acc[i][j] = fmaf(i < 4 ? a0.at[i & 3] : a1.at[i & 3], j < 4 ? b0.at[j & 3] : b1.at[j & 3], acc[i][j]);
    }
    if (t + 1 < tiles) keep(now ^ 1); // its last readers passed the barrier before
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < 8; i++) {
    const int64_t row = row0 + ty * 4 + (i & 3) + (i < 4 ? 0 : 64);
#pragma unroll
    for (int j = 0; j < 8; j++) {
      const int64_t col = col0 + tx * 4 + (j & 3) + (j < 4 ? 0 : 64);
      if (row >= g.m || col >= g.n) continue;
      float v = alpha * acc[i][j];
      if (d) v += beta * load(d[row * g.n + col]);
      if (bias) v += load(bias[col]);
      c[row * g.ldc + col] = element<T>::store(activate(act, v));
    }
  }
}

// stride_*: elements between the matrices of a batch; the product is blockIdx.z. d and bias may be null.
#define RIDGE_GEMM_SIMT(entry, T)                                                                                                        \
  RIDGE_KERNEL(entry, 256)                                                                                                               \
  (int64_t m, int64_t n, int64_t k, int64_t lda, int64_t ldb, int64_t ldc, int64_t stride_a, int64_t stride_b, int64_t stride_c,         \
   int64_t transposed, int64_t act, double alpha, double beta, const T *a, const T *b, const T *d, const T *bias, T *c) {                \
    RIDGE_SHARED(float, as, [2][STEP][PITCH]);                                                                                           \
    RIDGE_SHARED(float, bs, [2][STEP][PITCH]);                                                                                           \
    const GemmShape g = {m, n, k, lda, ldb, ldc, transposed != 0};                                                                       \
    const int64_t z = blockIdx.z;                                                                                                        \
    gemm_tile(g, a + z * stride_a, b + z * stride_b, d ? d + z * m * n : d, bias, c + z * stride_c, (float)alpha, (float)beta, (int)act, \
              as, bs);                                                                                                                   \
  }                                                                                                                                      \
  RIDGE_ENTRY(entry)

#endif
