// attention, qk_softmax, softmax_v and causal_softmax at fp32 with fp32 sums: see attention_simt.cuh.
#include "attention_simt.cuh"

RIDGE_ATTENTION(attention_fp32_simt, float)
