// attention_bf16_avx2: tasks of 96 queries, blocks of 256 keys, 4x24 tiles.
//
// Formula, layouts, limit and source: attention_flash_body.h. Preconditions: none, any
// alignment. FLOP (4D+6) per visible pair, bytes q, k, v and o once. Floor: 6 cycles per element of the reduction and tile, two FMA a cycle.
// Versions: attention_flash_body.h.
#include <immintrin.h>

#include "../include/ridge.h"

#define RIDGE_VL 8
#define RIDGE_VT RIDGE_TARGET_AVX2
#define RIDGE_VMAX(a, b) ((ridge_vf)_mm256_max_ps((__m256)(a), (__m256)(b)))
#define ATT_MR 4
#define ATT_NV 3
#define ATT_KEYS 256
#define ATT_PANELS 4
#define ATT_FEW 20
#define ATT_FN ridge_attention_bf16_avx2
#define ATT_BF16
#include "attention_flash_body.h"
