// The bodies of gemm_DTYPE_sm80_skinny.cu: C[M,N] = act(alpha·A[M,K]·op(B) + beta·D + bias[N]) of few rows, one product, operands and epilogues as gemm_mma.cuh.
// FLOP: 2·M·N·K. Bytes: B once; A once a block, from L2.
//
// B's bytes bind, so nothing lies between memory and the tensor cores but registers: mma.sync takes 16 columns of B as its rows and 8 rows of A as its columns,
// so that eight rows waste nothing. A lane's fragments are whole loads of up to 16 bytes, because which k a fragment has is free as long as A and B agree: lane
// (g, t) = (lane / 4, lane % 4) has words of k from the t-th run on, WORDS of them:
//   B stored [N,K] (ALONG)   WORDS words of each of NC columns g + 8i: a warp's load is 8 rows of 64 bytes
//   B stored [K,N]           as many rows of k of NC neighbours from NC·g on: 4 rows of 8·NC columns, of 64 or 128 bytes; words along k by byte_perm
// CG warps side by side have 8·NC columns each, KW warps share k, step by step in turn. Their sums meet in shared memory and are added in the warps' order: one launch, the
// same bits every time. D steps of a warp are on their way: 64 KB a multiprocessor and more, where 4.8 TB/s at 1 µs ask for 36.
// Registers: at most 128 of 16 warps and 168 of 12; no spill.
//
// Measured on an H200 beside cuBLAS (CUDA 13.0, B the same in every launch), µs, the library's in brackets:
//   bf16, M = 1   N = K = 4096, B stored [K,N] 9.9 (11.0), [N,K] 7.2 (11.0); 1024, 3.5 (4.0), 2.9 (7.6)
//   fp32, M = 1   4096 21.1 (18.7), 22.5 (23.0); 8192 74.9 (65.7), 80.9 (90.2)
//   fp32, M = 16  with other warps than now (16, spilling): 4096 24.0 (130), 26.0 (93.3); 8192 83.4 (164), 91.9 (200)
//   int8          8192, cold: M = 1 20.5, 20.5, M = 16 24.9, 24.2 of 67 MB; no peer
// Bf16 once more, M = 1: 4096 10.9 (10.1), 7.7 (10.2), 1024 3.4 (3.7), 2.8 (7.4). At 16 bits and 8192 the ring of skinny_wgmma.cuh is sooner done on 9.0: A's fragments come from L2 once a block, M / COLS of B's bytes.
// MG of 4, for 32 rows: 59 µs at 8192 where the ring took 34.
#ifndef RIDGE_SKINNY_MMA_CUH
#define RIDGE_SKINNY_MMA_CUH

#include "ptx_ldmatrix.cuh"
#include "ptx_mma.cuh"
#include "ptx_tf32.cuh"
#include "ridge_epilogue.cuh"

// W words that are read once: they do not stay in the first-level cache.
template <int W> __device__ __forceinline__ void load_once(unsigned (&w)[W], const void *p) {
#if defined(RIDGE_MODEL)
  ridge_model_aligned(p, 4 * W);
  for (int i = 0; i < W; i++) w[i] = ((const unsigned *)p)[i];
#else
  if constexpr (W == 4)
    asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(w[0]), "=r"(w[1]), "=r"(w[2]), "=r"(w[3]) : "l"(p));
  else if constexpr (W == 2)
    asm volatile("ld.global.nc.L1::no_allocate.v2.u32 {%0, %1}, [%2];" : "=r"(w[0]), "=r"(w[1]) : "l"(p));
  else
    asm volatile("ld.global.nc.L1::no_allocate.u32 %0, [%1];" : "=r"(w[0]) : "l"(p));
#endif
}

// The first `given` elements of SIZE bytes; the others are 0.
template <int SIZE> struct Element;
template <> struct Element<1> {
  typedef unsigned char bits;
};
template <> struct Element<2> {
  typedef unsigned short bits;
};
template <> struct Element<4> {
  typedef unsigned bits;
};
template <class T, int W> __device__ __forceinline__ void load_some(unsigned (&w)[W], const T *p, int64_t given) {
  constexpr int SIZE = sizeof(T), PER = 4 / SIZE;
#pragma unroll
  for (int i = 0; i < W; i++) {
    w[i] = 0;
#pragma unroll
    for (int e = 0; e < PER; e++)
      if (i * PER + e < given) w[i] |= (unsigned)((const typename Element<SIZE>::bits *)p)[i * PER + e] << e * SIZE * 8;
  }
}

