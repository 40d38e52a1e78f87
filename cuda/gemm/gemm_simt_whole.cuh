// C[M,N] = act(alpha·A[M,K]·op(B) + beta·D + bias[N]) at fp32 on the fp32 units, where rows of A and B begin at multiples of 16 bytes; C may lie anyhow. Operands, batches and epilogues
// as gemm_simt.cuh, which takes the rest.
// FLOP: 2·M·N·K a product. Bytes: each matrix once; from L2 each tile of A and B once a block.
//
// The multiply-adds should bind. A scheduler issues one instruction a cycle and fp32 takes every one of them, so whatever else is issued is lost. What a thread with 8 × 8 sums reads for
// 4 k, 8 packs of A and 8 of B for 256 multiply-adds, is half of the rest: the tiles come by cp.async, past the registers.
// A lies in shared memory as it does in memory, [row][k], and so does B: no element is moved by itself. A thread reads packs along k of A and of B [N,K]; of B [K,N] packs along the
// columns. Rows of 16 k are 20 words apart, so that those that a warp reads at once, neighbours, lie on different banks.
// Counts a step of 16 k: 1024 multiply-adds a thread in some 1140 instructions (by the machine code for 9.0), 0.90. 168 registers: three blocks of 4 warps a multiprocessor.
// The sums leave through shared memory: in registers the machine code had a copy of the epilogue for each run of them, and spilled.
//
// Measured on an H200 as a prototype, TFLOP/s, B [K,N] and [N,K]: 4096³ 43.1 and 41.6, 1024³ 30.9 and 28.5 (cuBLAS with B [K,N], in other runs: 50 to 51 and 35.8). gemm_simt.cuh, whose step has 512
// multiply-adds in 840 instructions, has 33.9 at 4096³. By issue slots it should have been 58: refuted. Tried at 4096³: 128 × 256 with 8 × 16 sums, 0.93 of the slots, 41.8 and 40.8 (1024³
// 9.8); 256 × 128 with 16 × 8 and steps of 32 44.4; 128 × 128 with 8 × 8 by 256 threads 40.0; 64 × 64 43.6. By the machine code 0.32 to 0.43 of the multiply-adds
// (of 128 × 128 0.59) read two registers of one bank that no earlier instruction left in the reuse cache. A cycle for each would come near what was measured; that is a guess.
//
// Versions: 1 as described. Next: an order of the multiply-adds, or numbers of registers, that ptxas is made to keep, with one new register of a bank each.
#ifndef RIDGE_GEMM_SIMT_WHOLE_CUH
#define RIDGE_GEMM_SIMT_WHOLE_CUH

#include "ptx_cp_async.cuh"
#include "ridge_epilogue.cuh"
#include "ridge_tile_place.cuh"

template <bool FIRST, class A, class B> struct either_of {
  typedef A type;
};
template <class A, class B> struct either_of<false, A, B> {
  typedef B type;
};

