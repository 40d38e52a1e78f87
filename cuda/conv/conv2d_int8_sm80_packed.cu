// conv2d of signed bytes with int32 sums on tensor cores, packed beforehand: see conv_packed.cuh.
#include "conv_packed.cuh"

RIDGE_CONV_PACK(conv2d_int8_sm80_packed_pack, unsigned char)
RIDGE_CONV_MMA_BYTES(conv2d_int8_sm80_packed_nhwc, ProductBytes, 128, 128, 64, 64)
RIDGE_CONV_MMA_BYTES(conv2d_int8_sm80_packed_nhwc_slim, ProductBytes, 128, 64, 64, 32)
RIDGE_CONV_MMA_REQUANT(conv2d_int8_sm80_packed_nhwc_requant, ProductBytes, 128, 128, 64, 64)
RIDGE_CONV_MMA_REQUANT(conv2d_int8_sm80_packed_nhwc_requant_slim, ProductBytes, 128, 64, 64, 32)
RIDGE_CONV_PARTS(conv2d_int8_sm80_packed_parts, ProductBytes, unsigned char, 128, 128, 64, 64)
RIDGE_CONV_PARTS(conv2d_int8_sm80_packed_parts_slim, ProductBytes, unsigned char, 128, 64, 64, 32)
RIDGE_CONV_FINISH_BYTES(conv2d_int8_sm80_packed_finish)
