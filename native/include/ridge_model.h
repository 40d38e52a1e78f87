// First include of a model: a variant's text compiled without its instruction set, to prove
// its logic on any machine. Models are slow and run only when a test forces them, so they are
// compiled quickly instead of well: a vector of 16 lanes is four or sixteen operations here,
// and an unrolled register tile of them takes gcc half a minute.
#ifndef RIDGE_MODEL_H
#define RIDGE_MODEL_H

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("O1")
#endif

#include "ridge.h"

#undef RIDGE_UNROLL
#define RIDGE_UNROLL(n)
#undef RIDGE_UNROLL_FULL
#define RIDGE_UNROLL_FULL

#endif
