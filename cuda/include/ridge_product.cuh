// The main loop of matrix products and convolutions without tensor cores: a block of 256 threads sums
// Σ_k a(row, k)·b(column, k) for a tile of ROWS × COLS, k in steps of STEP words. A word is a float, a double or four bytes.
//
// A thread has (ROWS / 16) × (COLS / 16) sums, its rows and columns in groups of one pack of 16 bytes, 16 packs apart, so that the
// reads of a warp cover all banks. Both tiles lie in shared memory as [k][row or column], double-buffered: the next one is loaded to
// registers before the current one is used and stored after, with one barrier a step. Counts for one k and warp:
//
//   tile (words)         FMA   wavefronts of shared memory   FMA cycles (128 or, fp64, 64 lanes)   sums + operands + prefetch
//   128 × 128 (fp32)     64    6                             16                                    64 + 16 + 8 registers
//   128 × 128 (dp4a)     64    6                             32 (64 lanes, to be measured)         64 + 16 + 8
//   128 ×  64 (fp32)     32    4                             8                                     32 + 12 + 6
//   128 ×  64 (fp64)     32    8                             16                                    64 + 24 + 12
//
// so the arithmetic binds: FLOP per byte of shared memory 4 to 8 against a need of 2 (fp32: 256 FLOP and 128 bytes a cycle).
// Steps of 16 k held 16 words ahead, and ptxas, which aims at 128 registers for two blocks a multiprocessor, spilled 32 to 44 bytes of
// fp32; steps of 8 hold 8. Stores along k put 8 × 4 lanes into 32 banks.
// The design is the usual one (MAGMA, Nath et al. 2010; siboehm/SGEMM_CUDA).
#ifndef RIDGE_PRODUCT_CUH
#define RIDGE_PRODUCT_CUH

#include "ptx_dp4a.cuh"

struct SumFloat {
  typedef float word, sum;
  static __device__ __forceinline__ float add(float a, float b, float s) { return fmaf(a, b, s); }
};
struct SumDouble {
  typedef double word, sum;
  static __device__ __forceinline__ double add(double a, double b, double s) { return fma(a, b, s); }
};
struct SumBytes {
  typedef unsigned word;
  typedef int sum;
  static __device__ __forceinline__ int add(unsigned a, unsigned b, int s) { return dp4a_s8(a, b, s); }
};
struct SumUnsignedBytes {
  typedef unsigned word;
  typedef int sum;
  static __device__ __forceinline__ int add(unsigned a, unsigned b, int s) { return dp4a_u8s8(a, b, s); }
};

template <class P, int ROWS_, int COLS_, int STEP_> struct Tile {
  typedef typename P::word word;
  typedef typename P::sum sum;
  static constexpr int ROWS = ROWS_, COLS = COLS_, STEP = STEP_, GROUP = 16 / sizeof(word), RM = ROWS / 16, RN = COLS / 16;
  static constexpr int PITCH_A = ROWS + GROUP, PITCH_B = COLS + GROUP; // rows stay 16-byte aligned
  static_assert(RM % GROUP == 0 && RN % GROUP == 0 && ROWS * STEP % 256 == 0 && COLS * STEP % 256 == 0, "a thread has whole packs");

  // The row and the column in the tile of a thread's sum.
  static __device__ __forceinline__ int row(int i) { return threadIdx.x / 16 * GROUP + i % GROUP + i / GROUP * 16 * GROUP; }
  static __device__ __forceinline__ int col(int j) { return threadIdx.x % 16 * GROUP + j % GROUP + j / GROUP * 16 * GROUP; }

  // Word i of EXTENT × STEP that this thread moves: along k neighbours in memory differ in k, else in the row or column.
  template <int EXTENT> static __device__ __forceinline__ int moved_k(bool along_k, int i) {
    return along_k ? threadIdx.x % STEP : threadIdx.x / EXTENT + 256 / EXTENT * i;
  }
  template <int EXTENT> static __device__ __forceinline__ int moved_at(bool along_k, int i) {
    return along_k ? threadIdx.x / STEP + 256 / STEP * i : threadIdx.x % EXTENT;
  }

  // a(row, k) and b(column, k) give words, 0 outside; ahead(t) is called one barrier before step t is fetched, t > 0.
  template <class A, class B, class H>
  static __device__ __forceinline__ void product(int64_t words, bool a_along_k, bool b_along_k, A a, B b, H ahead, sum (&acc)[RM][RN]) {
    typedef word TileA[2][STEP][PITCH_A];
    typedef word TileB[2][STEP][PITCH_B];
    RIDGE_SHARED(TileA, as, [1]);
    RIDGE_SHARED(TileB, bs, [1]);
    constexpr int NA = ROWS * STEP / 256, NB = COLS * STEP / 256;
    word ra[NA], rb[NB];
    const int64_t steps = (words + STEP - 1) / STEP;
    auto fetch = [&](int64_t k0) {
#pragma unroll
      for (int i = 0; i < NA; i++) ra[i] = a(moved_at<ROWS>(a_along_k, i), k0 + moved_k<ROWS>(a_along_k, i));
#pragma unroll
      for (int i = 0; i < NB; i++) rb[i] = b(moved_at<COLS>(b_along_k, i), k0 + moved_k<COLS>(b_along_k, i));
    };
    auto keep = [&](int buffer) {
#pragma unroll
      for (int i = 0; i < NA; i++) as[0][buffer][moved_k<ROWS>(a_along_k, i)][moved_at<ROWS>(a_along_k, i)] = ra[i];
#pragma unroll
      for (int i = 0; i < NB; i++) bs[0][buffer][moved_k<COLS>(b_along_k, i)][moved_at<COLS>(b_along_k, i)] = rb[i];
    };
    if (steps == 0) return;
    fetch(0);
    keep(0);
    if (steps > 1) ahead(1);
    __syncthreads();
    for (int64_t t = 0; t < steps; t++) {
      const int now = (int)(t & 1);
      if (t + 1 < steps) fetch((t + 1) * STEP);
#pragma unroll
      for (int k = 0; k < STEP; k++) {
        pack<word> x[RM / GROUP], y[RN / GROUP];
#pragma unroll
        for (int g = 0; g < RM / GROUP; g++) x[g] = load_pack((const pack<word> *)&as[0][now][k][row(g * GROUP)]);
#pragma unroll
        for (int g = 0; g < RN / GROUP; g++) y[g] = load_pack((const pack<word> *)&bs[0][now][k][col(g * GROUP)]);
#pragma unroll
        for (int i = 0; i < RM; i++)
#pragma unroll
          for (int j = 0; j < RN; j++) acc[i][j] = P::add(x[i / GROUP].at[i % GROUP], y[j / GROUP].at[j % GROUP], acc[i][j]);
      }
      if (t + 1 < steps) keep(now ^ 1); // its last readers passed the barrier before
      if (t + 2 < steps) ahead(t + 2);
      __syncthreads();
    }
  }
};

#endif
