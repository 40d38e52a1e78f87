// conv2d at bf16 with fp32 sums on tensor cores, packed beforehand: see conv_packed.cuh.
#include "conv_packed.cuh"

RIDGE_CONV_PACK(conv2d_bf16_sm80_packed_pack, ridge_bf16)
RIDGE_CONV_MMA(conv2d_bf16_sm80_packed_nhwc, ProductBf16, ridge_bf16, 128, 128, 64, 64)
RIDGE_CONV_MMA(conv2d_bf16_sm80_packed_nhwc_slim, ProductBf16, ridge_bf16, 128, 64, 64, 32)
RIDGE_CONV_PARTS(conv2d_bf16_sm80_packed_parts, ProductBf16, ridge_bf16, 128, 128, 64, 64)
RIDGE_CONV_PARTS(conv2d_bf16_sm80_packed_parts_slim, ProductBf16, ridge_bf16, 128, 64, 64, 32)
RIDGE_CONV_FINISH(conv2d_bf16_sm80_packed_finish, ridge_bf16)
