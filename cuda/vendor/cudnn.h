// What ridge uses of cuDNN 9's C interface, opened at run time: no header of NVIDIA's is needed and nothing links with it. Numbers are those of
// cudnn_ops.h and cudnn_cnn.h of version 9 (docs.nvidia.com/deeplearning/cudnn, API reference).
#ifndef RIDGE_CUDA_CUDNN_H
#define RIDGE_CUDA_CUDNN_H

#include <stddef.h>
#include <stdint.h>

enum { DNN_FLOAT = 0, DNN_BFLOAT16 = 9 }; // cudnnDataType_t

// y = act(conv(x, w) + bias + residual), nchw with filters [K,C/groups,R,S] or nhwc with [K,R,S,C/groups]; addresses are the device's.
typedef struct ridge_convolution {
  int type, nhwc, relu;
  int fused; // by the one primitive of all, else the convolution and then its bias
  int n, c, h, w, k, r, s, ho, wo, stride, pad, dilation, groups;
  uint64_t x, filter, bias, residual, y; // bias and residual: 0 where there is none
  uint64_t workspace, workspace_bytes;
} ridge_convolution;

typedef struct ridge_cudnn ridge_cudnn; // the opened library
typedef struct ridge_conv ridge_conv;   // a convolution that is ready to be enqueued

// As ridge_cublaslt_open and ridge_cublaslt_handle.
ridge_cudnn *ridge_cudnn_open(void *handle, char *text, size_t bytes);
void *ridge_cudnn_handle(const ridge_cudnn *dnn, char *text, size_t bytes);
void ridge_cudnn_free(const ridge_cudnn *dnn, void *handle);

// Takes the algorithm that the library's heuristic puts first of those that the workspace is enough for; NULL with the reason in text, else text says which.
ridge_conv *ridge_conv_make(const ridge_cudnn *dnn, void *handle, const ridge_convolution *p, char *text, size_t bytes);
void ridge_conv_free(ridge_conv *c);
// ridge_launch.call: enqueues the convolution on a stream; 0, or RIDGE_CALL_FAILED + the library's status.
int ridge_conv_call(void *conv, void *stream);
#endif