// A precision: what mma takes of A for two words of k, and the products of 16 columns with MG times 8 rows.
template <class MMA, class T> struct SkinnyWhole {
  typedef T type;
  typedef typename MMA::sum sum;
  struct right {
    unsigned at[2];
  };
  static __device__ __forceinline__ right of(unsigned first, unsigned second) { return {{first, second}}; }
  template <int MG> static __device__ __forceinline__ void multiply(sum (&acc)[MG][4], const unsigned (&b)[4], const right (&a)[MG]) {
#pragma unroll
    for (int j = 0; j < MG; j++) MMA::mma(acc[j], b, a[j].at);
  }
};
typedef SkinnyWhole<MmaBf16, ridge_bf16> SkinnyBf16;
typedef SkinnyWhole<MmaFp16, ridge_fp16> SkinnyFp16;
typedef SkinnyWhole<MmaBytes, int8_t> SkinnyBytes;

struct SkinnyTf32 {
  typedef float type, sum;
  struct right {
    unsigned at[2];
  };
  static __device__ __forceinline__ right of(unsigned first, unsigned second) { return {{tf32_of(__uint_as_float(first)), tf32_of(__uint_as_float(second))}}; }
  template <int MG> static __device__ __forceinline__ void multiply(float (&acc)[MG][4], const unsigned (&b)[4], const right (&a)[MG]) {
    unsigned rounded[4];
#pragma unroll
    for (int e = 0; e < 4; e++) rounded[e] = tf32_of(__uint_as_float(b[e]));
#pragma unroll
    for (int j = 0; j < MG; j++) MmaTf32::mma(acc[j], rounded, a[j].at);
  }
};

// fp32 as three products of tf32, summed on the fp32 units: ridge_mma_tf32.cuh says why.
struct Skinny3xTf32 {
  typedef float type, sum;
  struct right {
    unsigned big[2], small[2];
  };
  static __device__ __forceinline__ right of(unsigned first, unsigned second) {
    right r;
    tf32_split(__uint_as_float(first), r.big[0], r.small[0]);
    tf32_split(__uint_as_float(second), r.big[1], r.small[1]);
    return r;
  }
  template <int MG> static __device__ __forceinline__ void multiply(float (&acc)[MG][4], const unsigned (&b)[4], const right (&a)[MG]) {
    unsigned big[4], small[4];
#pragma unroll
    for (int e = 0; e < 4; e++) tf32_split(__uint_as_float(b[e]), big[e], small[e]);
#pragma unroll
    for (int j = 0; j < MG; j++) {
      float t[4];
      mma_tf32_first(t, small, a[j].big);
      MmaTf32::mma(t, big, a[j].small);
      MmaTf32::mma(t, big, a[j].big);
#pragma unroll
      for (int e = 0; e < 4; e++) acc[j][e] += t[e];
    }
  }
};

