// Vectors of RIDGE_VEC_LANES floats (and half as many doubles) that compile for AVX2,
// AVX-512, NEON and, without any instruction set, as a portable model of the same lanes.
//
// The including file sets RIDGE_VEC_LANES (4, 8 or 16) and RIDGE_VEC_ISA before. Arithmetic
// is that of GNU vectors (+ - * / < & |, scalars broadcast); the functions below are the
// few instructions which GNU C cannot spell. One translation unit holds one instruction
// set, so the types need no suffix.
#ifndef RIDGE_VEC_H
#define RIDGE_VEC_H

#include <stdint.h>
#include <string.h>

#include "ridge.h"
#include "ridge_half.h"

#define RIDGE_VEC_PORTABLE 0
#define RIDGE_VEC_AVX2 1
#define RIDGE_VEC_AVX512 2
#define RIDGE_VEC_NEON 3

#if RIDGE_VEC_ISA == RIDGE_VEC_AVX2
#include <immintrin.h>
#define RIDGE_VEC_TARGET RIDGE_TARGET_AVX2
#elif RIDGE_VEC_ISA == RIDGE_VEC_AVX512
#include <immintrin.h>
#define RIDGE_VEC_TARGET RIDGE_TARGET_AVX512
#elif RIDGE_VEC_ISA == RIDGE_VEC_NEON
#include <arm_neon.h>
#define RIDGE_VEC_TARGET
#else
#include <math.h>
#define RIDGE_VEC_TARGET
// The families compile with -Wno-psabi: how wide vectors travel between functions that were
// not inlined differs by compiler, and nothing outside this translation unit sees it.
#endif

#define VFN static inline __attribute__((always_inline, unused)) RIDGE_VEC_TARGET
#define VL RIDGE_VEC_LANES
#define VLD (RIDGE_VEC_LANES / 2)

typedef float vf __attribute__((vector_size(VL * 4)));
typedef int32_t vi __attribute__((vector_size(VL * 4)));
typedef uint32_t vu __attribute__((vector_size(VL * 4)));
typedef double vd __attribute__((vector_size(VL * 4)));
typedef int64_t vl __attribute__((vector_size(VL * 4)));
typedef float vf_mem __attribute__((vector_size(VL * 4), aligned(2), may_alias)); // bf16 pairs too
typedef double vd_mem __attribute__((vector_size(VL * 4), aligned(8), may_alias));
typedef uint16_t vh __attribute__((vector_size(VL * 2)));
typedef uint16_t vh_mem __attribute__((vector_size(VL * 2), aligned(2), may_alias));

#if VL == 4
#define VREP(x) x, x, x, x
#elif VL == 8
#define VREP(x) x, x, x, x, x, x, x, x
#else
#define VREP(x) x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x
#endif

VFN vf vset(float x) { return (vf){VREP(x)}; }
VFN vd vset_d(double x) {
  vd v;
  for (int i = 0; i < VLD; i++) v[i] = x;
  return v;
}

// a*b + c with one rounding on every target: range reductions depend on it.
VFN vf vfma(vf a, vf b, vf c) {
#if RIDGE_VEC_ISA == RIDGE_VEC_AVX2
  return (vf)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#elif RIDGE_VEC_ISA == RIDGE_VEC_AVX512
  return (vf)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
#elif RIDGE_VEC_ISA == RIDGE_VEC_NEON
  return (vf)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
#else
  vf r; // the double product is exact; two roundings of the sum differ from one by 2^-53
  for (int i = 0; i < VL; i++) r[i] = (float)((double)a[i] * b[i] + c[i]);
  return r;
#endif
}

// a < b ? a : b and a > b ? a : b: x86 returns b when either is NaN (NEON the NaN).
VFN vf vmin(vf a, vf b) {
#if RIDGE_VEC_ISA == RIDGE_VEC_AVX2
  return (vf)_mm256_min_ps((__m256)a, (__m256)b);
#elif RIDGE_VEC_ISA == RIDGE_VEC_AVX512
  return (vf)_mm512_min_ps((__m512)a, (__m512)b);
#elif RIDGE_VEC_ISA == RIDGE_VEC_NEON
  return (vf)vminq_f32((float32x4_t)a, (float32x4_t)b);
#else
  for (int i = 0; i < VL; i++) a[i] = a[i] < b[i] ? a[i] : b[i];
  return a;
#endif
}

VFN vf vmax(vf a, vf b) {
#if RIDGE_VEC_ISA == RIDGE_VEC_AVX2
  return (vf)_mm256_max_ps((__m256)a, (__m256)b);
#elif RIDGE_VEC_ISA == RIDGE_VEC_AVX512
  return (vf)_mm512_max_ps((__m512)a, (__m512)b);
#elif RIDGE_VEC_ISA == RIDGE_VEC_NEON
  return (vf)vmaxq_f32((float32x4_t)a, (float32x4_t)b);
#else
  for (int i = 0; i < VL; i++) a[i] = a[i] > b[i] ? a[i] : b[i];
  return a;
#endif
}

