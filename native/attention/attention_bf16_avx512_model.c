// attention_bf16_avx512_model: the text of the variant in plain vectors, to prove its logic on
// machines without its instructions; never chosen by itself.
//
// Formula, layouts, limit and source: attention_flash_body.h. Preconditions: none, any
// alignment. FLOP (4D+6) per visible pair, bytes q, k, v and o once. Floor: none asked for.
// Versions: attention_flash_body.h.

//go:build !nomodels

#include "../include/ridge_model.h"

#define RIDGE_MODEL
#define RIDGE_VL 16
#define RIDGE_VT
#define ATT_MR 8
#define ATT_NV 3
#define ATT_KEYS 128
#define ATT_PANELS 4
#define ATT_FEW 24
#define ATT_FN ridge_attention_bf16_avx512_model
#define ATT_BF16
#include "attention_flash_body.h"
