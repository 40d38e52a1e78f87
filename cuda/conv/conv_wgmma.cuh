// The body of conv2d_DTYPE_sm90.cu: convolution on Hopper's tensor cores as a product that is never laid out (implicit GEMM), nhwc, formula and epilogue as
// conv_simt.cuh has them; one group, stride 1 or 2 or a window of one tap without padding, 16 bytes of channels or a multiple (wgmma.go asks).
//
// Rows of the product are output pixels, in boxes of w × h pixels of n images, at most 128 (wgmma.go picks the box that covers y with the fewest). The windows' pixels of one
// tap are such a box of x too, so that TMA fetches them as they are, with zeros outside of the image: no thread calculates an address. k runs over taps and then
// channels, 128 bytes at a time, as the filters [K,R·S,C] lie. What a box leaves of 128 rows is zeros, written once.
// At stride 2 a tap's pixels are every other one: x has four maps then, of its even and odd columns and rows, and a tap is a box of one of them. A pixel's channels
// of a stage are 128 bytes, so that no more is fetched than at stride 1.
// FLOP: 2·N·Ho·Wo·K·C·R·S. Bytes: x, w, bias, residual and y once; from L2 a box and 64, 128 or 256 filters a stage.
//
// Stages, warpgroups and the way out: ridge_wgmma_tile.cuh, with its counts: a stage of 128 pixels × 256 channels is 1024 cycles of the tensor cores, 47 bytes
// of L2 a cycle of 64. × 128: 512 cycles, 64 bytes: L2 binds. × 64 (_slim): 256 cycles, for which shared memory needs 448 (wgmma 32 KB, TMA 24 KB) and L2 384. Of that the boxes' pixels fill, for 32 images of ResNet-50, all (7 × 7: 0.875), for one 0.875
// at 56 and 28 pixels, 0.77 at 14, 0.38 at 7; one tap all but the last box.
// Predicted over its layers, of the roof at the clock held: 0.6 to 0.75 from 128 output channels on where tiles fill the SMs several times, 0.4 to 0.5 at 64.
// Bytes: as many cycles, bytes and instructions a stage, of twice the channels; no tile of 64 channels. Of the roof twice as high predicted 0.5 to 0.65, since a tap of 128 channels is one
// stage and the end of a tile weighs twice. not yet measured.
#ifndef RIDGE_CONV_WGMMA_CUH
#define RIDGE_CONV_WGMMA_CUH

#include "ptx_wgmma_registers.cuh"
#include "ridge_epilogue.cuh"
#include "ridge_wgmma_3xtf32.cuh"

struct ConvBoxes {
  int n, h, w, k, c; // of y, and the channels of x
  int taps_h, taps_w, pad, dilation;
  int box_n, box_h, box_w;
  int halves; // 1: stride 2
};

// x by pixels: even columns and rows, odd columns, odd rows, both odd; at stride 1 all of them are the whole.
struct ConvMaps {
  const ridge_tensor_map &even, &right, &down, &both;
};

