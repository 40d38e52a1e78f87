// mbarrier: a phase completes when all arrivals have come and as many bytes as were expected; a thread that waits for a phase's parity
// goes on when the phase that runs has the other one. Named barriers (bar.sync and bar.arrive id, count) are here too.
#include <stdio.h>

#include <map>

#include "inner.h"
#include "model.h"

namespace ridge_model {
namespace {

struct Barrier {
  unsigned id;             // among what order.cc keeps
  uint32_t count, missing; // arrivals of a phase, and those that have not come
  int64_t bytes;           // expected and not come
  uint32_t phase;          // that runs, from 0
  unsigned by;             // who initialised it, and when
  uint32_t time, epoch;
  bool fenced;          // known to the asynchronous proxy
  Seen arriving, known; // what those who arrive have seen; what a completed phase tells
};

std::map<uintptr_t, Barrier> barriers;

struct Named {
  unsigned count = 0, generation = 0;
  std::vector<unsigned> come, waiting; // those who have arrived, and those of them who wait
  Seen known;                          // what they have seen
};
Named all_named[max_cluster][16];
Named *own_named() { return all_named[own_block()]; }

// The running thread arrives at a named barrier; true: it is the last one.
bool come_to(Named &n, unsigned count, bool waits, const std::string &what) {
  if (count == 0 || count % 32) fail(719, what + ": expected whole warps");
  order_start();
  if (!n.come.empty() && n.count != count) fail(719, what + ": threads have arrived at it with another count");
  for (unsigned t : n.come)
    if (t == running()) fail(719, what + ": the thread arrives a second time before the others have come");
  n.count = count;
  n.come.push_back(running());
  if (waits) n.waiting.push_back(running());
  order_release(running(), n.known);
  if (n.come.size() < count) return false;
  for (unsigned t : n.waiting) order_acquire(t, n.known);
  n.come.clear(), n.waiting.clear(), n.known.clear();
  n.generation++;
  wake(&n);
  return true;
}

void settle(uintptr_t at, Barrier &b) {
  if (b.missing || b.bytes) return;
  b.phase++;
  b.missing = b.count;
  if (b.known.empty()) b.known.resize(order_ids);
  for (size_t i = 0; i < b.arriving.size(); i++) b.known[i] = b.known[i] > b.arriving[i] ? b.known[i] : b.arriving[i];
  b.known[b.id] = b.phase;
  b.arriving.clear();
  wake((const void *)at);
}

Barrier &find_barrier(uintptr_t at, const char *what) {
  auto it = barriers.find(at);
  if (it == barriers.end()) fail(719, std::string(what) + ": there is no initialised mbarrier at this address");
  Barrier &b = it->second;
  const Who me = order_who(running(), 0);
  const bool barrier_between = b.epoch < now().joined || (b.epoch < now().epoch && block_of(b.by) == own_block());
  if (b.by + 1 != me.thread && !barrier_between && me.seen[b.by + 1] < b.time)
    fail(719, std::string(what) + ": nothing orders the initialisation of the mbarrier before it");
  return b;
}

// The same, of this block.
Barrier &own_barrier(uintptr_t at, const char *what) {
  if (is_arena((void *)at) && arena_of((void *)at) != own_block()) fail(719, std::string(what) + ".shared::cta: the mbarrier lies in another block of the cluster");
  return find_barrier(at, what);
}

void arrive(uintptr_t at, Barrier &b) {
  if (b.missing == 0) fail(719, "mbarrier: more arrivals than it counts in a phase");
  b.missing--;
  order_release(running(), b.arriving);
  settle(at, b);
}

} // namespace

void barriers_reset() {
  barriers.clear();
  for (auto &block : all_named)
    for (Named &n : block) n = {};
}

std::string barrier_state(const void *at) {
  auto it = barriers.find((uintptr_t)at);
  if (it == barriers.end()) return "";
  char b[120];
  snprintf(b, sizeof b, " (phase %u lacks %u arrivals and %lld bytes)", it->second.phase, it->second.missing, (long long)it->second.bytes);
  return b;
}

void barrier_for_copy(uintptr_t at) {
  if (!find_barrier(at, "cp.async.bulk").fenced) fail(719, "cp.async.bulk: no fence makes the mbarrier's initialisation known to it");
}

Landing barrier_of_copy(uintptr_t at) {
  const Barrier &b = barriers.at(at);
  return {b.id, b.phase + 1};
}

void barrier_bytes(uintptr_t at, size_t n) {
  Barrier &b = barriers.at(at);
  b.bytes -= (int64_t)n;
  settle(at, b);
}

} // namespace ridge_model

using namespace ridge_model;

extern "C" {

void ridge_model_mbarrier_init(uintptr_t at, unsigned count) {
  if (!is_arena((void *)at)) fail(716, "mbarrier.init: an mbarrier lies in shared memory");
  if (count == 0) fail(719, "mbarrier.init: expected at least one arrival");
  order_start();
  access((void *)at, 8, WRITE, 8);
  if (arena_of((void *)at) != own_block()) fail(719, "mbarrier.init.shared::cta: this is shared memory of another block of the cluster");
  const unsigned id = first_barrier + (unsigned)barriers.size();
  if (id >= order_ids) fail(719, "mbarrier.init: the model keeps at most 64 of them");
  if (barriers.count(at)) fail(719, "mbarrier.init: there is one at this address");
  barriers[at] = {id, count, count, 0, 0, running(), order_who(running(), 0).time, now().epoch, false, {}, {}};
  shared_mark((void *)at, 8, BARRIER);
}

void ridge_model_mbarrier_fence(void) {
  for (auto &b : barriers)
    if (b.second.by == running()) b.second.fenced = true;
}

void ridge_model_mbarrier_arrive(uintptr_t at) { arrive(at, own_barrier(at, "mbarrier.arrive")); }

void ridge_model_mbarrier_arrive_cluster(uintptr_t at) {
  const unsigned block = is_arena((void *)at) ? arena_of((void *)at) : own_block();
  cluster_alive(block, "mbarrier.arrive");
  Barrier &b = find_barrier(at, "mbarrier.arrive");
  if (block != own_block()) cluster_used(block, running() + 1, order_who(running(), 0).time);
  arrive(at, b);
}

void ridge_model_mbarrier_expect(uintptr_t at, unsigned bytes) {
  Barrier &b = own_barrier(at, "mbarrier.arrive.expect_tx");
  b.bytes += bytes;
  arrive(at, b);
}

void ridge_model_mbarrier_wait(uintptr_t at, unsigned parity, const char *file, int line) {
  Barrier &b = own_barrier(at, "mbarrier.try_wait");
  while ((b.phase & 1) == (parity & 1)) wait_at((const void *)at, "mbarrier.try_wait", file, line);
  order_acquire(running(), b.known);
}

void ridge_model_named_barrier(unsigned id, unsigned count, const char *file, int line) {
  if (id >= 16) fail(719, "bar.sync: expected barrier 0 to 15");
  Named &n = own_named()[id];
  const unsigned g = n.generation;
  if (come_to(n, count, true, "bar.sync")) return;
  while (n.generation == g) wait_at(&n, "bar.sync", file, line);
}

void ridge_model_named_barrier_arrive(unsigned id, unsigned count) {
  if (id >= 16) fail(719, "bar.arrive: expected barrier 0 to 15");
  come_to(own_named()[id], count, false, "bar.arrive");
}
}
