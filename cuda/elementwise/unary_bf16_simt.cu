// relu, gelu, gelu_tanh, sigmoid, tanh, exp, sqrt_abs, sin, cos, silu and scale at bf16: see elementwise.cuh.
//
// The stack holds an array that sinf and cosf index for arguments beyond 105615 alone (Payne–Hanek).
// ptxas allows unary_bf16_simt_sin all: the slow path of sinf
// ptxas allows unary_bf16_simt_cos all: the slow path of cosf
#include "elementwise.cuh"

RIDGE_UNARY_ALL(unary_bf16_simt, ridge_bf16)