VFN vd vmin_d(vd a, vd b) {
#if RIDGE_VEC_ISA == RIDGE_VEC_AVX2
  return (vd)_mm256_min_pd((__m256d)a, (__m256d)b);
#elif RIDGE_VEC_ISA == RIDGE_VEC_AVX512
  return (vd)_mm512_min_pd((__m512d)a, (__m512d)b);
#elif RIDGE_VEC_ISA == RIDGE_VEC_NEON
  return (vd)vminq_f64((float64x2_t)a, (float64x2_t)b);
#else
  for (int i = 0; i < VLD; i++) a[i] = a[i] < b[i] ? a[i] : b[i];
  return a;
#endif
}

VFN vd vmax_d(vd a, vd b) {
#if RIDGE_VEC_ISA == RIDGE_VEC_AVX2
  return (vd)_mm256_max_pd((__m256d)a, (__m256d)b);
#elif RIDGE_VEC_ISA == RIDGE_VEC_AVX512
  return (vd)_mm512_max_pd((__m512d)a, (__m512d)b);
#elif RIDGE_VEC_ISA == RIDGE_VEC_NEON
  return (vd)vmaxq_f64((float64x2_t)a, (float64x2_t)b);
#else
  for (int i = 0; i < VLD; i++) a[i] = a[i] > b[i] ? a[i] : b[i];
  return a;
#endif
}

VFN vf vsqrt(vf a) {
#if RIDGE_VEC_ISA == RIDGE_VEC_AVX2
  return (vf)_mm256_sqrt_ps((__m256)a);
#elif RIDGE_VEC_ISA == RIDGE_VEC_AVX512
  return (vf)_mm512_sqrt_ps((__m512)a);
#elif RIDGE_VEC_ISA == RIDGE_VEC_NEON
  return (vf)vsqrtq_f32((float32x4_t)a);
#else
  for (int i = 0; i < VL; i++) a[i] = sqrtf(a[i]);
  return a;
#endif
}

VFN vd vsqrt_d(vd a) {
#if RIDGE_VEC_ISA == RIDGE_VEC_AVX2
  return (vd)_mm256_sqrt_pd((__m256d)a);
#elif RIDGE_VEC_ISA == RIDGE_VEC_AVX512
  return (vd)_mm512_sqrt_pd((__m512d)a);
#elif RIDGE_VEC_ISA == RIDGE_VEC_NEON
  return (vd)vsqrtq_f64((float64x2_t)a);
#else
  for (int i = 0; i < VLD; i++) a[i] = sqrt(a[i]);
  return a;
#endif
}

// yes where mask is all ones, no where it is zero.
VFN vf vselect(vi mask, vf yes, vf no) {
#if RIDGE_VEC_ISA == RIDGE_VEC_AVX2
  return (vf)_mm256_blendv_ps((__m256)no, (__m256)yes, (__m256)mask);
#else
  return (vf)(((vi)yes & mask) | ((vi)no & ~mask));
#endif
}

// Whether any lane of a comparison's result is set.
VFN int vany(vi mask) {
#if RIDGE_VEC_ISA == RIDGE_VEC_AVX2
  return _mm256_movemask_ps((__m256)mask);
#elif RIDGE_VEC_ISA == RIDGE_VEC_AVX512
  return _mm512_test_epi32_mask((__m512i)mask, (__m512i)mask) != 0;
#elif RIDGE_VEC_ISA == RIDGE_VEC_NEON
  return vmaxvq_u32((uint32x4_t)mask) != 0;
#else
  int32_t any = 0;
  for (int i = 0; i < VL; i++) any |= mask[i];
  return any;
#endif
}

// The lower and the upper half of the lanes as doubles.
VFN vd vwiden_lo(vf x) {
#if RIDGE_VEC_ISA == RIDGE_VEC_AVX2
  return (vd)_mm256_cvtps_pd(_mm256_castps256_ps128((__m256)x));
#elif RIDGE_VEC_ISA == RIDGE_VEC_AVX512
  return (vd)_mm512_cvtps_pd(_mm512_castps512_ps256((__m512)x));
#elif RIDGE_VEC_ISA == RIDGE_VEC_NEON
  return (vd)vcvt_f64_f32(vget_low_f32((float32x4_t)x));
#else
  vd r;
  for (int i = 0; i < VLD; i++) r[i] = x[i];
  return r;
#endif
}

