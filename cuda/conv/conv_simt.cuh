// The bodies of conv2d_DTYPE_simt.cu: convolution as a product that is never laid out (implicit GEMM).
//
//   y[n,k,ho,wo] = act(bias[k] + Σ_{c,r,s} x[n, c, ho·stride − pad + r·dilation, wo·stride − pad + s·dilation]·w[k,c,r,s] + residual[n,k,ho,wo])
//
// over the C/groups channels of k's group; x is 0 outside. Layouts: nchw with weights [K,C/g,R,S], nhwc with [K,R,S,C/g]; in both a
// channel's weights lie in the order e in which the sum runs. Sums in fp32, of bytes in int32, which wrap. Any shape and alignment.
// FLOP: 2·N·Ho·Wo·K·(C/g)·R·S. Bytes: x, w, bias, residual and y once.
//
// A block makes 128 pixels × 64 channels of a group (ridge_product.cuh: 32 FMA against 4 wavefronts and about 12 gathered elements
// for 8 k). nhwc has pixels as rows and reads along channels; nchw has channels as rows and reads along pixels: neighbouring threads
// read neighbouring bytes in both. Where a pixel's window begins is worked out once a block, where tap e lies once a block
// and e, both in shared memory, so that a gathered element costs two additions, two comparisons and a load.
// The arithmetic should bind from some 64 channels on. Not measured on a device yet.
// Source: Chetlur et al. 2014 (cuDNN), section 3.
#ifndef RIDGE_CONV_SIMT_CUH
#define RIDGE_CONV_SIMT_CUH

#include "conv_shape.cuh"
#include "ridge_product.cuh"

constexpr int PIXELS = 128, CHANNELS = 64, STEP = 8;

// Where a pixel's window begins in x (in the image, maybe before it) and where its outputs lie; off the output: h far outside.
struct Pixel {
  int64_t x, y;
  int h, w;
};
// Where tap e lies in a window; beyond the last: h far outside.
struct Tap {
  int64_t x;
  int h, w;
};
constexpr int FAR = 1 << 29; // padded images are smaller (conv.go): neither FAR plus a tap or a window's begin nor 2·FAR lies inside

template <bool NHWC> __device__ __forceinline__ void place_pixel(const ConvShape &v, int64_t i, int64_t group, Pixel &p) {
  const int64_t wo = i % v.wo, ho = i / v.wo % v.ho, n = i / v.wo / v.ho;
  const int64_t h = ho * v.stride - v.pad, w = wo * v.stride - v.pad;
  p.x = n * v.c * v.h * v.w + group * v.group_channels() * (NHWC ? 1 : v.h * v.w) + (h * v.w + w) * (NHWC ? v.c : 1);
  p.y = NHWC ? i * v.k : (n * v.k * v.ho + ho) * v.wo + wo;
  p.h = n < v.n ? (int)h : FAR;
  p.w = (int)w;
}

template <bool NHWC> __device__ __forceinline__ void place_tap(const ConvShape &v, int64_t e, Tap &t) {
  const int64_t cg = v.group_channels();
  const int64_t c = NHWC ? e % cg : e / v.s / v.r, s = NHWC ? e / cg % v.s : e % v.s, r = NHWC ? e / cg / v.s : e / v.s % v.r;
  t.x = c * (NHWC ? 1 : v.h * v.w) + (r * v.w + s) * v.dilation * (NHWC ? v.c : 1);
  t.h = e < cg * v.r * v.s ? (int)(r * v.dilation) : FAR;
  t.w = (int)(s * v.dilation);
}

// P sums words of WIDTH elements; from_x(place) and from_w(channel, word) give words, place(j, &at) says whether
// the word's tap j lies inside and where; store(sum, place in y, channel).
template <class P, int WIDTH, bool NHWC, class X, class W, class F>
__device__ __forceinline__ void conv_block(const ConvShape &v, X from_x, W from_w, F store) {
  typedef Tile<P, NHWC ? PIXELS : CHANNELS, NHWC ? CHANNELS : PIXELS, STEP> T;
  constexpr int TAPS = 2 * STEP * WIDTH; // two steps
  RIDGE_SHARED(Pixel, pixels, [PIXELS]);
  RIDGE_SHARED(Tap, taps, [TAPS]);
  const int64_t group = blockIdx.z, kg = v.k / v.groups, sum = v.window();
  const int64_t first = (int64_t)blockIdx.x * PIXELS, channel0 = (int64_t)blockIdx.y * CHANNELS;
  const unsigned height = (unsigned)v.h, width = (unsigned)v.w;
  auto place = [&](int64_t step) {
    if (threadIdx.x < STEP * WIDTH) place_tap<NHWC>(v, step * (STEP * WIDTH) + threadIdx.x, taps[(step & 1) * (STEP * WIDTH) + threadIdx.x]);
  };
  if (threadIdx.x < PIXELS) place_pixel<NHWC>(v, first + threadIdx.x, group, pixels[threadIdx.x]);
  place(0);
  __syncthreads();
  auto x = [&](int i, int64_t k) {
    const Pixel &p = pixels[i];
    const Tap *t = &taps[(k & (2 * STEP - 1)) * WIDTH];
    return from_x([&](int j, int64_t *at) {
      *at = p.x + t[j].x;
      return (unsigned)(p.h + t[j].h) < height && (unsigned)(p.w + t[j].w) < width;
    });
  };
  auto w = [&](int i, int64_t k) {
    const int64_t c = channel0 + i;
    return c < kg && k * WIDTH < sum ? from_w(group * kg + c, k) : 0;
  };
  typename T::sum acc[T::RM][T::RN] = {};
  const int64_t words = (sum + WIDTH - 1) / WIDTH;
  if constexpr (NHWC)
    T::product(words, true, true, x, w, place, acc);
  else
    T::product(words, true, false, w, x, place, acc);
#pragma unroll
  for (int i = 0; i < T::RM; i++)
#pragma unroll
    for (int j = 0; j < T::RN; j++) {
      const int pixel = NHWC ? T::row(i) : T::col(j);
      const int64_t c = channel0 + (NHWC ? T::col(j) : T::row(i));
      if (c >= kg || first + pixel >= v.n * v.ho * v.wo) continue;
      const int64_t k = group * kg + c;
      store(acc[i][j], pixels[pixel].y + k * (NHWC ? 1 : v.ho * v.wo), k);
    }
}

