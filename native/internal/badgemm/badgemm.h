#ifndef RIDGE_BADGEMM_H
#define RIDGE_BADGEMM_H
#include "../../include/ridge_gemm.h"
#include "../../include/ridge_half.h"

const ridge_kernel *ridge_bad_table(void);
int ridge_bad_table_len(void);
#endif
