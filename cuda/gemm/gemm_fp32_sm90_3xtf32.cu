// gemm and linear at fp32 by three products of tf32 each, with fp32's error, on Hopper's tensor cores, B along k alone: ridge_wgmma_3xtf32.cuh has the loop and
// its counts, gemm_wgmma.cuh operands and epilogues. What is stored [K,N] is transposed first (across.cuh), or left to gemm_fp32_sm80_3xtf32.
//
// FLOP executed: 3 · 2·M·N·K. The roof is a third of tf32's: 683 FLOP a cycle and multiprocessor, against 430 by mma.sync and 256 of the fp32 units. A tile of
// 128 × 128 has a stage of 1536 cycles for 32 k, so its end of 1700 cycles is 0.01 at K = 4096.
// Predicted of that roof at the clock held: 4096³ (1024 tiles in 8 rounds of 132: 0.97) 0.82 to 0.90, 2.2 to 2.4 times the fp32 units' roof; 8192³ 0.84 to 0.92.
// Measured on an H200, 4096³: 101.6 TFLOP/s, 2.04 times cuBLAS at fp32 (49.7) in the same run, 0.63 of a third of the tf32 probe (480): below what was predicted, why is open.
//
// Versions: 1 as described. Next: A's registers of the next stage under this one's wgmma.
#include "gemm_wgmma.cuh"
#include "ridge_wgmma_3xtf32.cuh"

RIDGE_WGMMA_FLOATS(gemm_fp32_sm90_3xtf32_nt, Hopper3xTf32, float, true, 128, 1)
