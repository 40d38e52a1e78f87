// The bodies of conv2d_DTYPE_sm80.cu: convolution on tensor cores as a product that is never laid out (implicit GEMM), nhwc, formula and
// epilogues as conv_simt.cuh has them. Rows of the product are output pixels, columns the channels of a group, k runs over taps and then channels,
// as the weights [K,R,S,C/g] lie. conv.go asks that a pixel's and a group's channels begin at multiples of 16 bytes (C/g a multiple of 8, of
// bytes 16), so that each chunk of 16 bytes lies in one tap, and for sizes that 32 bits hold.
// FLOP: 2·N·Ho·Wo·K·(C/g)·R·S. Bytes: x, w, bias, residual and y once; from L2 a tile's window and weights once a block.
//
// Main loop, fragments and swizzle: ridge_mma_tile.cuh. B is stored along k already; A is gathered by cp.async: a thread keeps where its rows' windows
// begin (two registers a row) and one tap that moves on with the stages, so that a chunk costs two additions and two comparisons, an address and
// a copy; a chunk outside the image is a copy of 0 bytes, which fills zeros.
//
// Counts a block and stage of 64 bytes of k, 128 pixels × 128 channels (× 64): 16 (12) KB by cp.async, the windows' 8 KB of them
// R·S times over from L2; 1.05 (0.52) MFLOP of bf16, 64 (43) FLOP a byte of L2 against 51 that an H200 has between mma.sync's roof (0.62 of
// 990 TFLOP/s) and about 12 TB/s of L2: tensor cores bind at 128 channels, L2 at 64.
// Disassembled (sm_80), a stage and warp: 64 mma (× 64: 32), 8 (6) ldmatrix and 8 (6) cp.async of some 200 (160) instructions, about 50 more than a plain product
// has: 0.39 (0.63) of the issue slots in the time of the mma on 8.0. 255 (168) registers at most, no spill.
// Predicted over the layers of ResNet-50 with 64 and more channels, of the roof of wgmma on an H200: 0.45 to 0.55 at 128 and more output channels and
// 400 and more tiles, 0.3 to 0.4 at 64; layers of 7 × 7 at a batch of 8 and less fill few multiprocessors. Of these not yet measured; int8,
// 64 channels 3x3 56², 32 images, 24.6 us on an H200: 300 TOPS, half the time of conv2d_int8_sm90, which is left to more channels.
// Source: Chetlur et al. 2014 (cuDNN), section 3.
#ifndef RIDGE_CONV_MMA_CUH
#define RIDGE_CONV_MMA_CUH

#include "conv_shape.cuh"
#include "ridge_mma_output.cuh"

// A source (ridge_mma_copy.cuh) of MOVED pixels' windows. Lengths are in units of 16 bytes of channels.
template <class P, int MOVED, int APART> struct Windows {
  const unsigned char *x;
  int corner[MOVED];             // where the window begins, from x; before it at the upper edge
  int begin[MOVED];              // its row and column in the image: 65536 rows + columns, in one register as place
  int height, width;             // of the image
  int at, unit, depth;           // of the thread's first chunk; of the tap's channels, and how many there are
  unsigned tap, place;           // where the tap's unit lies from the window's begin, and its row and column
  int dilation, span;            // between taps, and of a row of taps
  unsigned along, down;          // from the end of a tap's channels to the next, and from the end of a row of taps
  static constexpr int FAR = -32768; // no tap reaches an image from there (conv.go)

  __device__ __forceinline__ Windows(const ConvShape &v, const void *image, int64_t group, int64_t first, int ahead = 0) {
    const int units = (int)(v.c * P::SIZE / 16), pixel = (int)v.wo;
    x = (const unsigned char *)image, height = (int)v.h, width = (int)v.w, place = 0;
    depth = (int)(v.group_channels() * P::SIZE / 16), dilation = (int)v.dilation, span = (int)v.s * dilation;
    along = (unsigned)dilation * units - depth, down = ((unsigned)dilation * width - span) * units;
    const int lane = threadIdx.x / 4, chunk = threadIdx.x % 4;
    at = P::place(lane, chunk);
#pragma unroll
    for (int i = 0; i < MOVED; i++) {
      const unsigned of = (unsigned)first + lane + i * APART, line = of / pixel, n = line / (unsigned)v.ho;
      const int h = (int)((line % (unsigned)v.ho) * v.stride - v.pad), w = (int)((of % pixel) * v.stride - v.pad);
      const bool inside = of < v.n * v.ho * v.wo;
      corner[i] = inside ? (int)(((n * v.h + h) * v.w + w) * units + group * depth) : 0;
      begin[i] = inside ? h * 65536 + w : FAR * 65536;
    }
    unit = chunk + ahead, tap = unit; // ahead: units of the sum that are left out
    settle();
  }
  // To the tap that the unit lies in; behind the last one nothing is read.
  __device__ __forceinline__ void settle() {
    while (unit >= depth) {
      unit -= depth, tap += along, place += dilation;
      if ((int)(place & 0xffff) == span) place += 65536 * dilation - span, tap += down;
    }
  }
  __device__ __forceinline__ void fetch(shared_at to, int left) {
    const bool given = (int)threadIdx.x % 4 * 16 < left;
#pragma unroll
    for (int i = 0; i < MOVED; i++) {
      const unsigned spot = begin[i] + place;
      const int w = (short)spot, h = (int)(spot - w) >> 16;
      const bool inside = given && (unsigned)h < (unsigned)height && (unsigned)w < (unsigned)width;
      copy_async(to + at + i * (APART * 64), x + (int64_t)(int)(corner[i] + tap) * 16, inside ? 16 : 0);
    }
    unit += 4, tap += 4;
    settle();
  }
};

