// TMA (cp.async.bulk.tensor): a tile of a tensor on its way to shared memory. Its bytes land only when no thread can go on, one tile at a
// time in the order that RIDGE_MODEL_ORDER gives, and are then known to whoever has seen the mbarrier's phase. From issue to landing they may
// be neither read nor written, and what was there before must have been read by then: a stage that is filled too early is found
// in every order. A multicast is a copy of its own to each block of the cluster that its mask names, at the same place there, for the mbarrier at the same place.
#include <stdio.h>
#include <string.h>

#include <vector>

#include "inner.h"
#include "model.h"
#include "tensormap.h"

namespace ridge_model {
namespace {

struct Tile {
  char *to;
  uintptr_t barrier;
  int swizzle;
  unsigned by;            // the rank of the block that ordered it
  std::vector<char> data; // in the order of the box
};
std::vector<Tile> flying;

char *place(const Tile &t, size_t at) { return swizzled(t.to, at, t.swizzle); }

// CU_TENSOR_MAP_DATA_TYPE_TFLOAT32: fp32 is rounded to 10 bits of fraction on its way, ties to even (seen on 12.0 by Triton's tests), where
// cvt.rna takes the larger one.
void round_to_tf32(std::vector<char> &data) {
  for (size_t i = 0; i < data.size(); i += 4) {
    uint32_t u;
    memcpy(&u, &data[i], 4);
    if ((u & 0x7f800000u) != 0x7f800000u) u = (u + 0xfff + (u >> 13 & 1)) & 0xffffe000u;
    memcpy(&data[i], &u, 4);
  }
}

} // namespace

char *swizzled(char *tile, size_t at, int swizzle) {
  const uintptr_t p = shared_offset(tile + at);
  return tile + at + (swizzle == 3 ? (intptr_t)(p ^ (p >> 7 & 7) << 4) - (intptr_t)p : 0);
}

void bulk_reset() { flying.clear(); }

size_t bulk_flying() { return flying.size(); }

bool bulk_flying_to(unsigned block) {
  for (const Tile &t : flying)
    if (arena_of(t.to) == block) return true;
  return false;
}

void bulk_land(size_t which) {
  Tile t = std::move(flying[which]);
  flying.erase(flying.begin() + (long)which);
  const Landing by = barrier_of_copy(t.barrier);
  for (size_t i = 0; i < t.data.size(); i += 16) {
    char *to = place(t, i);
    memcpy(to, &t.data[i], 16);
    landed_by(to, 16, by);
  }
  if (const unsigned block = arena_of(t.to); block != t.by) cluster_used(block, by.id, by.phase);
  barrier_bytes(t.barrier, t.data.size());
}

} // namespace ridge_model

using namespace ridge_model;

extern "C" void ridge_model_tma_load_multicast(uintptr_t to, const void *map, uintptr_t barrier, const int *at, int rank, unsigned blocks) {
  TensorMap m;
  memcpy(&m, map, sizeof m);
  if (m.magic != tensor_map_magic) fail(719, "cp.async.bulk.tensor: this is no tensor map");
  if (m.rank != rank) fail(719, "cp.async.bulk.tensor: the tensor map has another number of dimensions");
  if (!is_arena((void *)to) || to % 128) fail(716, "cp.async.bulk.tensor: a tile begins at a multiple of 128 bytes of shared memory");
  if (m.swizzle != 0 && m.swizzle != 3) fail(719, "cp.async.bulk.tensor with this swizzle is not modelled");
  if (arena_of((void *)to) != own_block() || !is_arena((void *)barrier) || arena_of((void *)barrier) != own_block())
    fail(719, "cp.async.bulk.tensor to another block of the cluster but by its mask is not modelled");
  if (blocks == 0 || blocks >> 16) fail(719, "cp.async.bulk.tensor.multicast::cluster: expected a mask of 1 to 16 blocks");
  Tile t{(char *)to, barrier, m.swizzle, own_block(), {}};
  const size_t line = (size_t)m.box[0] * m.size;
  size_t lines = 1;
  for (int d = 1; d < rank; d++) lines *= m.box[d];
  t.data.resize(line * lines);
  for (size_t l = 0; l < lines; l++) {
    size_t rest = l;
    uint64_t from = m.address;
    bool inside = true;
    for (int d = 1; d < rank; rest /= m.box[d++]) {
      const int64_t x = (int64_t)at[d] + (int64_t)(rest % m.box[d]);
      inside = inside && x >= 0 && x < (int64_t)m.dims[d];
      from += (uint64_t)x * m.strides[d - 1];
    }
    const int64_t first = at[0] < 0 ? -(int64_t)at[0] : 0, end = (int64_t)m.dims[0] - at[0] < m.box[0] ? (int64_t)m.dims[0] - at[0] : m.box[0];
    if (!inside || end <= first) continue; // zeros
    char *p = (char *)(from + (uint64_t)((int64_t)at[0] + first) * m.size);
    access(p, (size_t)(end - first) * m.size, READ, 1);
    memcpy(&t.data[l * line + (size_t)first * m.size], p, (size_t)(end - first) * m.size);
  }
  if (m.dtype == 11) round_to_tf32(t.data);
  for (unsigned block = 0; block < 16; block++) {
    if (!(blocks >> block & 1)) continue;
    cluster_alive(block, "cp.async.bulk.tensor");
    Tile there = t;
    there.to = shared_at_offset(block, shared_offset(t.to)), there.barrier = (uintptr_t)shared_at_offset(block, shared_offset((void *)barrier));
    barrier_for_copy(there.barrier);
    for (size_t i = 0; i < t.data.size(); i += 16) access_cluster(place(there, i), 16, WRITE, 16);
    for (size_t i = 0; i < t.data.size(); i += 16) shared_mark(place(there, i), 16, IN_FLIGHT);
    flying.push_back(std::move(there));
  }
}

extern "C" void ridge_model_tma_load(uintptr_t to, const void *map, uintptr_t barrier, const int *at, int rank) {
  ridge_model_tma_load_multicast(to, map, barrier, at, rank, 1u << own_block());
}
