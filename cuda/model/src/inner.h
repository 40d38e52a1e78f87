// What the parts of the model ask of each other while a kernel runs.
#ifndef RIDGE_MODEL_INNER_H
#define RIDGE_MODEL_INNER_H

#include <vector>

#include "memory.h"

namespace ridge_model {

// Ends the launch: the fibers are left as they are and started anew by the next block.
[[noreturn]] void fail(int code, const std::string &what);
// A source file's name without its folders.
const char *base(const char *file);
// The thread that runs, numbered through its cluster: block after block, as many numbers for each.
unsigned running();
// Of the running thread: its place in the block, and its block's rank in the cluster.
unsigned in_block();
unsigned own_block();
// The numbers that each block of the cluster has, and its blocks.
extern unsigned block_numbers, blocks_together;
// The rank of the block that a thread's number (from 0) belongs to.
inline unsigned block_of(unsigned thread) { return blocks_together == 1 ? 0 : thread / block_numbers; }
inline unsigned cluster_blocks() { return blocks_together; }
// Checks n bytes; align is what an instruction of this width demands.
void access(void *p, size_t n, Access kind, size_t align);
// The same, of a copy that may write to another block of the cluster.
void access_cluster(void *p, size_t n, Access kind, size_t align);
// An asynchronous copy of the running thread has come to rest there.
void landed(void *p, size_t n);
// Waits for all lanes of the warp; the last one calls f on what each brought. It orders no memory.
void warp_together(void *mine, void (*f)(void *const lanes[32]), const char *what, const char *file, int line);

unsigned block_threads();
const Times &now(); // of the running thread's block
bool warp_ended(unsigned warp);
// Makes the running thread wait until somebody wakes those at this object.
void wait_at(const void *object, const char *what, const char *file, int line);
void wake(const void *object);

// Of async.cc, at the beginning of a cluster and at the end of a thread.
void copies_reset(unsigned threads);
void copies_end();

// Of order.cc. Who or what can have done something: threads of the cluster from 1, then mbarriers, 64 a block.
extern unsigned first_barrier, order_ids;
typedef std::vector<uint32_t> Seen; // up to which time, by id
void order_reset(unsigned threads, unsigned blocks);
void order_start(); // from now on the order is kept
Who order_who(unsigned thread, uint32_t sync);
void order_release(unsigned thread, Seen &into);
void order_acquire(unsigned thread, const Seen &from);
void order_together(const std::vector<unsigned> &threads);
void order_count(unsigned thread);             // a release without a taker: its time goes on
void order_fence(unsigned thread);             // the asynchronous proxy sees what this thread wrote until now
bool order_fenced(uint32_t id, uint32_t time); // … what id wrote then
bool order_known(unsigned block, uint32_t id, uint32_t time); // some thread of the block knows what id did then

// Of mbarrier.cc.
struct Landing {
  unsigned id;
  uint32_t phase;
};
void barriers_reset();
std::string barrier_state(const void *at);
void barrier_for_copy(uintptr_t at); // the running thread may name it to a copy
Landing barrier_of_copy(uintptr_t at);
void barrier_bytes(uintptr_t at, size_t n);
void landed_by(void *p, size_t n, const Landing &by);

// Of bulk.cc: copies on their way; the scheduler lets one land when no thread can go on.
void bulk_reset();
size_t bulk_flying();
bool bulk_flying_to(unsigned block);
void bulk_land(size_t which);
// Where byte `at` of a tile lies. CU_TENSOR_MAP_SWIZZLE_128B (3): bits 4 to 6 of an address in shared memory are XORed with bits 7 to 9.
char *swizzled(char *tile, size_t at, int swizzle);

// Of bulkstore.cc: copies to global memory, at the beginning of a cluster, at the end of a thread and of a launch.
void stores_reset(unsigned threads);
void stores_end();
void stores_land();

// Of cluster.cc. What other blocks did to a block's shared memory: all of it must lie before the block's end, whatever the order of the fibers.
void cluster_reset();
void cluster_alive(unsigned block, const char *what); // the running thread is about to use it
void cluster_used(unsigned block, uint32_t id, uint32_t time);
void cluster_end(); // the running thread is the last one of its block

// Of wgmma.cc.
void wgmma_reset(unsigned threads);
void wgmma_end();
// What a write there would disturb; nullptr: nothing.
const char *read_by_wgmma(const char *p, size_t n, const Who &me);

// Of tensor.cc. One step of a tensor core: c and terms added as it adds them, with so many bits behind the leading one of the largest, and of the result.
float block_sum(const double *terms, int n, float c, int aligned = 25, int kept = 23);
float half_to_float(uint16_t bits);

} // namespace ridge_model
#endif
