// The main loop of products on Hopper's tensor cores (wgmma, 9.0 alone): a block sums Σ_k a(row, k)·b(k, column) for tile after tile of 128 rows ×
// COLS. A is [row][k]; B is [column][k] (ALONG) or, of 16 bits, [k][column].
//
// 12 warps, one block a multiprocessor, which takes every gridDim.x-th tile. A thread of the first warpgroup orders tiles of A and B by TMA into
// STAGES stages of 128 bytes of k; two warpgroups have 64 rows each and issue four wgmma a stage. Two mbarriers a stage: full (the bytes are
// there) and empty (each of eight warps has waited for the wgmma that read it). A stage's wgmma are waited for after the next stage's are
// issued, so that the tensor cores always have one group ahead (SumsWhole; a precision may have another loop); the producer runs on into the next tile while
// this one is stored.
//
// In a cluster (BLOCKS > 1) the blocks take tiles below each other, so the same columns of B: each brings its own A and 1 / BLOCKS of B's tile to all. A stage is filled when the
// warps of all blocks have given it back, to each producer by an arrival of its own, and full when all shares have come; shares may come before the block has said how many
// bytes it expects. Blocks begin when all have their mbarriers, and end together: until then others may arrive at them. A block whose tile lies beyond the last
// row does the same on zeros, which nobody stores.
//
// A stage of A is 128 rows of 128 bytes, of B COLS rows, or across 64 rows of k for each 64 columns; all swizzled by 128 bytes, by TMA and in the
// descriptors: no bank conflicts. Rows, columns and k beyond the ends are zeros of TMA.
//
// Counts a stage with 128 × 256 and 16 bits (k = 64): 4.19 MFLOP, 1024 cycles of the tensor cores (4096 FLOP a cycle), in eight wgmma of 128 cycles.
// Shared memory: a wgmma reads 2 KB of A and 8 KB of B, 80 bytes a cycle, and TMA writes 48 KB, 47 a cycle: 127 of the 128 there are, which
// no other shape for two warpgroups betters (m64n128 reads 96). L2: 47 bytes a cycle of 64. Issue (disassembled): 36 instructions a warp, 72 slots of a
// scheduler's 1024; the four HGMMA follow each other without a wait. Registers: 128 of sums; ptxas uses 168, the launch bound's share. No spill.
// In flight: three stages, 144 KB an SM, where 4.8 TB/s × 1 µs / 132 asks for 36. 128 × 128: 512 cycles, 96 + 64 bytes of shared memory and 64
// of L2 a cycle: for few tiles alone.
// The end of a tile (128 × 256), measured on an H200 (ncu, bf16 4096³, four tiles a block): 337 000 cycles with `each`, whose runs of a row wait for one another; 289 000 with rounded sums through shared
// memory 128 columns at a time, 286 000 with stores by TMA, 276 000 without any end; 262 000 are the wgmma's. So plain sums go by `put` and `leave` or `rows`. Of 16 bits the last 128 columns wait as 32
// words a thread until the next tile's first wgmma are issued (SumsWhole): its end is then 64 conversions and 32 stores. What else was measured and gave nothing: warpgroups one or two
// stages apart. Clusters of four and eight: of 33 and 16 only 30 and 15 find their multiprocessors at once, half the speed.
#ifndef RIDGE_WGMMA_TILE_CUH
#define RIDGE_WGMMA_TILE_CUH

#include "ptx_cluster.cuh"
#include "ptx_mma.cuh"
#include "ptx_wgmma.cuh"
#include "ridge_tile_place.cuh"

constexpr int WGMMA_THREADS = 384;

// Where a warp that multiplies stands in the ring of stages; a and b are the descriptors of its operands in the first one.
struct WgmmaRing {
  shared_at stages, full, empty; // empty: in a cluster, of the block that this lane tells
  uint64_t a, b;
  int slot;
  unsigned phase;
  __device__ __forceinline__ void next(int stages) {
    if (++slot == stages) slot = 0, phase ^= 1;
  }
};

struct WgmmaNothing {
  __device__ __forceinline__ void operator()() const {}
  __device__ __forceinline__ void operator()(shared_at) const {}
};

