// swiglu at fp32 by three products of tf32 each, with fp32's error, on tensor cores: see swiglu_mma.cuh for the tile, gemm_fp32_sm80_3xtf32.cu for
// what three products cost. Warps of 32 × 64, so that a warp has gate and up of 32 columns: its 64 sums, A's halves of 32 rows and two sets of raw fragments fit. Disassembled (sm_80), a stage and
// warp: 96 mma of 494 instructions, with two warps a scheduler 988 of 1536 slots on 8.0: the tensor cores bind. 231 registers, no spill.
// Predicted of a third of tf32's roof at 4096 × 14336 × 4096: 8.0 0.65 to 0.75; 9.0 0.6 of mma.sync's. not yet measured.
#include "ridge_mma_tf32.cuh"
#include "swiglu_mma.cuh"

RIDGE_SWIGLU_MMA(swiglu_fp32_sm80_3xtf32, Product3xTf32, float, 128, 128, 32, 64)
