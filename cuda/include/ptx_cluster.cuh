// Clusters (9.0): blocks that run at the same time on neighbouring multiprocessors and reach each other's shared memory, where every array lies at the same place. The
// launch says how many there are (kernel.Launch.Cluster). A block must neither use another's mbarriers before that has initialised them nor end while another may still
// arrive or copy there: cluster_barrier() behind the initialisation and before the end.
#ifndef RIDGE_PTX_CLUSTER_CUH
#define RIDGE_PTX_CLUSTER_CUH

#include "ptx_tma.cuh"

// This block's rank in its cluster.
__device__ __forceinline__ unsigned cluster_rank() {
#if defined(RIDGE_MODEL)
  return ridge_model_cluster_rank();
#else
  unsigned rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
#endif
}

// The same place in the shared memory of the block of that rank: for mbarrier_arrive_cluster and store_shared_cluster alone.
__device__ __forceinline__ shared_at cluster_map(shared_at at, unsigned rank) {
#if defined(RIDGE_MODEL)
  return ridge_model_cluster_map(at, rank);
#else
  shared_at there;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(at), "r"(rank));
  return there;
#endif
}

// Waits for all threads of the cluster that have not ended; what they did before lies before what any does behind it. By whole warps.
__device__ __forceinline__ void cluster_barrier() {
#if defined(RIDGE_MODEL)
  ridge_model_cluster_barrier(__FILE__, __LINE__);
#else
  asm volatile(
      "barrier.cluster.arrive.release.aligned;\n"
      "barrier.cluster.wait.acquire.aligned;" ::
          : "memory");
#endif
}

// A word to another block's shared memory (cluster_map), which its threads see behind a barrier of the cluster.
__device__ __forceinline__ void store_shared_cluster(shared_at to, unsigned word) {
#if defined(RIDGE_MODEL)
  ridge_model_store_cluster(to, word);
#else
  asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(to), "r"(word) : "memory");
#endif
}

// Arrives at an mbarrier of this or another block (cluster_map): to give a stage back. It orders what copies brought and tensor cores have read until then, which has ended where this
// thread waited for it, and nothing that threads of other blocks read or wrote themselves: release on the cluster's scope, which would, is a fence of the whole device before each
// arrival (MEMBAR.ALL.GPU, as disassembled).
__device__ __forceinline__ void mbarrier_arrive_cluster(shared_at bar) {
#if defined(RIDGE_MODEL)
  ridge_model_mbarrier_arrive_cluster(bar);
#else
  asm volatile("mbarrier.arrive.release.cta.shared::cluster.b64 _, [%0];" ::"r"(bar) : "memory");
#endif
}

// As tma_load, to the same place in every block of the cluster whose bit is set in blocks; its bytes count for the mbarrier at the same place there.
__device__ __forceinline__ void tma_load_multicast(shared_at to, const ridge_tensor_map &map, shared_at bar, int x, int y, int z, unsigned blocks) {
#if defined(RIDGE_MODEL)
  const int at[3] = {x, y, z};
  ridge_model_tma_load_multicast(to, &map, bar, at, 3, blocks);
#else
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%3, %4, %5}], [%2], %6;" ::"r"(to),
      "l"(&map), "r"(bar), "r"(x), "r"(y), "r"(z), "h"((unsigned short)blocks)
      : "memory");
#endif
}

#endif
