// conv2d at fp32 as three products of tf32 each on tensor cores, packed beforehand: see conv_packed.cuh.
#include "conv_packed.cuh"
#include "ridge_mma_tf32.cuh"

RIDGE_CONV_PACK(conv2d_fp32_sm80_3xtf32_packed_pack, float)
RIDGE_CONV_MMA(conv2d_fp32_sm80_3xtf32_packed_nhwc, Product3xTf32, float, 128, 128, 64, 32)
RIDGE_CONV_MMA(conv2d_fp32_sm80_3xtf32_packed_nhwc_slim, Product3xTf32, float, 128, 64, 64, 32)
RIDGE_CONV_PARTS(conv2d_fp32_sm80_3xtf32_packed_parts, Product3xTf32, float, 128, 128, 64, 32)
RIDGE_CONV_PARTS(conv2d_fp32_sm80_3xtf32_packed_parts_slim, Product3xTf32, float, 128, 64, 64, 32)
RIDGE_CONV_FINISH(conv2d_fp32_sm80_3xtf32_packed_finish, float)
