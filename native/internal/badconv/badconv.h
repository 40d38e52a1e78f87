#ifndef RIDGE_BADCONV_H
#define RIDGE_BADCONV_H
#include "../../include/ridge_conv.h"
#include "../../include/ridge_gemm.h"

const ridge_kernel *ridge_badconv_table(void);
int ridge_badconv_table_len(void);
#endif
