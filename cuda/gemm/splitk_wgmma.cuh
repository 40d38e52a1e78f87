// The bodies of gemm_DTYPE_sm90_splitk.cu: products of few tiles on Hopper's tensor cores, operands as gemm_wgmma.cuh, one product at a time. Tiles of 128 × 128
// (narrow ones of ridge_wgmma_tile.cuh, with their six stages) of C are times parts of k: a block takes every gridDim.x-th of them and stores its sums, not rounded, to
// the workspace [parts][M,N]; a second launch adds them in the order of the parts (splitk_sum.cuh): the same bits every time.
// FLOP: 2·M·N·K, of tiles of 128 rows whatever M is. Bytes: A, B and C once, and the parts written and read once, from L2. Rows beyond M are zeros of TMA: no traffic but
// that of shared memory.
//
// For M ≤ 128 a block's stage is 16 KB of B: at 4.8 TB/s over 132 multiprocessors of 1830 MHz, 19.9 bytes a cycle each, 824 cycles. Its wgmma take 512 (all types: tf32 and bytes
// have as many for the stage's bytes), shared memory 640 and L2 at M = 128 another 16 KB: 40 bytes a cycle of 64: DRAM binds. On their way are five stages, 80 KB of B, where
// 700 ns to 1 µs at that rate take 25 to 36.
// wgmma_splitk.go takes the parts that are done first. N = K = 4096: 32 tiles of 4 parts on 128 of 132; 8192: 64 of 2; at 16384 128 tiles are as good whole.
// Predicted of the memory's roof on an H200, 16 bits: at 4096² (7.0 µs of bytes; 2 to 3 µs for the second launch, 1.5 µs to fill the stages and to store the sums) 0.6 to
// M = 32 and 0.5 at 128 (8.4 MB of parts to L2 and back, 3 µs); 0.78 and 0.72 at 8192²; whole, 0.9 at 16384². Other types as 16 bits with as many bytes.
// Measured on an H200, bf16, µs, B stored [K,N] and [N,K], cuBLAS (CUDA 13.0) in brackets: M = 16 4096² 17.0, 17.7 (10.0, 10.2), of which the second launch is 2.3; 8192² 52.3, 57.8 (32.8,
// 32.8); M = 128 17.3, 17.6 (13.1, 12.8) and 46.0, 46.1 (36.4, 35.9): at 8192² 0.6 of the memory's roof, less than predicted. So 16 bits of up to 128 rows go to skinny_wgmma.cuh.
//
// Versions: 1 as described. Next, for more rows and other types: parts of a tile in a cluster that add up through distributed shared memory, in one launch, as there.
#ifndef RIDGE_SPLITK_WGMMA_CUH
#define RIDGE_SPLITK_WGMMA_CUH

#include "ridge_wgmma_tile.cuh"
#include "splitk_sum.cuh"

// part: stages of 128 bytes of k that are summed up together.
#define RIDGE_WGMMA_PARTS(entry, P, ALONG)                                                                                        \
  RIDGE_KERNEL_ALONE(entry, WGMMA_THREADS)                                                                                        \
  (RIDGE_TENSOR_MAP(a), RIDGE_TENSOR_MAP(b), int64_t m, int64_t n, int64_t k, int64_t part, WgmmaTile<P, ALONG, 128>::sum *parts) { \
    wgmma_parts<WgmmaTile<P, ALONG, 128>>(a, b, m, n, k, part, parts);                                                            \
  }                                                                                                                               \
  RIDGE_ENTRY(entry)

template <class T>
__device__ __forceinline__ void wgmma_parts(const ridge_tensor_map &a, const ridge_tensor_map &b, int64_t m, int64_t n, int64_t k, int64_t part,
                                            typename T::sum *parts) {
  T::products(
      m, n, k, 1, a, b,
      [&](int64_t z, int64_t row0, int64_t column0, const typename T::sum(&acc)[T::COLS / 2], shared_at mine) {
        T::template each<4>(acc, mine, [&](int r, int j, const Run<typename T::sum, 4> &sums) {
          const int64_t row = row0 + r, column = column0 + j;
          if (row < m && column < n) store_run(parts + (z * m + row) * n + column, sums, n - column, n % 4 == 0);
        });
      },
      (int)part);
}

#endif
