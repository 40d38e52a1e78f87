// The bodies of conv2d_DTYPE_sm80_packed.cu: convolution on tensor cores (conv_mma.cuh) of what does not lie as they want it: nchw, and nhwc whose channels do not
// begin at multiples of 16 bytes, like the three of an image; one group. Formula and epilogues as conv_simt.cuh has them.
//
// Three launches: x and w go to the workspace as [N,H,W,C'] and [K,R,S,C'], C' the channels and zeros up to a multiple of 16 bytes; the product sums parts of the window
// side by side, not rounded, to [parts][N·Ho·Wo][K]; the last one adds the parts in their order and does the epilogue, the same bits every time. nhwc in one part is
// finished by the product itself.
// FLOP: 2·N·Ho·Wo·K·C'·R·S. Bytes: x and w twice more than conv_mma.cuh, and of each part 8 for an element of y, from L2 where they have room there.
// Measured on an H200, one image, nchw, before by the portable tier: bf16 64>128 3x3 56² 14.6 us (93.8), 256>512 3x3 14² 19.2; fp32 the same 23.7 (86.0) and 30.2 (324), 512>2048 1x1 7² 21.1 (76.7). The
// stem of 32 images, bf16, nhwc: 207 us, 1.09 of cuDNN 9.19's rate beside it; in tiles of 128 channels 1576.
#ifndef RIDGE_CONV_PACKED_CUH
#define RIDGE_CONV_PACKED_CUH

#include "conv_mma.cuh"

// 16 bytes of channels of a pixel: of tensors [outer][c][inner] or, nhwc, [outer][inner][c], number i of those of 8 pixels at a time. Neighbouring threads have
// neighbouring pixels, then neighbouring channels: reads along pixels are 16 bytes and more, writes 64.
template <class E> __device__ __forceinline__ void pack_channels(int64_t i, bool nhwc, int64_t outer, int64_t c, int64_t inner, int64_t units, const E *from, pack<E> *to) {
  constexpr int N = 16 / sizeof(E);
  const int64_t unit = i / 8 % units, pixel = i / 8 / units * 8 + i % 8;
  if (pixel >= outer * inner) return;
  const int64_t step = nhwc ? 1 : inner;
  from += nhwc ? pixel * c : pixel / inner * c * inner + pixel % inner;
  pack<E> v;
#pragma unroll
  for (int e = 0; e < N; e++) v.at[e] = unit * N + e < c ? from[(unit * N + e) * step] : E();
  store_pack(to + pixel * units + unit, v);
}

#define RIDGE_CONV_PACK(entry, E)                                                                                                         \
  RIDGE_KERNEL(entry, 256)                                                                                                                \
  (int64_t n, int64_t c, int64_t image, int64_t k, int64_t taps, int64_t units, int64_t nhwc, const E *x, const E *w, pack<E> *to_x,      \
   pack<E> *to_w) {                                                                                                                       \
    const int64_t of_x = (n * image + 7) / 8 * 8 * units, all = of_x + (k * taps + 7) / 8 * 8 * units;                                    \
    for (int64_t i = global_thread(); i < all; i += all_threads()) {                                                                      \
      if (i < of_x)                                                                                                                       \
        pack_channels(i, nhwc, n, c, image, units, x, to_x);                                                                              \
      else                                                                                                                                \
        pack_channels(i - of_x, nhwc, k, c, taps, units, w, to_w);                                                                        \
    }                                                                                                                                     \
  }                                                                                                                                       \
  RIDGE_ENTRY(entry)

// Sums of part blockIdx.y, per terms of the window each, a multiple of a stage's.
#define RIDGE_CONV_PARTS(entry, P, E, ...)                                                                                                \
  RIDGE_KERNEL(entry, (MmaConv<P, __VA_ARGS__>::THREADS))                                                                                 \
  (RIDGE_CONV_SHAPE, int64_t per, const E *x, const E *w, P::sum *parts) {                                                                \
    MmaConv<P, __VA_ARGS__>::part(RIDGE_CONV_VALUES, per, x, w, parts);                                                                   \
  }                                                                                                                                       \
  RIDGE_ENTRY(entry)

