// relu, gelu, gelu_tanh, sigmoid, tanh, exp, sqrt_abs, sin, cos, silu and scale at bf16: see elementwise.cuh.
#include "elementwise.cuh"

RIDGE_UNARY_ALL(unary_bf16_simt, ridge_bf16)
