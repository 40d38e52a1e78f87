// qk_softmax and softmax_v at bf16 with fp32 sums on tensor cores: see attention_parts_qk.cuh and attention_parts_sv.cuh.
//
// ptxas allows attention_bf16_sm80_parts_qk_twice_64x32_d128 sm_80: 12 bytes, read once a turn of the second loop
// ptxas allows attention_bf16_sm80_parts_qk_twice_64x32_d128 sm_100a: 8 bytes, read once a turn of the second loop
#include "attention_parts_qk.cuh"
#include "attention_parts_sv.cuh"

RIDGE_QK_SOFTMAX(attention_bf16_sm80_parts_qk_16x32_d64, ridge_bf16, 64, 1, 4, true)
RIDGE_QK_SOFTMAX(attention_bf16_sm80_parts_qk_16x64_d64, ridge_bf16, 64, 1, 8, true)
RIDGE_QK_SOFTMAX(attention_bf16_sm80_parts_qk_twice_16x64_d64, ridge_bf16, 64, 1, 8, false)
RIDGE_QK_SOFTMAX(attention_bf16_sm80_parts_qk_twice_64x32_d64, ridge_bf16, 64, 4, 4, false)
RIDGE_SOFTMAX_V(attention_bf16_sm80_parts_sv_16_d64, ridge_bf16, 64, 1)
RIDGE_SOFTMAX_V(attention_bf16_sm80_parts_sv_32_d64, ridge_bf16, 64, 2)
RIDGE_QK_SOFTMAX(attention_bf16_sm80_parts_qk_16x32_d80, ridge_bf16, 80, 1, 4, true)
RIDGE_QK_SOFTMAX(attention_bf16_sm80_parts_qk_16x64_d80, ridge_bf16, 80, 1, 8, true)
RIDGE_QK_SOFTMAX(attention_bf16_sm80_parts_qk_twice_16x64_d80, ridge_bf16, 80, 1, 8, false)
RIDGE_QK_SOFTMAX(attention_bf16_sm80_parts_qk_twice_64x32_d80, ridge_bf16, 80, 4, 4, false)
RIDGE_SOFTMAX_V(attention_bf16_sm80_parts_sv_16_d80, ridge_bf16, 80, 1)
RIDGE_SOFTMAX_V(attention_bf16_sm80_parts_sv_32_d80, ridge_bf16, 80, 2)
RIDGE_QK_SOFTMAX(attention_bf16_sm80_parts_qk_16x32_d96, ridge_bf16, 96, 1, 4, true)
RIDGE_QK_SOFTMAX(attention_bf16_sm80_parts_qk_16x64_d96, ridge_bf16, 96, 1, 8, true)
RIDGE_QK_SOFTMAX(attention_bf16_sm80_parts_qk_twice_16x64_d96, ridge_bf16, 96, 1, 8, false)
RIDGE_QK_SOFTMAX(attention_bf16_sm80_parts_qk_twice_64x32_d96, ridge_bf16, 96, 4, 4, false)
RIDGE_SOFTMAX_V(attention_bf16_sm80_parts_sv_16_d96, ridge_bf16, 96, 1)
RIDGE_SOFTMAX_V(attention_bf16_sm80_parts_sv_32_d96, ridge_bf16, 96, 2)
RIDGE_QK_SOFTMAX(attention_bf16_sm80_parts_qk_16x32_d128, ridge_bf16, 128, 1, 4, true)
RIDGE_QK_SOFTMAX(attention_bf16_sm80_parts_qk_16x64_d128, ridge_bf16, 128, 1, 8, true)
RIDGE_QK_SOFTMAX(attention_bf16_sm80_parts_qk_twice_16x64_d128, ridge_bf16, 128, 1, 8, false)
RIDGE_QK_SOFTMAX(attention_bf16_sm80_parts_qk_twice_64x32_d128, ridge_bf16, 128, 4, 4, false)
RIDGE_SOFTMAX_V(attention_bf16_sm80_parts_sv_16_d128, ridge_bf16, 128, 1)
