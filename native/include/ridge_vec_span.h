// The element type of a kernel file over the vectors of ridge_vec.h: T is what memory holds,
// V and S are what is computed with. bf16 is widened exactly to fp32 and rounded once when it
// is stored.
//
// The including file defines RIDGE_VEC_DTYPE: RIDGE_VEC_FP32, RIDGE_VEC_BF16 or RIDGE_VEC_FP64.
#ifndef RIDGE_VEC_SPAN_H
#define RIDGE_VEC_SPAN_H

#include "ridge_round_pair.h"
#include "ridge_vec.h"

#define RIDGE_VEC_FP32 0
#define RIDGE_VEC_BF16 1
#define RIDGE_VEC_FP64 2

#if RIDGE_VEC_DTYPE == RIDGE_VEC_FP64
typedef double T, S;
typedef vd V;
#define VN VLD // lanes of V
#define LOAD vload_d
#define STORE vstore_d
#define STREAM vstore_d // no fp64 kernel streams
#define WIDEN(x) (x)
#define NARROW(x) (x)
#elif RIDGE_VEC_DTYPE == RIDGE_VEC_BF16
typedef ridge_bf16 T;
typedef float S;
typedef vf V;
#define VN VL
#define LOAD vload_bf16
#define STORE vstore_bf16
#define STREAM vstream_bf16
#define WIDEN ridge_bf16_to_float
#define NARROW(x) ridge_float_to_bf16((float)(x))
#else
typedef float T, S;
typedef vf V;
#define VN VL
#define LOAD vload
#define STORE vstore
#define STREAM vstream
#define WIDEN(x) (x)
#define NARROW(x) ((float)(x))
#endif

