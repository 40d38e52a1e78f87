// mlp at bf16, Y = act(X·W1ᵀ + b1)·W2ᵀ + b2, as two products on tensor cores: see gemm_mma.cuh. The hidden features lie in the workspace, rounded
// to bf16 as tensor cores take them (a bound of op.Expectation's Rounded).
// FLOP: 2·M·H·(K + N). Bytes: X, both weights and Y once, and the hidden features written and read once: 4·M·H, which L2 holds up to M·H = 25 million on an H200.
// Predicted of the roof on an H200 at 4096 × 4096 × 16384 × 4096: 0.5 to 0.56, as its products. not yet measured.
#include "gemm_mma.cuh"

RIDGE_MMA_FLOATS(mlp_bf16_sm80_hidden, ProductBf16, ridge_bf16, 16, true, 128, 128, 64, 64)
RIDGE_MMA_FLOATS(mlp_bf16_sm80_hidden_wide, ProductBf16, ridge_bf16, 16, true, 128, 256, 64, 64)
RIDGE_MMA_FLOATS(mlp_bf16_sm80_out, ProductBf16, ridge_bf16, 16, true, 128, 128, 64, 64)
RIDGE_MMA_FLOATS(mlp_bf16_sm80_out_wide, ProductBf16, ridge_bf16, 16, true, 128, 256, 64, 64)
