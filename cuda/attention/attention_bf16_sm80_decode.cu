// attention of few queries and many keys at bf16 with fp32 sums on tensor cores: see attention_decode.cuh.
#include "attention_decode.cuh"

RIDGE_ATTENTION_DECODE(attention_bf16_sm80_decode_d64, 64)
RIDGE_ATTENTION_DECODE(attention_bf16_sm80_decode_d80, 80)
RIDGE_ATTENTION_DECODE(attention_bf16_sm80_decode_d96, 96)
RIDGE_ATTENTION_DECODE(attention_bf16_sm80_decode_d128, 128)
