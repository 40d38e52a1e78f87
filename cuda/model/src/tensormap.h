// What the tests' driver keeps in the 128 bytes of a tensor map (cuTensorMapEncodeTiled), and the model reads from them.
#ifndef RIDGE_MODEL_TENSORMAP_H
#define RIDGE_MODEL_TENSORMAP_H

#include <stdint.h>

namespace ridge_model {

constexpr uint32_t tensor_map_magic = 0x7e4504a9;

struct TensorMap {
  uint64_t address;
  uint64_t dims[5];    // elements, the fastest first
  uint64_t strides[4]; // bytes, of dimensions 1 to 4
  uint16_t box[5];     // elements
  uint8_t rank, size, swizzle, dtype;
  uint32_t magic;
};
static_assert(sizeof(TensorMap) <= 128, "a tensor map has 128 bytes");

// Bytes of an element of CU_TENSOR_MAP_DATA_TYPE_*; 0: there is none.
inline int tensor_map_size(int dtype) {
  constexpr int sizes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};
  return dtype < 0 || dtype > 12 ? 0 : sizes[dtype];
}

} // namespace ridge_model
#endif