// BLOCKS below each other share the filters; PARTS share the window. Both: a cluster has BLOCKS for the first part, then BLOCKS for the next.
template <class P, int COLS, int BLOCKS, int PARTS> struct WgmmaConv : WgmmaTile<P, true, COLS, BLOCKS> {
  typedef WgmmaTile<P, true, COLS, BLOCKS> T;
  typedef typename T::sum sum;
  typedef typename T::loop loop;
  static constexpr int CLUSTER = BLOCKS * PARTS, OWN = 16 / PARTS; // rows of a warp that a part finishes
  static_assert(16 % PARTS == 0, "whole rows of a warp");

  // As WgmmaTile's, which has no wgmma of 64 columns.
  template <bool FIRST, int COUNT> static __device__ __forceinline__ void stage(sum (&acc)[COUNT], uint64_t a, uint64_t b) {
    if constexpr (COUNT > 32) {
      T::template stage<FIRST>(acc, a, b);
    } else {
      wgmma_fence();
      wgmma_shared<FIRST>(acc, a, b);
#pragma unroll
      for (int k = 1; k < 4; k++) wgmma_shared<false>(acc, a + 2 * k, b + 2 * k);
      wgmma_commit();
    }
  }

  struct Grid { // of tiles, in boxes of y and in columns
    unsigned wide, high, down, across, tiles; // down: of rows of tiles or, in clusters, of groups of BLOCKS
    __device__ __forceinline__ Grid(const ConvBoxes &v) {
      wide = (unsigned)(v.w + v.box_w - 1) / v.box_w, high = (unsigned)(v.h + v.box_h - 1) / v.box_h;
      down = (wide * high * ((unsigned)(v.n + v.box_n - 1) / v.box_n) + BLOCKS - 1) / BLOCKS, across = (unsigned)(v.k + COLS - 1) / COLS;
      tiles = down * across;
    }
  };
  struct Corner { // the first pixel and channel of a tile
    int n, h, w, column;
  };
  // Neighbours in time are tiles of the same pixels, 8 rows of tiles at a time (ridge_tile_place.cuh).
  static __device__ __forceinline__ Corner corner(const ConvBoxes &v, const Grid &g, unsigned tile, unsigned rank) {
    const unsigned first = tile / (8 * g.across) * 8, rows = g.down - first < 8 ? g.down - first : 8, within = tile - first * g.across;
    const unsigned row = (first + within % rows) * BLOCKS + rank;
    return {(int)(row / (g.wide * g.high)) * v.box_n, (int)(row / g.wide % g.high) * v.box_h, (int)(row % g.wide) * v.box_w, (int)(within / rows) * COLS};
  }
  struct Slice { // stages of the window that a block sums up
    int first, count;
  };
  static __device__ __forceinline__ Slice slice(int steps, int part) {
    if constexpr (PARTS == 1) return {0, steps};
    const int first = steps * part / PARTS;
    return {first, steps * (part + 1) / PARTS - first};
  }

  static __device__ __forceinline__ void produce(const ConvBoxes &v, const Grid &g, const Slice &of, shared_at stages, shared_at full, shared_at empty, const ConvMaps &x,
                                                 const ridge_tensor_map &filters, unsigned rank, unsigned part) {
    constexpr int SHARE = COLS / BLOCKS;
    constexpr unsigned ALL = (1u << BLOCKS) - 1;
    const unsigned bytes = (unsigned)(v.box_n * v.box_h * v.box_w + COLS) * 128;
    const int chunks = (v.c + T::STEP - 1) / T::STEP, taps = of.first / chunks;
    const int i0 = taps / v.taps_w, j0 = taps % v.taps_w, c0 = of.first % chunks * T::STEP;
    int slot = 0;
    unsigned phase = 0;
    for (unsigned t = blockIdx.x / CLUSTER; t < g.tiles; t += gridDim.x / CLUSTER) {
      const Corner at = corner(v, g, t, rank);
      int i = i0, j = j0, c = c0;
      for (int s = 0; s < of.count; s++) {
        const int down = i * v.dilation - v.pad, right = j * v.dilation - v.pad; // of the tap from its output pixel
        const ridge_tensor_map &from = down & v.halves ? right & v.halves ? x.both : x.down : right & v.halves ? x.right : x.even;
        const shared_at to = stages + slot * T::STAGE, bar = full + 8 * slot;
        mbarrier_wait(empty + 8 * slot, phase ^ 1);
        mbarrier_expect(bar, bytes);
        tma_load(to, from, bar, c, at.w + (right >> v.halves), at.h + (down >> v.halves), at.n);
        if constexpr (BLOCKS > 1) {
          tma_load_multicast(to + T::A_BYTES + rank * (T::B_BYTES / BLOCKS), filters, bar, c, i * v.taps_w + j, at.column + (int)rank * SHARE, ALL << (part * BLOCKS));
        } else {
          tma_load(to + T::A_BYTES, filters, bar, c, i * v.taps_w + j, at.column);
        }
        if (++slot == T::STAGES) slot = 0, phase ^= 1;
        if ((c += T::STEP) >= v.c) {
          c = 0;
          if (++j == v.taps_w) j = 0, i++;
        }
      }
    }
  }

  // 64 columns of the warp's sums to its staging memory, as WgmmaTile::place has them.
  static __device__ __forceinline__ void lay(const sum (&acc)[COLS / 2], int columns, shared_at mine) {
    const int lane = threadIdx.x % 32;
#pragma unroll
    for (int i = 0; i < COLS / 2; i += 2) {
      const int row = lane / 4 + i / 2 % 2 * 8, chunk = i / 4 % 8 * 2 + lane % 4 / 2;
      if (i / 32 == columns) store_shared(mine + T::place(row, chunk) + lane % 2 * 8, bits_of(acc[i]), bits_of(acc[i + 1]));
    }
    __syncwarp();
  }
  template <int N> static __device__ __forceinline__ Run<sum, N> laid(shared_at mine, int row, int column) {
    Run<sum, N> v;
#pragma unroll
    for (int i = 0; i < N / 4; i++) {
      unsigned w[4];
      load_shared(w, mine + T::place(row, column / 4 + i));
#pragma unroll
      for (int e = 0; e < 4; e++) of_bits(v.at[4 * i + e], w[e]);
    }
    return v;
  }

  // Calls f(row, column, sums) for N neighbours of rows first to first + count of the warp's 16. The next ones are fetched before f.
  template <int N, class F> static __device__ __forceinline__ void each(const sum (&acc)[COLS / 2], shared_at mine, int first, int count, F f) {
    constexpr int ROWS = N / 2; // of a warp at once
    const int lane = threadIdx.x % 32, column = lane * N % 64, row = first + lane * N / 64;
#pragma unroll 1
    for (int part = 0; part < COLS / 64; part++) { // the code of f is there once
      lay(acc, part, mine);
      Run<sum, N> v = laid<N>(mine, row < 16 ? row : 0, column);
#pragma unroll 1
      for (int i = 0; i < count; i += ROWS) {
        const int next = row + i + ROWS;
        const Run<sum, N> now = v;
        v = laid<N>(mine, next < 16 ? next : 0, column);
        f(row + i, part * 64 + column, now);
      }
      __syncwarp();
    }
  }

  // store(pixel, channel, sums) gets N neighbours of a pixel of y, some of which may lie beyond the channels.
  template <int N, class F>
  static __device__ __forceinline__ void convolve(const ConvBoxes &v, const ConvMaps &x, const ridge_tensor_map &filters, sum *parts, F store) {
    RIDGE_DYNAMIC_SHARED(unsigned char, dynamic);
    RIDGE_SHARED(uint64_t, bars, [loop::BARRIERS * T::STAGES]);
    const shared_at stages = (shared_address(dynamic) + 1023) & ~(shared_at)1023, full = shared_address(bars), empty = full + 8 * T::STAGES;
    const int tid = threadIdx.x, group = __shfl_sync(0xffffffffu, tid / 128, 0), rows = v.box_n * v.box_h * v.box_w;
    const unsigned place = CLUSTER > 1 ? cluster_rank() : 0, rank = place % BLOCKS, part = place / BLOCKS;
    if (tid == 0) {
      tma_prefetch(x.even);
      tma_prefetch(filters);
      for (int s = 0; s < T::STAGES; s++) {
        mbarrier_init(full + 8 * s, 1);
        mbarrier_init(empty + 8 * s, 8 * BLOCKS);
        if constexpr (loop::BARRIERS > 2) mbarrier_init(full + 16 * T::STAGES + 8 * s, loop::HELPERS);
      }
      mbarrier_init_fence();
    }
    constexpr unsigned zeros[4] = {};
    for (int s = 0; s < T::STAGES; s++)
      for (int at = rows * 128 + tid * 16; at < T::A_BYTES; at += WGMMA_THREADS * 16) store_shared(stages + s * T::STAGE + at, zeros);
    proxy_fence();
    if constexpr (BLOCKS == 1) __syncthreads();
    if constexpr (BLOCKS > 1) cluster_barrier();
    const Grid g(v);
    const Slice of = slice(v.taps_h * v.taps_w * ((v.c + T::STEP - 1) / T::STEP), part);
    if (group == 0) {
      registers_fewer<40>();
      if (tid == 0) produce(v, g, of, stages, full, empty, x, filters, rank, part);
      if constexpr (loop::BARRIERS > 2) {
        if (tid >= 128 - 32 * loop::HELPERS) {
          WgmmaRing at = {stages, full, empty, 0, 0, 0, 0};
          for (unsigned t = blockIdx.x / CLUSTER; t < g.tiles; t += gridDim.x / CLUSTER) loop::template help<WgmmaConv>(at, of.count);
        }
      }
      if constexpr (CLUSTER > 1) {
        __syncwarp();
        cluster_barrier();
      }
      return;
    }
    registers_more<232>();
    const int lane = tid % 32, warp = tid / 32 - 4;
    const shared_at told = BLOCKS > 1 ? cluster_map(empty, part * BLOCKS + tid % BLOCKS) : empty;
    WgmmaRing ring = {stages, full, told, wgmma_operand(stages + (group - 1) * 8192, 16, 1024), wgmma_operand(stages + T::A_BYTES, 16, 1024), 0, 0};
    const shared_at mine = stages + T::STAGES * T::STAGE + warp * T::STAGING;
    for (unsigned t = blockIdx.x / CLUSTER; t < g.tiles; t += gridDim.x / CLUSTER) {
      sum acc[COLS / 2];
      if constexpr (loop::BARRIERS > 2) loop::template sums<WgmmaConv>(acc, ring, of.count); // which has no registers for what follows
      const Corner at = corner(v, g, t, rank);
      // Where row lane % 16 of the warp lies in y; -1: nowhere.
      const unsigned row = 16 * warp + lane % 16, line = row / (unsigned)v.box_w, n = at.n + line / (unsigned)v.box_h;
      const unsigned h = at.h + line % (unsigned)v.box_h, w = at.w + row % (unsigned)v.box_w;
      const bool inside = (int)row < rows && (int)n < v.n && (int)h < v.h && (int)w < v.w;
      const int pixel = inside ? (int)((n * v.h + h) * v.w + w) : -1;
      if constexpr (loop::BARRIERS == 2) loop::template sums<WgmmaConv>(acc, ring, of.count);
      if constexpr (PARTS == 1) {
        each<N>(acc, mine, 0, 16, [&](int r, int column, const Run<sum, N> &sums) {
          const int to = __shfl_sync(0xffffffffu, pixel, r), channel = at.column + column;
          if (to >= 0 && channel < v.k) store(to, channel, sums);
        });
      } else {
        // There is one tile. A part finishes OWN rows of each warp; it leaves the others to their parts, in the workspace [tile of a block][part][row][column].
        sum *tile = parts + ((size_t)t * BLOCKS + rank) * (PARTS * 128 * COLS) + 16 * warp * COLS;
        each<4>(acc, mine, 0, 16, [&](int r, int column, const Run<sum, 4> &sums) {
          if (r / OWN != (int)part) *(Run<sum, 4> *)(tile + part * (128 * COLS) + r * COLS + column) = sums;
        });
        cluster_barrier();
        each<N>(acc, mine, (int)part * OWN, OWN, [&](int r, int column, const Run<sum, N> &own) {
          const int to = __shfl_sync(0xffffffffu, pixel, r % 16), channel = at.column + column;
          if (r >= (int)(part + 1) * OWN || to < 0 || channel >= v.k) return;
          Run<sum, N> all = {};
#pragma unroll
          for (int p = 0; p < PARTS; p++) { // always in the same order
#pragma unroll
            for (int i = 0; i < N; i += 4) {
              Run<sum, 4> more;
              if (p == (int)part) {
#pragma unroll
                for (int e = 0; e < 4; e++) more.at[e] = own.at[i + e];
              } else {
                more = *(const Run<sum, 4> *)(tile + p * (128 * COLS) + r * COLS + column + i);
              }
#pragma unroll
              for (int e = 0; e < 4; e++) all.at[i + e] = plus(all.at[i + e], more.at[e]);
            }
          }
          store(to, channel, all);
        });
        break;
      }
    }
    if constexpr (CLUSTER > 1 && PARTS == 1) cluster_barrier(); // the others' producers have been told of the last stages
  }
  static __device__ __forceinline__ float plus(float a, float b) { return a + b; }
  static __device__ __forceinline__ int plus(int a, int b) { return (int)((unsigned)a + (unsigned)b); } // wraps
};

