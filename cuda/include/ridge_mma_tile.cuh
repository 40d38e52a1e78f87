// The main loop of products on tensor cores (mma.sync, 8.0 and later): a block sums Σ_k a(row, k)·b(k, column) for a tile of ROWS × COLS,
// each warp for WARP_ROWS × WARP_COLS of it. A is [row][k]; B is [column][k] (ALONG) or [k][column].
//
// A stage is 64 bytes of k: two steps of 32 bytes, one mma each for 16 rows and 8 columns (fp64: two). STAGES of them lie in dynamic
// shared memory; cp.async fills the stage after next but one while two are used. One barrier a stage: it lies behind the wait for the next stage and
// behind the last read of the one that is filled again. Fragments of the next step are read before the mma of the current one, so
// registers hold two sets. Rows and columns beyond the ends come from the last ones, whose sums nobody stores; k beyond the end is 0.
//
// Swizzle: 16-byte chunks of a row are XORed with bits of the row, so that each read of a fragment and each quarter warp of a copy
// covers all 32 banks once (the model reports a conflict):
//   rows of 64 bytes along k     chunk ^ (row / 2 & 3); fp64 chunk ^ 2·(row / 2 & 1)
//   rows along columns           chunk ^ f(k): 16 bits k & 7; 32 and 64 bits 2·(k & 3); bytes (k & 1) + 2·(k / 4 & 3)
//
// Per warp and step of 32 bytes with 64 × 64: 4 + 4 ldmatrix.x4 (32 wavefronts of shared memory), 32 mma. With bf16 on 8.0 (2 cycles of
// a multiprocessor an mma) 64 cycles of mma, 32 of reads, 16 (128 × 128) or 12 (128 × 256) of cp.async: the tensor cores bind by 64 to 48.
// With 64 × 32 per warp reads would be 48 for 64. mma.sync of 9.0 reaches about 0.63 of what wgmma does (Luo et al. 2024): 51 to 48.
// Disassembled (sm_80): 64 mma of some 160 (B along k) to 190 instructions a stage and warp, the others addresses and bounds: 0.3 of the issue slots that
// the mma take. 228 to 254 registers of 255, no spill.
#ifndef RIDGE_MMA_TILE_CUH
#define RIDGE_MMA_TILE_CUH

#include "ptx_mma.cuh"
#include "ridge_mma_copy.cuh"

// A precision: its mma, the stored elements of both operands, and how fragments of B stored [k][column] are read. at() is the offset
// of a lane in rows of width bytes; reads are at steps of 32 bytes of k, which leave f(k) as it is, and at columns that are XORed.
struct HalvesAcross {
  static __device__ __forceinline__ int f(int k) { return k & 7; }
  static __device__ __forceinline__ int at(int lane, int column0, int width) {
    const int k = lane / 8 % 2 * 8 + lane % 8, column = column0 + lane / 16 * 8;
    return k * width + (2 * column ^ f(k) * 16);
  }
  template <class W> static __device__ __forceinline__ void read(W (&b)[2][2], shared_at from, int) {
    unsigned r[4];
    ldmatrix_transposed(r, from);
    b[0][0] = r[0], b[0][1] = r[1], b[1][0] = r[2], b[1][1] = r[3];
  }
};
// ldmatrix transposes pairs of bytes. Rows are chosen so that a lane gets k = 4t.. of columns 2g and 2g + 1, which two instructions
// set apart: the first mma of a pair has the even columns of 16, the second the odd ones.
struct BytesAcross {
  static __device__ __forceinline__ int f(int k) { return (k & 1) | (k >> 2 & 3) << 1; }
  static __device__ __forceinline__ int at(int lane, int column0, int width) {
    const int k = lane % 8 / 2 * 4 + lane % 2 + lane / 8 % 2 * 2 + lane / 16 * 16;
    return k * width + (column0 ^ f(k) * 16);
  }
  template <class W> static __device__ __forceinline__ void read(W (&b)[2][2], shared_at from, int) {
    unsigned r[4];
    ldmatrix_transposed(r, from);
#pragma unroll
    for (int h = 0; h < 2; h++) b[0][h] = __byte_perm(r[2 * h], r[2 * h + 1], 0x6420), b[1][h] = __byte_perm(r[2 * h], r[2 * h + 1], 0x7531);
  }
};
template <int SIZE> struct WordsAcross {
  static __device__ __forceinline__ int f(int k) { return 2 * (k & 3); }
  static __device__ __forceinline__ int at(int lane, int column0, int width) {
    return lane % 4 * width + ((column0 + lane / 4) * SIZE ^ f(lane % 4) * 16);
  }
  template <class W, int N> static __device__ __forceinline__ void read(W (&b)[2][N], shared_at from, int width) {
#pragma unroll
    for (int j = 0; j < 2; j++)
#pragma unroll
      for (int h = 0; h < N; h++) load_shared(b[j][h], (from ^ j * 8 * SIZE) + h * 4 * width);
  }
};

