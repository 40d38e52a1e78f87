// attention_bf16_avx512: tasks of 192 queries, blocks of 128 keys, 8x48 tiles.
//
// Formula, layouts, limit and source: attention_flash_body.h. Preconditions: none, any
// alignment. FLOP (4D+6) per visible pair, bytes q, k, v and o once. Floor: 12 cycles per element of the reduction and
// tile, two FMA a cycle. Versions: attention_flash_body.h; here tested through the model only.
#include <immintrin.h>

#include "../include/ridge.h"

#define RIDGE_VL 16
#define RIDGE_VT RIDGE_TARGET_AVX512
#define RIDGE_VMAX(a, b) ((ridge_vf)_mm512_max_ps((__m512)(a), (__m512)(b)))
#define ATT_MR 8
#define ATT_NV 3
#define ATT_KEYS 128
#define ATT_PANELS 4
#define ATT_FEW 24
#define ATT_FN ridge_attention_bf16_avx512
#define ATT_BF16
#include "attention_flash_body.h"
