// The CPU execution model, as kernel sources see it: CUDA's words in C++. Everything that touches
// threads or memory is a function of model.cc; kernels are compiled with -fsanitize=thread, whose
// hooks (one call before every load and store) model.cc defines, so no access goes unchecked.
#ifndef RIDGE_MODEL_H
#define RIDGE_MODEL_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>

#include <utility>
#include <vector>

#define __device__
#define __host__
#define __global__
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __restrict__ __restrict
// __shared__ is left undefined on purpose: RIDGE_SHARED is what the model can check.

struct uint3 {
  unsigned x, y, z;
};
struct dim3 {
  unsigned x = 1, y = 1, z = 1;
};
struct alignas(8) float2 {
  float x, y;
};
struct alignas(16) float4 {
  float x, y, z, w;
};
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};
static inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }

extern "C" {
uint3 ridge_model_thread(void);
uint3 ridge_model_block(void);
uint3 ridge_model_block_size(void);
uint3 ridge_model_grid_size(void);
void ridge_model_sync_block(const char *file, int line);
// Waits for the lanes of mask; all[i] is lane i's value then.
void ridge_model_sync_warp(unsigned mask, uint64_t value, uint64_t *all, const char *what, const char *file, int line);
void *ridge_model_shared(size_t bytes, size_t align, const char *name, const char *file, int line);
void *ridge_model_dynamic_shared(void);
void ridge_model_lane_outside(unsigned mask, unsigned lane, const char *what, const char *file, int line);
// The compiler may check a vector's access part by part: this checks its alignment.
void ridge_model_aligned(const void *p, size_t align);
void ridge_model_unmodelled(const char *instruction);
int ridge_model_atomic_add_i32(int *p, int v);
unsigned ridge_model_atomic_add_u32(unsigned *p, unsigned v);
unsigned long long ridge_model_atomic_add_u64(unsigned long long *p, unsigned long long v);
float ridge_model_atomic_add_f32(float *p, float v);
double ridge_model_atomic_add_f64(double *p, double v);
unsigned ridge_model_atomic_max_u32(unsigned *p, unsigned v);
uint64_t ridge_model_clock(void);
uint64_t ridge_model_timer(void);
// Of ptx_mma.cuh, ptx_ldmatrix.cuh and ptx_cp_async.cuh.
enum ridge_mma { RIDGE_MMA_BF16, RIDGE_MMA_FP16, RIDGE_MMA_TF32, RIDGE_MMA_S8, RIDGE_MMA_U8S8, RIDGE_MMA_FP64 };
void ridge_model_mma(ridge_mma kind, void *c, const void *a, const void *b, const char *file, int line);
void ridge_model_ldmatrix(uint32_t *out, int count, bool transposed, uintptr_t row, const char *file, int line);
// All lanes are about to read so many bytes each: a finding when that takes more wavefronts than it must.
void ridge_model_banks(uintptr_t at, size_t bytes, const char *file, int line);
void ridge_model_copy_async(uintptr_t to, const void *from, unsigned bytes, unsigned given);
void ridge_model_copy_commit(void);
void ridge_model_copy_wait(unsigned pending);
// Of ptx_mbarrier.cuh.
void ridge_model_mbarrier_init(uintptr_t at, unsigned count);
void ridge_model_mbarrier_fence(void);
void ridge_model_mbarrier_arrive(uintptr_t at);
void ridge_model_mbarrier_arrive_cluster(uintptr_t at);
void ridge_model_mbarrier_expect(uintptr_t at, unsigned bytes);
void ridge_model_mbarrier_wait(uintptr_t at, unsigned parity, const char *file, int line);
void ridge_model_named_barrier(unsigned id, unsigned count, const char *file, int line);
void ridge_model_named_barrier_arrive(unsigned id, unsigned count);
void ridge_model_proxy_fence(void);
// Of ptx_tma.cuh.
void ridge_model_tma_load(uintptr_t to, const void *map, uintptr_t barrier, const int *at, int rank);
void ridge_model_tma_load_multicast(uintptr_t to, const void *map, uintptr_t barrier, const int *at, int rank, unsigned blocks);
// Of ptx_cluster.cuh.
unsigned ridge_model_cluster_rank(void);
uintptr_t ridge_model_cluster_map(uintptr_t at, unsigned rank);
void ridge_model_cluster_barrier(const char *file, int line);
void ridge_model_store_cluster(uintptr_t to, unsigned word);
// Of ptx_wgmma.cuh.
enum ridge_wgmma { RIDGE_WGMMA_BF16, RIDGE_WGMMA_FP16, RIDGE_WGMMA_TF32, RIDGE_WGMMA_S8, RIDGE_WGMMA_U8S8, RIDGE_WGMMA_E4M3 };
void ridge_model_wgmma(ridge_wgmma kind, int n, void *sums, uint64_t a, uint64_t b, int across, int keep, const char *file, int line);
// A from registers, four of 32 bits of each lane.
void ridge_model_wgmma_registers(ridge_wgmma kind, int n, void *sums, uint32_t *a, uint64_t b, int across, int keep, const char *file, int line);
void ridge_model_wgmma_fence(void);
void ridge_model_wgmma_commit(void);
void ridge_model_wgmma_wait(unsigned pending, const char *file, int line);
uintptr_t ridge_model_shared_offset(uintptr_t at);
}