// The numbers of a vector's lanes.
VFN vi vlanes(void) {
#if VL == 4
  return (vi){0, 1, 2, 3};
#elif VL == 8
  return (vi){0, 1, 2, 3, 4, 5, 6, 7};
#else
  return (vi){0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
#endif
}

// k elements; with fewer than a vector the other lanes are 0.
VFN V load(const T *p, int64_t k) {
  if (k == VN) return LOAD(p);
  T lane[VN] = {0};
  for (int64_t i = 0; i < k; i++) lane[i] = p[i];
  return LOAD(lane);
}

// k elements; whole vectors past the caches with nt, then p must be aligned (see head).
VFN void store(T *p, V v, int64_t k, int nt) {
  if (k == VN) {
    if (nt) STREAM(p, v);
    else STORE(p, v);
    return;
  }
  T lane[VN];
  STORE(lane, v);
  for (int64_t i = 0; i < k; i++) p[i] = lane[i];
}

// Elements before the first y that is aligned for a vector store.
VFN int64_t head(const T *y, int64_t n) {
  int64_t h = (int64_t)(-(uintptr_t)y / sizeof(T) & (VN - 1));
  return h < n ? h : n;
}

// y[i] = EXPR for all i < n, operands read by IN(p); whole vectors are stored aligned.
#define IN(p) load((p) + i, k)
#define SPAN(EXPR)                                           \
  do {                                                       \
    int64_t i = 0, k = head(y, n);                           \
    if (k) store(y, EXPR, k, nt);                            \
    i = k, k = VN;                                           \
    for (; i + VN <= n; i += VN) store(y + i, EXPR, VN, nt); \
    k = n - i;                                               \
    if (k) store(y + i, EXPR, k, nt);                        \
  } while (0)

// Groups of GN consecutive elements, for functions that treat each element alone. bf16 elements come in
// the order even, odd: each half of a 32-bit lane is the upper half of an fp32 number, so
// that widening and rounding need no shuffles. Elements side by side in two groups match.
#if RIDGE_VEC_DTYPE != RIDGE_VEC_FP64
#define GN (VU * VL)

#if RIDGE_VEC_DTYPE == RIDGE_VEC_BF16
VFN vf vround_pair(vf even, vf odd) {
#if RIDGE_VEC_ISA == RIDGE_VEC_AVX512
  return (vf)ridge_round_pair_512((__m512i)even, (__m512i)odd);
#elif RIDGE_VEC_ISA == RIDGE_VEC_AVX2
  return (vf)ridge_round_pair_256((__m256i)even, (__m256i)odd);
#elif RIDGE_VEC_ISA == RIDGE_VEC_NEON
  return (vf)ridge_round_pair_128((uint16x8_t)even, (uint16x8_t)odd);
#else
  return (vf)RIDGE_ROUND_PAIR_PLAIN((vu)even, (vu)odd);
#endif
}
#endif

// A group as memory holds it: bf16 pairs, in the first half of the vectors.
VFN vg gpack(vg g) {
#if RIDGE_VEC_DTYPE == RIDGE_VEC_BF16
  RIDGE_UNROLL(VU) for (int u = 0; u < VU; u += 2) g.v[u / 2] = vround_pair(g.v[u], g.v[u + 1]);
#endif
  return g;
}

VFN vg gunpack(vg m) {
#if RIDGE_VEC_DTYPE == RIDGE_VEC_BF16
  vg g;
  RIDGE_UNROLL(VU) for (int u = 0; u < VU; u += 2) {
    const vu pair = (vu)m.v[u / 2];
    g.v[u] = (vf)(pair << 16), g.v[u + 1] = (vf)(pair & 0xffff0000u);
  }
  return g;
#else
  return m;
#endif
}

enum { PER_VECTOR = (int)(sizeof(vf) / sizeof(T)), PACKED = GN / PER_VECTOR }; // elements of a packed vector, vectors of a packed group

// Loads a vector once for both operations that split it: compilers fold the load into each, and half of the loads of a row that
// begins anywhere cross a line.
#if RIDGE_VEC_DTYPE == RIDGE_VEC_BF16 && RIDGE_VEC_ISA == RIDGE_VEC_AVX512
#define ONCE(x) __asm__("" : "+v"(x))
#elif RIDGE_VEC_DTYPE == RIDGE_VEC_BF16 && RIDGE_VEC_ISA == RIDGE_VEC_AVX2
#define ONCE(x) __asm__("" : "+x"(x))
#else
#define ONCE(x) (void)0
#endif

VFN vg gload(const T *p) {
  vg m;
  RIDGE_UNROLL(VU) for (int u = 0; u < PACKED; u++) {
    vf once = ((const vf_mem *)(const void *)p)[u];
    ONCE(once);
    m.v[u] = once;
  }
  return gunpack(m);
}

// A packed group. With nt past the caches; p must then be aligned to a vector, and to a line that groups may fill it whole.
VFN void gwrite(T *p, vg m, int nt) {
  RIDGE_UNROLL(VU) for (int u = 0; u < PACKED; u++) {
    if (nt) vstream((float *)(void *)p + u * VL, m.v[u]);
    else ((vf_mem *)(void *)p)[u] = m.v[u];
  }
}

VFN void gstore(T *p, vg g, int nt) { gwrite(p, gpack(g), nt); }

// All ones in the lanes of a group's first k elements, 0 in the others.
VFN vg gfirst(int64_t k) {
  vg m;
  const vi n = (vi){0} + (int32_t)k;
  EACH m.v[u] = (vf)(sizeof(T) == 2 ? vlanes() * 2 + (u / 2 * 2 * VL + u % 2) < n : vlanes() + u * VL < n);
  return m;
}

VFN vg gkeep(vg g, vg there) {
  EACH g.v[u] = (vf)((vi)g.v[u] & (vi)there.v[u]);
  return g;
}

// The first k elements of a packed vector, any k: none, some or all; the others are 0. What lies behind them is not touched.
VFN vf packed_load(const T *p, int64_t k) {
  k = k < 0 ? 0 : k < PER_VECTOR ? k : PER_VECTOR;
#if RIDGE_VEC_ISA == RIDGE_VEC_AVX512
  const __mmask32 some = (__mmask32)((1ull << k) - 1);
  return sizeof(T) == 2 ? (vf)_mm512_maskz_loadu_epi16(some, p) : (vf)_mm512_maskz_loadu_epi32((__mmask16)some, p);
#elif RIDGE_VEC_ISA == RIDGE_VEC_AVX2
  const int32_t whole = (int32_t)(k * (int)sizeof(T) / 4);
  vi m = (vi)_mm256_maskload_epi32((const int *)(const void *)p, (__m256i)(vlanes() < (vi){0} + whole));
  if (sizeof(T) == 2 && k % 2) m |= ((vi){0} + (int32_t)((const uint16_t *)(const void *)p)[k - 1]) & (vlanes() == (vi){0} + whole);
  return (vf)m;
#else
  T lane[PER_VECTOR] = {0};
  for (int64_t i = 0; i < k; i++) lane[i] = p[i];
  return *(const vf_mem *)(const void *)lane;
#endif
}

VFN void packed_store(T *p, vf v, int64_t k) {
  k = k < 0 ? 0 : k < PER_VECTOR ? k : PER_VECTOR;
#if RIDGE_VEC_ISA == RIDGE_VEC_AVX512
  const __mmask32 some = (__mmask32)((1ull << k) - 1);
  if (sizeof(T) == 2) _mm512_mask_storeu_epi16(p, some, (__m512i)v);
  else _mm512_mask_storeu_epi32(p, (__mmask16)some, (__m512i)v);
#else
  T lane[PER_VECTOR];
  *(vf_mem *)(void *)lane = v;
  for (int64_t i = 0; i < k; i++) p[i] = lane[i];
#endif
}

// k < GN elements; the others are 0.
VFN vg gload_some(const T *p, int64_t k) {
  vg m;
  RIDGE_UNROLL(VU) for (int u = 0; u < PACKED; u++) m.v[u] = packed_load(p + u * PER_VECTOR, k - u * PER_VECTOR);
  return gunpack(m);
}

VFN void gstore_some(T *p, vg g, int64_t k) {
  const vg m = gpack(g);
  RIDGE_UNROLL(VU) for (int u = 0; u < PACKED; u++) packed_store(p + u * PER_VECTOR, m.v[u], k - u * PER_VECTOR);
}

// Elements before the first y on a line's border (of a shorter group: on the group's), less than GN.
VFN int64_t ghead(const T *y, int64_t n) {
  enum { PER_LINE = RIDGE_CACHE_LINE / sizeof(T), BORDER = GN < PER_LINE ? GN : PER_LINE };
  const int64_t h = (int64_t)(-(uintptr_t)y / sizeof(T) & (BORDER - 1));
  return h < n ? h : n;
}
#endif

// k fp32 values of a workspace vector beside a span.
VFN vf load_fp32(const float *p, int64_t k) {
  if (k == VL) return vload(p);
  float lane[VL] = {0};
  for (int64_t i = 0; i < k; i++) lane[i] = p[i];
  return vload(lane);
}

#endif