template <class P, bool ALONG, int NC, int MG, int CG, int KW, int D> struct Skinny {
  typedef typename P::type type;
  typedef typename P::sum sum;
  static constexpr int SIZE = sizeof(type), WORDS = ALONG || SIZE == 4 ? 4 : 2, RUN = 4 * WORDS / SIZE, STEP = 4 * RUN; // k of a lane and of a step
  static constexpr int ROWS = ALONG ? NC : RUN, WIDE = ALONG ? WORDS : NC * SIZE / 4;                                   // a lane's loads of a step, and their words
  static constexpr int THREADS = 32 * CG * KW, COLS = 8 * NC * CG, SHARED = KW * 8 * MG * COLS * (int)sizeof(sum);

  unsigned b[D][ROWS][WIDE], a[D][MG][WORDS];
  sum acc[NC / 2][MG][4];

  // The word w along k of column c.
  static __device__ __forceinline__ unsigned word(const unsigned (&x)[ROWS][WIDE], int c, int w) {
    if constexpr (ALONG) {
      return x[c][w];
    } else if constexpr (SIZE == 4) {
      return x[w][c];
    } else if constexpr (SIZE == 2) {
      return __byte_perm(x[2 * w][c / 2], x[2 * w + 1][c / 2], c % 2 ? 0x7632 : 0x5410);
    } else {
      const unsigned low = __byte_perm(x[4 * w][c / 4], x[4 * w + 1][c / 4], c % 4 / 2 ? 0x7362 : 0x5140);
      const unsigned high = __byte_perm(x[4 * w + 2][c / 4], x[4 * w + 3][c / 4], c % 4 / 2 ? 0x7362 : 0x5140);
      return __byte_perm(low, high, c % 2 ? 0x7632 : 0x5410);
    }
  }
  __device__ __forceinline__ void multiply(int d) {
#pragma unroll
    for (int q = 0; q < WORDS; q += 2) {
      typename P::right right[MG];
#pragma unroll
      for (int j = 0; j < MG; j++) right[j] = P::of(a[d][j][q], a[d][j][q + 1]);
#pragma unroll
      for (int c = 0; c < NC; c += 2) {
        const unsigned left[4] = {word(b[d], c, q), word(b[d], c + 1, q), word(b[d], c, q + 1), word(b[d], c + 1, q + 1)};
        P::multiply(acc[c / 2], left, right);
      }
    }
  }

  // Where a sum lies in shared memory: that of row mm of eight and column c (of a lane g: its i-th). Pairs of rows are placed so that neither the warps' writes of
  // pairs nor reads along columns meet more than twice in a bank.
  static __device__ __forceinline__ int place(int column, int mm) {
    const int warp = column / (8 * NC), c = column % (8 * NC), i = ALONG ? c / 8 : c % NC, g = ALONG ? c % 8 : c / NC;
    const int twist = ALONG ? c / 4 % 4 : i % 4;
    return ((warp * NC + i) * 8 + g) * 8 + ((mm / 2 ^ twist) * 2 + mm % 2);
  }

  // f(row, column, sum) for each element of the block's columns.
  template <class F>
  __device__ __forceinline__ void product(int64_t m, int64_t n, int64_t k, const type *a0, int64_t lda, const type *b0, int64_t ldb, F f) {
    RIDGE_DYNAMIC_SHARED(sum, parts);
    const int lane = threadIdx.x % 32, g = lane / 4, t = lane % 4, warp = __shfl_sync(0xffffffffu, threadIdx.x / 32, 0), side = warp % CG, kw = warp / CG;
    const int64_t column0 = (int64_t)blockIdx.x * COLS + side * 8 * NC, first = (int64_t)kw * STEP + t * RUN;
    const int64_t column = column0 + (ALONG ? g : NC * g);
    const type *at_a[MG], *at_b[ALONG ? NC : 1];
#pragma unroll
    for (int j = 0; j < MG; j++) at_a[j] = a0 + min((int64_t)(8 * j + g), m - 1) * lda + first;
    if constexpr (ALONG) {
#pragma unroll
      for (int i = 0; i < NC; i++) at_b[i] = b0 + min(column + 8 * i, n - 1) * ldb + first;
    } else {
      at_b[0] = b0 + first * ldb + (column < n ? column : 0);
    }
#pragma unroll
    for (int c = 0; c < NC / 2; c++)
#pragma unroll
      for (int j = 0; j < MG; j++)
#pragma unroll
        for (int e = 0; e < 4; e++) acc[c][j][e] = 0;

    auto advance = [&] {
#pragma unroll
      for (int j = 0; j < MG; j++) at_a[j] += KW * STEP;
#pragma unroll
      for (int i = 0; i < (ALONG ? NC : 1); i++) at_b[i] += ALONG ? KW * STEP : KW * STEP * ldb;
    };
    auto load = [&](int d) {
#pragma unroll
      for (int i = 0; i < ROWS; i++) load_once(b[d][i], ALONG ? at_b[ALONG ? i : 0] : at_b[0] + i * ldb);
#pragma unroll
      for (int j = 0; j < MG; j++) load_once(a[d][j], at_a[j]);
      advance();
    };
    const bool whole = ALONG || n % NC == 0 || column0 + 8 * NC <= n;
    const int steps = whole ? max(0, (int)(k / STEP - kw + KW - 1) / KW) : 0;
#pragma unroll
    for (int d = 0; d < D; d++)
      if (d < steps) load(d);
#pragma unroll 1
    for (int s = 0; s < steps; s += D) {
#pragma unroll
      for (int d = 0; d < D; d++) {
        if (s + d < steps) multiply(d);
        if (s + d + D < steps) load(d);
      }
    }
    // What ends within a step, or within a lane's columns.
#pragma unroll 1
    for (int64_t at = first + (int64_t)steps * KW * STEP; at - t * RUN < k; at += KW * STEP) {
#pragma unroll
      for (int i = 0; i < ROWS; i++) {
        if constexpr (ALONG)
          load_some(b[0][i], at_b[i], k - at);
        else
          load_some(b[0][i], at_b[0] + i * ldb, at + i < k ? n - column : 0);
      }
#pragma unroll
      for (int j = 0; j < MG; j++) load_some(a[0][j], at_a[j], k - at);
      advance();
      multiply(0);
    }

    const shared_at mine = shared_address(parts) + kw * 8 * MG * COLS * (int)sizeof(sum);
#pragma unroll
    for (int c = 0; c < NC; c++)
#pragma unroll
      for (int j = 0; j < MG; j++) {
        const int to = j * 8 * COLS + place(side * 8 * NC + (ALONG ? 8 * c + g : NC * g + c), 2 * t);
        store_shared(mine + to * (int)sizeof(sum), word_of(acc[c / 2][j][c % 2 * 2]), word_of(acc[c / 2][j][c % 2 * 2 + 1]));
      }
    __syncthreads();
    for (int i = threadIdx.x; i < 8 * MG * COLS; i += THREADS) {
      const int row = i / COLS, c = i % COLS, from = row / 8 * 8 * COLS + place(c, row % 8);
      if (row >= m || (int64_t)blockIdx.x * COLS + c >= n) continue;
      sum s = parts[from];
#pragma unroll
      for (int w = 1; w < KW; w++) s = together(s, parts[w * 8 * MG * COLS + from]);
      f(row, (int64_t)blockIdx.x * COLS + c, s);
    }
  }

private:
  static __device__ __forceinline__ unsigned word_of(float x) { return __float_as_uint(x); }
  static __device__ __forceinline__ unsigned word_of(int x) { return (unsigned)x; }
  static __device__ __forceinline__ float together(float a, float b) { return a + b; }
  static __device__ __forceinline__ int together(int a, int b) { return (int)((unsigned)a + (unsigned)b); } // wraps
};

