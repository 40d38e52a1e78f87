#ifndef RIDGE_BADGUARD_H
#define RIDGE_BADGUARD_H
#include "../../include/ridge_memory.h"

const ridge_kernel *ridge_badguard_table(void);
int ridge_badguard_table_len(void);
const ridge_kernel *ridge_badguard_stuck(void);
int ridge_badguard_stuck_len(void);
int ridge_badguard_share(void);
int ridge_badguard_sanitized(void);
#endif
