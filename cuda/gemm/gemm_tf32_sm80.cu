// gemm and linear at tf32 with fp32 sums on tensor cores: fp32 operands, rounded in registers (ridge_mma_tf32.cuh). See gemm_mma.cuh.
//
// A stage has 16 k: as many mma and bytes as bf16 for half the k, and 48 cvt a warp. Warps of 64 × 64 with their rounded fragments spilled 24 to 72
// bytes of 255 registers, so 8 warps of 64 × 32 share 128 × 128. Counts a stage and multiprocessor of 8.0: 512 cycles of mma, 384 wavefronts of
// fragments and 128 of cp.async, which bind alike; on 9.0, where mma.sync has 0.63, 813 cycles of mma. cvt.rna has no
// published rate: at 16 lanes a cycle, as 8.0's other conversions, its 768 cycles would bind, and the share be 0.5.
// Predicted of the tf32 roof at 4096³: on 8.0 0.50 to 0.70, on 9.0 0.45 to 0.55. not yet measured.
#include "gemm_mma.cuh"
#include "ridge_mma_tf32.cuh"

RIDGE_MMA_FLOATS(gemm_tf32_sm80_nn, ProductTf32, float, 16, false, 128, 128, 64, 32)
RIDGE_MMA_FLOATS(gemm_tf32_sm80_nt, ProductTf32, float, 16, true, 128, 128, 64, 32)
