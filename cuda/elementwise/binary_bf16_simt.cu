// add, multiply and add_relu at bf16: see elementwise.cuh.
#include "elementwise.cuh"

RIDGE_BINARY(binary_bf16_simt_add, ridge_bf16, load(p) + load(q))
RIDGE_BINARY(binary_bf16_simt_multiply, ridge_bf16, load(p) * load(q))
RIDGE_BINARY(binary_bf16_simt_add_relu, ridge_bf16, relu(load(p) + load(q)))
