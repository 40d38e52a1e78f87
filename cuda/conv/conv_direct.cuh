// The bodies of conv2d_DTYPE_simt_direct.cu: a thread for each output, for groups of few channels (depthwise), where a tile of 64
// channels would stand empty. Formula and layouts as conv_simt.cuh.
//
// FLOP: 2·(C/g)·R·S an output, 18 for depthwise 3×3. Bytes: x, w and y once: about 4.5 FLOP a byte of bf16, so the memory should
// bind. Neighbouring threads have neighbouring channels (nhwc) or pixels (nchw): full lines; windows overlap in L1.
// Four 64-bit divisions an output (some 200 instructions) cost as much as a window of 9 taps.
#ifndef RIDGE_CONV_DIRECT_CUH
#define RIDGE_CONV_DIRECT_CUH

#include "conv_shape.cuh"

__device__ __forceinline__ float term(float x, float w, float sum) { return fmaf(x, w, sum); }
__device__ __forceinline__ int term(int x, int w, int sum) { return (int)((unsigned)sum + (unsigned)(x * w)); }
__device__ __forceinline__ int load(signed char x) { return x; }

template <bool NHWC, class S, class E, class F> __device__ __forceinline__ void conv_direct(const ConvShape &v, const E *x, const E *w, F store) {
  const int64_t total = v.n * v.k * v.ho * v.wo, cg = v.group_channels(), kg = v.k / v.groups;
  const int64_t channel = NHWC ? 1 : v.h * v.w, pixel = NHWC ? v.c : 1, channel_w = NHWC ? 1 : v.r * v.s, tap_w = NHWC ? cg : 1;
  for (int64_t i = global_thread(); i < total; i += all_threads()) {
    int64_t rest = i;
    const int64_t k_last = rest % v.k; // nhwc: channels are innermost
    if (NHWC) rest /= v.k;
    const int64_t wo = rest % v.wo;
    rest /= v.wo;
    const int64_t ho = rest % v.ho;
    rest /= v.ho;
    const int64_t k = NHWC ? k_last : rest % v.k, n = NHWC ? rest : rest / v.k;
    const int64_t h0 = ho * v.stride - v.pad, w0 = wo * v.stride - v.pad;
    const E *image = x + n * v.c * v.h * v.w + k / kg * cg * channel, *weights = w + k * cg * v.r * v.s;
    S sum = 0;
    for (int64_t r = 0; r < v.r; r++) {
      const int64_t h = h0 + r * v.dilation;
      if (h < 0 || h >= v.h) continue;
      for (int64_t s = 0; s < v.s; s++) {
        const int64_t at = w0 + s * v.dilation;
        if (at < 0 || at >= v.w) continue;
        for (int64_t c = 0; c < cg; c++)
          sum = term(load(image[(h * v.w + at) * pixel + c * channel]), load(weights[(r * v.s + s) * tap_w + c * channel_w]), sum);
      }
    }
    store(sum, i, k);
  }
}

#define RIDGE_CONV_DIRECT(entry, E, NHWC)                                                                                     \
  RIDGE_KERNEL(entry, 256)(RIDGE_CONV_SHAPE, int64_t act, const E *x, const E *w, const E *bias, const E *residual, E *y) {   \
    const Epilogue<E> e = {residual, bias, 1, 1, (int)act};                                                                   \
    conv_direct<NHWC, float>(RIDGE_CONV_VALUES, x, w,                                                                         \
                             [&](float s, int64_t at, int64_t k) { y[at] = element<E>::store(e(s, at, k)); });                \
  }                                                                                                                           \
  RIDGE_ENTRY(entry)

#define RIDGE_CONV_DIRECT_BYTES(entry, NHWC)                                                                                  \
  RIDGE_KERNEL(entry, 256)                                                                                                    \
  (RIDGE_CONV_SHAPE, const signed char *x, const signed char *w, const int32_t *bias, const int32_t *residual, int32_t *y) {  \
    const Epilogue<int32_t> e = {residual, bias};                                                                             \
    conv_direct<NHWC, int>(RIDGE_CONV_VALUES, x, w, [&](int s, int64_t at, int64_t k) { y[at] = e(s, at, k); });              \
  }                                                                                                                           \
  RIDGE_ENTRY(entry)                                                                                                          \
  RIDGE_KERNEL(entry##_requant, 256)                                                                                          \
  (RIDGE_CONV_SHAPE, int64_t act, const signed char *x, const signed char *w, const int32_t *bias, const float *scale,        \
   int8_t *y) {                                                                                                               \
    const Epilogue<int32_t> e = {nullptr, bias};                                                                              \
    conv_direct<NHWC, int>(RIDGE_CONV_VALUES, x, w,                                                                           \
                           [&](int s, int64_t at, int64_t k) { y[at] = requantise(e(s, at, k), scale[k], act == ACT_RELU); });\
  }                                                                                                                           \
  RIDGE_ENTRY(entry##_requant)

#endif