// The loops over a tile's stages. This one leaves the sums to the tensor cores and has one group of wgmma ahead.
struct SumsWhole {
  static constexpr int COPIES = 1, BARRIERS = 2; // of B in a stage; of a stage
  static constexpr bool LATER = true;            // there are registers for half as many words as sums, and `later` is called under the first stage's wgmma
  template <class T, class L = WgmmaNothing> static __device__ __forceinline__ void sums(typename T::sum (&acc)[T::COLS / 2], WgmmaRing &at, int steps, L later = {}) {
    mbarrier_wait(at.full + 8 * at.slot, at.phase);
    T::template stage<true>(acc, at.a + at.slot * (T::STAGE >> 4), at.b + at.slot * (T::STAGE >> 4));
    later();
    int last = at.slot;
    at.next(T::STAGES);
    for (int s = 1; s < steps; s++) {
      mbarrier_wait(at.full + 8 * at.slot, at.phase);
      T::template stage<false>(acc, at.a + at.slot * (T::STAGE >> 4), at.b + at.slot * (T::STAGE >> 4));
      wgmma_wait<1>();
      T::release(at, last);
      last = at.slot;
      at.next(T::STAGES);
    }
    wgmma_done(acc);
    T::release(at, last);
  }
};

// Of e4m3, of whose sums the tensor cores keep 14 bits: the four wgmma of a stage (128 k) begin at 0, and the fp32 units add what they give. 128
// columns at a time: registers hold one such part beside all sums. While a warpgroup waits and adds, the other one's wgmma go on.
struct SumsPromoted {
  static constexpr int COPIES = 1, BARRIERS = 2;
  static constexpr bool LATER = false;
  template <class T> static __device__ __forceinline__ void sums(float (&acc)[T::COLS / 2], WgmmaRing &at, int steps) {
#pragma unroll
    for (int i = 0; i < T::COLS / 2; i++) acc[i] = 0;
    for (int s = 0; s < steps; s++) {
      mbarrier_wait(at.full + 8 * at.slot, at.phase);
#pragma unroll
      for (int half = 0; half < T::COLS / 128; half++) {
        float part[64];
        T::template stage<true>(part, at.a + at.slot * (T::STAGE >> 4), at.b + at.slot * (T::STAGE >> 4) + half * (128 * 128 >> 4));
        wgmma_done(part);
        if (half == T::COLS / 128 - 1) T::release(at, at.slot);
#pragma unroll
        for (int i = 0; i < 64; i++) acc[64 * half + i] += part[i];
      }
      at.next(T::STAGES);
    }
  }
};

// A precision: its wgmma with B either way, the bytes of an element, and its loop.
struct HopperBf16 {
  typedef WgmmaBf16 along;
  typedef WgmmaBf16Across across;
  typedef SumsWhole loop;
  static constexpr int SIZE = 2;
};
struct HopperFp16 {
  typedef WgmmaFp16 along;
  typedef WgmmaFp16Across across;
  typedef SumsWhole loop;
  static constexpr int SIZE = 2;
};
struct HopperTf32 { // words lie along k alone
  typedef WgmmaTf32 along;
  typedef SumsWhole loop;
  static constexpr int SIZE = 4;
};
struct HopperBytes { // no instruction takes bytes across
  typedef WgmmaBytes along;
  typedef SumsWhole loop;
  static constexpr int SIZE = 1;
};
struct HopperUnsignedBytes {
  typedef WgmmaUnsignedBytes along;
  typedef SumsWhole loop;
  static constexpr int SIZE = 1;
};
struct HopperE4m3 {
  typedef WgmmaE4m3 along;
  typedef SumsPromoted loop;
  static constexpr int SIZE = 1;
};

__device__ __forceinline__ unsigned bits_of(float x) { return __float_as_uint(x); }
__device__ __forceinline__ unsigned bits_of(int x) { return (unsigned)x; }
__device__ __forceinline__ void of_bits(float &x, unsigned b) { x = __uint_as_float(b); }
__device__ __forceinline__ void of_bits(int &x, unsigned b) { x = (int)b; }

template <bool ALONG, class P> struct WgmmaOf {
  typedef typename P::along type;
};
template <class P> struct WgmmaOf<false, P> {
  typedef typename P::across type;
};

