// add, multiply and add_relu at fp32: see elementwise.cuh.
#include "elementwise.cuh"

RIDGE_BINARY(binary_fp32_simt_add, float, load(p) + load(q))
RIDGE_BINARY(binary_fp32_simt_multiply, float, load(p) * load(q))
RIDGE_BINARY(binary_fp32_simt_add_relu, float, relu(load(p) + load(q)))
