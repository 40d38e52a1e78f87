// The body of conv2d_DTYPE_sm90_boxes.cu: the convolution of conv_wgmma.cuh in boxes of pixels, whole windows alone, with the end of conv_tma.cuh: y leaves by TMA as boxes, a residual comes as such. 16 bytes of
// channels of x and of y or a multiple, all tensors at multiples of 16 bytes (wgmma.go asks); the rest stays with conv_wgmma.cuh. FLOP and bytes as there.
//
// A panel is 128 bytes of y of the box's pixels, which all eight warps write: they meet (256 threads) when its place has been read and when it is written, and one thread orders it on. Rows that the box leaves of 128 are zeros.
// No thread calculates a pixel's place: the ordering thread has two divisions a tile, behind the meeting, and the others none, where conv_wgmma.cuh has seven before the first wgmma.
// Instructions of the end of a tile, bf16, 128 channels, a warp (disassembled): some 150, of the ordering one 240; conv_wgmma.cuh 799. GELU and SiLU work on the sums in registers, eight at a time, a residual is added there: both
// without the 64 columns that go through shared memory at a time in fp32 (`each`). Registers 168, no spill; the producer has 40, so that its loop is not unrolled.
//
// Predicted for 32 images on an H200, bf16, 2.5 us of start and end in it, not yet measured (in brackets conv_wgmma.cuh as measured, and cuDNN): 256 > 512 of one tap from 56² at stride 2: 448 tiles of 256, 4 rounds, 13.0 us, of
// 38 MB in 9.2: 15.5 us (20.4, 19.4); 128 3x3 28²: 224 tiles of 128 in 2 rounds of 5.8: 14 us (18.1, 17.6; 0.75 of wgmma's roof in full rounds); 64 3x3 56²: the second-level cache binds, 198 MB of stages: 21 us (21.1, 23.8).
// Versions: 1 as described, not yet measured, and so taken by its name alone (conv.go).
#ifndef RIDGE_CONV_BOXES_CUH
#define RIDGE_CONV_BOXES_CUH

#include "conv_tma.cuh"
#include "conv_wgmma.cuh"

// Boxes of pixels, as conv_wgmma.cuh has them; rows of tiles are 128 each, of which a box has w × h × n. Panels are boxes.
struct BoxesOf {
  static constexpr bool BOXES = true;
  ConvBoxes v;
  int k;
  const ConvMaps &x;
  const ridge_tensor_map &filters, &y, &residual;
  struct Corner { // the first pixel of a box
    int n, h, w;
  };
  __device__ __forceinline__ Corner corner(int row) const {
    const unsigned wide = (unsigned)(v.w + v.box_w - 1) / v.box_w, high = (unsigned)(v.h + v.box_h - 1) / v.box_h, line = (unsigned)row / 128 / wide;
    return {(int)(line / high) * v.box_n, (int)(line % high) * v.box_h, (int)((unsigned)row / 128 % wide) * v.box_w};
  }
  __device__ __forceinline__ unsigned down() const {
    return (unsigned)(v.w + v.box_w - 1) / v.box_w * ((unsigned)(v.h + v.box_h - 1) / v.box_h) * ((unsigned)(v.n + v.box_n - 1) / v.box_n);
  }
  __device__ __forceinline__ int panel_rows() const { return v.box_n * v.box_h * v.box_w; }
  template <int STEP> __device__ __forceinline__ int steps() const { return v.taps_h * v.taps_w * ((v.c + STEP - 1) / STEP); }
  __device__ __forceinline__ void prefetch() const {
    tma_prefetch(x.even);
    tma_prefetch(filters);
    tma_prefetch(y);
    tma_prefetch(residual);
  }
  // The stages of a tile: taps, and then channels.
  template <class W> __device__ __forceinline__ void bring(WgmmaRing &at, int row, int column, int steps) const {
    const Corner first = corner(row);
    const unsigned bytes = (unsigned)panel_rows() * 128 + W::B_BYTES;
    int i = 0, j = 0, c = 0;
#pragma unroll 1 // there are 40 registers
    for (int s = 0; s < steps; s++) {
      const int down = i * v.dilation - v.pad, right = j * v.dilation - v.pad; // of the tap from its output pixel
      const ridge_tensor_map &from = down & v.halves ? right & v.halves ? x.both : x.down : right & v.halves ? x.right : x.even;
      const shared_at to = at.stages + at.slot * W::STAGE, bar = at.full + 8 * at.slot;
      mbarrier_wait(at.empty + 8 * at.slot, at.phase ^ 1);
      mbarrier_expect(bar, bytes);
      tma_load(to, from, bar, c, first.w + (right >> v.halves), first.h + (down >> v.halves), first.n);
      tma_load(to + W::A_BYTES, filters, bar, c, i * v.taps_w + j, column);
      at.next(W::STAGES);
      if ((c += W::STEP) >= v.c) {
        c = 0;
        if (++j == v.taps_w) j = 0, i++;
      }
    }
  }
  __device__ __forceinline__ void fetch(shared_at to, shared_at bar, int row, int column) const {
    const Corner at = corner(row);
    tma_load(to, residual, bar, column, at.w, at.h, at.n);
  }
  __device__ __forceinline__ void leave(TmaStores &out, shared_at from, int row, int column) const {
    const Corner at = corner(row);
    out.store(y, from, column, at.w, at.h, at.n);
  }
};

#define RIDGE_BOXES_TYPE BoxesOf
#define RIDGE_BOXES_PARAMETERS                                                                                                            \
  RIDGE_TENSOR_MAP(even), RIDGE_TENSOR_MAP(right), RIDGE_TENSOR_MAP(down), RIDGE_TENSOR_MAP(both), RIDGE_TENSOR_MAP(filters), RIDGE_TENSOR_MAP(y),  \
      RIDGE_TENSOR_MAP(residual), int64_t n, int64_t h, int64_t w, int64_t k, int64_t c, int64_t taps_h, int64_t taps_w, int64_t pad, int64_t dilation, \
      int64_t box_n, int64_t box_h, int64_t box_w, int64_t halves
#define RIDGE_BOXES_VALUES                                                                                                                \
  BoxesOf{{(int)n, (int)h, (int)w, (int)k, (int)c, (int)taps_h, (int)taps_w, (int)pad, (int)dilation, (int)box_n, (int)box_h, (int)box_w, (int)halves}, \
          (int)k, ConvMaps{even, right, down, both}, filters, y, residual}

#endif