#define threadIdx ridge_model_thread()
#define blockIdx ridge_model_block()
#define blockDim ridge_model_block_size()
#define gridDim ridge_model_grid_size()
#define warpSize 32

#define __syncthreads() ridge_model_sync_block(__FILE__, __LINE__)
#define __syncwarp(...) ridge_model::syncwarp(__FILE__, __LINE__ __VA_OPT__(, ) __VA_ARGS__)
#define __shfl_sync(...) ridge_model::shuffle(__FILE__, __LINE__, ridge_model::TO, __VA_ARGS__)
#define __shfl_xor_sync(...) ridge_model::shuffle(__FILE__, __LINE__, ridge_model::XOR, __VA_ARGS__)
#define __shfl_down_sync(...) ridge_model::shuffle(__FILE__, __LINE__, ridge_model::DOWN, __VA_ARGS__)
#define __shfl_up_sync(...) ridge_model::shuffle(__FILE__, __LINE__, ridge_model::UP, __VA_ARGS__)
#define __ballot_sync(mask, predicate) ridge_model::ballot(__FILE__, __LINE__, mask, predicate)

static inline int atomicAdd(int *p, int v) { return ridge_model_atomic_add_i32(p, v); }
static inline unsigned atomicAdd(unsigned *p, unsigned v) { return ridge_model_atomic_add_u32(p, v); }
static inline unsigned long long atomicAdd(unsigned long long *p, unsigned long long v) { return ridge_model_atomic_add_u64(p, v); }
static inline float atomicAdd(float *p, float v) { return ridge_model_atomic_add_f32(p, v); }
static inline double atomicAdd(double *p, double v) { return ridge_model_atomic_add_f64(p, v); }
static inline unsigned atomicMax(unsigned *p, unsigned v) { return ridge_model_atomic_max_u32(p, v); }

