// The body of conv2d_DTYPE_sm90_pointwise.cu: convolution of one tap, stride 1 and no padding on Hopper's tensor cores, nhwc, one group: Y[N·H·W,K] = X[N·H·W,C] · W[K,C]ᵀ, a plain product, with
// the epilogue of conv_simt.cuh. 16 bytes of channels of x and of y or a multiple, all tensors at multiples of 16 bytes (pointwise.go asks).
//
// Stages and warpgroups: ridge_wgmma_tile.cuh, in tiles of 128 pixels by 256, 128 or 64 channels. These layers are bound by memory: 64 or 512 terms a sum, and all of x and y on the way once. So what counts is that both
// ways are never idle. A block takes every gridDim.x-th tile, those of the same pixels one after the other, so that x comes from memory once and to its neighbours from the second-level cache; three to six stages of the next tiles
// are on the way (72 to 160 KB a multiprocessor; 4.2 TB/s × 1 us / 132 asks for 32). y leaves by TMA: a warp rounds its sums into panels of 16 rows of 128 bytes in shared memory, one lane orders
// that they leave, and the warp goes on to the next tile; four panels of a warp, 64 KB of a block, are on the way, and one is written again when it has been read. TMA leaves out rows and channels beyond y.
// A residual comes by TMA into the panel from which its sums will leave, a tile (of 64 channels: two) ahead, of 256 channels under the products; each thread adds what lies where it will write.
// Bias is loaded under the products (up to 128 channels), activations work on registers.
//
// FLOP: 2·N·H·W·K·C. Bytes: x, w, bias, residual and y once; from L2 128 pixels and 64, 128 or 256 filters a stage. Registers 168 (the launch bound's), no spill.
// Instructions, disassembled, bf16, 128 channels, a warp: before a tile's first wgmma 36, its end 140 (32 roundings, 32 stores to shared memory, 2 to y); + 64 with ReLU, some 110 with a residual. The boxes' kernel
// (conv_wgmma.cuh) has 197 before the first wgmma, among them seven divisions that wait for each other (some 0.4 us of each tile, with the tensor cores idle), and 799 at the end: bias is asked for and
// loaded by the element, twice, whose predicates (103 comparisons, 40 of predicates) are there without bias too. With two warps a scheduler there is nothing to hide such a chain: that, and first
// executions of some 13 KB of code, is what the 0.8 us of 64 columns are likely made of.
//
// ResNet-50's layers for 32 images, bf16, an H200 (4.2 TB/s of DRAM; 10.5 of stages and y from L2), beside what boxes and cuDNN took there. All predictions are not yet measured; 2.5 us of start and end are in them.
//                        MB of DRAM  us   GFLOP  tiles             us of tiles  MB of L2  us    predicted  boxes  cuDNN
//   64 > 256, 56²        64.2        15.3 3.3    784 × 256, 6 rounds  9.2       90        8.6   19         28.8   23.0   (0.80 of the DRAM's roof)
//   … residual, ReLU     115.6       27.5 3.3    1568 × 128, 12       10.5      154       14.7  32                       (0.86)
//   256 > 64, 56²        64.2        15.3 3.3    784 × 64, 6          5.8       90        8.6   18.5       20.7   17.6   (0.83)
//   512 > 128, 28²       32.2        7.7  3.3    196 × 128, 2         5.8       58        5.5   8.5        10.9   8.1    (L2 holds all: 0.65 of its roof)
//   256 > 1024, 14²      16.6        4.0  3.3    392 × 128, 3         5.2       64        6.1   8.6        12.8   8.4    (0.71)
//   1024 > 256, 14²      16.6        4.0  3.3    98 × 128, 1          5.2       55        5.2   7.7        9.5    7.6    (0.67)
//   2048 > 512, 7²       10.1        2.4  3.3    104 × 64, 1          5.0       83        7.9   10         10.0   9.1    (0.79)
//
// Versions: 1 as described, not yet measured. Next, if measured to be worth it: three warpgroups of 64 pixels (512 > 128: 131 tiles of 192 in one round); clusters of two that share x by multicast (2048 > 512: 55 MB of L2
// instead of 83); filters that stay in shared memory; stmatrix (8 stores a warp instead of 32).
#ifndef RIDGE_CONV_POINTWISE_CUH
#define RIDGE_CONV_POINTWISE_CUH

#include "conv_tma.cuh"

// m pixels of c channels; k of y. Panels are 16 rows of a warp.
struct RowsOf {
  static constexpr bool BOXES = false;
  int m, k, c;
  const ridge_tensor_map &x, &filters, &y, &residual;
  __device__ __forceinline__ unsigned down() const { return (unsigned)(m + 127) / 128; }
  static __device__ __forceinline__ int panel_rows() { return 16; }
  template <int STEP> __device__ __forceinline__ int steps() const { return (c + STEP - 1) / STEP; }
  __device__ __forceinline__ void prefetch() const {
    tma_prefetch(x);
    tma_prefetch(filters);
    tma_prefetch(y);
    tma_prefetch(residual);
  }
  // The stages of the tile of 128 rows from `row` on and W's columns.
  template <class W> __device__ __forceinline__ void bring(WgmmaRing &at, int row, int column, int steps) const {
    for (int s = 0; s < steps; s++) {
      const shared_at to = at.stages + at.slot * W::STAGE, bar = at.full + 8 * at.slot;
      mbarrier_wait(at.empty + 8 * at.slot, at.phase ^ 1);
      mbarrier_expect(bar, W::A_BYTES + W::B_BYTES);
      tma_load(to, x, bar, s * W::STEP, row, 0);
      tma_load(to + W::A_BYTES, filters, bar, s * W::STEP, column, 0);
      at.next(W::STAGES);
    }
  }
  __device__ __forceinline__ void fetch(shared_at to, shared_at bar, int row, int column) const { tma_load(to, residual, bar, column, row, 0); }
  __device__ __forceinline__ void leave(TmaStores &out, shared_at from, int row, int column) const { out.store(y, from, column, row, 0); }
};

#define RIDGE_ROWS_TYPE RowsOf
#define RIDGE_ROWS_PARAMETERS \
  RIDGE_TENSOR_MAP(x), RIDGE_TENSOR_MAP(filters), RIDGE_TENSOR_MAP(y), RIDGE_TENSOR_MAP(residual), int64_t m, int64_t k, int64_t c
#define RIDGE_ROWS_VALUES \
  RowsOf { (int)m, (int)k, (int)c, x, filters, y, residual }

#endif