// ALONG: B is stored [N,K]. A thread has RM × RN sums, of neighbouring columns four and four.
template <int ROWS_, int COLS_, int RM_, int RN_, int STAGES_, bool ALONG> struct SimtTile {
  static constexpr int ROWS = ROWS_, COLS = COLS_, RM = RM_, RN = RN_, STAGES = STAGES_, STEP = 16;
  static constexpr int DOWN = ROWS / RM, ACROSS = COLS / RN, THREADS = DOWN * ACROSS; // of threads
  static constexpr bool STORED_ALONG = ALONG;
  static constexpr int PITCH = STEP + 4, A = ROWS * PITCH, STAGE = A + (ALONG ? COLS * PITCH : STEP * COLS); // words
  static_assert(ACROSS % 8 == 0 && DOWN % 4 == 0 && RN % 4 == 0 && 4 * ROWS % THREADS == 0 && 4 * COLS % THREADS == 0, "warps are 4 x 8 threads");
  static_assert(ROWS * COLS <= STAGES * STAGE, "the sums fit in where the stages were");

  // LINES lines along k in chunks of 16 bytes, of which a thread copies every THREADS-th: of A, and of B [N,K], whose columns 4·i + q lie as lines q·COLS / 4 + i, so that those
  // that a warp reads at once are neighbours.
  template <int LINES, bool COLUMNS> struct AlongK {
    static constexpr int COPIES = 4 * LINES / THREADS, NEXT = THREADS / 4;
    static_assert(!COLUMNS || NEXT % 4 == 0, "the next line of a thread has the same q");
    static __device__ __forceinline__ int line() { return threadIdx.x / 4; }
    static __device__ __forceinline__ int word() { return threadIdx.x % 4 * 4; }
    static __device__ __forceinline__ int place() { return (COLUMNS ? line() % 4 * (COLS / 4) + line() / 4 : line()) * PITCH + word(); }
    static constexpr int place_next = (COLUMNS ? NEXT / 4 : NEXT) * PITCH;
    // How many bytes of copy i exist.
    static __device__ __forceinline__ int given(int i, int lines, int words) { return bytes(line() + i * NEXT < lines, words - word()); }
  };
  // STEP lines along the columns, of B [K,N].
  struct Beside {
    static constexpr int COPIES = COLS * STEP / 4 / THREADS, NEXT = THREADS / (COLS / 4);
    static __device__ __forceinline__ int line() { return threadIdx.x / (COLS / 4); }
    static __device__ __forceinline__ int word() { return threadIdx.x % (COLS / 4) * 4; }
    static __device__ __forceinline__ int place() { return line() * COLS + word(); }
    static constexpr int place_next = NEXT * COLS;
    static __device__ __forceinline__ int given(int i, int lines, int words) { return bytes(line() + i * NEXT < lines, words - word()); }
  };
  static __device__ __forceinline__ int bytes(bool exists, int words) { return exists ? max(0, min(16, 4 * words)) : 0; }

  // finish(row, column, sums): four neighbours of the tile, all that lie in rows × columns of it; a and b are where its rows and columns begin.
  template <class F>
  static __device__ __forceinline__ void product(int rows, int columns, int64_t k, const float *a, int64_t lda, const float *b, int64_t ldb, F finish) {
    RIDGE_DYNAMIC_SHARED(float, stages);
    typedef AlongK<ROWS, false> CopyA;
    typedef typename either_of<ALONG, AlongK<COLS, true>, Beside>::type CopyB;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const int x = warp % (ACROSS / 8) * 8 + lane % 8, y = warp / (ACROSS / 8) * 4 + lane / 8; // this thread's place
    const shared_at to_a = shared_address(stages) + 4 * CopyA::place(), to_b = shared_address(stages) + 4 * (A + CopyB::place());
    const int steps = (int)((k + STEP - 1) / STEP), whole = rows >= ROWS && columns >= COLS ? (int)(k / STEP) : 0;
    const float *from_a = a + CopyA::line() * lda + CopyA::word(), *from_b = b + CopyB::line() * ldb + CopyB::word();
    auto fetch = [&](int t, int slot) {
      const shared_at a_at = to_a + 4 * STAGE * slot, b_at = to_b + 4 * STAGE * slot;
      if (t < whole) {
#pragma unroll
        for (int i = 0; i < CopyA::COPIES; i++) copy_async(a_at + 4 * i * CopyA::place_next, from_a + (int64_t)i * CopyA::NEXT * lda, 16);
#pragma unroll
        for (int i = 0; i < CopyB::COPIES; i++) copy_async(b_at + 4 * i * CopyB::place_next, from_b + (int64_t)i * CopyB::NEXT * ldb, 16);
      } else if (t < steps) {
        const int left = (int)min((int64_t)STEP, k - (int64_t)t * STEP);
#pragma unroll
        for (int i = 0; i < CopyA::COPIES; i++)
          copy_async(a_at + 4 * i * CopyA::place_next, from_a + (int64_t)i * CopyA::NEXT * lda, CopyA::given(i, rows, left));
#pragma unroll
        for (int i = 0; i < CopyB::COPIES; i++)
          copy_async(b_at + 4 * i * CopyB::place_next, from_b + (int64_t)i * CopyB::NEXT * ldb, CopyB::given(i, ALONG ? columns : left, ALONG ? left : columns));
      }
      copy_commit();
      from_a += STEP;
      from_b += ALONG ? STEP : STEP * ldb;
    };
    float sums[RM][RN] = {};
#pragma unroll
    for (int s = 0; s < STAGES - 1; s++) fetch(s, s);
    const float *mine = stages + y * PITCH, *mine_b = stages + A + (ALONG ? x * PITCH : x * 4);
    int slot = 0, free = STAGES - 1;
#pragma unroll 1
    for (int t = 0; t < steps; t++) {
      copy_wait<STAGES - 2>();
      __syncthreads();
      fetch(t + STAGES - 1, free); // its last readers passed the barrier
      step(mine + slot * STAGE, mine_b + slot * STAGE, sums);
      free = slot;
      slot = slot + 1 == STAGES ? 0 : slot + 1;
    }
    copy_wait<0>();
    __syncthreads(); // through shared memory, so that what finish does is there once and not for each of a thread's sums
#pragma unroll
    for (int i = 0; i < RM; i++)
#pragma unroll
      for (int j = 0; j < RN; j += 4)
        store_pack((pack<float> *)(stages + (y + i * DOWN) * COLS + 4 * x + j * ACROSS), pack<float>{{sums[i][j], sums[i][j + 1], sums[i][j + 2], sums[i][j + 3]}});
    __syncthreads();
#pragma unroll 1
    for (int i = threadIdx.x; i < ROWS * COLS / 4; i += THREADS) {
      const int row = i / (COLS / 4), column = i % (COLS / 4) * 4;
      if (row >= rows) break;
      if (column >= columns) continue;
      const pack<float> v = load_pack((const pack<float> *)(stages + 4 * i));
      finish(row, column, Run<float, 4>{{v.at[0], v.at[1], v.at[2], v.at[3]}});
    }
  }

  static __device__ __forceinline__ void step(const float *a, const float *b, float (&sums)[RM][RN]) {
#pragma unroll
    for (int k = 0; k < STEP; k += 4) {
      pack<float> x[RM];
#pragma unroll
      for (int i = 0; i < RM; i++) x[i] = load_pack((const pack<float> *)(a + i * DOWN * PITCH + k));
      if constexpr (ALONG) {
#pragma unroll
        for (int j = 0; j < RN; j += 2) {
          pack<float> y[2];
#pragma unroll
          for (int q = 0; q < 2; q++) y[q] = load_pack((const pack<float> *)(b + ((j % 4 + q) * (COLS / 4) + j / 4 * ACROSS) * PITCH + k));
#pragma unroll
          for (int e = 0; e < 4; e++)
#pragma unroll
            for (int i = 0; i < RM; i++)
#pragma unroll
              for (int q = 0; q < 2; q++) sums[i][j + q] = fmaf(x[i].at[e], y[q].at[e], sums[i][j + q]);
        }
      } else {
#pragma unroll
        for (int e = 0; e < 4; e++) {
          pack<float> y[RN / 4];
#pragma unroll
          for (int j = 0; j < RN / 4; j++) y[j] = load_pack((const pack<float> *)(b + (k + e) * COLS + 4 * j * ACROSS));
#pragma unroll
          for (int i = 0; i < RM; i++)
#pragma unroll
            for (int j = 0; j < RN; j++) sums[i][j] = fmaf(x[i].at[e], y[j / 4].at[j % 4], sums[i][j]);
        }
      }
    }
  }
};

