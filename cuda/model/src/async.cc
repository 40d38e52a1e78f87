// cp.async: a copy is on its way from its issue until the thread that issued it waits for its group. Until then its bytes may be
// neither read nor written; then they are that thread's writes, which others see behind a barrier.
#include <string.h>

#include <deque>
#include <vector>

#include "inner.h"
#include "model.h"

namespace ridge_model {
namespace {

struct Copy {
  char *to;
  unsigned bytes;
  char data[16];
};
typedef std::vector<Copy> Group;

struct Queue {
  Group open; // not committed yet
  std::deque<Group> committed;
};
std::vector<Queue> queues; // of the running block's threads

void land(const Group &g) {
  for (const Copy &c : g) {
    memcpy(c.to, c.data, c.bytes);
    landed(c.to, c.bytes);
  }
}

} // namespace

void copies_reset(unsigned threads) { queues.assign(threads, {}); }

void copies_end() {
  const Queue &q = queues[running()];
  bool left = !q.open.empty();
  for (const Group &g : q.committed) left |= !g.empty();
  if (left) fail(719, "the thread ends before its asynchronous copies are waited for");
}

} // namespace ridge_model

using namespace ridge_model;

extern "C" {

void ridge_model_copy_async(uintptr_t to, const void *from, unsigned bytes, unsigned given) {
  if (bytes != 4 && bytes != 8 && bytes != 16) fail(719, "cp.async copies 4, 8 or 16 bytes");
  if (given > bytes) fail(719, "cp.async: the source is longer than the copy");
  if (!is_arena((void *)to)) fail(716, "cp.async copies to shared memory");
  ridge_model_aligned(from, bytes);
  if (given) access((void *)from, given, READ, 1);
  access((void *)to, bytes, WRITE, bytes);
  Copy c{(char *)to, bytes, {}};
  memcpy(c.data, from, given);
  shared_mark(c.to, bytes, IN_FLIGHT);
  queues[running()].open.push_back(c);
}

void ridge_model_copy_commit(void) {
  Queue &q = queues[running()];
  q.committed.push_back(q.open);
  q.open.clear();
}

void ridge_model_copy_wait(unsigned pending) {
  Queue &q = queues[running()];
  for (; q.committed.size() > pending; q.committed.pop_front()) land(q.committed.front());
}
}
