// Arguments of the gemm family (ops gemm, linear, gemv, swiglu, mlp).
//
//   C[M,N] = act(alpha * A[M,K] * op(B) + beta * D + bias) + residual   (row-major)
//
// op(B) is B[K,N] (trans_b = 0) or the transpose of B[N,K] (trans_b = 1). The inner product
// is accumulated in the kernel's accumulator type and rounded once to C's type. Integer
// kernels (s8s8, u8s8) give int32 C with alpha = 1, beta 0 or 1 and no activation, or with a scale
// int8 C, requantised as ridge_requant.h has it: act none or ReLU, bias int32. With a batch
// the same is done for each of batch matrices A, B, C, D.
//
// With layers (fp32 and bf16; alpha 1, no D, residual or batch, trans_b 1):
//
//   RIDGE_LAYERS_SWIGLU: C = silu(A * B[N,K]^T) o (A * B2[N,K]^T), element by element
//   RIDGE_LAYERS_MLP:    C = act(A * B[H,K]^T + bias[H]) * B2[N,H]^T + bias2[N], both biases given
#ifndef RIDGE_GEMM_H
#define RIDGE_GEMM_H

#include "ridge.h"

enum { RIDGE_LAYERS_ONE = 0, RIDGE_LAYERS_SWIGLU = 1, RIDGE_LAYERS_MLP = 2 };
enum { RIDGE_ACT_NONE = 0, RIDGE_ACT_RELU = 1, RIDGE_ACT_GELU = 2, RIDGE_ACT_GELU_TANH = 3, RIDGE_ACT_SILU = 4 };

typedef struct ridge_gemm_args {
  int64_t M, N, K;
  const void *A; // [M,K], row pitch lda
  const void *B; // [K,N] or [N,K], row pitch ldb
  void *C;       // [M,N], row pitch ldc
  int64_t lda, ldb, ldc; // elements
  const void *D;         // [M,N] added with factor beta, row pitch ldd; NULL when beta = 0
  int64_t ldd;
  const void *bias;     // [N] in C's type or NULL
  const void *residual; // [M,N] in C's type, row pitch ldc, or NULL
  double alpha, beta;
  int32_t trans_b;
  int32_t act;
  // Block sizes of the loops around the register tile, rows of A, K and columns of B; each 0 for
  // the kernel's own. A kernel rounds them to its tile. Kernels without blocks ignore them.
  int32_t mc, kc, nc;
  // Products of one shape in a row, 0 as 1; the elements from one matrix to the next of A, B, C (and
  // the residual) and D. All share the bias.
  int64_t batch;
  int64_t stride_a, stride_b, stride_c, stride_d;
  const float *scale; // [N], int8 alone: C is int8; or NULL
  int32_t layers;     // RIDGE_LAYERS_*
  int64_t H;          // hidden features
  const void *B2, *bias2;
  int64_t ldb2;
  int32_t packing; // 1: B (and B2) come packed beforehand (ridge.h)
  void *packed;    // the kernel's own copy of them
} ridge_gemm_args;

#endif