template <class T>
__device__ __forceinline__ void simt_whole(int64_t m, int64_t n, int64_t k, const float *a, int64_t lda, const float *b, int64_t ldb, const Epilogue<float> &e, float *c,
                                           int64_t ldc) {
  const bool packed = (uintptr_t)c % 16 == 0 && ldc % 4 == 0 && e.packs(n);
  const int64_t down = (m + T::ROWS - 1) / T::ROWS, across = (n + T::COLS - 1) / T::COLS;
  if (down * across == 0) return;
  const TilePlace tile = tile_place(blockIdx.x, down, across);
  const int64_t row0 = tile.row * T::ROWS, column0 = tile.column * T::COLS;
  T::product((int)min((int64_t)T::ROWS, m - row0), (int)min((int64_t)T::COLS, n - column0), k, a + row0 * lda, lda, b + (T::STORED_ALONG ? column0 * ldb : column0), ldb,
             [&](int row, int column, const Run<float, 4> &sums) {
               const int64_t r = row0 + row, j = column0 + column;
               store_run(c + r * ldc + j, e.all(sums, r * n + j, j, n - j, packed), n - j, packed);
             });
}

// The tile: rows and columns of a block, a thread's, stages, ALONG.
#define RIDGE_GEMM_SIMT_WHOLE(entry, ...)                                                                                               \
  RIDGE_KERNEL(entry, (SimtTile<__VA_ARGS__>::THREADS))                                                                                 \
  (int64_t m, int64_t n, int64_t k, int64_t lda, int64_t ldb, int64_t ldc, int64_t stride_a, int64_t stride_b, int64_t stride_c,        \
   int64_t act, double alpha, double beta, const float *a, const float *b, const float *d, const float *bias, float *c) {               \
    const int64_t z = blockIdx.z;                                                                                                       \
    const Epilogue<float> e = {d ? d + z * m * n : d, bias, (float)alpha, (float)beta, (int)act};                                       \
    simt_whole<SimtTile<__VA_ARGS__>>(m, n, k, a + z * stride_a, lda, b + z * stride_b, ldb, e, c + z * stride_c, ldc);                 \
  }                                                                                                                                     \
  RIDGE_ENTRY(entry)

#endif
