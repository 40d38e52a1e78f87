// The body of peak_DTYPE_sm90.cu: wgmma m64n128 at full rate. A chunk of instructions is one warpgroup's work and one element of result, which proves their
// number: A and B are all ones, so every wgmma adds K to every number of C.
//
// A block has two warpgroups, whose groups of four wgmma follow each other on the same sums while the one before goes on: the tensor cores have work
// while either waits. A wgmma takes 64 cycles (16-bit: 64·128·16·2 FLOP at 4096 a cycle) and reads 2 KB of A and 4 KB of B from shared memory, 96 bytes
// a cycle of 128. Operands are ones in shared memory: they toggle less than random data, so that a device that is limited by its power shows a
// higher clock here. Sums of fp32 hold integers exactly to 2^24, those of e4m3 to 2^14: there they are read and begin anew every 512 instructions, 32768 cycles.
// Predicted: 0.97 and more of the published rate at the clock held. not yet measured.
#ifndef RIDGE_PEAK_WGMMA_CUH
#define RIDGE_PEAK_WGMMA_CUH

#include "ptx_mbarrier.cuh"
#include "ptx_wgmma.cuh"

// K is the numbers that an instruction adds up, ONES a word full of ones, MOST what a sum counts to.
template <class W, int K, unsigned ONES, int MOST> __device__ __forceinline__ void peak_wgmma(double *result, int64_t instructions, int64_t chunk) {
  constexpr int TOGETHER = 4, A = 64 * 128, B = 128 * 128; // bytes of operands of four steps of 32 bytes of k
  constexpr int TURNS = MOST / K / TOGETHER;
  RIDGE_DYNAMIC_SHARED(unsigned char, dynamic);
  RIDGE_SHARED(int, least, [8]);
  unsigned char *operands = dynamic + (1024 - shared_address(dynamic) % 1024) % 1024;
  for (int i = threadIdx.x; i < (A + B) / 4; i += 256) ((unsigned *)operands)[i] = ONES;
  proxy_fence();
  __syncthreads();
  const uint64_t a = wgmma_operand(shared_address(operands), 16, 1024), b = wgmma_operand(shared_address(operands) + A, 16, 1024);
  const int group = __shfl_sync(0xffffffffu, (int)threadIdx.x / 128, 0);
  const int64_t chunks = (instructions + chunk - 1) / chunk;
  for (int64_t c = 2 * blockIdx.x + group; c < chunks; c += 2 * gridDim.x) {
    const int turns = (int)(min(chunk, instructions - c * chunk) / TOGETHER);
    int proved = 0;
#pragma unroll 1
    for (int from = 0; from < turns; from += TURNS) {
      typename W::sum x[64];
#pragma unroll
      for (int i = 0; i < 64; i++) x[i] = 0;
#pragma unroll 1
      for (int t = from; t < min(turns, from + TURNS); t++) {
        wgmma_fence();
#pragma unroll
        for (int k = 0; k < TOGETHER; k++) W::template mma<false>(x, a + 2 * k, b + 2 * k);
        wgmma_commit();
        wgmma_wait<1>();
      }
      wgmma_done(x);
      int least_sum = (int)x[0];
#pragma unroll
      for (int i = 1; i < 64; i++) least_sum = min(least_sum, (int)x[i]);
      proved += least_sum;
    }
#pragma unroll
    for (int d = 16; d > 0; d /= 2) proved = min(proved, __shfl_xor_sync(0xffffffffu, proved, d));
    if (threadIdx.x % 32 == 0) least[threadIdx.x / 32] = proved;
    named_barrier(1 + group, 128);
    if (threadIdx.x % 128 == 0) {
      for (int w = 1; w < 4; w++) proved = min(proved, least[4 * group + w]);
      result[c] = (double)(proved / K);
    }
    named_barrier(1 + group, 128);
  }
}

#define RIDGE_PEAK_WGMMA(entry, W, K, ONES, MOST)                                                                                        \
  RIDGE_KERNEL(entry, 256)(double *result, int64_t instructions, int64_t chunk) { peak_wgmma<W, K, ONES, MOST>(result, instructions, chunk); } \
  RIDGE_ENTRY(entry)

#endif
