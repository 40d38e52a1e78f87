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
#include "ridge_wgmma_tile.cuh"

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

template <class P, int COLS> struct WgmmaConv : WgmmaTile<P, true, COLS> {
  typedef WgmmaTile<P, true, COLS> T;
  typedef typename T::sum sum;

  // As WgmmaTile's, which has no wgmma of 64 columns.
  template <bool FIRST> static __device__ __forceinline__ void stage(sum (&acc)[COLS / 2], uint64_t a, uint64_t b) {
    if constexpr (COLS > 64) {
      T::template stage<FIRST>(acc, a, b);
    } else {
      wgmma_fence();
      wgmma_shared<FIRST>(acc, a, b);
#pragma unroll
      for (int k = 1; k < 4; k++) wgmma_shared<false>(acc, a + 2 * k, b + 2 * k);
      wgmma_commit();
    }
  }

  struct Corner { // the first pixel and channel of a tile
    int n, h, w, column;
  };
  static __device__ __forceinline__ Corner corner(const ConvBoxes &v, int64_t tile, int64_t down, int64_t across) {
    const TilePlace at = tile_place(tile, down, across);
    const int wide = (v.w + v.box_w - 1) / v.box_w, high = (v.h + v.box_h - 1) / v.box_h, row = (int)at.row;
    return {row / (wide * high) * v.box_n, row / wide % high * v.box_h, row % wide * v.box_w, (int)at.column * COLS};
  }

  static __device__ __forceinline__ void produce(const ConvBoxes &v, int64_t down, int64_t across, shared_at stages, shared_at full, shared_at empty,
                                                 const ConvMaps &x, const ridge_tensor_map &filters) {
    tma_prefetch(x.even);
    tma_prefetch(filters);
    const unsigned bytes = (unsigned)(v.box_n * v.box_h * v.box_w + COLS) * 128;
    int slot = 0;
    unsigned phase = 0;
    for (int64_t t = blockIdx.x; t < down * across; t += gridDim.x) {
      const Corner at = corner(v, t, down, across);
      for (int i = 0; i < v.taps_h; i++)
        for (int j = 0; j < v.taps_w; j++) {
          const int down = i * v.dilation - v.pad, right = j * v.dilation - v.pad; // of the tap from its output pixel
          const ridge_tensor_map &of = down & v.halves ? right & v.halves ? x.both : x.down : right & v.halves ? x.right : x.even;
          for (int c = 0; c < v.c; c += T::STEP) {
            const shared_at to = stages + slot * T::STAGE, bar = full + 8 * slot;
            mbarrier_wait(empty + 8 * slot, phase ^ 1);
            mbarrier_expect(bar, bytes);
            tma_load(to, of, bar, c, at.w + (right >> v.halves), at.h + (down >> v.halves), at.n);
            tma_load(to + T::A_BYTES, filters, bar, c, i * v.taps_w + j, at.column);
            if (++slot == T::STAGES) slot = 0, phase ^= 1;
          }
        }
    }
  }

  // store(at, channel, sums) gets N neighbours of a pixel from that element of y on, some of which may lie beyond the channels.
  template <int N, class F> static __device__ __forceinline__ void convolve(const ConvBoxes &v, const ConvMaps &x, const ridge_tensor_map &filters, F store) {
    RIDGE_DYNAMIC_SHARED(unsigned char, dynamic);
    RIDGE_SHARED(uint64_t, bars, [2 * T::STAGES]);
    const shared_at stages = (shared_address(dynamic) + 1023) & ~(shared_at)1023, full = shared_address(bars), empty = full + 8 * T::STAGES;
    const int tid = threadIdx.x, group = __shfl_sync(0xffffffffu, tid / 128, 0), rows = v.box_n * v.box_h * v.box_w;
    const int steps = v.taps_h * v.taps_w * ((v.c + T::STEP - 1) / T::STEP);
    const int64_t down = (int64_t)((v.w + v.box_w - 1) / v.box_w) * ((v.h + v.box_h - 1) / v.box_h) * ((v.n + v.box_n - 1) / v.box_n);
    const int64_t across = (v.k + COLS - 1) / COLS;
    if (tid == 0) {
      for (int s = 0; s < T::STAGES; s++) {
        mbarrier_init(full + 8 * s, 1);
        mbarrier_init(empty + 8 * s, 8);
      }
      mbarrier_init_fence();
    }
    constexpr unsigned zeros[4] = {};
    for (int s = 0; s < T::STAGES; s++)
      for (int at = rows * 128 + tid * 16; at < T::A_BYTES; at += WGMMA_THREADS * 16) store_shared(stages + s * T::STAGE + at, zeros);
    proxy_fence();
    __syncthreads();
    if (group == 0) {
      registers_fewer<40>();
      if (tid == 0) produce(v, down, across, stages, full, empty, x, filters);
      return;
    }
    registers_more<232>();
    const int lane = tid % 32, warp = tid / 32 - 4;
    const uint64_t from_x = wgmma_operand(stages + (group - 1) * 8192, 16, 1024), from_filters = wgmma_operand(stages + T::A_BYTES, 16, 1024);
    const shared_at mine = stages + T::STAGES * T::STAGE + warp * T::STAGING;
    int slot = 0, last = 0;
    unsigned phase = 0;
    for (int64_t t = blockIdx.x; t < down * across; t += gridDim.x) {
      sum acc[COLS / 2];
      auto next = [&] {
        last = slot;
        if (++slot == T::STAGES) slot = 0, phase ^= 1;
      };
      mbarrier_wait(full + 8 * slot, phase);
      stage<true>(acc, from_x + slot * (T::STAGE >> 4), from_filters + slot * (T::STAGE >> 4));
      next();
      for (int s = 1; s < steps; s++) {
        mbarrier_wait(full + 8 * slot, phase);
        stage<false>(acc, from_x + slot * (T::STAGE >> 4), from_filters + slot * (T::STAGE >> 4));
        wgmma_wait<1>();
        if (lane == 0) mbarrier_arrive(empty + 8 * last);
        next();
      }
      wgmma_done(acc);
      if (lane == 0) mbarrier_arrive(empty + 8 * last);
      const Corner at = corner(v, t, down, across);
      T::template each<N>(acc, mine, [&](int row, int column, const Run<sum, N> &sums) {
        const unsigned of = 16 * warp + row, line = of / (unsigned)v.box_w, n = at.n + line / (unsigned)v.box_h;
        const unsigned h = at.h + line % (unsigned)v.box_h, w = at.w + of % (unsigned)v.box_w;
        const int channel = at.column + column;
        if ((int)of >= rows || (int)n >= v.n || (int)h >= v.h || (int)w >= v.w || channel >= v.k) return;
        store((((int64_t)n * v.h + h) * v.w + w) * v.k + channel, channel, sums);
      });
    }
  }
};

