// attention_bf16_neon: blocks of 48 queries by 192 keys, 8x12 tiles.
//
// Formula, layouts, limit and source: attention_flash_body.h. Preconditions: none, any
// alignment. FLOP (4D+6) per visible pair, bytes q, k, v and o once. Floor: 6 cycles per element of
// the reduction and tile on cores with four FMA pipes.
// Versions: 1, this one; tested under emulation, not timed.
#include <arm_neon.h>

#include "../include/ridge.h"

#define RIDGE_VL 4
#define RIDGE_MR 8
#define RIDGE_NV 3
#define RIDGE_VT
#define RIDGE_VMAX(a, b) ((ridge_vf)vmaxq_f32((float32x4_t)(a), (float32x4_t)(b)))
#define ATT_FN ridge_attention_bf16_neon
#define ATT_BF16
#include "attention_flash_body.h"
