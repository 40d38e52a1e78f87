#include "table.h"

#include "kernels.h"

// Rows and columns of the image, and a kernel's extent, are counted in 32 bits while packing.
int ridge_conv_sizes_fit(const void *args) {
  const ridge_conv_args *a = args;
  const int64_t limit = 1 << 30;
  return a->H < limit && a->W < limit && (a->Ho - 1) * a->stride_h < limit && (a->Wo - 1) * a->stride_w < limit &&
         a->pad_h < limit && a->pad_w < limit && (a->R - 1) * a->dil_h < limit && (a->S - 1) * a->dil_w < limit;
}

// One input channel per group; NHWC kernels take one output per channel.
int ridge_conv_is_depthwise(const void *args) {
  const ridge_conv_args *a = args;
  return a->groups == a->C && (a->layout == 0 || a->K == a->C);
}

#define RIDGE_KERNEL RIDGE_DECLARE
#include "kernels.def"
#undef RIDGE_KERNEL

static const ridge_kernel table[] = {
#define RIDGE_KERNEL RIDGE_ENTRY
#include "kernels.def"
#undef RIDGE_KERNEL
};

const ridge_kernel *ridge_conv_table(void) { return table; }
int ridge_conv_table_len(void) { return sizeof table / sizeof *table; }
