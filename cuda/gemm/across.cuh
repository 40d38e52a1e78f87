// The first launch of gemm_DTYPE_sm90_across.cu and gemm_fp32_sm90_3xtf32_across.cu: B stored [K,N] is transposed to the workspace [batch][N][pitch of K], as wgmma takes
// bytes and words; the second launch is the product of the kernel for B stored [N,K] (gemm_wgmma.cuh), whose tensor map lies on the workspace (across.go).
// Rows of B begin at multiples of 16 bytes, those of the workspace too. Bytes: 2·K·N. FLOP: none.
//
// The memory's bandwidth should bind. A thread transposes a square of 16 × 16 bytes, or 4 × 4 words, in its registers: of words it is a matter of names, of bytes of eight
// byte_perm for 16 bytes, 0.06 of what a multiprocessor can do while DRAM moves them. So it loads and stores packs of 16 bytes, without shared memory and its barriers. A warp has 4 squares
// along n and 8 along k: it loads 64 bytes of a line, whose other half is the second warp's of its block, and stores lines of 128 bytes.
// In flight: 64 bytes a thread of words, 256 of bytes: 96 KB and more a multiprocessor, where 32 KB fill DRAM.
// Predicted on an H200: 4096² words, 128 MB in all, 33 µs; 8192² bytes the same.
// Measured there, the launch by itself as a prototype with these squares: 4096² words 42.8 µs (a copy by cuMemcpy 35.3), 8192² bytes 39.1 (35.0), 4096² bytes, which the second-level cache holds,
// 16.9 (6.8). Lines loaded whole and stored in halves, by 8 squares along n and 4 along k: 79.9, 38.7, 24.0. Larger blocks, and blocks one after the other along k, change little.
//
// Measured on an H200 in one run, both launches with words in the halves above, B [K,N], TFLOP/s (cuBLAS, or cuBLASLt, which takes bytes for B [N,K] alone): 4096³ fp32 by 3×TF32 97.1 (cuBLAS
// fp32 49.7; with B [N,K], without the first launch, 101.6: 62 µs less), tf32 342 (379.5), int8 1313 (819); 8192³ fp8_e4m3 1325 (1369). What took these before, there or in an earlier run:
// 40.4, 96 and 651 by mma.sync, 20 without tensor cores.
//
// Versions: 1 lines loaded whole; 2 lines stored whole, its products not yet measured. Next: halves of 3×TF32 made here, once for all tiles; the second launch begun under the end of the first.
#ifndef RIDGE_ACROSS_CUH
#define RIDGE_ACROSS_CUH

#include "ridge_cuda.cuh"

constexpr int ACROSS_N = 4, ACROSS_K = 8; // squares of a warp

// The square of packs x, row by row.
__device__ __forceinline__ void transpose(pack<unsigned> (&x)[4]) {
#pragma unroll
  for (int i = 0; i < 4; i++)
#pragma unroll
    for (int j = 0; j < i; j++) {
      const unsigned w = x[i].at[j];
      x[i].at[j] = x[j].at[i], x[j].at[i] = w;
    }
}

__device__ __forceinline__ void transpose(pack<unsigned> (&x)[16]) {
  pack<unsigned> y[16];
#pragma unroll
  for (int k = 0; k < 4; k++)
#pragma unroll
    for (int n = 0; n < 4; n++) {
      const unsigned a = x[4 * k].at[n], b = x[4 * k + 1].at[n], c = x[4 * k + 2].at[n], d = x[4 * k + 3].at[n];
      const unsigned ab = __byte_perm(a, b, 0x5140), cd = __byte_perm(c, d, 0x5140), ab_high = __byte_perm(a, b, 0x7362), cd_high = __byte_perm(c, d, 0x7362);
      y[4 * n].at[k] = __byte_perm(ab, cd, 0x5410), y[4 * n + 1].at[k] = __byte_perm(ab, cd, 0x7632);
      y[4 * n + 2].at[k] = __byte_perm(ab_high, cd_high, 0x5410), y[4 * n + 3].at[k] = __byte_perm(ab_high, cd_high, 0x7632);
    }
#pragma unroll
  for (int i = 0; i < 16; i++) x[i] = y[i];
}

// Threads 64; blocks along x: tiles of 2 · ACROSS_N squares of n, those of ACROSS_K squares of k one after the other; z: the matrix.
template <class T> __device__ __forceinline__ void across(int64_t k, int64_t n, int64_t ldb, int64_t stride_b, int64_t pitch, const T *b, T *y) {
  constexpr int P = 16 / sizeof(T);
  const int64_t tiles = (n + 2 * ACROSS_N * P - 1) / (2 * ACROSS_N * P);
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  const int64_t n0 = ((blockIdx.x % tiles * 2 + warp) * ACROSS_N + lane % ACROSS_N) * P, k0 = (blockIdx.x / tiles * ACROSS_K + lane / ACROSS_N) * P;
  if (n0 >= n || k0 >= k) return;
  b += blockIdx.z * stride_b + k0 * ldb + n0;
  y += (blockIdx.z * n + n0) * pitch + k0;
  const int rows = (int)min((int64_t)P, k - k0), columns = (int)min((int64_t)P, n - n0);
  if (rows == P && columns == P) {
    pack<unsigned> x[P];
#pragma unroll
    for (int i = 0; i < P; i++) x[i] = load_pack((const pack<unsigned> *)(b + i * ldb));
    transpose(x);
#pragma unroll
    for (int i = 0; i < P; i++) store_pack((pack<unsigned> *)(y + i * pitch), x[i]);
    return;
  }
  for (int i = 0; i < rows; i++) { // the last columns or rows
    T x[P];
#pragma unroll
    for (int j = 0; j < P; j++)
      if (j < columns) x[j] = b[i * ldb + j];
#pragma unroll
    for (int j = 0; j < P; j++)
      if (j < columns) y[j * pitch + i] = x[j];
  }
}

#define RIDGE_ACROSS(entry, T)                                                                                     \
  RIDGE_KERNEL(entry, 64)(int64_t k, int64_t n, int64_t ldb, int64_t stride_b, int64_t pitch, const T *b, T *y) { \
    across(k, n, ldb, stride_b, pitch, b, y);                                                                      \
  }                                                                                                                \
  RIDGE_ENTRY(entry)

#endif
