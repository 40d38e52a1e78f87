#ifndef RIDGE_BADMEMORY_H
#define RIDGE_BADMEMORY_H

struct ridge_kernel;
const struct ridge_kernel *ridge_badmemory_table(void);
int ridge_badmemory_table_len(void);
#endif
