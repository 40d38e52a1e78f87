// gemm and linear at fp32 by three products of tf32 each, with fp32's error (ridge_mma_tf32.cuh). See gemm_mma.cuh for operands and epilogues.
//
// FLOP executed: 3 · 2·M·N·K on tensor cores, so the roof is a third of tf32's: on 8.0 341 FLOP a cycle and multiprocessor against 128 of the fp32 units, on
// 9.0, where mma.sync has 0.63, 430 against 256. On 8.6, 8.9 and 12.0 (256 of tf32) it is 85 against 256: mma.go plans it on 8.0 and 9.0 alone.
// Tiles of 128 × 128 by 8 warps and of 128 × 64 by 4 (_small, where few tiles are), 64 × 32 a warp: its 64 sums, 32 registers of A's halves and two sets of
// raw fragments fit. Counts a stage (16 k) and warp: 96 mma of 8 cycles on 8.0 = 768; issued (_nt for 9.0, disassembled) 96 + 208 to split + 128 additions + 121 of loads and
// addresses = 553, with two warps a scheduler 1106 of 1536 slots: the tensor cores bind. Shared memory: 512 wavefronts a stage for 1536 cycles. (579 with B split by cvt.rna too.)
// Predicted of the roof above at 4096³: 8.0 0.70 to 0.80, 2.5 times gemm_fp32_simt; 9.0 0.65 to 0.75 of 430, 1.5 times. not yet measured.
#include "gemm_mma.cuh"
#include "ridge_mma_tf32.cuh"

RIDGE_MMA_FLOATS(gemm_fp32_sm80_3xtf32_nn, Product3xTf32, float, 16, false, 128, 128, 64, 32)
RIDGE_MMA_FLOATS(gemm_fp32_sm80_3xtf32_nt, Product3xTf32, float, 16, true, 128, 128, 64, 32)
RIDGE_MMA_FLOATS(gemm_fp32_sm80_3xtf32_nn_small, Product3xTf32, float, 16, false, 128, 64, 64, 32)
RIDGE_MMA_FLOATS(gemm_fp32_sm80_3xtf32_nt_small, Product3xTf32, float, 16, true, 128, 64, 64, 32)
