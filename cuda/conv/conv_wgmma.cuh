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
// Where tiles are few, PARTS blocks of a cluster sum a part of the
// window each: each finishes 1 / PARTS of the rows of its warps, for which the others leave their sums in the workspace, in L2, before a barrier of the cluster; one
// launch, added in the order of the parts: the same bits every time. fp32 is three products of tf32 (ridge_wgmma_3xtf32.cuh), in tiles of 128 channels.
// Where a tile's pixels lie in y is calculated before its sums: a row costs one shuffle at the end of a tile.
//
// Stages and warpgroups: ridge_wgmma_tile.cuh. A stage alone takes, measured on an H200 (1980 MHz) by the time of one tile's depth: of 64 channels 0.145 us, 287 cycles where the tensor cores need 256,
// of 128 0.29, of 256 0.57, of three products of tf32 1.27; bytes as bf16. All multiprocessors together get some 10 TB/s of stages from the second-level cache: 14 boxes × 8 tiles of 64
// (512 channels, 7 × 7, 32 images) had 0.30 us a stage of 24 KB.
// Of that the boxes' pixels fill, for 32 images of ResNet-50, all (7 × 7: 0.875), for one 0.875 at 56 and 28 pixels, 0.77 at 14, 0.38 at 7; one tap all but the last box.
//
// The end of a tile: 256 bytes of a row at a time go through shared memory as they are stored (`plain`: no residual, no activation but ReLU, channels and y at multiples of 16 bytes), else eight sums
// at a time with all of the epilogue (`each`).
//
// Versions, bf16, an H200, n = 32, of cuDNN 9.19 (torch 2.11, conv2d, channels_last, as a graph), the first and the third in turn with it, the second (the best of its tiles) in one call before it:
// 1. 64-bit places, every row's pixel by division: 64 channels 3x3 56² 24.1 us (1.11 of cuDNN's rate), 256 3x3 14² 16.4 (1.09), 512 3x3 7² 23.6 (0.71), 1x1 256>64 56² 21.9 (0.81), 1x1 1024>256 14² 10.6 (0.71).
// 2. 32-bit places before the sums, parts of a window, costs of tiles: 21.2 (1.20), 15.4 (1.13), 20.6 (0.85, in four parts), 21.8 (0.86), 9.7 (0.85); over ResNet-50's 22 layers but the stem 0.56 to 1.20 with the best tile of each, with the stem a geometric mean of 0.88. One image in four
//    or eight parts: 512 3x3 7² 7.0 us (1.68; whole 14.1), 256 3x3 14² 6.6 (1.28; 9.3), 128 3x3 28² 6.0 (1.08; 6.6), 1x1 2048>512 7² 6.0 (0.90; 8.5). One tile of one stage took 3.6 us with 64 channels, 4.7 with
//    128, 7.0 with 256: the end of each 64 columns 1.15. Clusters of two that share the filters were slower than the best tile in 21 of 22 layers and 2 % faster in one, and
//    two parts were best in one (2048>512 7², 12.1 us against 12.9 whole): both are gone. fp32, 64 channels 3x3 56²: 155 us (portable 320, cuDNN without tf32 290).
// 3. `plain`: 21.1 (1.13), 15.1 (1.12), 20.0 (0.89), 20.7 (0.85), 9.5 (0.80); 128 3x3 28² 18.1 (0.97) and from 56² 17.8 (0.95), 1x1 64>256 56² 28.8 (0.80), 256>1024 14² 12.8 (0.66), 2048>512 7² 10.0 (0.91),
//    256>512 from 56² 20.4 (0.95): 0.88 on average (geometric, of these and 512>128 28² by 128 channels, 11.7, 0.69; by 64, which is taken since, 10.9). fp32, 64 3x3 56²: 154 us (1.77). One image: 512 3x3 7² 6.6 us,
//    256 3x3 14² 6.1, 128 3x3 28² 5.6, 64 3x3 56² 5.3, 1x1 2048>512 7² 5.7, 1024>256 14² 5.2 (cuDNN in the call before: 11.8, 8.5, 6.5, 6.3, 5.4, 4.2).
//    One tile of one stage: 3.3, 4.3 and 6.0 us. The end of 64 columns has some 200 instructions a warp (disassembled) and still takes 0.8 us. Counted again, 128 channels have 799
//    at the end of a tile (bias by the element, and its predicates without bias too) and 197 before the first wgmma, seven divisions among them, which two warps a scheduler do not hide. 1x1 layers, of few stages, are the slowest
//    beside cuDNN. Where y's pixels are multiples of 16 bytes one tap goes by conv_pointwise.cuh since; conv_boxes.cuh has whole windows, by name alone until it is measured. Next: filters of few tiles in one cluster.
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

