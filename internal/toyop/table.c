#include "saxpby.h"

#define RIDGE_KERNEL RIDGE_DECLARE
#include "kernels.def"
#undef RIDGE_KERNEL

static const ridge_kernel table[] = {
#define RIDGE_KERNEL RIDGE_ENTRY
#include "kernels.def"
#undef RIDGE_KERNEL
};

const ridge_kernel *ridge_toy_table(void) { return table; }
int ridge_toy_table_len(void) { return sizeof table / sizeof *table; }
