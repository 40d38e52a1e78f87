// Types and conversions of a floating-point variant (template): see gemm_fma.h.
#ifndef GEMM_LYING
#define GEMM_LYING 0 // 1: tiles of gemm_exact.h read A where it lies
#endif
#ifndef GEMM_EXACT
#define GEMM_EXACT 0
#endif
#define GEMM_TA GEMM_T
#define GEMM_TB GEMM_T
#define GEMM_TC GEMM_T
#define GEMM_LANES (GEMM_VEC / (int)sizeof(GEMM_S))
#define GEMM_NR (GEMM_NV * GEMM_LANES)
#define GEMM_KU 1
#define GEMM_A_PANEL(kc) gemm_ceil((kc) * GEMM_MR * (int64_t)sizeof(GEMM_S) + (GEMM_EXACT ? 64 : 0), 64) // turn32 writes beyond
#define GEMM_B_PANEL(kc) ((kc) * GEMM_NR * (int64_t)sizeof(GEMM_S))

#ifdef GEMM_HALF
#define GEMM_S float
#endif
typedef GEMM_S GEMM_F(vec) __attribute__((vector_size(GEMM_VEC), may_alias));
typedef GEMM_S GEMM_F(vecu) __attribute__((vector_size(GEMM_VEC), aligned(1), may_alias));
#ifdef GEMM_HALF
#define GEMM_T uint16_t
#define GEMM_C_IS_S 0
#define GEMM_SAME 0 // stored and packed elements differ
#include "gemm_half.h"
#else
#define GEMM_T GEMM_S
#define GEMM_C_IS_S 1
#define GEMM_SAME 1
#define GEMM_LOADS(x) (x)
#define GEMM_STORES(x) (x)
#define GEMM_LOADV(p) (*(const GEMM_F(vecu) *)(p))
#endif