VFN vd vwiden_hi(vf x) {
#if RIDGE_VEC_ISA == RIDGE_VEC_AVX2
  return (vd)_mm256_cvtps_pd(_mm256_extractf128_ps((__m256)x, 1));
#elif RIDGE_VEC_ISA == RIDGE_VEC_AVX512
  return (vd)_mm512_cvtps_pd(_mm512_extractf32x8_ps((__m512)x, 1));
#elif RIDGE_VEC_ISA == RIDGE_VEC_NEON
  return (vd)vcvt_high_f64_f32((float32x4_t)x);
#else
  vd r;
  for (int i = 0; i < VLD; i++) r[i] = x[i + VLD];
  return r;
#endif
}

VFN vf vabs(vf x) { return (vf)((vi)x & 0x7fffffff); }

// A group: VU vectors that go through a function side by side. A function is one chain of some
// ten dependent operations of 3 or 4 cycles each; a core that executes two or more of them a
// cycle needs eight chains in flight, and its schedulers do not reach that far ahead by themselves.
#ifndef RIDGE_VEC_GROUP
#define RIDGE_VEC_GROUP 4
#endif
#define VU RIDGE_VEC_GROUP
typedef struct {
  vf v[VU];
} vg;
#define EACH RIDGE_UNROLL(VU) for (int u = 0; u < VU; u++)

// Loads and stores at any element-aligned address.
VFN vf vload(const float *p) { return *(const vf_mem *)p; }
VFN void vstore(float *p, vf v) { *(vf_mem *)p = v; }
VFN vd vload_d(const double *p) { return *(const vd_mem *)p; }
VFN void vstore_d(double *p, vd v) { *(vd_mem *)p = v; }

// bf16 is the upper half of fp32: widening is a shift.
VFN vf vload_bf16(const ridge_bf16 *p) {
#if RIDGE_VEC_ISA == RIDGE_VEC_AVX2
  return (vf)_mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128((const __m128i *)p)), 16);
#elif RIDGE_VEC_ISA == RIDGE_VEC_AVX512
  return (vf)_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_loadu_si256((const __m256i *)p)), 16);
#elif RIDGE_VEC_ISA == RIDGE_VEC_NEON
  return (vf)vshll_n_u16(vld1_u16(p), 16);
#else
  return (vf)(__builtin_convertvector(*(const vh_mem *)p, vu) << 16);
#endif
}

// Rounds to bf16, nearest, ties to even; NaN stays NaN. The result has its 16 bits in the
// low half of each lane.
VFN vu vround_bf16(vf v) {
  vu u = (vu)v;
  vu r = u + 0x7fff + (u >> 16 & 1);
  vi nan = v != v;
  return (vu)vselect(nan, (vf)(u | 0x400000), (vf)r) >> 16;
}

VFN vh vnarrow(vu u) {
#if RIDGE_VEC_ISA == RIDGE_VEC_AVX2
  __m256i p = _mm256_packus_epi32((__m256i)u, (__m256i)u);
  return (vh)_mm256_castsi256_si128(_mm256_permute4x64_epi64(p, 0x08));
#elif RIDGE_VEC_ISA == RIDGE_VEC_AVX512
  return (vh)_mm512_cvtepi32_epi16((__m512i)u);
#elif RIDGE_VEC_ISA == RIDGE_VEC_NEON
  return (vh)vmovn_u32((uint32x4_t)u);
#else
  return __builtin_convertvector(u, vh);
#endif
}

VFN void vstore_bf16(ridge_bf16 *p, vf v) { *(vh_mem *)p = vnarrow(vround_bf16(v)); }

// Non-temporal stores; p must be aligned to the stored bytes (VL*4, for bf16 VL*2). NEON
// and the model have no such vector store and use the plain one.
VFN void vstream(float *p, vf v) {
#if RIDGE_VEC_ISA == RIDGE_VEC_AVX2
  _mm256_stream_ps(p, (__m256)v);
#elif RIDGE_VEC_ISA == RIDGE_VEC_AVX512
  _mm512_stream_ps(p, (__m512)v);
#else
  vstore(p, v);
#endif
}

VFN void vstream_bf16(ridge_bf16 *p, vf v) {
#if RIDGE_VEC_ISA == RIDGE_VEC_AVX2
  _mm_stream_si128((__m128i *)p, (__m128i)vnarrow(vround_bf16(v)));
#elif RIDGE_VEC_ISA == RIDGE_VEC_AVX512
  _mm256_stream_si256((__m256i *)p, (__m256i)vnarrow(vround_bf16(v)));
#else
  vstore_bf16(p, v);
#endif
}

// Makes streamed stores visible before the barrier that follows.
VFN void vstream_end(void) {
#if RIDGE_VEC_ISA == RIDGE_VEC_AVX2 || RIDGE_VEC_ISA == RIDGE_VEC_AVX512
  _mm_sfence();
#endif
}

#endif
