// Which thread may touch which byte: bounds, initialisation and order of every access.
#include "inner.h"

#include <stdio.h>
#include <string.h>

#include <map>
#include <vector>

namespace ridge_model {

namespace {

// Touch remembers the last accesses of one byte. An epoch is the stretch of one block between two
// barriers, numbered through all launches; sync counts a thread's warp barriers.
struct Touch {
  uint32_t writer = 0, write_epoch = 0, write_sync = 0, write_time = 0;
  uint32_t reader = 0, read_epoch = 0, read_sync = 0, read_time = 0;
};

enum : uint32_t { NONE = 0, MANY = 0xfffffff0, ANY = 0xffffffff }; // readers: of several warps of the block of rank reader − MANY; of several blocks

struct Region {
  char *start;
  size_t size;
  std::string name; // of a shared array
  std::vector<uint8_t> written;
  std::vector<Touch> touches; // empty above the limit below: order is not followed there
};

constexpr size_t follow_below = 1 << 20;

std::map<char *, Region> global; // by start
constexpr size_t arena_size = 320 << 10;
std::vector<Region> shared[max_cluster]; // of the blocks of the running cluster
alignas(1024) char arena[max_cluster][arena_size];
static_assert(arena_size % 1024 == 0, "every block's shared memory is as aligned as the first one's");
constexpr size_t red_zone = 128;
size_t arena_used;

Region *last; // of global: accesses come in runs

Region *find_global(char *p) {
  if (last && p >= last->start && p < last->start + last->size) return last;
  auto it = global.upper_bound(p);
  if (it == global.begin()) return nullptr;
  --it;
  if (p >= it->second.start + it->second.size) return nullptr;
  return last = &it->second;
}

unsigned rank_of(uint32_t thread) { return thread >= MANY ? thread - MANY : block_of(thread - 1); }

// conflict: an access of another thread, in this launch, that nothing orders before this one.
bool conflict(uint32_t thread, uint32_t epoch, uint32_t sync, uint32_t time, const Who &me, const Times &t) {
  if (thread == NONE || epoch < t.launch) return false;
  if (epoch < t.block) return true; // an earlier cluster of this launch
  const bool known = me.seen && thread < order_ids && me.seen[thread] >= (time ? time : 1); // 0: before order.cc kept any, so before its first release
  if (thread >= first_barrier && thread < order_ids) return !known; // a copy is known by its mbarrier alone
  if (epoch < t.joined || thread == me.thread) return false;                       // a barrier of the cluster lies between
  if (thread == ANY || rank_of(thread) != rank_of(me.thread)) return true;         // arrivals from other blocks order copies and tensor cores alone
  if (epoch < t.epoch) return false;                                               // a barrier of the block lies between
  bool same_warp = thread < MANY && (thread - 1) / 32 == (me.thread - 1) / 32;
  return !known && !(same_warp && sync < me.sync);
}

std::string describe(const Region &r, char *p, size_t n, bool write, const char *what) {
  char b[256];
  snprintf(b, sizeof b, "%s of %zu bytes at byte %td of %s%s (%zu bytes): %s", write ? "write" : "read", n, p - r.start,
           r.name.empty() ? "a device allocation" : "shared array ", r.name.c_str(), r.size, what);
  return b;
}

} // namespace

void memory_add(void *p, size_t bytes) {
  Region r{(char *)p, bytes, "", std::vector<uint8_t>(bytes), {}};
  if (bytes <= follow_below) r.touches.resize(bytes);
  global[(char *)p] = r;
  last = nullptr;
}

bool memory_remove(void *p) {
  last = nullptr;
  return global.erase((char *)p) == 1;
}

void memory_clear() {
  last = nullptr;
  global.clear();
}

size_t memory_at(const void *p, size_t bytes) {
  Region *r = find_global((char *)p);
  return r && bytes <= r->size - (size_t)((char *)p - r->start) ? r->size : 0;
}

void memory_written(void *p, size_t bytes) {
  memory_mark(p, bytes, WRITTEN);
}

void shared_reset(unsigned blocks) {
  for (auto &s : shared) s.clear();
  arena_used = red_zone;
  memset(arena, 0xff, blocks * arena_size); // a NaN in every float format
}

void *shared_take(size_t bytes, const char *name) {
  size_t at = arena_used, end = at + (bytes + 127) / 128 * 128 + red_zone;
  if (end > arena_size) return nullptr;
  arena_used = end;
  for (unsigned b = 0; b < cluster_blocks(); b++) shared[b].push_back({arena[b] + at, bytes, name, std::vector<uint8_t>(bytes), std::vector<Touch>(bytes)});
  return arena[0] + at;
}

namespace {
Region *shared_of(void *p) {
  for (Region &s : shared[arena_of(p)])
    if ((char *)p >= s.start && (char *)p < s.start + s.size) return &s;
  return nullptr;
}
} // namespace

void shared_mark(void *p, size_t n, uint8_t what) {
  if (Region *r = shared_of(p)) memset(&r->written[(char *)p - r->start], what, n);
}

bool shared_is(const void *p, uint8_t what) {
  const Region *r = shared_of((void *)p);
  return r && r->written[(char *)p - r->start] == what;
}

void memory_mark(void *p, size_t n, uint8_t what) {
  if (Region *r = find_global((char *)p)) memset(&r->written[(char *)p - r->start], what, n);
}

void shared_landed(void *p, size_t n, const Who &me, const Times &t) {
  Region *r = shared_of(p);
  for (size_t i = r ? (size_t)((char *)p - r->start) : 0; r && n-- > 0; i++) {
    r->written[i] = WRITTEN;
    Touch &x = r->touches[i];
    x.writer = me.thread, x.write_epoch = t.epoch, x.write_sync = me.sync, x.write_time = me.time;
  }
}

bool is_arena(const void *p) { return (char *)p >= arena[0] && (char *)p < arena[0] + sizeof arena; }
unsigned arena_of(const void *p) { return (unsigned)((size_t)((const char *)p - arena[0]) / arena_size); }
uintptr_t shared_offset(const void *p) { return (size_t)((const char *)p - arena[0]) % arena_size; }
char *shared_at_offset(unsigned block, uintptr_t offset) { return arena[0] + block * arena_size + offset; }

Fault check_access(void *address, size_t n, size_t align, Access kind, const Who &me, const Times &t) {
  char *p = (char *)address;
  const bool write = kind == WRITE;
  Region *r = nullptr;
  if (is_arena(p)) {
    std::vector<Region> &arrays = shared[arena_of(p)];
    for (Region &s : arrays)
      if (p + n > s.start && p < s.start + s.size) r = &s;
    if (!r) {
      Region *near = nullptr; // the array whose red zone this is
      for (Region &s : arrays)
        if (s.start <= p || !near) near = &s;
      if (!near) return {700, "access of shared memory that no array holds"};
      return {700, describe(*near, p, n, write, "out of bounds")};
    }
  } else {
    r = find_global(p);
  }
  char b[200];
  if (!r) {
    auto it = global.upper_bound(p);
    if (it != global.begin()) {
      --it;
      ptrdiff_t beyond = p - (it->second.start + it->second.size);
      if (beyond < (ptrdiff_t)(1 << 20)) return {700, describe(it->second, p, n, write, "out of bounds")};
    }
    snprintf(b, sizeof b, "%s of %zu bytes at %p, which is no device memory", write ? "write" : "read", n, address);
    return {700, b};
  }
  size_t at = (size_t)(p - r->start);
  if (p < r->start || n > r->size - at) return {700, describe(*r, p, n, write, "out of bounds")};
  if (((uintptr_t)p & (align - 1)) != 0) return {716, describe(*r, p, n, write, "misaligned")};
  for (size_t i = at; i < at + n; i++) {
    if (r->written[i] == IN_FLIGHT) return {719, describe(*r, p, n, write, "an asynchronous copy to it has not been waited for")};
    if (r->written[i] == BARRIER) return {719, describe(*r, p, n, write, "an mbarrier lies there")};
    if (write && r->written[i] == LENT) return {719, describe(*r, p, n, write, "an asynchronous copy from it has not been waited for")};
    if (!write && r->written[i] == UNWRITTEN) return {719, describe(*r, p, n, write, "uninitialised")};
    if (write) r->written[i] = WRITTEN;
    if (r->touches.empty() || kind == ATOMIC) continue;
    Touch &x = r->touches[i];
    if (conflict(x.writer, x.write_epoch, x.write_sync, x.write_time, me, t)) {
      snprintf(b, sizeof b, "a race: thread %u wrote it and nothing orders the two", x.writer - 1);
      if (x.writer >= first_barrier) snprintf(b, sizeof b, "a race: a copy wrote it and its mbarrier has not been waited for");
      return {719, describe(*r, p, n, write, b)};
    }
    if (kind == ASYNC_READ) {
      if (!order_fenced(x.writer, x.write_time)) return {719, describe(*r, p, n, write, "no fence.proxy.async between a thread's write and a read past it")};
      continue;
    }
    if (write && conflict(x.reader, x.read_epoch, x.read_sync, x.read_time, me, t)) return {719, describe(*r, p, n, write, "a race: another thread reads it and nothing orders the two")};
    if (write) {
      x.writer = me.thread, x.write_epoch = t.epoch, x.write_sync = me.sync, x.write_time = me.time;
    } else if (x.reader != NONE && x.read_epoch >= t.joined && (x.reader == ANY || rank_of(x.reader) != rank_of(me.thread))) {
      x.reader = ANY, x.read_epoch = t.epoch; // another block of the cluster reads it too
    } else if (x.read_epoch != t.epoch || x.reader == me.thread || !conflict(x.reader, x.read_epoch, x.read_sync, x.read_time, me, t)) { // who is behind this one is behind those before it
      x.reader = me.thread, x.read_epoch = t.epoch, x.read_sync = me.sync, x.read_time = me.time;
    } else if (x.reader < MANY && (x.reader - 1) / 32 == (me.thread - 1) / 32) {
      x.reader = me.thread, x.read_sync = x.read_sync > me.sync ? x.read_sync : me.sync, x.read_time = me.time;
    } else {
      x.reader = MANY + rank_of(me.thread);
    }
  }
  return {};
}

} // namespace ridge_model
