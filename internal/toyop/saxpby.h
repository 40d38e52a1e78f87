// Arguments of the toy family: z[i] = a * x[i] + b * y[i].
#ifndef RIDGE_TOY_SAXPBY_H
#define RIDGE_TOY_SAXPBY_H
#include "../../native/include/ridge.h"

typedef struct ridge_saxpby_args {
  int64_t n;
  float a, b;
  const float *x, *y;
  float *z;
} ridge_saxpby_args;

const ridge_kernel *ridge_toy_table(void);
int ridge_toy_table_len(void);
#endif
