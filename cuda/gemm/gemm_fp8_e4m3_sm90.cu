// gemm and linear of fp8_e4m3 with fp32 sums, C in bf16, on Hopper's tensor cores, B along k alone (wgmma takes bytes so): see gemm_wgmma.cuh.
//
// The tensor cores keep 14 bits of a sum, so every stage, 128 k or four wgmma, begins at 0 and the fp32 units add what it gives (SumsPromoted in
// ridge_wgmma_tile.cuh). What 128 k lose, and its source: goharness/op/cutoff.go; by simulation 0.5 of its units at most, at every depth to 16384; 1 is allowed.
//
// Counts a stage of 128 × 256 × 128: 8.39 MFLOP, 1024 cycles (8192 FLOP a cycle). A thread has 128 sums, so that only 64 of a part fit beside: m64n128, twice.
// Shared memory: 96 bytes a cycle read by wgmma, 47 written by TMA: 143 of 128, which binds: 0.895. Issue: 256 additions a scheduler in 1024 cycles. A warpgroup's
// four wgmma take 256 cycles, its wait and 64 additions some 150, under the other one's wgmma. 128 × 128: 160 bytes a cycle.
// Measured on an H200 beside cuBLASLt (PyTorch 2.11's _scaled_mm without fast accumulation, in the same run), its time over this kernel's: version 1 4096³ 0.76, 8192³ 0.81; version 2 4096³ 0.89 and
// 8192³ 0.89 in a long row of launches (1161 and 1310, 1165 and 1307 TFLOP/s at 1.48 to 1.63 GHz), 0.93 and 0.85 with rests between (1273 and 1373, 1235 and 1455). A prototype with stmatrix and places of tiles in 32 bits: 0.96 and 0.93.
// Without promotion 1309 TFLOP/s at 8192³, so that it costs 5 to 9 %. A from registers, which reads it once for both halves: 0.86 and 0.80, slower.
//
// Versions: 1 as described; 2 sums leave rounded. Next: what the prototype has; 192 columns with one wgmma; tiles of 128 × 128 with six stages in clusters, as cuBLASLt has at 4096³.
#include "gemm_wgmma.cuh"

RIDGE_WGMMA_FLOATS(gemm_fp8_e4m3_sm90_nt, HopperE4m3, ridge_bf16, true, 256, 1)
RIDGE_WGMMA_FLOATS(gemm_fp8_e4m3_sm90_nt_cluster, HopperE4m3, ridge_bf16, true, 256, 2)
RIDGE_WGMMA_FLOATS(gemm_fp8_e4m3_sm90_nt_narrow, HopperE4m3, ridge_bf16, true, 128, 1)