// What an entry takes first, and as it is taken on. parts: where PARTS > 1.
#define RIDGE_CONV_BOXES                                                                                                                  \
  RIDGE_TENSOR_MAP(even), RIDGE_TENSOR_MAP(right), RIDGE_TENSOR_MAP(down), RIDGE_TENSOR_MAP(both), RIDGE_TENSOR_MAP(filters), int64_t n,  \
      int64_t h, int64_t w, int64_t k, int64_t c, int64_t taps_h, int64_t taps_w, int64_t pad, int64_t dilation, int64_t box_n,          \
      int64_t box_h, int64_t box_w, int64_t halves
#define RIDGE_CONV_BOX_VALUES                                                                                                             \
  ConvBoxes{(int)n, (int)h, (int)w, (int)k, (int)c, (int)taps_h, (int)taps_w, (int)pad, (int)dilation, (int)box_n, (int)box_h, (int)box_w, (int)halves}, \
      ConvMaps{even, right, down, both}, filters, parts

#define RIDGE_CONV_WGMMA(entry, P, E, ...)                                                                                               \
  RIDGE_KERNEL_ALONE(entry, WGMMA_THREADS)(RIDGE_CONV_BOXES, float *parts, int64_t act, const E *bias, const E *residual, E *y) {         \
    constexpr int N = 16 / sizeof(E);                                                                                                     \
    const Epilogue<E> e = {residual, bias, 1, 1, (int)act};                                                                               \
    const int64_t channels = k;                                                                                                           \
    const bool packed = (uintptr_t)y % 16 == 0 && channels % N == 0 && e.packs(channels);                                                 \
    WgmmaConv<P, __VA_ARGS__>::template convolve<N>(RIDGE_CONV_BOX_VALUES, [&](int64_t pixel, int64_t channel, const Run<float, N> &sums) { \
      const int64_t at = pixel * channels + channel;                                                                                      \
      const Run<float, N> all = e.template all<N>(sums, at, channel, channels - channel, packed);                                        \
      Run<E, N> out;                                                                                                                      \
      _Pragma("unroll") for (int i = 0; i < N; i++) out.at[i] = element<E>::store(all.at[i]);                                             \
      store_run(y + at, out, channels - channel, packed);                                                                                 \
    });                                                                                                                                   \
  }                                                                                                                                       \
  RIDGE_ENTRY(entry)

