// attention_bf16_avx512_model: blocks of 48 queries by 192 keys, 8x48 tiles in plain vectors,
// to prove the logic of the variant on machines without its instructions; never chosen by itself.
//
// Formula, layouts, limit and source: attention_flash_body.h. Preconditions: none, any
// alignment. FLOP (4D+6) per visible pair, bytes q, k, v and o once. Floor: 12 cycles per element of
// the reduction and tile at two FMA a cycle.
// Versions: 1, this one; the model.
#include "../include/ridge_model.h"

#define RIDGE_MODEL
#define RIDGE_VL 16
#define RIDGE_MR 8
#define RIDGE_NV 3
#define RIDGE_VT
#define ATT_FN ridge_attention_bf16_avx512_model
#define ATT_BF16
#include "attention_flash_body.h"
