// gemm and linear at tf32 with fp32 sums on Hopper's tensor cores, B along k alone (wgmma takes words so): see gemm_wgmma.cuh. The operands are rounded on
// their way: tensor maps of tf32 make TMA round each fp32 to nearest, ties to even, which costs nothing; as they lie, wgmma would cut them off.
//
// As many bytes and cycles as bf16 for half the k (a stage has 32, 1024 cycles for 128 × 256 × 32 at 2048 FLOP a cycle), so the same shares bind.
// Measured on an H200 beside cuBLASLt (allow_tf32, in the same run), its time over this kernel's: 4096³ 1.01 in a long row of launches (367 and 364 TFLOP/s at 1.66 GHz), 0.95 (0.91 to 1.01) with rests between.
#include "gemm_wgmma.cuh"

RIDGE_WGMMA_FLOATS(gemm_tf32_sm90_nt, HopperTf32, float, true, 256, 1)
RIDGE_WGMMA_FLOATS(gemm_tf32_sm90_nt_cluster, HopperTf32, float, true, 256, 2)
RIDGE_WGMMA_FLOATS(gemm_tf32_sm90_nt_narrow, HopperTf32, float, true, 128, 1)