// sums + bias[channel] of N neighbours, of which left exist, which wraps.
template <int N> __device__ __forceinline__ Run<int32_t, N> shifted(const Run<int, N> &sums, const int32_t *add, int64_t left, bool packed) {
  Run<int32_t, N> out = sums;
  if (add) {
    const Run<int32_t, N> x = run_of<N>(add, left, packed);
#pragma unroll
    for (int i = 0; i < N; i++) out.at[i] = (int32_t)((unsigned)out.at[i] + (unsigned)x.at[i]);
  }
  return out;
}

#define RIDGE_CONV_WGMMA_BYTES(entry, P, ...)                                                                                            \
  RIDGE_KERNEL_ALONE(entry, WGMMA_THREADS)(RIDGE_CONV_BOXES, int *parts, const int32_t *bias, const int32_t *residual, int32_t *y) {                  \
    constexpr int N = 4;                                                                                                                  \
    const int64_t channels = k;                                                                                                           \
    const bool packed = ((uintptr_t)y | (uintptr_t)bias | (uintptr_t)residual) % 16 == 0 && channels % N == 0;                            \
    WgmmaConv<P, __VA_ARGS__>::template convolve<N>(RIDGE_CONV_BOX_VALUES, [&](int64_t pixel, int64_t channel, const Run<int, N> &sums) { \
      const int64_t at = pixel * channels + channel;                                                                                      \
      const int64_t left = channels - channel;                                                                                            \
      const Run<int32_t, N> more = shifted(sums, bias ? bias + channel : nullptr, left, packed);                                          \
      store_run(y + at, shifted(more, residual ? residual + at : nullptr, left, packed), left, packed);                                   \
    });                                                                                                                                   \
  }                                                                                                                                       \
  RIDGE_ENTRY(entry)

