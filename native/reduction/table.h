#ifndef RIDGE_REDUCTION_TABLE_H
#define RIDGE_REDUCTION_TABLE_H
#include "../include/ridge_reduction.h"

const ridge_kernel *ridge_reduction_table(void);
int ridge_reduction_table_len(void);
#endif
