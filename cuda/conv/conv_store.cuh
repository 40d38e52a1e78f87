// Stores by TMA (9.0): one thread orders that a tile leaves shared memory, swizzled by 128 bytes, for its place in a tensor; what lies outside of the tensor is not written. The tile
// must lie there for tensor cores and copies (proxy_fence) and stay until a wait of the same thread says that it has been read, also at the kernel's end.
#ifndef RIDGE_CONV_STORE_CUH
#define RIDGE_CONV_STORE_CUH

#include "ptx_tma.cuh"
#if defined(RIDGE_MODEL)
#include "tensormap.h"
#endif

// The stores of a thread that has up to MOST groups on the way. In the model they happen when they are waited for: what overwrites a tile before that, or never waits, is found. That a
// proxy_fence lies before them is not checked there.
template <int MOST> struct TmaStores {
#if defined(RIDGE_MODEL)
  struct Tile {
    const ridge_tensor_map *map;
    shared_at from;
    int x, y;
  } on_the_way[MOST + 1];
  int count = 0;
  void leave(const Tile &t) {
    ridge_model::TensorMap m;
    for (unsigned i = 0; i < sizeof m; i++) ((char *)&m)[i] = t.map->opaque[i];
    if (m.magic != ridge_model::tensor_map_magic || m.rank != 3 || m.swizzle != 3 || m.box[0] * m.size != 128 || m.box[2] != 1 || ridge_model_shared_offset(t.from) % 1024)
      ridge_model_unmodelled("cp.async.bulk.tensor to global memory of other tiles than panels of 128 bytes");
    for (int row = 0; row < m.box[1]; row++) {
      if (t.y + row >= (int64_t)m.dims[1]) continue;
      for (int chunk = 0; chunk < 8; chunk++) {
        const unsigned *w = (const unsigned *)(t.from + row * 128 + ((chunk ^ row % 8) << 4));
        const int64_t column = t.x + chunk * 16 / m.size;
        char *to = (char *)m.address + (t.y + row) * m.strides[0] + column * m.size;
        const pack<unsigned> v = {{w[0], w[1], w[2], w[3]}};
        if (column + 16 / m.size <= (int64_t)m.dims[0]) {
          store_pack((pack<unsigned> *)to, v);
        } else if (column < (int64_t)m.dims[0]) {
          ridge_model_unmodelled("cp.async.bulk.tensor to global memory of less than 16 bytes");
        }
      }
    }
  }
#endif
  // A tile from a multiple of 1024 bytes on to element (x, y) of a tensor of rows, as a group of its own.
  __device__ __forceinline__ void store(const ridge_tensor_map &map, shared_at from, int x, int y) {
#if defined(RIDGE_MODEL)
    if (count > MOST) ridge_model_unmodelled("so many groups of cp.async.bulk");
    on_the_way[count++] = {&map, from, x, y};
#else
    asm volatile(
        "cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%0, {%2, %3, %4}], [%1];\n"
        "cp.async.bulk.commit_group;" ::"l"(&map),
        "r"(from), "r"(x), "r"(y), "r"(0)
        : "memory");
#endif
  }
  // Until at most PENDING groups, the youngest, have not been read.
  template <int PENDING> __device__ __forceinline__ void wait() {
#if defined(RIDGE_MODEL)
    int done = 0;
    while (count - done > PENDING) leave(on_the_way[done++]);
    for (int i = done; i < count; i++) on_the_way[i - done] = on_the_way[i];
    count -= done;
#else
    asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(PENDING) : "memory");
#endif
  }
};

// 8 bytes of each lane.
__device__ __forceinline__ void load_shared(unsigned &first, unsigned &second, shared_at from) {
#if defined(RIDGE_MODEL)
  ridge_model_banks(from, 8, __FILE__, __LINE__);
  ridge_model_aligned((const void *)from, 8);
  first = ((const unsigned *)from)[0], second = ((const unsigned *)from)[1];
#else
  asm volatile("ld.shared.v2.u32 {%0, %1}, [%2];" : "=r"(first), "=r"(second) : "r"(from) : "memory");
#endif
}

#endif
