// attention_bf16_avx512bf16: tasks of 192 queries, blocks of 256 keys, 8x48 tiles of dot products.
//
// Formula, layouts, limit and source: attention_flash_body.h; the weights are rounded to bf16: attention_dot.h.
// Preconditions: scale > 0; any alignment. FLOP (4D+6) per visible pair, bytes q, k, v and o once. Floor: 24 cycles per two
// elements of the reduction and tile, one dot product a cycle (Zen 4).
#include <immintrin.h>

#include "../include/ridge.h"

#define RIDGE_VL 16
#define RIDGE_VT __attribute__((target("avx512bf16,avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,f16c")))
#define RIDGE_VMAX(a, b) ((ridge_vf)_mm512_max_ps((__m512)(a), (__m512)(b)))
#define RIDGE_NARROW(p, v) _mm256_storeu_si256((__m256i *)(p), (__m256i)_mm512_cvtneps_pbh((__m512)(v)))
#define ATT_MR 8
#define ATT_NV 3
#define ATT_KEYS 256
#define ATT_PANELS 4
#define ATT_FEW 8
#define ATT_FN ridge_attention_bf16_avx512bf16
#define ATT_BF16
#define ATT_DOT
#include "attention_flash_body.h"
