#ifndef RIDGE_CONV_TABLE_H
#define RIDGE_CONV_TABLE_H
#include "../include/ridge_conv.h"

const ridge_kernel *ridge_conv_table(void);
int ridge_conv_table_len(void);
#endif
