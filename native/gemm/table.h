#ifndef RIDGE_GEMM_TABLE_H
#define RIDGE_GEMM_TABLE_H
#include "../include/ridge_gemm.h"

const ridge_kernel *ridge_gemm_table(void);
int ridge_gemm_table_len(void);

// The supports predicate of kernels that pack B: M <= 3 is faster without.
int ridge_gemm_thick(const void *args);
#endif
