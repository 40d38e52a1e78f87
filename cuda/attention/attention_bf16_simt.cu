// attention, qk_softmax, softmax_v and causal_softmax at bf16 with fp32 sums: see attention_simt.cuh.
#include "attention_simt.cuh"

RIDGE_ATTENTION(attention_bf16_simt, ridge_bf16)
