// The fill kernel: inputs as a function of (key, index), and poison for outputs and padding.
#ifndef RIDGE_FILL_KERNEL_H
#define RIDGE_FILL_KERNEL_H
#include "../include/ridge_fill.h"

enum { RIDGE_D_FP8E4M3 = RIDGE_D_INT64 + 1 }; // a further dtype of ridge_fill_args

// SPMD over ridge_fill_args. Writes the logical elements (or poison) and always poisons the
// row padding and the guard bytes on both sides. Touching by the team's threads places the
// pages where the kernels will use them.
// One function for each instruction set that it is compiled for; all write the same bits.
int ridge_fill_portable(const void *args, const ridge_ctx *ctx);
int ridge_fill_avx2(const void *args, const ridge_ctx *ctx);   // x86-64
int ridge_fill_avx512(const void *args, const ridge_ctx *ctx); // x86-64, RIDGE_ISA_AVX512
// The two poison bytes. 0xff is a NaN in every float format; 0x7f is a NaN in fp16 and the
// largest finite values in bf16, fp32 and fp64. For integers they are two different values.
enum { RIDGE_POISON_0 = 0xff, RIDGE_POISON_1 = 0x7f };
#endif
