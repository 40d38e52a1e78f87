// The variants whose instruction set may be missing, compiled again as portable models (see
// variant.h). They prove the variants' packing, tails and blocking on any machine; they are
// slow and run only when forced by name.

//go:build !nomodels

#include "../include/ridge_model.h"

#define GEMM_MODEL 1
#include "gemm_fp32_avx512_14x32_amd64.c"
#include "gemm_fp64_avx512_14x16_amd64.c"
#include "gemm_fp32_avx512intel_6x64_amd64.c"
#include "gemm_fp64_avx512intel_6x32_amd64.c"
#include "gemm_fp32_avx512fp16_14x32_amd64.c"
#include "gemm_fp64_avx512fp16_14x16_amd64.c"
#include "gemm_bf16_avx512_14x32_amd64.c"
#include "gemm_fp16_avx512_14x32_amd64.c"
#include "gemm_bf16_avx512fp16_widened_amd64.c"
#include "gemm_fp16_avx512fp16_widened_amd64.c"
#include "gemm_fp16_avx512fp16_14x32_amd64.c"
#include "gemm_int8_avxvnni_6x16_amd64.c"
#include "gemm_int8_avx512vnni_14x32_amd64.c"
#include "gemm_int8_avx512fp16_14x32_amd64.c"
#include "gemm_int8_amx_32x32_amd64.c"
#include "gemm_u8s8_avxvnni_6x16_amd64.c"
#include "gemm_u8s8_avx512vnni_14x32_amd64.c"
#include "gemm_u8s8_avx512fp16_14x32_amd64.c"
#include "gemm_u8s8_amx_32x32_amd64.c"
#include "gemm_bf16_avx512bf16_14x32_amd64.c"
#include "gemm_bf16_amx_32x32_amd64.c"
#include "gemm_fp16_amx_32x32_amd64.c"
#include "gemv_fp64_avx512_amd64.c"
#include "gemv_fp32_avx512_amd64.c"
