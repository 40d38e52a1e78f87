// Workspace and supports functions that kernels.def names.
#ifndef RIDGE_CONV_KERNELS_H
#define RIDGE_CONV_KERNELS_H
#include "../include/ridge_conv.h"

int ridge_conv_sizes_fit(const void *args);
int64_t ridge_conv2d_fp32_avx2_workspace(const void *args, int32_t nthreads);
int64_t ridge_conv2d_bf16_avx2_workspace(const void *args, int32_t nthreads);
int64_t ridge_conv2d_int8_avx2_workspace(const void *args, int32_t nthreads);
#endif
