// One step of a vector of sums, for kernels whose precision names its instruction: of float, of pairs of bf16 or of bytes in fours (RIDGE_DOT, with
// CONV_DOT), of pairs of int16 (RIDGE_DOT2).
#ifndef RIDGE_CONV_MAC_H
#define RIDGE_CONV_MAC_H

#include "conv_vector.h"

RIDGE_INLINE RIDGE_VT mv multiply_add(mv sum, mv b, mv x) {
#if defined(CONV_DOT)
  return RIDGE_DOT(sum, b, x);
#elif defined(CONV_INT8)
  return RIDGE_DOT2(sum, b, x);
#else
  return sum + b * x;
#endif
}

#if defined(CONV_MAC) // the instruction that multiplies and adds
#define RIDGE_LOWER_HALF(x) __asm__ volatile("vpslld $16, %0, %0\n\tvpsrld $16, %0, %0" : "+v"(x)) // a mask would take a register
#define RIDGE_BRING(x, m) __asm__ volatile("vmovups %1, %0" : "=v"(x) : "m"(m))
#define RIDGE_SPREAD(x, m) __asm__ volatile("vbroadcastss %1, %0" : "=v"(x) : "m"(m))
#define RIDGE_MAC_REGISTER(acc, b, x) __asm__ volatile(CONV_MAC " %1, %2, %0" : "+v"(acc) : "v"(b), "v"(x))
#define RIDGE_MAC_MEMORY(acc, b, x) __asm__ volatile(CONV_MAC " %1, %2, %0" : "+v"(acc) : "m"(b), "v"(x))
#if !defined(CONV_INT8) // the factor from memory is the signed one
#define RIDGE_MAC_SPREAD(acc, b, m) __asm__ volatile(CONV_MAC " %1%{1to16%}, %2, %0" : "+v"(acc) : "m"(m), "v"(b))
#endif
#endif

#endif
