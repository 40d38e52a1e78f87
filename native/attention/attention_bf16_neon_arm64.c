// attention_bf16_neon: tasks of 96 queries, blocks of 256 keys, 4x16 tiles.
//
// Formula, layouts, limit and source: attention_flash_body.h. Preconditions: none, any
// alignment. FLOP (4D+6) per visible pair, bytes q, k, v and o once. Floor: 4 cycles per element of the reduction and
// tile on cores with four FMA pipes. Versions: attention_flash_body.h; tested under emulation, not timed.
#include <arm_neon.h>

#include "../include/ridge.h"

#define RIDGE_VL 4
#define RIDGE_VT
#define RIDGE_VMAX(a, b) ((ridge_vf)vmaxq_f32((float32x4_t)(a), (float32x4_t)(b)))
#define ATT_MR 4
#define ATT_NV 4
#define ATT_KEYS 256
#define ATT_PANELS 6
#define ATT_FEW 20
#define ATT_FN ridge_attention_bf16_neon
#define ATT_BF16
#include "attention_flash_body.h"
