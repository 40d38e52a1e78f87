// relu, gelu, gelu_tanh, sigmoid, tanh, exp, sqrt_abs, sin, cos, silu and scale at fp32: see elementwise.cuh.
#include "elementwise.cuh"

RIDGE_UNARY_ALL(unary_fp32_simt, float)
