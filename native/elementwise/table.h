#ifndef RIDGE_ELEMENTWISE_TABLE_H
#define RIDGE_ELEMENTWISE_TABLE_H
#include "../include/ridge_elementwise.h"

const ridge_kernel *ridge_elementwise_table(void);
int ridge_elementwise_table_len(void);
#endif
