// cuTensorMapEncodeTiled of the tests' driver: it checks what the driver API says of tensor maps, and lays one out as the model reads it.
#include <stdint.h>
#include <string.h>

#include "tensormap.h"

using namespace ridge_model;

namespace ridge_model {
int called(const char *name); // fakecuda.cc
}

extern "C" __attribute__((visibility("default"))) int cuTensorMapEncodeTiled(void *map, int dtype, unsigned rank, void *address, const uint64_t *dims, const uint64_t *strides,
                               const unsigned *box, const unsigned *steps, int interleave, int swizzle, int, int fill) {
  if (int rc = called(__func__)) return rc;
  const int size = tensor_map_size(dtype);
  if ((uintptr_t)address % 16 || (uintptr_t)map % 64 || rank < 1 || rank > 5 || !size || interleave || fill || swizzle < 0 || swizzle > 3)
    return 1;
  TensorMap m = {};
  for (unsigned i = 0; i + 1 < rank; i++) {
    if (strides[i] % 16 || strides[i] >= 1ull << 40) return 1;
    m.strides[i] = strides[i];
  }
  for (unsigned i = 0; i < rank; i++) {
    if (!dims[i] || dims[i] > 1ull << 32 || !box[i] || box[i] > 256 || steps[i] != 1) return 1;
    m.dims[i] = dims[i], m.box[i] = (uint16_t)box[i];
  }
  const unsigned line = box[0] * (unsigned)size;
  if (line % 16 || (swizzle && line > 16u << swizzle)) return 1;
  m.address = (uint64_t)(uintptr_t)address, m.rank = (uint8_t)rank, m.size = (uint8_t)size, m.swizzle = (uint8_t)swizzle, m.dtype = (uint8_t)dtype;
  m.magic = tensor_map_magic;
  memset(map, 0, 128);
  memcpy(map, &m, sizeof m);
  return 0;
}
