// Activation functions in fp32, as op.Activate defines them. expf, tanhf, sinf and cosf err by at
// most 2 units in the last place, erfcf by 4 (CUDA C++ Programming Guide, mathematical functions).
#ifndef RIDGE_ACT_CUH
#define RIDGE_ACT_CUH

#include "ridge_cuda.cuh"

enum { ACT_NONE, ACT_RELU, ACT_GELU, ACT_GELU_TANH, ACT_SILU }; // op.Activations

__device__ __forceinline__ float sigmoid(float x) { return 1.0f / (1.0f + expf(-x)); }
__device__ __forceinline__ float relu(float x) { return fmaxf(x, 0.0f); }
__device__ __forceinline__ float gelu(float x) { return 0.5f * x * erfcf(-0.707106781186547524f * x); }
// x·sigmoid(2u) is x/2·(1 + tanh u) without its cancellation.
__device__ __forceinline__ float gelu_tanh(float x) { return x * sigmoid(1.5957691216057308f * (x + 0.044715f * x * x * x)); }
__device__ __forceinline__ float silu(float x) { return x / (1.0f + expf(-x)); }

__device__ __forceinline__ float activate(int act, float x) {
  switch (act) {
    case ACT_RELU: return relu(x);
    case ACT_GELU: return gelu(x);
    case ACT_GELU_TANH: return gelu_tanh(x);
    case ACT_SILU: return silu(x);
  }
  return x;
}

#endif
