// Clusters: what the blocks of one do to each other's shared memory. An arrival or a copy from another block must find the block there: its end
// must be known to lie behind, by a barrier of the cluster or by the mbarrier that the copy completes. That is judged by what the block's threads know at its end,
// so that it is found in every order of the fibers.
#include <stdio.h>

#include <map>

#include "inner.h"
#include "model.h"

namespace ridge_model {
namespace {

struct Block {
  bool ended = false;
  std::map<uint32_t, uint32_t> used; // by whom of other blocks, or by a copy that such a mbarrier counts: when last
};
Block blocks[max_cluster];

} // namespace

void cluster_reset() {
  for (Block &b : blocks) b = {};
}

void cluster_alive(unsigned block, const char *what) {
  if (block >= cluster_blocks()) fail(719, std::string(what) + ": the cluster has no block " + std::to_string(block));
  if (blocks[block].ended) fail(719, std::string(what) + ": block " + std::to_string(block) + " of the cluster has ended");
}

void cluster_used(unsigned block, uint32_t id, uint32_t time) {
  uint32_t &last = blocks[block].used[id];
  last = last > time ? last : time;
}

void cluster_end() {
  Block &b = blocks[own_block()];
  b.ended = true;
  if (bulk_flying_to(own_block())) fail(719, "the block ends before its bulk copies have landed");
  for (const auto &u : b.used) {
    if (order_known(own_block(), u.first, u.second)) continue;
    if (u.first >= first_barrier) fail(719, "the block ends, and nothing says that a copy from another block of the cluster has come");
    fail(719, "the block ends, and nothing says that block " + std::to_string(block_of(u.first - 1)) + " of the cluster is done with its shared memory: a barrier of the cluster is missing");
  }
}

} // namespace ridge_model

using namespace ridge_model;

extern "C" {

unsigned ridge_model_cluster_rank(void) { return own_block(); }

uintptr_t ridge_model_cluster_map(uintptr_t at, unsigned rank) {
  if (!is_arena((void *)at)) fail(716, "mapa: this is no address of shared memory");
  if (rank >= cluster_blocks()) fail(719, "mapa: the cluster has no block " + std::to_string(rank));
  return (uintptr_t)shared_at_offset(rank, shared_offset((void *)at));
}

void ridge_model_store_cluster(uintptr_t to, unsigned word) {
  if (!is_arena((void *)to)) fail(716, "st.shared::cluster: this is no address of shared memory");
  const unsigned block = arena_of((void *)to);
  cluster_alive(block, "st.shared::cluster");
  access_cluster((void *)to, sizeof word, WRITE, sizeof word);
  if (block != own_block()) cluster_used(block, running() + 1, order_who(running(), 0).time);
  *(unsigned *)to = word;
}
}
