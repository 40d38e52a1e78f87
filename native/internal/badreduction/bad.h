#ifndef RIDGE_BADREDUCTION_H
#define RIDGE_BADREDUCTION_H
#include "../../include/ridge_reduction.h"

const ridge_kernel *ridge_badreduction_table(void);
int ridge_badreduction_table_len(void);
#endif
