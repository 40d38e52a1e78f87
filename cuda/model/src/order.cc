// What orders accesses beside barriers of the block and of the warp: vector clocks. Each thread has a time of its own, which every
// release counts up, and knows up to which time of every other thread and up to which phase of every mbarrier things have happened before
// it. They are kept from a cluster's first mbarrier or named barrier on; other kernels pay nothing.
#include <algorithm>

#include "inner.h"

namespace ridge_model {
namespace {

std::vector<Seen> seen; // by thread, from 0; empty: not kept
std::vector<uint32_t> fenced;
unsigned threads;

void join(Seen &into, const Seen &from) {
  if (into.empty()) into.resize(order_ids);
  for (size_t i = 0; i < from.size(); i++) into[i] = std::max(into[i], from[i]);
}

} // namespace

unsigned first_barrier, order_ids;

void order_reset(unsigned n, unsigned blocks) {
  seen.clear();
  threads = n, first_barrier = n + 1, order_ids = first_barrier + 64 * blocks;
}

void order_start() {
  if (!seen.empty()) return;
  seen.assign(threads, Seen(order_ids));
  for (unsigned i = 0; i < threads; i++) seen[i][i + 1] = 1;
  fenced.assign(first_barrier, 0);
}

Who order_who(unsigned thread, uint32_t sync) {
  if (seen.empty()) return {thread + 1, sync, 0, nullptr};
  return {thread + 1, sync, seen[thread][thread + 1], seen[thread].data()};
}

void order_release(unsigned thread, Seen &into) {
  join(into, seen[thread]);
  seen[thread][thread + 1]++;
}

void order_acquire(unsigned thread, const Seen &from) { join(seen[thread], from); }

void order_together(const std::vector<unsigned> &who) {
  if (seen.empty()) return;
  Seen all;
  for (unsigned t : who) order_release(t, all);
  for (unsigned t : who) order_acquire(t, all);
}

void order_count(unsigned thread) {
  if (!seen.empty()) seen[thread][thread + 1]++;
}

void order_fence(unsigned thread) {
  order_start();
  fenced[thread + 1] = ++seen[thread][thread + 1];
}

bool order_fenced(uint32_t id, uint32_t time) { return id >= first_barrier || time < fenced[id]; }

bool order_known(unsigned block, uint32_t id, uint32_t time) {
  for (unsigned i = 0; i < seen.size(); i++)
    if (block_of(i) == block && seen[i][id] >= time) return true;
  return false;
}

} // namespace ridge_model
