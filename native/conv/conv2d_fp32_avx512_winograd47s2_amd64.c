// conv2d_fp32_avx512_winograd47s2: Winograd F(4x4, 7x7) of step 2 over up to four channels, 8x32 tiles.
#include "../include/ridge.h"

#define RIDGE_VL 16
#define RIDGE_MR 8
#define RIDGE_NV 2
#define RIDGE_VT RIDGE_TARGET_AVX512
#define CONV_FP32
#define CONV_STEM
#define CONV_FN ridge_conv2d_fp32_avx512_winograd47s2
#include "conv_winograd_body.h"