// What an entry takes first, and as it is taken on.
#define RIDGE_CONV_BOXES                                                                                                                  \
  RIDGE_TENSOR_MAP(even), RIDGE_TENSOR_MAP(right), RIDGE_TENSOR_MAP(down), RIDGE_TENSOR_MAP(both), RIDGE_TENSOR_MAP(filters), int64_t n,  \
      int64_t h, int64_t w, int64_t k, int64_t c, int64_t taps_h, int64_t taps_w, int64_t pad, int64_t dilation, int64_t box_n,          \
      int64_t box_h, int64_t box_w, int64_t halves
#define RIDGE_CONV_BOX_VALUES                                                                                                             \
  ConvBoxes{(int)n, (int)h, (int)w, (int)k, (int)c, (int)taps_h, (int)taps_w, (int)pad, (int)dilation, (int)box_n, (int)box_h, (int)box_w, (int)halves}, \
      ConvMaps{even, right, down, both}, filters

#define RIDGE_CONV_WGMMA(entry, P, E, COLS)                                                                                               \
  RIDGE_KERNEL_ALONE(entry, WGMMA_THREADS)(RIDGE_CONV_BOXES, int64_t act, const E *bias, const E *residual, E *y) {                       \
    constexpr int N = 16 / sizeof(E);                                                                                                     \
    const Epilogue<E> e = {residual, bias, 1, 1, (int)act};                                                                               \
    const int64_t channels = k;                                                                                                           \
    const bool packed = (uintptr_t)y % 16 == 0 && channels % N == 0 && e.packs(channels);                                                 \
    WgmmaConv<P, COLS>::template convolve<N>(RIDGE_CONV_BOX_VALUES, [&](int64_t at, int64_t channel, const Run<float, N> &sums) {         \
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

#define RIDGE_CONV_WGMMA_BYTES(entry, P, COLS)                                                                                            \
  RIDGE_KERNEL_ALONE(entry, WGMMA_THREADS)(RIDGE_CONV_BOXES, const int32_t *bias, const int32_t *residual, int32_t *y) {                  \
    constexpr int N = 4;                                                                                                                  \
    const int64_t channels = k;                                                                                                           \
    const bool packed = ((uintptr_t)y | (uintptr_t)bias | (uintptr_t)residual) % 16 == 0 && channels % N == 0;                            \
    WgmmaConv<P, COLS>::template convolve<N>(RIDGE_CONV_BOX_VALUES, [&](int64_t at, int64_t channel, const Run<int, N> &sums) {           \
      const int64_t left = channels - channel;                                                                                            \
      const Run<int32_t, N> more = shifted(sums, bias ? bias + channel : nullptr, left, packed);                                          \
      store_run(y + at, shifted(more, residual ? residual + at : nullptr, left, packed), left, packed);                                   \
    });                                                                                                                                   \
  }                                                                                                                                       \
  RIDGE_ENTRY(entry)

#define RIDGE_CONV_WGMMA_REQUANT(entry, P, COLS)                                                                                          \
  RIDGE_KERNEL_ALONE(entry, WGMMA_THREADS)(RIDGE_CONV_BOXES, int64_t act, const int32_t *bias, const float *scale, int8_t *y) {           \
    constexpr int N = 8;                                                                                                                  \
    const int64_t channels = k;                                                                                                           \
    const bool packed = ((uintptr_t)bias | (uintptr_t)scale) % (4 * N) == 0 && (uintptr_t)y % N == 0 && channels % N == 0;                \
    WgmmaConv<P, COLS>::template convolve<N>(RIDGE_CONV_BOX_VALUES, [&](int64_t at, int64_t channel, const Run<int, N> &sums) {           \
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
