#ifndef RIDGE_MEMORY_TABLE_H
#define RIDGE_MEMORY_TABLE_H
#include "../include/ridge_memory.h"

const ridge_kernel *ridge_memory_table(void);
int ridge_memory_table_len(void);
#endif
