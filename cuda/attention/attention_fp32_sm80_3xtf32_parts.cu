// qk_softmax and softmax_v at fp32, each product as three of tf32 on tensor cores: see attention_parts_qk.cuh and attention_parts_sv.cuh.
#include "attention_parts_qk.cuh"
#include "attention_parts_sv.cuh"

RIDGE_QK_SOFTMAX(attention_fp32_sm80_3xtf32_parts_qk_16x32_d64, float, 64, 1, 4, true)
RIDGE_QK_SOFTMAX(attention_fp32_sm80_3xtf32_parts_qk_16x64_d64, float, 64, 1, 8, true)
RIDGE_QK_SOFTMAX(attention_fp32_sm80_3xtf32_parts_qk_twice_16x64_d64, float, 64, 1, 8, false)
RIDGE_QK_SOFTMAX(attention_fp32_sm80_3xtf32_parts_qk_twice_32x32_d64, float, 64, 2, 4, false)
RIDGE_SOFTMAX_V(attention_fp32_sm80_3xtf32_parts_sv_16_d64, float, 64, 1)
RIDGE_QK_SOFTMAX(attention_fp32_sm80_3xtf32_parts_qk_16x32_d80, float, 80, 1, 4, true)
RIDGE_QK_SOFTMAX(attention_fp32_sm80_3xtf32_parts_qk_16x64_d80, float, 80, 1, 8, true)
RIDGE_QK_SOFTMAX(attention_fp32_sm80_3xtf32_parts_qk_twice_16x64_d80, float, 80, 1, 8, false)
RIDGE_QK_SOFTMAX(attention_fp32_sm80_3xtf32_parts_qk_twice_32x32_d80, float, 80, 2, 4, false)
RIDGE_SOFTMAX_V(attention_fp32_sm80_3xtf32_parts_sv_16_d80, float, 80, 1)
RIDGE_QK_SOFTMAX(attention_fp32_sm80_3xtf32_parts_qk_16x32_d96, float, 96, 1, 4, true)
RIDGE_QK_SOFTMAX(attention_fp32_sm80_3xtf32_parts_qk_16x64_d96, float, 96, 1, 8, true)
RIDGE_QK_SOFTMAX(attention_fp32_sm80_3xtf32_parts_qk_twice_16x64_d96, float, 96, 1, 8, false)
RIDGE_QK_SOFTMAX(attention_fp32_sm80_3xtf32_parts_qk_twice_32x32_d96, float, 96, 2, 4, false)
RIDGE_SOFTMAX_V(attention_fp32_sm80_3xtf32_parts_sv_16_d96, float, 96, 1)
RIDGE_QK_SOFTMAX(attention_fp32_sm80_3xtf32_parts_qk_16x32_d128, float, 128, 1, 4, true)
RIDGE_QK_SOFTMAX(attention_fp32_sm80_3xtf32_parts_qk_16x64_d128, float, 128, 1, 8, true)
RIDGE_QK_SOFTMAX(attention_fp32_sm80_3xtf32_parts_qk_twice_16x64_d128, float, 128, 1, 8, false)
RIDGE_QK_SOFTMAX(attention_fp32_sm80_3xtf32_parts_qk_twice_32x32_d128, float, 128, 2, 4, false)
RIDGE_SOFTMAX_V(attention_fp32_sm80_3xtf32_parts_sv_16_d128, float, 128, 1)
