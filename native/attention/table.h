#ifndef RIDGE_ATTENTION_TABLE_H
#define RIDGE_ATTENTION_TABLE_H
#include "attention.h"

const ridge_kernel *ridge_attention_table(void);
int ridge_attention_table_len(void);
#endif