// A block's pixels and channels; value(sum, place in y, channel) is an element of y.
template <class P, int... SIZES> struct MmaConv : MmaTile<P, true, SIZES...> {
  typedef MmaTile<P, true, SIZES...> T;
  template <class TC, class F>
  static __device__ __forceinline__ void block(const ConvShape &v, const typename P::a_type *x, const typename P::b_type *w, TC *y, F value) {
    const int64_t pixels = v.n * v.ho * v.wo, channels = v.k / v.groups, group = blockIdx.z, sum = v.window();
    if (pixels == 0) return;
    const TilePlace wide = tile_place(blockIdx.x, pixels, channels, T::ROWS, T::COLS);
    const TilePlace tile = {(int)wide.row, (int)wide.column}; // 32 bits are enough (mma.go): the upper ones were spilled on 10.0
    typename T::sum acc[T::RM][T::RN][4] = {};
    T::product(sum, Windows<P, T::MOVED_A, T::THREADS / 4>(v, x, group, tile.row),
               T::source_b(w + (group * channels + tile.column) * sum, sum, channels - tile.column), acc);
    mma_store<T>(acc, tile, pixels, channels, y + group * channels, v.k, [&](typename T::sum s, int64_t pixel, int64_t channel) {
      const int64_t k = group * channels + channel;
      return value(s, pixel * v.k + k, k);
    });
  }
  // One group's sums over the part blockIdx.y of the window, of per terms each, to [part][pixel][channel].
  static __device__ __forceinline__ void part(const ConvShape &v, int64_t per, const typename P::a_type *x, const typename P::b_type *w, typename T::sum *parts) {
    const int64_t pixels = v.n * v.ho * v.wo, sum = v.window(), first = blockIdx.y * per;
    if (pixels == 0) return;
    const TilePlace wide = tile_place(blockIdx.x, pixels, v.k, T::ROWS, T::COLS);
    const TilePlace tile = {(int)wide.row, (int)wide.column};
    typename T::sum acc[T::RM][T::RN][4] = {};
    T::product(min(per, sum - first), Windows<P, T::MOVED_A, T::THREADS / 4>(v, x, 0, tile.row, (int)(first * P::SIZE / 16)),
               T::source_b(w + tile.column * sum + first, sum, v.k - tile.column), acc);
    mma_store<T>(acc, tile, pixels, v.k, parts + blockIdx.y * pixels * v.k, v.k, [](typename T::sum s, int64_t, int64_t) { return s; });
  }
};

// The tile: P, rows and columns of a block and of a warp.
#define RIDGE_CONV_MMA(entry, P, E, ...)                                                                                                \
  RIDGE_KERNEL(entry, (MmaConv<P, __VA_ARGS__>::THREADS))                                                                               \
  (RIDGE_CONV_SHAPE, int64_t act, const E *x, const E *w, const E *bias, const E *residual, E *y) {                                     \
    const Epilogue<E> e = {residual, bias, 1, 1, (int)act};                                                                             \
    MmaConv<P, __VA_ARGS__>::block(RIDGE_CONV_VALUES, x, w, y,                                                                          \
                                   [&](float s, int64_t at, int64_t k) { return element<E>::store(e(s, at, k)); });                     \
  }                                                                                                                                     \
  RIDGE_ENTRY(entry)

#define RIDGE_CONV_MMA_BYTES(entry, P, ...)                                                                                             \
  RIDGE_KERNEL(entry, (MmaConv<P, __VA_ARGS__>::THREADS))                                                                               \
  (RIDGE_CONV_SHAPE, const unsigned char *x, const unsigned char *w, const int32_t *bias, const int32_t *residual, int32_t *y) {        \
    const Epilogue<int32_t> e = {residual, bias};                                                                                       \
    MmaConv<P, __VA_ARGS__>::block(RIDGE_CONV_VALUES, x, w, y, [&](int s, int64_t at, int64_t k) { return e(s, at, k); });              \
  }                                                                                                                                     \
  RIDGE_ENTRY(entry)

#define RIDGE_CONV_MMA_REQUANT(entry, P, ...)                                                                                           \
  RIDGE_KERNEL(entry, (MmaConv<P, __VA_ARGS__>::THREADS))                                                                               \
  (RIDGE_CONV_SHAPE, int64_t act, const unsigned char *x, const unsigned char *w, const int32_t *bias, const float *scale, int8_t *y) { \
    const Epilogue<int32_t> e = {nullptr, bias};                                                                                        \
    MmaConv<P, __VA_ARGS__>::block(RIDGE_CONV_VALUES, x, w, y, [&](int s, int64_t at, int64_t k) {                                      \
      return requantise(e(s, at, k), scale[k], act == ACT_RELU);                                                                        \
    });                                                                                                                                 \
  }                                                                                                                                     \
  RIDGE_ENTRY(entry)

#endif
