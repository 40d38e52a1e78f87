// Stores by TMA (9.0): one thread orders that a tile leaves shared memory, swizzled by 128 bytes, for its place in a tensor; what lies outside of the tensor is not written. The tile
// must lie there for tensor cores and copies (proxy_fence) and stay until a wait of the same thread says that it has been read, also at the kernel's end.
#ifndef RIDGE_CONV_STORE_CUH
#define RIDGE_CONV_STORE_CUH

#include "ptx_tma.cuh"
#if defined(RIDGE_MODEL)
#include "inner.h"
#include "tensormap.h"

// 16 bytes as a copy reads them: past the threads, of which each must have fenced what it wrote.
__attribute__((no_sanitize("thread"), noinline)) static pack<unsigned> read_past(shared_at from) {
  ridge_model::access((void *)from, 16, ridge_model::ASYNC_READ, 16);
  const unsigned *w = (const unsigned *)from;
  return pack<unsigned>{{w[0], w[1], w[2], w[3]}};
}
#endif

// The stores of a thread that has up to MOST groups on the way. In the model they happen when they are waited for: what overwrites a tile before that, never waits, or lacks the
// proxy_fence, is found.
template <int MOST> struct TmaStores {
#if defined(RIDGE_MODEL)
  struct Tile {
    const ridge_tensor_map *map;
    shared_at from;
    int at[4], rank; // x, the fastest, y, z, w
  } on_the_way[MOST + 1];
  int count = 0;
  void leave(const Tile &t) {
    ridge_model::TensorMap m;
    for (unsigned i = 0; i < sizeof m; i++) ((char *)&m)[i] = t.map->opaque[i];
    if (m.magic != ridge_model::tensor_map_magic || m.rank != t.rank || m.swizzle != 3 || m.box[0] * m.size != 128 || ridge_model_shared_offset(t.from) % 1024)
      ridge_model_unmodelled("cp.async.bulk.tensor to global memory of other tiles than panels of 128 bytes");
    int lines = 1;
    for (int d = 1; d < t.rank; d++) lines *= m.box[d];
    for (int line = 0; line < lines; line++) {
      char *to = (char *)m.address;
      bool inside = true;
      for (int d = 1, rest = line; d < t.rank; rest /= m.box[d++]) {
        const int64_t x = t.at[d] + rest % m.box[d];
        inside = inside && x < (int64_t)m.dims[d];
        to += x * (int64_t)m.strides[d - 1];
      }
      for (int chunk = 0; inside && chunk < 8; chunk++) {
        const int64_t column = t.at[0] + chunk * 16 / m.size;
        if (column + 16 / m.size <= (int64_t)m.dims[0])
          store_pack((pack<unsigned> *)(to + column * m.size), read_past(t.from + line * 128 + ((chunk ^ line % 8) << 4)));
        else if (column < (int64_t)m.dims[0])
          ridge_model_unmodelled("cp.async.bulk.tensor to global memory of less than 16 bytes");
      }
    }
  }
  void add(const Tile &t) {
    if (count > MOST) ridge_model_unmodelled("so many groups of cp.async.bulk");
    on_the_way[count++] = t;
  }
#endif
  // A tile from a multiple of 1024 bytes on to element (x, y, z), or (x, y, z, w), of a tensor, as a group of its own.
  __device__ __forceinline__ void store(const ridge_tensor_map &map, shared_at from, int x, int y, int z) {
#if defined(RIDGE_MODEL)
    add({&map, from, {x, y, z}, 3});
#else
    asm volatile(
        "cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%0, {%2, %3, %4}], [%1];\n"
        "cp.async.bulk.commit_group;" ::"l"(&map),
        "r"(from), "r"(x), "r"(y), "r"(z)
        : "memory");
#endif
  }
  __device__ __forceinline__ void store(const ridge_tensor_map &map, shared_at from, int x, int y, int z, int w) {
#if defined(RIDGE_MODEL)
    add({&map, from, {x, y, z, w}, 4});
#else
    asm volatile(
        "cp.async.bulk.tensor.4d.global.shared::cta.bulk_group [%0, {%2, %3, %4, %5}], [%1];\n"
        "cp.async.bulk.commit_group;" ::"l"(&map),
        "r"(from), "r"(x), "r"(y), "r"(z), "r"(w)
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