template <class MMA, class A_, class B_, class ACROSS> struct Operands : MMA {
  typedef A_ a_type;
  typedef B_ b_type;
  typedef ACROSS across;
  typedef typename MMA::word word;
  static constexpr int SIZE = sizeof(A_);
  static_assert(sizeof(A_) == sizeof(B_), "a step is as many k of both");

  // Rows along k. at() is a lane's offset; the second step of a stage is ^ 32, 16 rows further + 1024.
  static __device__ __forceinline__ int f(int row) { return SIZE == 8 ? row / 2 % 2 * 2 : row / 2 % 4; }
  static __device__ __forceinline__ int place(int row, int chunk) { return row * 64 + (chunk ^ f(row)) * 16; }
  static __device__ __forceinline__ int a_at(int lane, int row0) {
    return SIZE == 8 ? place(row0 + lane / 4, lane % 4 / 2) + lane % 2 * 8 : place(row0 + lane % 16, lane / 16);
  }
  static __device__ __forceinline__ int b_at(int lane, int column0) {
    return SIZE == 8 ? place(column0 + lane / 4, lane % 4 / 2) + lane % 2 * 8 : place(column0 + lane / 16 * 8 + lane % 8, lane / 8 % 2);
  }
  // A step of 32 bytes of k: fragments of 16 rows each, of 8 columns each in pairs.
  template <int RM, int RN>
  static __device__ __forceinline__ void multiply(typename MMA::sum (&acc)[RM][RN][4], word (&a)[RM][MMA::A], word (&b)[RN / 2][2][MMA::B]) {
#pragma unroll
    for (int i = 0; i < RM; i++)
#pragma unroll
      for (int j = 0; j < RN; j++) MMA::mma(acc[i][j], a[i], b[j / 2][j % 2]);
  }
  static __device__ __forceinline__ void read_a(word (&a)[MMA::A], shared_at from) {
    if constexpr (SIZE == 8) {
      load_shared(a[0], from);
      load_shared(a[1], from + 8 * 64);
    } else {
      ldmatrix(a, from);
    }
  }
  static __device__ __forceinline__ void read_b(word (&b)[2][MMA::B], shared_at from) {
    if constexpr (SIZE == 8) {
      load_shared(b[0][0], from);
      load_shared(b[1][0], from + 8 * 64);
    } else {
      unsigned r[4];
      ldmatrix(r, from);
      b[0][0] = r[0], b[0][1] = r[1], b[1][0] = r[2], b[1][1] = r[3];
    }
  }
};

