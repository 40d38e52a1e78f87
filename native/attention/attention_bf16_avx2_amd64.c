// attention_bf16_avx2: blocks of 48 queries by 192 keys, 6x16 tiles.
//
// Formula, layouts, limit and source: attention_flash_body.h. Preconditions: none, any
// alignment. FLOP (4D+6) per visible pair, bytes q, k, v and o once. Floor: 6 cycles per
// element of the reduction and tile, and about 8 cycles per 8 scores for the exponentials.
// Versions: 1, this one.
#include <immintrin.h>

#include "../include/ridge.h"

#define RIDGE_VL 8
#define RIDGE_MR 6
#define RIDGE_NV 2
#define RIDGE_VT RIDGE_TARGET_AVX2
#define ATT_FN ridge_attention_bf16_avx2
#define RIDGE_VMAX(a, b) ((ridge_vf)_mm256_max_ps((__m256)(a), (__m256)(b)))
#define ATT_BF16
#include "attention_flash_body.h"
