// requantize: y[o,c,i] = low(round(scale[c] * (float)a[o,c,i])), at most 127 (ridge_requant.h), int32 to int8.
//
// Any n and element-aligned pointers; nothing overlaps. FLOP: 1 an element (2 with ReLU). Bytes: 5 an element and the scales.
// Each thread streams one contiguous share: rows over the channels (inner = 1) as one run beside scales that come around (ring.h), or
// one channel's plane after the other (one scale), by groups of four vectors, which narrow to one vector of bytes. On AVX2 a group of 32 elements is 4 x
// (load, convert, multiply, max, min, convert) + 3 packs + 1 permutation + store = 29 instructions, 10 cycles of
// floating-point pipes on two: 16 bytes a cycle, more than L2 gives beside its stores. Below that the memory binds.
//
// The including file defines RIDGE_VEC_LANES and RIDGE_VEC_ISA.
#include "../include/ridge_elementwise.h"
#include "../include/ridge_requant.h"
#include "ring.h"

enum { RQ_GROUP = VU * VL }; // elements, and bytes of y

#if RIDGE_VEC_ISA == RIDGE_VEC_PORTABLE
VFN void rq_narrow(int8_t *y, vg g, int nt) {
  (void)nt;
  EACH for (int l = 0; l < VL; l++) y[u * VL + l] = (int8_t)(int32_t)(g.v[u][l] + 12582912.0f - 12582912.0f);
}
#elif RIDGE_VEC_ISA == RIDGE_VEC_AVX512
VFN void rq_narrow(int8_t *y, vg g, int nt) {
  const __m512i lo = _mm512_packs_epi32(_mm512_cvtps_epi32((__m512)g.v[0]), _mm512_cvtps_epi32((__m512)g.v[1]));
  const __m512i hi = _mm512_packs_epi32(_mm512_cvtps_epi32((__m512)g.v[2]), _mm512_cvtps_epi32((__m512)g.v[3]));
  // Packing works within 128 bits: fours of each vector lie side by side there.
  const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  const __m512i bytes = _mm512_permutexvar_epi32(order, _mm512_packs_epi16(lo, hi));
  if (nt) _mm512_stream_si512((__m512i *)y, bytes);
  else _mm512_storeu_si512(y, bytes);
}
#elif RIDGE_VEC_ISA == RIDGE_VEC_AVX2
VFN void rq_narrow(int8_t *y, vg g, int nt) {
  const __m256i lo = _mm256_packs_epi32(_mm256_cvtps_epi32((__m256)g.v[0]), _mm256_cvtps_epi32((__m256)g.v[1]));
  const __m256i hi = _mm256_packs_epi32(_mm256_cvtps_epi32((__m256)g.v[2]), _mm256_cvtps_epi32((__m256)g.v[3]));
  // Packing works within 128 bits: fours of each vector lie side by side there.
  const __m256i bytes = _mm256_permutevar8x32_epi32(_mm256_packs_epi16(lo, hi), _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
  if (nt) _mm256_stream_si256((__m256i *)y, bytes);
  else _mm256_storeu_si256((__m256i *)y, bytes);
}
#else
VFN void rq_narrow(int8_t *y, vg g, int nt) {
  (void)nt;
  const int16x8_t lo = vmovn_high_s32(vmovn_s32(vcvtnq_s32_f32((float32x4_t)g.v[0])), vcvtnq_s32_f32((float32x4_t)g.v[1]));
  const int16x8_t hi = vmovn_high_s32(vmovn_s32(vcvtnq_s32_f32((float32x4_t)g.v[2])), vcvtnq_s32_f32((float32x4_t)g.v[3]));
  vst1q_s8(y, vmovn_high_s16(vmovn_s16(lo), hi));
}
#endif

typedef int32_t rq_mem __attribute__((vector_size(VL * 4), aligned(4), may_alias));

// A group with its scales beside it, or with one for all.
VFN void rq_group(const int32_t *a, int8_t *y, const float *scale, const int plane, float low, int nt) {
  const vf least = vset(low), most = vset(127), one = vset(*scale);
  vg g;
  EACH {
    const vf x = __builtin_convertvector(*(const rq_mem *)(a + u * VL), vf);
    g.v[u] = vmin(most, vmax(least, x * (plane ? one : vload(scale + u * VL))));
  }
  rq_narrow(y, g, nt);
}

// The first n elements of a group.
VFN void rq_some(const int32_t *a, int8_t *y, int64_t n, const float *scale, const int plane, float low) {
#if RIDGE_VEC_ISA == RIDGE_VEC_AVX512
  const vf least = vset(low), most = vset(127), one = vset(*scale);
  for (int64_t i = 0; i < n; i += VL) {
    const __mmask16 some = (__mmask16)(n - i < VL ? (1 << (n - i)) - 1 : 0xffff);
    const vf x = (vf)_mm512_cvtepi32_ps(_mm512_maskz_loadu_epi32(some, a + i));
    const vf v = vmin(most, vmax(least, x * (plane ? one : vload(scale + i))));
    _mm512_mask_cvtepi32_storeu_epi8(y + i, some, _mm512_cvtps_epi32((__m512)v));
  }
#else
  int32_t in[RQ_GROUP];
  int8_t out[RQ_GROUP];
  for (int64_t i = 0; i < RQ_GROUP; i++) in[i] = i < n ? a[i] : 0;
  rq_group(in, out, scale, plane, low, 0);
  for (int64_t i = 0; i < n; i++) y[i] = out[i];
#endif
}

// Elements before the first y on a group's border.
VFN int64_t rq_head(const int8_t *y, int64_t n) {
  const int64_t h = (int64_t)(-(uintptr_t)y % RQ_GROUP);
  return h < n ? h : n;
}

// n elements of rows from channel `at` on.
VFN void rq_rows(const int32_t *a, int8_t *y, int64_t n, const float *scale, int64_t channels, int64_t at, float low, int nt) {
  const ring r = ring_of(channels);
  float laid[RING_ROOM];
  ring_lay(&r, laid, scale, channels, sizeof(float));
  const float *own = r.repeated ? laid : scale;
#define BESIDE (ring_on_seam(&r, at) ? laid + ring_seam(&r, at) : own + at)
  int64_t i = rq_head(y, n);
  if (i > 0) rq_some(a, y, i, BESIDE, 0, low), at = ring_next(&r, at, i);
  for (; i + RQ_GROUP <= n; i += RQ_GROUP, at = ring_next(&r, at, RQ_GROUP)) rq_group(a + i, y + i, BESIDE, 0, low, nt);
  if (i < n) rq_some(a + i, y + i, n - i, BESIDE, 0, low);
#undef BESIDE
}

VFN void rq_plane(const int32_t *a, int8_t *y, int64_t n, const float *scale, float low, int nt) {
  int64_t i = nt || n >= 4 * RQ_GROUP ? rq_head(y, n) : 0;
  if (i > 0) rq_some(a, y, i, scale, 1, low);
  for (; i + RQ_GROUP <= n; i += RQ_GROUP) rq_group(a + i, y + i, scale, 1, low, nt);
  if (i < n) rq_some(a + i, y + i, n - i, scale, 1, low);
}

VFN int requantize(const void *args, const ridge_ctx *ctx, int nt) {
  const ridge_elementwise_args *g = args;
  const int32_t *a = g->a;
  const float *scale = g->p[0];
  int8_t *y = g->y;
  int64_t from, to;
  ridge_share(g->n, 64, ctx->tid, ctx->nthreads, &from, &to);
  if (from >= to) return RIDGE_OK;
  if (g->inner == 1) {
    rq_rows(a + from, y + from, to - from, scale, g->channels, from % g->channels, (float)g->s, nt);
  } else {
    int64_t c = from / g->inner % g->channels, left = g->inner - from % g->inner;
    for (int64_t i = from; i < to;) {
      const int64_t n = left < to - i ? left : to - i;
      rq_plane(a + i, y + i, n, scale + c, (float)g->s, nt);
      i += n, left = g->inner, c = c + 1 < g->channels ? c + 1 : 0;
    }
  }
  if (nt) vstream_end();
  return RIDGE_OK;
}

#define RQ_KERNEL(suffix, nt) \
  RIDGE_VEC_TARGET int ridge_requantize_int8_##suffix(const void *args, const ridge_ctx *ctx) { return requantize(args, ctx, nt); }
