// attention at fp32, each product as three of tf32 on tensor cores: see attention_3xtf32.cuh.
#include "attention_3xtf32.cuh"

RIDGE_ATTENTION_3XTF32(attention_fp32_sm80_3xtf32_d64, 64)
RIDGE_ATTENTION_3XTF32(attention_fp32_sm80_3xtf32_d128, 128)