// The shape: P, ALONG, columns of a lane, rows of C by 8, warps side by side and along k, steps on their way.
#define RIDGE_SKINNY_FLOATS(entry, P, TE, ...)                                                                                           \
  RIDGE_KERNEL(entry, (Skinny<P, __VA_ARGS__>::THREADS))                                                                                 \
  (int64_t m, int64_t n, int64_t k, int64_t lda, int64_t ldb, int64_t ldc, int64_t act, double alpha, double beta, const P::type *a,     \
   const P::type *b, const TE *d, const TE *bias, TE *c) {                                                                               \
    typedef element<TE>::wide wide;                                                                                                      \
    const Epilogue<TE> e = {d, bias, (wide)alpha, (wide)beta, (int)act};                                                                 \
    Skinny<P, __VA_ARGS__> s;                                                                                                            \
    s.product(m, n, k, a, lda, b, ldb,                                                                                                   \
              [&](int64_t row, int64_t column, float x) { c[row * ldc + column] = element<TE>::store(e(x, row * n + column, column)); }); \
  }                                                                                                                                      \
  RIDGE_ENTRY(entry)

#define RIDGE_SKINNY_BYTES(entry, P, ...)                                                                                                \
  RIDGE_KERNEL(entry, (Skinny<P, __VA_ARGS__>::THREADS))                                                                                 \
  (int64_t m, int64_t n, int64_t k, int64_t lda, int64_t ldb, int64_t ldc, const P::type *a, const P::type *b, const int32_t *bias,      \
   int32_t *c) {                                                                                                                         \
    const Epilogue<int32_t> e = {nullptr, bias};                                                                                         \
    Skinny<P, __VA_ARGS__> s;                                                                                                            \
    s.product(m, n, k, a, lda, b, ldb, [&](int64_t row, int64_t column, int x) { c[row * ldc + column] = e(x, 0, column); });            \
  }                                                                                                                                      \
  RIDGE_ENTRY(entry)

#define RIDGE_SKINNY_REQUANT(entry, P, ...)                                                                                              \
  RIDGE_KERNEL(entry, (Skinny<P, __VA_ARGS__>::THREADS))                                                                                 \
  (int64_t m, int64_t n, int64_t k, int64_t lda, int64_t ldb, int64_t ldc, int64_t act, const P::type *a, const P::type *b,              \
   const int32_t *bias, const float *scale, int8_t *c) {                                                                                 \
    const Epilogue<int32_t> e = {nullptr, bias};                                                                                         \
    Skinny<P, __VA_ARGS__> s;                                                                                                            \
    s.product(m, n, k, a, lda, b, ldb, [&](int64_t row, int64_t column, int x) {                                                         \
      c[row * ldc + column] = requantise(e(x, 0, column), scale[column], act == ACT_RELU);                                               \
    });                                                                                                                                  \
  }                                                                                                                                      \
  RIDGE_ENTRY(entry)

#endif
