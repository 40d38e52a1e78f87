// The bodies of the elementwise kernels: y = f(a), y = f(a, b) and y = f(a, vectors[channel]) over n
// contiguous elements, calculated in fp32. Bytes: 2 or 3 arrays of n. The memory's bandwidth binds
// for all of them on 8.0 and later; from the second-level cache the longest functions do (functions.cuh).
#ifndef RIDGE_ELEMENTWISE_CUH
#define RIDGE_ELEMENTWISE_CUH

#include "functions.cuh"
#include "ridge_map.cuh"

// s is the factor of scale.
#define RIDGE_UNARY(entry, T, expression)                                                                  \
  RIDGE_KERNEL(entry, 256)(int64_t n, const T *a, T *y, double factor) {                                   \
    const float s = (float)factor;                                                                         \
    ridge_map<1>(n, a, (const T *)nullptr, y, [s](T p, T) -> T {                                           \
      const float x = load(p);                                                                             \
      (void)s;                                                                                             \
      return element<T>::store(expression);                                                                \
    });                                                                                                    \
  }                                                                                                        \
  RIDGE_ENTRY(entry)

#define RIDGE_UNARY_ALL(prefix, T)                                \
  RIDGE_UNARY(prefix##_relu, T, relu(x))                          \
  RIDGE_UNARY(prefix##_gelu, T, gelu_of<T>(x))                    \
  RIDGE_UNARY(prefix##_gelu_tanh, T, gelu_tanh_of<T>(x))          \
  RIDGE_UNARY(prefix##_sigmoid, T, sigmoid_of<T>(x))              \
  RIDGE_UNARY(prefix##_tanh, T, tanhf(x))                         \
  RIDGE_UNARY(prefix##_exp, T, expf(x))                           \
  RIDGE_UNARY(prefix##_sqrt_abs, T, sqrtf(fabsf(x) + 1e-8f))      \
  RIDGE_UNARY(prefix##_sin, T, sinf(x))                           \
  RIDGE_UNARY(prefix##_cos, T, cosf(x))                           \
  RIDGE_UNARY(prefix##_silu, T, silu_of<T>(x))                    \
  RIDGE_UNARY(prefix##_scale, T, s *x)

#define RIDGE_BINARY(entry, T, expression)                                                                              \
  RIDGE_KERNEL(entry, 256)(int64_t n, const T *a, const T *b, T *y) {                                                   \
    ridge_map<2>(n, a, b, y, [](T p, T q) -> T { return element<T>::store(expression); });                              \
  }                                                                                                                     \
  RIDGE_ENTRY(entry)

// Element i belongs to channel i / inner % channels. One division for each pack of 16 bytes, where a
// pack lies in one channel (inner a multiple of the pack) or in consecutive ones (inner = 1). Numbers
// of elements are below 2^31 (elementwise.go launches pieces): 64-bit divisions take four times as long
// and make ptxas spill. y may be a: programs work in place.
template <class T, class F>
__device__ __forceinline__ void channel_map(int64_t elements, int64_t channels64, int64_t inner64, const T *a, T *y, F f) {
  constexpr int W = 16 / sizeof(T);
  const unsigned n = (unsigned)elements, channels = (unsigned)channels64, inner = (unsigned)inner64;
  const unsigned t = (unsigned)global_thread(), all = (unsigned)all_threads();
  unsigned done = 0;
  if ((((uintptr_t)a | (uintptr_t)y) & 15) == 0 && (inner == 1 || inner % W == 0)) {
    const pack<T> *pa = (const pack<T> *)a;
    pack<T> *py = (pack<T> *)y;
    const unsigned packs = n / W;
    for (unsigned i = t; i < packs; i += all) {
      const pack<T> v = load_pack(pa + i);
      pack<T> r;
      unsigned c = i * W / inner % channels;
#pragma unroll
      for (int k = 0; k < W; k++) {
        r.at[k] = f(v.at[k], c);
        if (inner == 1 && ++c == channels) c = 0;
      }
      store_pack(py + i, r);
    }
    done = packs * W;
  }
  for (unsigned i = done + t; i < n; i += all) y[i] = f(a[i], i / inner % channels);
}

#define RIDGE_CHANNEL(prefix, T)                                                                                                \
  RIDGE_KERNEL(prefix##_bias_add, 256)(int64_t n, int64_t channels, int64_t inner, const T *a, const T *bias, T *y) {           \
    channel_map(n, channels, inner, a, y, [bias](T p, unsigned c) -> T { return element<T>::store(load(p) + load(bias[c])); });  \
  }                                                                                                                             \
  RIDGE_ENTRY(prefix##_bias_add)                                                                                                \
  RIDGE_KERNEL(prefix##_batch_norm, 256)                                                                                        \
  (int64_t n, int64_t channels, int64_t inner, const T *a, const T *gamma, const T *beta, const T *mean, const T *variance,     \
   T *y, double epsilon) {                                                                                                      \
    const float eps = (float)epsilon;                                                                                           \
    channel_map(n, channels, inner, a, y, [=](T p, unsigned c) -> T {                                                            \
      const float k = load(gamma[c]) / sqrtf(load(variance[c]) + eps);                                                          \
      return element<T>::store((load(p) - load(mean[c])) * k + load(beta[c]));                                                  \
    });                                                                                                                         \
  }                                                                                                                             \
  RIDGE_ENTRY(prefix##_batch_norm)

#endif