// PARTS blocks share the window.
template <class P, int COLS, int PARTS> struct WgmmaConv : WgmmaTile<P, true, COLS> {
  typedef WgmmaTile<P, true, COLS> T;
  typedef typename T::sum sum;
  typedef typename T::loop loop;
  static constexpr int OWN = 16 / PARTS; // rows of a warp that a part finishes
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
    unsigned wide, high, down, across, tiles;
    __device__ __forceinline__ Grid(const ConvBoxes &v) {
      wide = (unsigned)(v.w + v.box_w - 1) / v.box_w, high = (unsigned)(v.h + v.box_h - 1) / v.box_h;
      down = wide * high * ((unsigned)(v.n + v.box_n - 1) / v.box_n), across = (unsigned)(v.k + COLS - 1) / COLS;
      tiles = down * across;
    }
  };
  struct Corner { // the first pixel and channel of a tile
    int n, h, w, column;
  };
  // Neighbours in time are tiles of the same pixels, 8 rows of tiles at a time (ridge_tile_place.cuh).
  static __device__ __forceinline__ Corner corner(const ConvBoxes &v, const Grid &g, unsigned tile) {
    const unsigned first = tile / (8 * g.across) * 8, rows = g.down - first < 8 ? g.down - first : 8, within = tile - first * g.across;
    const unsigned row = first + within % rows;
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
                                                 const ridge_tensor_map &filters) {
    const unsigned bytes = (unsigned)(v.box_n * v.box_h * v.box_w + COLS) * 128;
    const int chunks = (v.c + T::STEP - 1) / T::STEP, taps = of.first / chunks;
    const int i0 = taps / v.taps_w, j0 = taps % v.taps_w, c0 = of.first % chunks * T::STEP;
    int slot = 0;
    unsigned phase = 0;
    for (unsigned t = blockIdx.x / PARTS; t < g.tiles; t += gridDim.x / PARTS) {
      const Corner at = corner(v, g, t);
      int i = i0, j = j0, c = c0;
      for (int s = 0; s < of.count; s++) {
        const int down = i * v.dilation - v.pad, right = j * v.dilation - v.pad; // of the tap from its output pixel
        const ridge_tensor_map &from = down & v.halves ? right & v.halves ? x.both : x.down : right & v.halves ? x.right : x.even;
        const shared_at to = stages + slot * T::STAGE, bar = full + 8 * slot;
        mbarrier_wait(empty + 8 * slot, phase ^ 1);
        mbarrier_expect(bar, bytes);
        tma_load(to, from, bar, c, at.w + (right >> v.halves), at.h + (down >> v.halves), at.n);
        tma_load(to + T::A_BYTES, filters, bar, c, i * v.taps_w + j, at.column);
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

  // Stores value(sum, column) of the warp's rows, to(row) being where a row's first column lies, or null; columns: how many exist, 16 bytes at a time. 256 bytes of a row at a time go through
  // shared memory as they are stored; no store or load has a bank conflict.
  template <class E, class V, class W> static __device__ __forceinline__ void plain(const sum (&acc)[COLS / 2], shared_at mine, int columns, V value, W to) {
    constexpr int N = 16 / sizeof(E), WIDE = COLS * sizeof(E) < 256 ? COLS : 256 / sizeof(E), LANES = WIDE / N, ROWS = 32 / LANES;
    const int lane = threadIdx.x % 32, chunk = lane % LANES;
#pragma unroll
    for (int part = 0; part < COLS / WIDE; part++) {
#pragma unroll
      for (int i = 0; i < WIDE / 2; i += 2) {
        const int row = lane / 4 + i / 2 % 2 * 8, at = part * WIDE / 2 + i, column = at / 4 * 8 + lane % 4 * 2;
        const sum low = value(acc[at], column), high = value(acc[at + 1], column + 1);
        if constexpr (sizeof(E) == 2)
          store_shared(mine + row * T::LINE + ((i / 4 ^ lane / 4) << 4) + lane % 4 * 4, Pair<E>::of(low, high));
        else
          store_shared(mine + T::place(row, i / 4 * 2 + lane % 4 / 2) + lane % 2 * 8, bits_of(low), bits_of(high));
      }
      __syncwarp();
#pragma unroll
      for (int i = 0; i < 16; i += ROWS) {
        const int row = i + lane / LANES;
        E *line = to(row);
        unsigned w[4];
        load_shared(w, sizeof(E) == 2 ? mine + row * T::LINE + ((chunk ^ row % 8) << 4) : mine + T::place(row, chunk));
        if (line && part * WIDE + chunk * N < columns) store_pack((pack<unsigned> *)(line + part * WIDE + chunk * N), pack<unsigned>{{w[0], w[1], w[2], w[3]}});
      }
      __syncwarp();
    }
  }

  // store(pixel, channel, sums) gets N neighbours of a pixel of y, some of which may lie beyond the channels.
  // Where `quick` says so value(sum, channel) is stored instead, to y.
  template <int N, class E, class V, class F>
  static __device__ __forceinline__ void convolve(const ConvBoxes &v, const ConvMaps &x, const ridge_tensor_map &filters, sum *parts, bool quick, E *y, V value, F store) {
    RIDGE_DYNAMIC_SHARED(unsigned char, dynamic);
    RIDGE_SHARED(uint64_t, bars, [loop::BARRIERS * T::STAGES]);
    const shared_at stages = (shared_address(dynamic) + 1023) & ~(shared_at)1023, full = shared_address(bars), empty = full + 8 * T::STAGES;
    const int tid = threadIdx.x, group = __shfl_sync(0xffffffffu, tid / 128, 0), rows = v.box_n * v.box_h * v.box_w;
    const unsigned part = PARTS > 1 ? cluster_rank() : 0;
    if (tid == 0) {
      tma_prefetch(x.even);
      tma_prefetch(filters);
      for (int s = 0; s < T::STAGES; s++) {
        mbarrier_init(full + 8 * s, 1);
        mbarrier_init(empty + 8 * s, 8);
        if constexpr (loop::BARRIERS > 2) mbarrier_init(full + 16 * T::STAGES + 8 * s, loop::HELPERS);
      }
      mbarrier_init_fence();
    }
    constexpr unsigned zeros[4] = {};
    for (int s = 0; s < T::STAGES; s++)
      for (int at = rows * 128 + tid * 16; at < T::A_BYTES; at += WGMMA_THREADS * 16) store_shared(stages + s * T::STAGE + at, zeros);
    proxy_fence();
    __syncthreads();
    const Grid g(v);
    const Slice of = slice(v.taps_h * v.taps_w * ((v.c + T::STEP - 1) / T::STEP), part);
    if (group == 0) {
      registers_fewer<40>();
      if (tid == 0) produce(v, g, of, stages, full, empty, x, filters);
      if constexpr (loop::BARRIERS > 2) {
        if (tid >= 128 - 32 * loop::HELPERS) {
          WgmmaRing at = {stages, full, empty, 0, 0, 0, 0};
          for (unsigned t = blockIdx.x / PARTS; t < g.tiles; t += gridDim.x / PARTS) loop::template help<WgmmaConv>(at, of.count);
        }
      }
      if constexpr (PARTS > 1) {
        __syncwarp();
        cluster_barrier();
      }
      return;
    }
    registers_more<232>();
    const int lane = tid % 32, warp = tid / 32 - 4;
    WgmmaRing ring = {stages, full, empty, wgmma_operand(stages + (group - 1) * 8192, 16, 1024), wgmma_operand(stages + T::A_BYTES, 16, 1024), 0, 0};
    const shared_at mine = stages + T::STAGES * T::STAGE + warp * T::STAGING;
    for (unsigned t = blockIdx.x / PARTS; t < g.tiles; t += gridDim.x / PARTS) {
      sum acc[COLS / 2];
      if constexpr (loop::BARRIERS > 2) loop::template sums<WgmmaConv>(acc, ring, of.count); // which has no registers for what follows
      const Corner at = corner(v, g, t);
      // Where row lane % 16 of the warp lies in y; -1: nowhere.
      const unsigned row = 16 * warp + lane % 16, line = row / (unsigned)v.box_w, n = at.n + line / (unsigned)v.box_h;
      const unsigned h = at.h + line % (unsigned)v.box_h, w = at.w + row % (unsigned)v.box_w;
      const bool inside = (int)row < rows && (int)n < v.n && (int)h < v.h && (int)w < v.w;
      const int pixel = inside ? (int)((n * v.h + h) * v.w + w) : -1;
      if constexpr (loop::BARRIERS == 2) loop::template sums<WgmmaConv>(acc, ring, of.count);
      if constexpr (PARTS == 1) {
        if constexpr (sizeof(E) > 1) {
          if (quick) {
            plain<E>(acc, mine, v.k - at.column, [&](sum s, int column) { return value(s, at.column + column); }, [&](int r) {
              const int to = __shfl_sync(0xffffffffu, pixel, r);
              return to < 0 ? (E *)0 : y + (int64_t)to * v.k + at.column;
            });
            continue;
          }
        }
        each<N>(acc, mine, 0, 16, [&](int r, int column, const Run<sum, N> &sums) {
          const int to = __shfl_sync(0xffffffffu, pixel, r), channel = at.column + column;
          if (to >= 0 && channel < v.k) store(to, channel, sums);
        });
      } else {
        // There is one tile. A part finishes OWN rows of each warp; it leaves the others to their parts, in the workspace [tile of a block][part][row][column].
        sum *tile = parts + (size_t)t * (PARTS * 128 * COLS) + 16 * warp * COLS;
        plain<sum>(acc, mine, COLS, [](sum x, int) { return x; }, [&](int r) { return r / OWN == (int)part ? (sum *)0 : tile + part * (128 * COLS) + r * COLS; });
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
    const bool quick = packed && !residual && (act == ACT_NONE || act == ACT_RELU);                                                       \
    auto value = [&](float s, int channel) {                                                                                              \
      const float v = bias && channel < channels ? s + load(bias[channel]) : s;                                                           \
      return act == ACT_RELU ? relu(v) : v;                                                                                               \
    };                                                                                                                                    \
    WgmmaConv<P, __VA_ARGS__>::template convolve<N>(RIDGE_CONV_BOX_VALUES, quick, y, value, [&](int64_t pixel, int64_t channel, const Run<float, N> &sums) { \
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
    auto value = [&](int s, int channel) { return bias && channel < channels ? (int)((unsigned)s + (unsigned)bias[channel]) : s; };        \
    WgmmaConv<P, __VA_ARGS__>::template convolve<N>(RIDGE_CONV_BOX_VALUES, packed && !residual, y, value, [&](int64_t pixel, int64_t channel, const Run<int, N> &sums) { \
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
    auto value = [](int s, int) { return s; };                                                                                            \
    WgmmaConv<P, __VA_ARGS__>::template convolve<N>(RIDGE_CONV_BOX_VALUES, false, y, value, [&](int64_t pixel, int64_t channel, const Run<int, N> &sums) { \
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