template <class P, bool ALONG, int COLS_, int BLOCKS_ = 1> struct WgmmaTile {
  typedef typename WgmmaOf<ALONG, P>::type wgmma;
  typedef typename wgmma::sum sum;
  typedef typename P::loop loop;
  static constexpr int BLOCKS = BLOCKS_; // of a cluster, side by side along rows
  static constexpr int ROWS = 128, COLS = COLS_, STEP = 128 / P::SIZE; // k of a stage
  static constexpr int A_BYTES = ROWS * 128, B_BYTES = COLS * 128, STAGE = A_BYTES + loop::COPIES * B_BYTES, STAGES = 196608 / STAGE;
  static constexpr int LINE = 256, STAGING = 16 * LINE; // of a warp: 16 rows of 64 sums
  static constexpr int SHARED = 1024 + STAGES * STAGE + 8 * STAGING;
  static_assert(COLS % (64 * BLOCKS) == 0 && BLOCKS <= 32, "each block brings whole panels of B, and a lane tells one block");

  // The warp has waited for what reads a stage: every block that writes there is told.
  static __device__ __forceinline__ void release(const WgmmaRing &at, int slot) {
    const int lane = threadIdx.x % 32;
    if constexpr (BLOCKS == 1) {
      if (lane == 0) mbarrier_arrive(at.empty + 8 * slot);
    } else {
      if (lane < BLOCKS) mbarrier_arrive_cluster(at.empty + 8 * slot);
    }
  }

  // The tile that this block takes at place t: those of a cluster lie below each other. down counts rows of tiles or, in clusters, of groups of BLOCKS.
  static __device__ __forceinline__ TilePlace place_of(int64_t t, int64_t down, int64_t across, unsigned rank) {
    TilePlace at = tile_place(t % (down * across), down, across);
    at.row = at.row * BLOCKS + rank;
    return at;
  }

  // What a slice of the tiles sums up: a product of a batch, or where `part` stages are fewer than all `steps`, so many of the only product.
  struct Slice {
    int z, first, count; // the product; stages
  };
  static __device__ __forceinline__ Slice slice(int number, int steps, int part) {
    return part < steps ? Slice{0, number * part, min(part, steps - number * part)} : Slice{number, 0, steps};
  }

  // In a cluster each block brings its A, and its share of B's columns to all of them, when all have given the stage back.
  static __device__ __forceinline__ void produce(int64_t tiles, int64_t across, int steps, int part, shared_at stages, shared_at full, shared_at empty,
                                                 const ridge_tensor_map &a, const ridge_tensor_map &b, int64_t down, unsigned rank) {
    constexpr int SHARE = COLS / BLOCKS, ALL = (1 << BLOCKS) - 1;
    tma_prefetch(a);
    tma_prefetch(b);
    int slot = 0;
    unsigned phase = 0;
    for (int64_t t = blockIdx.x / BLOCKS; t < tiles; t += gridDim.x / BLOCKS) {
      const Slice of = slice((int)(t / (down * across)), steps, part);
      const TilePlace at = place_of(t, down, across, rank);
      const int row = (int)at.row * ROWS, column = (int)at.column * COLS; // a row of tiles beyond the last is zeros of TMA
      for (int s = of.first; s < of.first + of.count; s++) {
        const shared_at to = stages + slot * STAGE, bar = full + 8 * slot;
        mbarrier_wait(empty + 8 * slot, phase ^ 1);
        mbarrier_expect(bar, A_BYTES + B_BYTES);
        tma_load(to, a, bar, s * STEP, row, of.z);
        if constexpr (BLOCKS > 1 && ALONG) {
          tma_load_multicast(to + A_BYTES + rank * (B_BYTES / BLOCKS), b, bar, s * STEP, column + (int)rank * SHARE, of.z, ALL);
        } else if constexpr (BLOCKS > 1) {
#pragma unroll
          for (int i = 0; i < SHARE / 64; i++)
            tma_load_multicast(to + A_BYTES + rank * (B_BYTES / BLOCKS) + i * 8192, b, bar, column + (int)rank * SHARE + 64 * i, s * STEP, of.z, ALL);
        } else if constexpr (ALONG) {
          tma_load(to + A_BYTES, b, bar, s * STEP, column, of.z);
        } else {
#pragma unroll
          for (int i = 0; i < COLS / 64; i++) tma_load(to + A_BYTES + i * 8192, b, bar, column + 64 * i, s * STEP, of.z);
        }
        if (++slot == STAGES) slot = 0, phase ^= 1;
      }
    }
  }

  // The four wgmma of a stage, as a group. FIRST: its sums are new.
  template <bool FIRST, int COUNT> static __device__ __forceinline__ void stage(sum (&acc)[COUNT], uint64_t a, uint64_t b) {
    constexpr int NEXT_B = (ALONG ? 32 : 32 / P::SIZE * 128) >> 4; // of a step of 32 bytes of k
    wgmma_fence();
    wgmma::template mma<FIRST>(acc, a, b);
#pragma unroll
    for (int k = 1; k < 4; k++) wgmma::template mma<false>(acc, a + 2 * k, b + NEXT_B * k);
    wgmma_commit();
  }

  // Calls f(row, column, sums) for PER neighbours of the warp's 16 rows of the tile: sums go through shared memory, 64 columns at a time, so
  // that a row leaves in pieces of 128 bytes and more. 16-byte chunks are placed so that writes of 8 bytes and reads of 16 have no bank conflict.
  static __device__ __forceinline__ int place(int row, int chunk) {
    return row * LINE + (((chunk >> 1 ^ (chunk & 1) << 2 ^ (row & 3)) | (chunk & 1) << 3) << 4);
  }
  template <int PER, class F> static __device__ __forceinline__ void each(const sum (&acc)[COLS / 2], shared_at mine, F f) {
    const int lane = threadIdx.x % 32;
#pragma unroll 1
    for (int part = 0; part < COLS / 64; part++) { // the code of f is there once
#pragma unroll
      for (int i = 0; i < COLS / 2; i += 2) {
        const int row = lane / 4 + i / 2 % 2 * 8, chunk = i / 4 % 8 * 2 + lane % 4 / 2;
        if (i / 32 == part) store_shared(mine + place(row, chunk) + lane % 2 * 8, bits_of(acc[i]), bits_of(acc[i + 1]));
      }
      __syncwarp();
#pragma unroll 1
      for (int row = lane * PER / 64; row < 16; row += PER / 2) {
        const int column = lane * PER % 64;
        Run<sum, PER> v;
#pragma unroll
        for (int i = 0; i < PER / 4; i++) {
          unsigned w[4];
          load_shared(w, mine + place(row, column / 4 + i));
#pragma unroll
          for (int e = 0; e < 4; e++) of_bits(v.at[4 * i + e], w[e]);
        }
        f(row, part * 64 + column, v);
      }
      __syncwarp();
    }
  }

  // How plain sums leave: the warp's 16 rows of 256 bytes of columns go through shared memory, by `put` and then `leave`, as they are stored, to elements of `to` on, rows of `pitch` of which `down`
  // and `across` exist; they begin at multiples of 16 bytes, and 16 bytes at a time exist or not. No bank conflict. Of 16 bits: 128 columns in words of two, in the order of the sums.
  static __device__ __forceinline__ void put(const unsigned (&words)[32], shared_at mine) {
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int i = 0; i < 32; i++) store_shared(mine + (lane / 4 + i % 2 * 8) * LINE + ((i / 2 ^ lane / 4) << 4) + lane % 4 * 4, words[i]);
  }
  template <class TE> static __device__ __forceinline__ void leave(shared_at mine, TE *to, int64_t pitch, int down, int across) {
    leave(mine, to, pitch, down, across, [](int row, int chunk) { return row * LINE + ((chunk ^ row % 8) << 4); });
  }
  static __device__ __forceinline__ void rows(const sum (&acc)[COLS / 2], shared_at mine, sum *to, int64_t pitch, int down, int across) {
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int part = 0; part < COLS / 64; part++) {
#pragma unroll
      for (int i = 0; i < 32; i += 2)
        store_shared(mine + place(lane / 4 + i / 2 % 2 * 8, i / 4 * 2 + lane % 4 / 2) + lane % 2 * 8, bits_of(acc[32 * part + i]), bits_of(acc[32 * part + i + 1]));
      leave(mine, to + 64 * part, pitch, down, across - 64 * part, place);
    }
  }
  template <class TE, class F> static __device__ __forceinline__ void leave(shared_at mine, TE *to, int64_t pitch, int down, int across, F where) {
    const int lane = threadIdx.x % 32, chunk = lane % 16, first = lane / 16;
    const bool exists = chunk * (int)(16 / sizeof(TE)) < across;
    __syncwarp();
    to += first * pitch + chunk * (16 / sizeof(TE));
#pragma unroll 4
    for (int i = first; i < 16; i += 2, to += 2 * pitch) {
      unsigned w[4];
      load_shared(w, mine + where(i, chunk));
      if (exists && i < down) store_pack((pack<unsigned> *)to, pack<unsigned>{{w[0], w[1], w[2], w[3]}});
    }
    __syncwarp();
  }

  // All products: a and b are maps of [z][row][k] and [z][column][k] (or [z][k][column]) with boxes of (STEP, ROWS, 1) and (STEP, COLS / BLOCKS, 1) (or
  // (64, STEP, 1)). f(z, row, column, sums, mine) gets a warp's sums of the 16 rows from `row` and the COLS columns from `column` on, some of which may lie beyond the ends, and the
  // shared memory for `each` or `rows`. depth > 0. part: stages that are summed up together; where they are fewer than the depth's, batch is 1 and z counts the parts.
  // later(mine) is called before the next f, where the tensor cores have work meanwhile if the loop can, and at the end.
  template <class F, class L = WgmmaNothing>
  static __device__ __forceinline__ void products(int64_t m, int64_t n, int64_t depth, int64_t batch, const ridge_tensor_map &a,
                                                  const ridge_tensor_map &b, F f, int part = 0x7fffffff, L later = {}) {
    RIDGE_DYNAMIC_SHARED(unsigned char, dynamic);
    RIDGE_SHARED(uint64_t, bars, [loop::BARRIERS * STAGES]);
    const shared_at stages = (shared_address(dynamic) + 1023) & ~(shared_at)1023, full = shared_address(bars), empty = full + 8 * STAGES;
    const int tid = threadIdx.x, group = __shfl_sync(0xffffffffu, tid / 128, 0), steps = (int)((depth + STEP - 1) / STEP);
    const unsigned rank = BLOCKS > 1 ? cluster_rank() : 0;
    const int64_t down = (m + ROWS * BLOCKS - 1) / (ROWS * BLOCKS), across = (n + COLS - 1) / COLS;
    const int64_t tiles = down * across * (part < steps ? (steps + part - 1) / part : batch);
    if (tid == 0) {
      for (int s = 0; s < STAGES; s++) {
        mbarrier_init(full + 8 * s, 1);
        mbarrier_init(empty + 8 * s, 8 * BLOCKS);
        if constexpr (loop::BARRIERS > 2) mbarrier_init(full + 16 * STAGES + 8 * s, loop::HELPERS);
      }
      mbarrier_init_fence();
    }
    if constexpr (BLOCKS == 1) __syncthreads();
    if constexpr (BLOCKS > 1) cluster_barrier();
    if (group == 0) {
      registers_fewer<40>();
      if (tid == 0) produce(tiles, across, steps, part, stages, full, empty, a, b, down, rank);
      if constexpr (loop::BARRIERS > 2) {
        if (tid >= 128 - 32 * loop::HELPERS) {
          WgmmaRing at = {stages, full, empty, 0, 0, 0, 0};
          for (int64_t t = blockIdx.x / BLOCKS; t < tiles; t += gridDim.x / BLOCKS) loop::template help<WgmmaTile>(at, slice((int)(t / (down * across)), steps, part).count);
        }
      }
      if constexpr (BLOCKS > 1) {
        __syncwarp();
        cluster_barrier();
      }
      return;
    }
    registers_more<232>();
    const int warp = tid / 32 - 4;
    const shared_at told = BLOCKS > 1 ? cluster_map(empty, tid % BLOCKS) : empty;
    WgmmaRing ring = {stages, full, told, wgmma_operand(stages + (group - 1) * 8192, 16, 1024), wgmma_operand(stages + A_BYTES, ALONG ? 16 : 8192, 1024), 0, 0};
    const shared_at mine = stages + STAGES * STAGE + warp * STAGING;
    for (int64_t t = blockIdx.x / BLOCKS; t < tiles; t += gridDim.x / BLOCKS) {
      sum acc[COLS / 2]; // without parts nothing is divided before the wgmma: ptxas would fence them once more
      const int count = part == 0x7fffffff ? steps : slice((int)(t / (down * across)), steps, part).count;
      if constexpr (loop::LATER)
        loop::template sums<WgmmaTile>(acc, ring, count, [&] { later(mine); });
      else
        loop::template sums<WgmmaTile>(acc, ring, count);
      const int64_t z = t / (down * across);
      const TilePlace at = place_of(t, down, across, rank);
      f(z, at.row * ROWS + 16 * warp, at.column * COLS, acc, mine);
    }
    later(mine);
    if constexpr (BLOCKS > 1) cluster_barrier(); // the others' producers have been told of the last stages
  }
};

#endif