static inline float __uint_as_float(unsigned u) { return __builtin_bit_cast(float, u); }
static inline unsigned __float_as_uint(float f) { return __builtin_bit_cast(unsigned, f); }
static inline long long __double_as_longlong(double d) { return __builtin_bit_cast(long long, d); }
static inline unsigned __byte_perm(unsigned a, unsigned b, unsigned s) {
  const uint64_t both = (uint64_t)b << 32 | a;
  unsigned out = 0;
  for (int i = 0; i < 4; i++) out |= (unsigned)(both >> 8 * (s >> 4 * i & 7) & 0xff) << 8 * i;
  return out;
}
static inline float rsqrtf(float x) { return 1.0f / sqrtf(x); }
static inline double rsqrt(double x) { return 1.0 / sqrt(x); }
static inline int min(int a, int b) { return a < b ? a : b; }
static inline int max(int a, int b) { return a > b ? a : b; }
static inline int64_t min(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t max(int64_t a, int64_t b) { return a > b ? a : b; }
template <class T> static inline T __ldg(const T *p) { return *p; }

namespace ridge_model {

enum Shuffle { TO, XOR, DOWN, UP };

static inline unsigned lane() {
  uint3 t = ridge_model_thread(), b = ridge_model_block_size();
  return (t.x + b.x * (t.y + b.y * t.z)) & 31;
}

static inline void syncwarp(const char *file, int line, unsigned mask = 0xffffffffu) {
  uint64_t all[32];
  ridge_model_sync_warp(mask, 0, all, "__syncwarp", file, line);
}

template <class T> T shuffle(const char *file, int line, Shuffle kind, unsigned mask, T v, int n, int width = 32) {
  static_assert(sizeof(T) <= 8, "a shuffle moves at most 8 bytes");
  static const char *const names[] = {"__shfl_sync", "__shfl_xor_sync", "__shfl_down_sync", "__shfl_up_sync"};
  uint64_t bits = 0, all[32];
  __builtin_memcpy(&bits, &v, sizeof v);
  ridge_model_sync_warp(mask, bits, all, names[kind], file, line);
  int self = (int)lane(), first = self & ~(width - 1), from = self;
  switch (kind) {
    case TO: from = first + (n & (width - 1)); break;
    case XOR: from = (self ^ n) < first + width ? self ^ n : self; break;
    case DOWN: from = self + n < first + width ? self + n : self; break;
    case UP: from = self - n >= first ? self - n : self; break;
  }
  if (!(mask >> from & 1)) ridge_model_lane_outside(mask, (unsigned)from, names[kind], file, line);
  T out;
  __builtin_memcpy(&out, &all[from], sizeof out);
  return out;
}

static inline unsigned ballot(const char *file, int line, unsigned mask, int predicate) {
  uint64_t all[32];
  unsigned out = 0;
  ridge_model_sync_warp(mask, predicate != 0, all, "__ballot_sync", file, line);
  for (int i = 0; i < 32; i++)
    if (mask >> i & 1 && all[i]) out |= 1u << i;
  return out;
}

// Entry makes a kernel known under its name.
struct Entry {
  Entry(const char *name, unsigned max_threads, const std::vector<unsigned> &params, void (*call)(void **));
};

// call reads the parameters out of the launch's slots, as the driver would.
template <class... A, size_t... I>
__attribute__((no_sanitize("thread"))) void call(void (*f)(A...), void **p, std::index_sequence<I...>) {
  f(*static_cast<A *>(p[I])...);
}
template <class... A> __attribute__((no_sanitize("thread"))) void call(void (*f)(A...), void **p) {
  static_assert(((sizeof(A) == 8 || sizeof(A) == 128) && ...), "a kernel's parameters are 8 bytes each, or tensor maps");
  call(f, p, std::index_sequence_for<A...>());
}
template <class... A> std::vector<unsigned> sizes(void (*)(A...)) { return {sizeof(A)...}; }

} // namespace ridge_model

#define RIDGE_KERNEL(name, threads)       \
  enum { ridge_threads_##name = threads }; \
  extern "C" __attribute__((noinline)) void name
#define RIDGE_KERNEL_ALONE RIDGE_KERNEL
#define RIDGE_ENTRY(name)                                                                                     \
  static ridge_model::Entry ridge_entry_##name(#name, ridge_threads_##name, ridge_model::sizes(name),         \
                                               [](void **p) __attribute__((no_sanitize("thread"))) { ridge_model::call(name, p); });
#define RIDGE_SHARED(type, name, dims) \
  typedef type ridge_type_##name dims; \
  ridge_type_##name &name =            \
      *static_cast<ridge_type_##name *>(ridge_model_shared(sizeof(ridge_type_##name), 16, #name, __FILE__, __LINE__))
#define RIDGE_DYNAMIC_SHARED(type, name) type *name = static_cast<type *>(ridge_model_dynamic_shared())

// Ends the launch with a report that names it: a wrapper of an instruction (cuda/include) calls it in its
// RIDGE_MODEL branch until it has a model here.
#define RIDGE_UNMODELLED(instruction) ridge_model_unmodelled(instruction)

#endif