#define RIDGE_CONV_WGMMA_REQUANT(entry, P, ...)                                                                                          \
  RIDGE_KERNEL_ALONE(entry, WGMMA_THREADS)(RIDGE_CONV_BOXES, int *parts, int64_t act, const int32_t *bias, const float *scale, int8_t *y) {           \
    constexpr int N = 8;                                                                                                                  \
    const int64_t channels = k;                                                                                                           \
    const bool packed = ((uintptr_t)bias | (uintptr_t)scale) % (4 * N) == 0 && (uintptr_t)y % N == 0 && channels % N == 0;                \
    WgmmaConv<P, __VA_ARGS__>::template convolve<N>(RIDGE_CONV_BOX_VALUES, [&](int64_t pixel, int64_t channel, const Run<int, N> &sums) { \
      const int64_t at = pixel * channels + channel;                                                                                      \
      const int64_t left = channels - channel;                                                                                            \
      const Run<float, N> factor = run_of<N>(scale + channel, left, packed);                                                              \
      const Run<int32_t, N> whole = shifted(sums, bias ? bias + channel : nullptr, left, packed);                                         \
      Run<int8_t, N> out;                                                                                                                 \
      _Pragma("unroll") for (int i = 0; i < N; i++) out.at[i] = requantise(whole.at[i], factor.at[i], act == ACT_RELU);                   \
      store_run(y + at, out, left, packed);                                                                                               \
    });                                                                                                                                   \
  }                                                                                                                                       \
  RIDGE_ENTRY(entry)

#endif