__device__ __forceinline__ float add_sums(float a, float b) { return a + b; }
__device__ __forceinline__ int add_sums(int a, int b) { return (int)((unsigned)a + (unsigned)b); } // wraps

// A block has 32 pixels × 32 channels; value(sum, place in y, channel). nchw (plane: the pixels of an image) is turned in shared memory.
template <class S, class E, class F>
__device__ __forceinline__ void finish_parts(int64_t pixels, int64_t channels, int64_t plane, int64_t count, const S *parts, E *y, F value) {
  typedef S Lines[32][33];
  RIDGE_SHARED(Lines, lines, [1]);
  const int lane = threadIdx.x % 32;
  const int64_t pixel0 = (int64_t)blockIdx.x * 32, channel0 = (int64_t)blockIdx.y * 32, channel = channel0 + lane;
  for (int r = threadIdx.x / 32; r < 32; r += 8) {
    const int64_t pixel = pixel0 + r;
    if (pixel >= pixels || channel >= channels) continue;
    S s = parts[pixel * channels + channel];
#pragma unroll 4
    for (int64_t p = 1; p < count; p++) s = add_sums(s, parts[(p * pixels + pixel) * channels + channel]);
    if (plane == 0) y[pixel * channels + channel] = value(s, pixel * channels + channel, channel);
    lines[0][r][lane] = s;
  }
  if (plane == 0) return;
  __syncthreads();
  const int64_t pixel = pixel0 + lane;
  for (int r = threadIdx.x / 32; r < 32; r += 8) {
    const int64_t k = channel0 + r;
    if (pixel >= pixels || k >= channels) continue;
    const int64_t at = (pixel / plane * channels + k) * plane + pixel % plane;
    y[at] = value(lines[0][lane][r], at, k);
  }
}

#define RIDGE_CONV_FINISH(entry, E)                                                                                                       \
  RIDGE_KERNEL(entry, 256)                                                                                                                \
  (int64_t pixels, int64_t channels, int64_t plane, int64_t count, int64_t act, const float *parts, const E *bias, const E *residual, E *y) { \
    const Epilogue<E> e = {residual, bias, 1, 1, (int)act};                                                                               \
    finish_parts(pixels, channels, plane, count, parts, y, [&](float s, int64_t at, int64_t k) { return element<E>::store(e(s, at, k)); }); \
  }                                                                                                                                       \
  RIDGE_ENTRY(entry)

#define RIDGE_CONV_FINISH_BYTES(entry)                                                                                                    \
  RIDGE_KERNEL(entry, 256)                                                                                                                \
  (int64_t pixels, int64_t channels, int64_t plane, int64_t count, const int *parts, const int32_t *bias, const int32_t *residual,        \
   int32_t *y) {                                                                                                                          \
    const Epilogue<int32_t> e = {residual, bias};                                                                                         \
    finish_parts(pixels, channels, plane, count, parts, y, [&](int s, int64_t at, int64_t k) { return e(s, at, k); });                    \
  }                                                                                                                                       \
  RIDGE_ENTRY(entry)                                                                                                                      \
  RIDGE_KERNEL(entry##_requant, 256)                                                                                                      \
  (int64_t pixels, int64_t channels, int64_t plane, int64_t count, int64_t act, const int *parts, const int32_t *bias, const float *scale, \
   int8_t *y) {                                                                                                                           \
    const Epilogue<int32_t> e = {nullptr, bias};                                                                                          \
    finish_parts(pixels, channels, plane, count, parts, y,                                                                                \
                 [&](int s, int64_t at, int64_t k) { return requantise(e(s, at, k), scale[k], act == ACT_RELU); });                       \
  }                                                                                                                                       \
  RIDGE_ENTRY(entry##_requant)

#endif
