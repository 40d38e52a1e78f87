#ifndef RIDGE_GEMM_TABLE_H
#define RIDGE_GEMM_TABLE_H
#include "../include/ridge_gemm.h"

const ridge_kernel *ridge_gemm_table(void);
int ridge_gemm_table_len(void);
#endif
