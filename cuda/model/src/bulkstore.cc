// TMA stores (cp.async.bulk.tensor, shared to global memory). Until the thread that ordered a store has waited for its group the bytes in shared memory may be read and
// not written. What it writes is there at the launch's end: until then nobody may touch those bytes, the thread itself neither, since no wait that would make them known is modelled.
#include <string.h>

#include <deque>
#include <utility>
#include <vector>

#include "inner.h"
#include "model.h"
#include "tensormap.h"

namespace ridge_model {
namespace {

typedef std::vector<char *> Group; // 16 bytes each

struct Queue {
  Group open; // not committed yet
  std::deque<Group> committed;
};
std::vector<Queue> queues; // by thread of the running cluster

std::vector<std::pair<char *, size_t>> stored; // of the running launch

} // namespace

void stores_reset(unsigned threads) { queues.assign(threads, {}); }

void stores_end() {
  const Queue &q = queues[running()];
  bool left = !q.open.empty();
  for (const Group &g : q.committed) left |= !g.empty();
  if (left) fail(719, "the thread ends before its stores by TMA have read shared memory");
}

void stores_land() {
  for (const auto &s : stored) memory_mark(s.first, s.second, WRITTEN);
  stored.clear();
}

} // namespace ridge_model

using namespace ridge_model;

extern "C" {

void ridge_model_tma_store(const void *map, uintptr_t from, const int *at, int rank) {
  const char *what = "cp.async.bulk.tensor to global memory";
  TensorMap m;
  memcpy(&m, map, sizeof m);
  if (m.magic != tensor_map_magic) fail(719, std::string(what) + ": this is no tensor map");
  if (m.rank != rank) fail(719, std::string(what) + ": the tensor map has another number of dimensions");
  if (!is_arena((void *)from) || from % 128) fail(716, std::string(what) + ": a tile begins at a multiple of 128 bytes of shared memory");
  if (m.swizzle != 0 && m.swizzle != 3) fail(719, std::string(what) + " with this swizzle is not modelled");
  order_start();
  const size_t line = (size_t)m.box[0] * m.size;
  size_t lines = 1;
  for (int d = 1; d < rank; d++) lines *= m.box[d];
  std::vector<char> data(line * lines);
  Group &group = queues[running()].open;
  for (size_t i = 0; i < data.size(); i += 16) {
    char *p = swizzled((char *)from, i, m.swizzle);
    access(p, 16, ASYNC_READ, 16);
    if (shared_is(p, LENT)) fail(719, std::string(what) + ": two stores from the same bytes at once are not modelled");
    memcpy(&data[i], p, 16);
    group.push_back(p);
  }
  for (char *p : group) shared_mark(p, 16, LENT);
  for (size_t l = 0; l < lines; l++) {
    size_t rest = l;
    uint64_t to = m.address;
    bool inside = true;
    for (int d = 1; d < rank; rest /= m.box[d++]) {
      const int64_t x = (int64_t)at[d] + (int64_t)(rest % m.box[d]);
      inside = inside && x >= 0 && x < (int64_t)m.dims[d];
      to += (uint64_t)x * m.strides[d - 1];
    }
    const int64_t first = at[0] < 0 ? -(int64_t)at[0] : 0, end = (int64_t)m.dims[0] - at[0] < m.box[0] ? (int64_t)m.dims[0] - at[0] : m.box[0];
    if (!inside || end <= first) continue; // what lies outside is not stored
    char *p = (char *)(to + (uint64_t)((int64_t)at[0] + first) * m.size);
    const size_t n = (size_t)(end - first) * m.size;
    access(p, n, WRITE, 1);
    memcpy(p, &data[l * line + (size_t)first * m.size], n);
    memory_mark(p, n, IN_FLIGHT);
    stored.emplace_back(p, n);
  }
}

void ridge_model_tma_store_commit(void) {
  Queue &q = queues[running()];
  q.committed.push_back(std::move(q.open));
  q.open.clear();
}

// From here on they have been read by the thread that waits.
void ridge_model_tma_store_wait_read(unsigned pending) {
  Queue &q = queues[running()];
  for (; q.committed.size() > pending; q.committed.pop_front()) {
    for (char *p : q.committed.front()) {
      shared_mark(p, 16, WRITTEN);
      access(p, 16, READ, 16);
    }
  }
}
}
