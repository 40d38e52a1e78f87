// requantize: y[o,c,i] = low(round(scale[c] * (float)a[o,c,i])), at most 127 (ridge_requant.h), int32 to int8.
//
// Any n and element-aligned pointers; nothing overlaps. FLOP: 1 an element (2 with ReLU). Bytes: 5 an element and the scales.
// Each thread streams one contiguous share in runs: a row over the channels (inner = 1, scales beside it) or one channel's
// plane (one scale), by groups of four vectors, which narrow to one vector of bytes. On AVX2 a group of 32 elements is 4 x
// (load, convert, multiply, max, min, convert) + 3 packs + 1 permutation + store = 29 instructions, 10 cycles of
// floating-point pipes on two: 16 bytes a cycle, more than L2 gives beside its stores. Below that the memory binds.
//
// The including file defines RIDGE_VEC_LANES and RIDGE_VEC_ISA.
#include "../include/ridge_elementwise.h"
#include "../include/ridge_requant.h"
#include "../include/ridge_vec.h"

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

// One run of n elements; plane: they share *scale.
VFN void rq_run(const int32_t *a, int8_t *y, int64_t n, const float *scale, const int plane, float low, int nt) {
  int64_t i = 0;
  if (nt) // streamed groups are aligned
    for (; i < n && (uintptr_t)(y + i) % RQ_GROUP; i++) y[i] = ridge_requant_one(a[i], scale[plane ? 0 : i], low);
  const vf least = vset(low), most = vset(127), one = vset(*scale);
  for (; i + RQ_GROUP <= n; i += RQ_GROUP) {
    vg g;
    EACH {
      const vf x = __builtin_convertvector(*(const rq_mem *)(a + i + u * VL), vf);
      g.v[u] = vmin(most, vmax(least, x * (plane ? one : vload(scale + i + u * VL))));
    }
    rq_narrow(y + i, g, nt);
  }
  for (; i < n; i++) y[i] = ridge_requant_one(a[i], scale[plane ? 0 : i], low);
}

VFN int requantize(const void *args, const ridge_ctx *ctx, int nt) {
  const ridge_elementwise_args *g = args;
  const int32_t *a = g->a;
  const float *scale = g->p[0];
  int8_t *y = g->y;
  int64_t from, to;
  ridge_share(g->n, 64, ctx->tid, ctx->nthreads, &from, &to);
  const int64_t run = g->inner == 1 ? g->channels : g->inner;
  for (int64_t i = from; i < to;) {
    const int64_t r = i / run, at = i % run, left = run - at, n = left < to - i ? left : to - i;
    if (g->inner == 1) rq_run(a + i, y + i, n, scale + at, 0, (float)g->s, nt);
    else rq_run(a + i, y + i, n, scale + r % g->channels, 1, (float)g->s, nt);
    i += n;
  }
  if (nt) vstream_end();
  return RIDGE_OK;
}

#define RQ_KERNEL(suffix, nt) \
  RIDGE_VEC_TARGET int ridge_requantize_int8_##suffix(const void *args, const ridge_ctx *ctx) { return requantize(args, ctx, nt); }
