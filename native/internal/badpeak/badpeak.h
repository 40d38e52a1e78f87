#ifndef RIDGE_BADPEAK_H
#define RIDGE_BADPEAK_H

struct ridge_kernel;
const struct ridge_kernel *ridge_badpeak_table(void);
int ridge_badpeak_table_len(void);
#endif