template <class P, bool ALONG, int ROWS_, int COLS_, int WARP_ROWS, int WARP_COLS> struct MmaTile {
  typedef typename P::word word;
  typedef typename P::sum sum;
  typedef typename P::a_type a_type;
  typedef typename P::b_type b_type;
  static constexpr int ROWS = ROWS_, COLS = COLS_, THREADS = ROWS / WARP_ROWS * (COLS / WARP_COLS) * 32;
  static constexpr int STAGES = 4, DEPTH = 64, STEP = 64 / P::SIZE; // bytes and k of a stage
  static constexpr int WIDTH = COLS * P::SIZE;                      // bytes of a row of B along columns
  static constexpr int A_BYTES = ROWS * DEPTH, STAGE = A_BYTES + COLS * DEPTH, SHARED = STAGES * STAGE;
  static constexpr int RM = WARP_ROWS / 16, RN = WARP_COLS / 8;
  static constexpr int MOVED_A = ROWS * 4 / THREADS, MOVED_B = COLS * 4 / THREADS;
  static_assert(MOVED_A > 0 && MOVED_B > 0, "every thread copies of both");

  // Sources of whole matrices: from the tile's first row or column; rows and columns are how many are left from there, at least 1. Addresses
  // and pitches (elements) are multiples of COPY bytes.
  template <class S> static __device__ __forceinline__ S along(const void *x, int64_t pitch, int64_t rows) {
    return S([&](int r) { return (const unsigned char *)x + min((int64_t)r, rows - 1) * pitch * P::SIZE; });
  }
  template <int COPY = 16> static __device__ __forceinline__ auto source_a(const a_type *a, int64_t lda, int64_t rows) {
    return along<RowsAlong<P, MOVED_A, THREADS / 4, COPY>>(a, lda, rows);
  }
  template <int COPY = 16> static __device__ __forceinline__ auto source_b(const b_type *b, int64_t ldb, int64_t columns) {
    if constexpr (ALONG)
      return along<RowsAlong<P, MOVED_B, THREADS / 4, COPY>>(b, ldb, columns);
    else
      return RowsAcross<P, MOVED_B, THREADS / (WIDTH / 16), WIDTH, COPY>(b, ldb * P::SIZE, columns * P::SIZE);
  }

  // Adds the products of depth k to acc; a and b are sources (ridge_mma_copy.cuh).
  template <class A, class B> static __device__ __forceinline__ void product(int64_t depth, A a, B b, sum (&acc)[RM][RN][4]) {
    RIDGE_DYNAMIC_SHARED(unsigned char, stages);
    const shared_at base = shared_address(stages);
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int row0 = warp % (ROWS / WARP_ROWS) * WARP_ROWS, column0 = warp / (ROWS / WARP_ROWS) * WARP_COLS;
    const int64_t steps = (depth + STEP - 1) / STEP;
    if (steps == 0) return;

    auto fetch = [&](int64_t t) {
      const shared_at slot = base + (int)(t % STAGES) * STAGE;
      const int left = (int)min((int64_t)STEP, depth - t * STEP) * P::SIZE;
      a.fetch(slot, left);
      b.fetch(slot + A_BYTES, left);
    };

    word fa[2][RM][P::A], fb[2][RN / 2][2][P::B];
    const int a_lane = P::a_at(lane, row0), b_lane = A_BYTES + (ALONG ? P::b_at(lane, column0) : P::across::at(lane, column0, WIDTH));
    auto read = [&](int set, int64_t t, int step) {
      const shared_at slot = base + (int)(t % STAGES) * STAGE;
#pragma unroll
      for (int i = 0; i < RM; i++) P::read_a(fa[set][i], slot + (a_lane ^ step * 32) + i * 16 * DEPTH);
#pragma unroll
      for (int j = 0; j < RN / 2; j++) {
        if constexpr (ALONG)
          P::read_b(fb[set][j], slot + (b_lane ^ step * 32) + j * 16 * DEPTH);
        else
          P::across::read(fb[set][j], slot + (b_lane ^ j * 16 * P::SIZE) + step * (32 / P::SIZE * WIDTH), WIDTH);
      }
    };

#pragma unroll
    for (int s = 0; s < STAGES - 1; s++) {
      if (s < steps) fetch(s);
      copy_commit();
    }
    copy_wait<STAGES - 2>();
    __syncthreads();
    read(0, 0, 0);
    for (int64_t t = 0; t < steps; t++) {
#pragma unroll
      for (int step = 0; step < 2; step++) {
        if (step == 0) {
          read(1, t, 1);
          if (t + STAGES - 1 < steps) fetch(t + STAGES - 1); // into the stage before this one, whose last reads lie before the barrier
          copy_commit();
        } else if (t + 1 < steps) {
          copy_wait<STAGES - 2>();
          __syncthreads();
          read(0, t + 1, 0);
        }
        P::multiply(acc, fa[step], fb[step]);
      }
    }
  }

  // Calls f(row, column, sums) for PER elements of a row of the tile, a warp a row of WARP_COLS: sums go through shared memory, in two
  // halves, so that a row leaves in one piece and the code of what is done with a sum is there twice instead of 128 times. They are
  // neighbours, or PAIRED: column j of the lower half of the warp's columns and the one that lies as far in the upper half; column counts lower halves then.
  // Units of 32 bytes are XORed with the row (64 where a lane writes 16 bytes): no bank conflicts.
  static constexpr int PER = WARP_COLS / 32, RUN = !ALONG && P::SIZE == 1 ? 4 : 2; // RUN: neighbours that a lane has
  typedef Run<sum, RUN> run;
  static constexpr int LINE = WARP_COLS * sizeof(sum), UNIT = sizeof(run) == 8 ? 32 : 64;
  static_assert(RM % 2 == 0 && WARP_ROWS / 2 * LINE * (THREADS / 32) <= SHARED && LINE % 128 == 0, "half a warp's sums have room");
  static __device__ __forceinline__ int unit(int row) { return row % (LINE / UNIT) * UNIT; }
  template <bool PAIRED = false, class F> static __device__ __forceinline__ void each(const sum (&acc)[RM][RN][4], F f) {
    static_assert(!PAIRED || (PER == 2 && sizeof(sum) == 4), "a lane has one of each half");
    RIDGE_DYNAMIC_SHARED(unsigned char, stages);
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int row0 = warp % (ROWS / WARP_ROWS) * WARP_ROWS, column0 = warp / (ROWS / WARP_ROWS) * (PAIRED ? WARP_COLS / 2 : WARP_COLS);
    unsigned char *mine = stages + warp * (WARP_ROWS / 2 * LINE);
    __syncthreads(); // behind the last reads of the stages
#pragma unroll
    for (int half = 0; half < 2; half++) {
#pragma unroll
      for (int i = 0; i < RM / 2; i++)
#pragma unroll
        for (int h = 0; h < 2; h++)
#pragma unroll
          for (int j = 0; j < RN; j += RUN / 2) {
            const sum(&v)[4] = acc[half * (RM / 2) + i][j], (&w)[4] = acc[half * (RM / 2) + i][j + RUN / 2 - 1];
            const int row = 16 * i + 8 * h + lane / 4, byte = (8 * j + lane % 4 * RUN) * (int)sizeof(sum);
            run r;
#pragma unroll
            for (int e = 0; e < RUN; e++) r.at[e] = RUN == 2 || e % 2 == 0 ? v[2 * h + e / (RUN / 2)] : w[2 * h + e / 2];
            *(run *)(mine + row * LINE + (byte ^ unit(row))) = r;
          }
      __syncwarp();
#pragma unroll 1
      for (int row = 0; row < WARP_ROWS / 2; row++) {
        const unsigned char *line = mine + row * LINE;
        Run<sum, PER> v;
        if constexpr (PAIRED) {
#pragma unroll
          for (int e = 0; e < PER; e++) v.at[e] = *(const sum *)(line + ((lane + 32 * e) * (int)sizeof(sum) ^ unit(row)));
        } else {
          v = *(const Run<sum, PER> *)(line + (lane * PER * (int)sizeof(sum) ^ unit(row)));
        }
        f(row0 + half * (WARP_ROWS / 2) + row, column0 + lane * (PAIRED ? 1 : PER), v);
      }
      __syncwarp();
    }
  }
};

typedef Operands<MmaBf16, ridge_bf16, ridge_bf16, HalvesAcross> ProductBf16;
typedef Operands<MmaFp16, ridge_fp16, ridge_fp16, HalvesAcross> ProductFp16;
typedef Operands<MmaBytes, unsigned char, unsigned char, BytesAcross> ProductBytes;
typedef Operands<MmaUnsignedBytes, unsigned char, unsigned char, BytesAcross> ProductUnsignedBytes;
typedef Operands<MmaFp64, double, double, WordsAcross<8>> ProductFp64;

#endif
