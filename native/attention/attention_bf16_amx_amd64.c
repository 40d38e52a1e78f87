// attention_bf16_amx: tasks of 128 queries, blocks of 256 keys, 32x32 tiles on AMX.
//
// Formula, layouts, limit and source: attention_flash_body.h, attention_amx.h; the weights are rounded to bf16: attention_dot.h.
// Preconditions: scale > 0; D a multiple of 32 up to 256 (ridge_attention_amx_takes); any alignment. FLOP (4D+6) per visible pair, bytes q, k, v
// and o once. Floor: 128 cycles of tile products for 32 x 32 scores of 64 dimensions and as many for the sums, 64 vectors' softmax of 6.
// Versions (of the probe, Granite Rapids, one core, 4 x 2048 x 64 and 2 x 4096 x 128): three loops 0.19, 0.28; scores and weights in one, stores between the
// next products 0.22, 0.31.
#include <immintrin.h>

#include "../include/ridge.h"

#define RIDGE_VL 16
#define RIDGE_VT __attribute__((target("avx512bf16,avx512f,avx512bw,avx512vl,avx512dq,avx2,fma,f16c")))
#define RIDGE_VMAX(a, b) ((ridge_vf)_mm512_max_ps((__m512)(a), (__m512)(b)))
#define RIDGE_NARROW(p, v) _mm256_storeu_si256((__m256i *)(p), (__m256i)_mm512_cvtneps_pbh((__m512)(v)))
#define ATT_MR 32
#define ATT_NV 2
#define ATT_KEYS 256
#define ATT_PANELS 4
#define ATT_FEW 8
#define ATT_FN ridge_attention_bf16_amx
#define ATT_BF16
#define ATT_DOT
#define ATT_AMX
#include "attention_flash_body.h"
