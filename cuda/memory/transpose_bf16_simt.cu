// transpose and layout at bf16: see transpose.cuh.
#include "transpose.cuh"

RIDGE_TRANSPOSE(transpose_bf16_simt, ridge_bf16)
RIDGE_TRANSPOSE_PACKS(transpose_bf16_simt_packs, ridge_bf16)