template <bool NHWC, class E> __device__ __forceinline__ void conv_floats(const ConvShape &v, const E *x, const E *w, const Epilogue<E> &e, E *y) {
  const int64_t sum = v.window();
  conv_block<SumFloat, 1, NHWC>(
      v,
      [&](auto place) {
        int64_t at;
        return place(0, &at) ? load(x[at]) : 0.0f;
      },
      [&](int64_t k, int64_t i) { return load(w[k * sum + i]); },
      [&](float s, int64_t at, int64_t k) { y[at] = element<E>::store(e(s, at, k)); });
}

// Four channels that lie side by side at a multiple of 4 (nhwc) are one load.
template <bool NHWC, class F> __device__ __forceinline__ void conv_bytes(const ConvShape &v, const unsigned char *x, const unsigned char *w, F store) {
  const int64_t sum = v.window();
  const bool whole_x = NHWC && (((uintptr_t)x | (uintptr_t)v.c | (uintptr_t)v.group_channels()) & 3) == 0;
  const bool whole_w = (((uintptr_t)w | (uintptr_t)sum) & 3) == 0;
  conv_block<SumBytes, 4, NHWC>(
      v,
      [&](auto place) {
        int64_t at;
        if (whole_x) return place(0, &at) ? *(const unsigned *)(x + at) : 0u;
        unsigned word = 0;
#pragma unroll
        for (int j = 0; j < 4; j++)
          if (place(j, &at)) word |= (unsigned)x[at] << 8 * j;
        return word;
      },
      [&](int64_t k, int64_t i) { return word_of(w + k * sum + 4 * i, 1, sum - 4 * i, whole_w); }, store);
}

#define RIDGE_CONV_LAYOUT(entry, E, NHWC)                                                                                     \
  RIDGE_KERNEL(entry, 256)(RIDGE_CONV_SHAPE, int64_t act, const E *x, const E *w, const E *bias, const E *residual, E *y) {   \
    const Epilogue<E> e = {residual, bias, 1, 1, (int)act};                                                                   \
    conv_floats<NHWC>(RIDGE_CONV_VALUES, x, w, e, y);                                                                         \
  }                                                                                                                           \
  RIDGE_ENTRY(entry)

#define RIDGE_CONV_BYTES(entry, NHWC)                                                                                         \
  RIDGE_KERNEL(entry, 256)                                                                                                    \
  (RIDGE_CONV_SHAPE, const unsigned char *x, const unsigned char *w, const int32_t *bias, const int32_t *residual,            \
   int32_t *y) {                                                                                                              \
    const Epilogue<int32_t> e = {residual, bias};                                                                             \
    conv_bytes<NHWC>(RIDGE_CONV_VALUES, x, w, [&](int s, int64_t at, int64_t k) { y[at] = e(s, at, k); });                    \
  }                                                                                                                           \
  RIDGE_ENTRY(entry)                                                                                                          \
  RIDGE_KERNEL(entry##_requant, 256)                                                                                          \
  (RIDGE_CONV_SHAPE, int64_t act, const unsigned char *x, const unsigned char *w, const int32_t *bias, const float *scale,    \
   int8_t *y) {                                                                                                               \
    const Epilogue<int32_t> e = {nullptr, bias};                                                                              \
    conv_bytes<NHWC>(RIDGE_CONV_VALUES, x, w,                                                                                 \
                     [&](int s, int64_t at, int64_t k) { y[at] = requantise(e(s, at, k), scale[k], act == ACT_RELU); });      \
  }                                                                                                                           \
  RIDGE_ENTRY(entry##_requant)

#endif
