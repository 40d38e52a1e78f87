// Workspace and supports functions that kernels.def names.
#ifndef RIDGE_CONV_KERNELS_H
#define RIDGE_CONV_KERNELS_H
#include "../include/ridge_conv.h"

int ridge_conv_sizes_fit(const void *args);
int ridge_conv_is_depthwise(const void *args);

#define RIDGE_CONV_WORKSPACE(name) int64_t ridge_##name##_workspace(const void *args, int32_t nthreads);
RIDGE_CONV_WORKSPACE(conv2d_fp32_avx2)
RIDGE_CONV_WORKSPACE(conv2d_bf16_avx2)
RIDGE_CONV_WORKSPACE(conv2d_int8_avx2)
RIDGE_CONV_WORKSPACE(conv2d_fp32_depthwise_avx2)
RIDGE_CONV_WORKSPACE(conv2d_bf16_depthwise_avx2)
RIDGE_CONV_WORKSPACE(conv2d_int8_depthwise_avx2)
#endif
