// attention_fp32_avx512: blocks of 48 queries by 192 keys, 8x48 tiles.
//
// Formula, layouts, limit and source: attention_flash_body.h. Preconditions: none, any
// alignment. FLOP (4D+6) per visible pair, bytes q, k, v and o once. Floor: 12 cycles per element of
// the reduction and tile at two FMA a cycle.
// Versions: 1, this one; its logic was tested through the model only.
#include <immintrin.h>

#include "../include/ridge.h"

#define RIDGE_VL 16
#define RIDGE_MR 8
#define RIDGE_NV 3
#define RIDGE_VT RIDGE_TARGET_AVX512
#define RIDGE_VMAX(a, b) ((ridge_vf)_mm512_max_ps((__m512)(a), (__m512)(b)))
#define ATT_FN ridge_attention_fp32_avx512
#include "attention_flash_body.h"
