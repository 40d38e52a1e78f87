// attention, qk_softmax, softmax_v and causal_softmax at fp32 with fp32 sums: see attention_simt.cuh.
//
// Two loops over the keys hold their addresses side by side. Where the spills lie has not been looked at yet.
// ptxas allows attention_fp32_simt_qk_softmax all: up to 56 bytes of addresses of its two passes, to be mended
#include "attention_simt.cuh"

RIDGE_ATTENTION(attention_fp32_simt, float)
