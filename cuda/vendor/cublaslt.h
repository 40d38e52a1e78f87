// What ridge uses of cuBLASLt's C interface, opened at run time: no header of NVIDIA's is needed and nothing links with it. Numbers are those of
// cublasLt.h and library_types.h of CUDA 12 and 13 (docs.nvidia.com/cuda/cublas, "Using the cuBLASLt API"), which later releases keep.
#ifndef RIDGE_CUDA_CUBLASLT_H
#define RIDGE_CUDA_CUBLASLT_H

#include <stddef.h>
#include <stdint.h>

enum { LT_R_32F = 0, LT_R_64F = 1, LT_R_16F = 2, LT_R_8I = 3, LT_R_32I = 10, LT_R_16BF = 14, LT_R_8F_E4M3 = 28 }; // cudaDataType_t
enum { LT_COMPUTE_32F = 68, LT_COMPUTE_64F = 70, LT_COMPUTE_32I = 72, LT_COMPUTE_FAST_TF32 = 77 };              // cublasComputeType_t
enum { LT_OP_N = 0, LT_OP_T = 1 };                                                                             // cublasOperation_t
enum { LT_EPILOGUE_NONE = 1, LT_EPILOGUE_RELU = 2, LT_EPILOGUE_BIAS = 4, LT_EPILOGUE_GELU = 32 };               // cublasLtEpilogue_t; GELU is the tanh form

// A matrix product C[M,N] = alpha·A[M,K]·op(B) + beta·D[M,N], row-major, with an epilogue; addresses are the device's.
typedef struct ridge_product {
  int a_type, c_type, compute, scale; // of A and B; of C, D and bias; of alpha and beta
  int transposed;                     // B is stored [N,K]
  int epilogue;
  int64_t m, n, k, batch, lda, ldb, ldc, ldd;
  int64_t stride_a, stride_b, stride_c, stride_d; // elements from one product of a batch to the next
  double alpha, beta;
  uint64_t a, b, c, d, bias, workspace, workspace_bytes;
} ridge_product;

typedef struct ridge_cublaslt ridge_cublaslt; // the opened library
typedef struct ridge_matmul ridge_matmul;     // a product that is ready to be enqueued

// Takes an opened library (dlopen) into use; NULL with the reason in text. On success text is the version.
ridge_cublaslt *ridge_cublaslt_open(void *handle, char *text, size_t bytes);
// A handle for the context that is current; NULL with the reason in text.
void *ridge_cublaslt_handle(const ridge_cublaslt *lt, char *text, size_t bytes);
void ridge_cublaslt_free(const ridge_cublaslt *lt, void *handle);

// Asks the library for the algorithm that its heuristic puts first; NULL with the reason in text, else text says which.
ridge_matmul *ridge_matmul_make(const ridge_cublaslt *lt, void *handle, const ridge_product *p, char *text, size_t bytes);
void ridge_matmul_free(ridge_matmul *m);
// ridge_launch.call: enqueues the product on a stream; 0, or RIDGE_CALL_FAILED + the library's status.
int ridge_matmul_call(void *matmul, void *stream);
#endif
