#ifndef RIDGE_GEMM_TABLE_H
#define RIDGE_GEMM_TABLE_H
#include "../include/ridge_gemm.h"

// Floating-point products up to here go by gemm_small.h.
enum {
  GEMM_SMALL_K = 256,        // the callers' stack holds K x NR of B
  GEMM_SMALL_A = 4096,       // elements of A, of 16 bits, which are widened on the stack
  GEMM_SMALL_MACS = 1 << 21, // multiply-adds
  GEMM_SMALL_B = 1 << 18,    // bytes of B in the accumulator's type: more is better read in the order it lies in
  GEMM_SLIM_K = 4096,        // of narrow products: one chain of sums (kernels.def)
};

const ridge_kernel *ridge_gemm_table(void);
int ridge_gemm_table_len(void);

// The workspace of the portable mlp: a row of hidden features for each thread.
int64_t ridge_gemm_hidden(const void *args, int32_t nthreads);

// The supports predicates of kernels that pack B: M <= 3 is faster without.
int ridge_gemm_thick(const void *args); // tiles: more than GEMM_THIN rows, or B packed beforehand
int ridge_gemm_dots(const void *args);  // dot products of pairs of bf16: what is not faster widened, or B packed beforehand
#endif
