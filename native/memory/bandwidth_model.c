// The text of the AVX-512 bandwidth kernels compiled for no ISA, with aligned ordinary stores for
// the non-temporal ones: proves their logic on any machine. Only when forced by name; slow.

//go:build !nomodels

#include "../include/ridge_model.h"

#include <string.h>

#define VB 64
#define TARGET
#define K(name) ridge_##name##_avx512_model
#define NT_STORE(p, v0, v1) memcpy(__builtin_assume_aligned(p, 64), &(v0), 64), memcpy((char *)(p) + 64, &(v1), 64)
#define NT_FENCE() ((void)0)
#include "bandwidth_vector.h"
