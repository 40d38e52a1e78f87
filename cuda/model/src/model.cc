// Runs a grid on the CPU: every thread a fiber, clusters (of one block where the launch asks for none) one after another, the blocks of a
// cluster together. A fiber runs until it waits for others or ends; RIDGE_MODEL_ORDER chooses who goes first: forward, reverse or
// random:SEED. Everything a thread does wrong ends the launch with a report.
#include "model.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#if !defined(__x86_64__)
#include <ucontext.h>
#endif

#include <algorithm>
#include <map>
#include <vector>

#include "inner.h"

namespace ridge_model {

bool in_library(const void *p); // kernels.cc

namespace {

#if defined(__x86_64__)
// A switch of fibers is the callee-saved registers and the stack pointer.
extern "C" void ridge_model_switch(void **from, void *to);
__asm__(
    ".text\n.type ridge_model_switch,@function\nridge_model_switch:\n"
    "push %rbp\npush %rbx\npush %r12\npush %r13\npush %r14\npush %r15\n"
    "mov %rsp,(%rdi)\nmov %rsi,%rsp\n"
    "pop %r15\npop %r14\npop %r13\npop %r12\npop %rbx\npop %rbp\nret\n"
    ".size ridge_model_switch,.-ridge_model_switch\n");
struct Context {
  void *sp;
};
void enter(Context &from, Context &to) { ridge_model_switch(&from.sp, to.sp); }
void start(Context &c, char *stack, size_t size, void (*f)()) {
  void **top = (void **)(stack + size - 64); // 16-byte aligned before the return address is popped
  *--top = nullptr;                          // f never returns
  *--top = (void *)f;
  top -= 6;
  memset(top, 0, 6 * sizeof *top);
  c.sp = top;
}
#else
struct Context {
  ucontext_t u;
};
void enter(Context &from, Context &to) { swapcontext(&from.u, &to.u); }
void start(Context &c, char *stack, size_t size, void (*f)()) {
  getcontext(&c.u);
  c.u.uc_stack.ss_sp = stack, c.u.uc_stack.ss_size = size, c.u.uc_link = nullptr;
  makecontext(&c.u, f, 0);
}
#endif

constexpr size_t stack_size = 64 << 10;

enum State { READY, AT_BARRIER, AT_WARP, AT_OBJECT, AT_CLUSTER, DONE };

struct Fiber {
  Context context;
  char *stack = nullptr;
  State state;
  uint3 id;
  uint32_t sync; // warp barriers passed
  // Where it waits.
  const char *what, *file;
  int line;
  unsigned mask;
  uint64_t value, *all;
  const void *object; // an mbarrier or a named barrier
};

std::vector<Fiber> fibers; // grows to the largest cluster
unsigned count;            // threads of a block
Fiber *self;
Context scheduler;
const Kernel *kernel;
void **parameters;
dim3 block_size, grid_size;
struct Block {
  uint3 index;
  Times times;
  unsigned left; // threads that have not ended
} blocks[max_cluster]; // of the running cluster
unsigned dynamic_size;
void *dynamic_shared;
uint32_t epochs, launched; // the epoch in which the launch began
Fault fault;

struct Site {
  const char *file, *name;
  int line;
  size_t bytes;
  bool operator<(const Site &o) const {
    int c = strcmp(file, o.file);
    if (!c) c = strcmp(name, o.name);
    return c ? c < 0 : line != o.line ? line < o.line : bytes < o.bytes;
  }
};
std::map<Site, void *> arrays; // of the running cluster, as they lie in its first block

void yield() { enter(self->context, scheduler); }

Block &own() { return blocks[own_block()]; }

// A fault that no thread of the block is to blame for alone.
void own_fault(int code, const std::string &what) {
  char b[128];
  const uint3 at = own().index;
  snprintf(b, sizeof b, "kernel %s, block (%u,%u,%u): ", kernel->name, at.x, at.y, at.z);
  fault = {code, b + what};
}

} // namespace

const char *base(const char *file) {
  const char *s = strrchr(file, '/');
  return s ? s + 1 : file;
}

unsigned block_numbers, blocks_together;

[[noreturn]] void fail(int code, const std::string &what) {
  char b[256];
  const uint3 at = own().index;
  snprintf(b, sizeof b, "kernel %s, block (%u,%u,%u), thread (%u,%u,%u): ", kernel->name, at.x, at.y, at.z, self->id.x, self->id.y, self->id.z);
  fault = {code, b + what};
  yield();
  abort();
}

unsigned running() { return (unsigned)(self - &fibers[0]); }
unsigned in_block() { return running() % block_numbers; }
unsigned own_block() { return block_of(running()); }
unsigned block_threads() { return count; }
const Times &now() { return own().times; }

bool warp_ended(unsigned warp) {
  bool all = true;
  for (unsigned i = 32 * warp; i < 32 * warp + 32 && i < blocks_together * block_numbers; i++) all = all && (fibers[i].state == DONE || &fibers[i] == self);
  return all;
}

void wait_at(const void *object, const char *what, const char *file, int line) {
  self->state = AT_OBJECT, self->object = object, self->what = what, self->file = file, self->line = line;
  yield();
}

void wake(const void *object) {
  for (unsigned i = 0; i < blocks_together * block_numbers; i++)
    if (fibers[i].state == AT_OBJECT && fibers[i].object == object) fibers[i].state = READY;
}

namespace {

void body() {
  kernel->call(parameters);
  copies_end();
  wgmma_end();
  stores_end();
  if (--own().left == 0) cluster_end();
  self->state = DONE;
  yield();
  abort();
}

// order of the threads: written anew for every round when it is random.
struct Order {
  enum { FORWARD, REVERSE, RANDOM } kind = FORWARD;
  uint64_t seed = 0;
  Order() {
    const char *s = getenv("RIDGE_MODEL_ORDER");
    if (s && !strcmp(s, "reverse")) kind = REVERSE;
    if (s && !strncmp(s, "random:", 7)) kind = RANDOM, seed = strtoull(s + 7, nullptr, 10) * 2 + 1;
  }
  // One of n that came one after the other.
  size_t pick(size_t n) {
    if (kind == RANDOM) seed = seed * 6364136223846793005u + 1442695040888963407u;
    return kind == FORWARD ? 0 : kind == REVERSE ? n - 1 : (seed >> 33) % n;
  }
  void fill(std::vector<unsigned> &v, unsigned n) {
    v.resize(n);
    for (unsigned i = 0; i < n; i++) v[i] = kind == REVERSE ? n - 1 - i : i;
    if (kind != RANDOM) return;
    for (unsigned i = n; i > 1; i--) {
      seed = seed * 6364136223846793005u + 1442695040888963407u;
      std::swap(v[i - 1], v[(seed >> 33) % i]);
    }
  }
};

// The threads of a block in a state, and where the first one is; of those at objects, for each object.
std::string threads_at(State s, const Fiber *threads) {
  std::string all;
  for (unsigned i = 0; i < count; i++) {
    const Fiber &f = threads[i];
    if (f.state != s) continue;
    unsigned n = 0, before = 0;
    for (unsigned k = 0; k < count; k++) {
      const bool same = threads[k].state == s && (s != AT_OBJECT || threads[k].object == f.object);
      n += same, before += same && k < i;
    }
    if (before) continue;
    char b[200];
    if (s == DONE)
      snprintf(b, sizeof b, "%u threads (first %u) have ended", n, i);
    else
      snprintf(b, sizeof b, "%u threads (first %u) wait in %s at %s:%d", n, i, f.what, base(f.file), f.line);
    all += (all.empty() ? "" : "; ") + (s == AT_OBJECT ? b + barrier_state(f.object) : b);
  }
  return all;
}

// The barrier of a block opens when all its threads wait at the same one.
bool open_block(unsigned rank) {
  Fiber *const threads = &fibers[rank * block_numbers];
  std::vector<unsigned> all;
  for (unsigned i = 0; i < count; i++) {
    if (threads[i].state != AT_BARRIER || threads[i].line != threads[0].line || strcmp(threads[i].file, threads[0].file)) return false;
    all.push_back(rank * block_numbers + i);
  }
  blocks[rank].times.epoch = ++epochs;
  for (unsigned i : all) fibers[i].state = READY;
  order_together(all);
  return true;
}

// That of the cluster opens when all threads wait at one that have not ended.
bool open_cluster() {
  std::vector<unsigned> all;
  for (unsigned i = 0; i < blocks_together * block_numbers; i++) {
    if (fibers[i].state != AT_CLUSTER && fibers[i].state != DONE) return false;
    if (fibers[i].state == AT_CLUSTER) all.push_back(i);
  }
  ++epochs;
  for (unsigned rank = 0; rank < blocks_together; rank++) blocks[rank].times.epoch = blocks[rank].times.joined = epochs;
  for (unsigned i : all) {
    const unsigned lanes = std::min(32u, count - i % block_numbers / 32 * 32);
    for (unsigned k = i / 32 * 32; k < i / 32 * 32 + lanes; k++) {
      self = &fibers[i];
      if (fibers[k].state != AT_CLUSTER) return own_fault(719, "barrier.cluster.arrive.aligned: not by a whole warp at once"), true;
    }
  }
  for (unsigned i : all) fibers[i].state = READY;
  order_together(all);
  return true;
}

// stuck: no thread can run. Barriers that are complete open; where there is none it is a defect.
void stuck() {
  bool opened = false;
  for (unsigned rank = 0; rank < blocks_together; rank++) opened |= open_block(rank);
  if (opened || open_cluster()) return;
  std::string all;
  bool diverged = false;
  for (unsigned rank = 0; rank < blocks_together; rank++) {
    const Fiber *const threads = &fibers[rank * block_numbers];
    std::string who;
    unsigned waiting = 0;
    for (unsigned i = 0; i < count; i++) waiting += threads[i].state == AT_BARRIER;
    diverged |= waiting > 0;
    for (State s : {AT_BARRIER, AT_WARP, AT_OBJECT, AT_CLUSTER, DONE}) {
      std::string w = threads_at(s, threads);
      if (!w.empty()) who += (who.empty() ? "" : "; ") + w;
    }
    if (waiting == count) who += "; others at another one";
    all += (rank ? "; block " + std::to_string(rank) + " of the cluster: " : "") + who;
  }
  self = &fibers[0];
  own_fault(diverged ? 719 : 702, (diverged ? "divergent barrier: " : "deadlock: ") + all);
}

// Cluster b of the grid, of which there are so many along each side.
void run_cluster(Order &order, unsigned b, const unsigned (&cluster)[3], const unsigned (&clusters)[3]) {
  const unsigned numbers = blocks_together * block_numbers;
  shared_reset(blocks_together);
  copies_reset(numbers);
  order_reset(numbers, blocks_together);
  barriers_reset();
  bulk_reset();
  stores_reset(numbers);
  wgmma_reset(numbers);
  cluster_reset();
  arrays.clear();
  dynamic_shared = dynamic_size ? shared_take(dynamic_size, "dynamic") : nullptr;
  ++epochs;
  for (unsigned rank = 0; rank < blocks_together; rank++) {
    const unsigned x = rank % cluster[0], y = rank / cluster[0] % cluster[1], z = rank / cluster[0] / cluster[1];
    blocks[rank] = {{b % clusters[0] * cluster[0] + x, b / clusters[0] % clusters[1] * cluster[1] + y, b / clusters[0] / clusters[1] * cluster[2] + z},
                    {launched, epochs, epochs, epochs}, count};
  }
  for (unsigned i = 0; i < numbers; i++) {
    Fiber &f = fibers[i];
    const unsigned t = i % block_numbers;
    f.state = t < count ? READY : DONE, f.sync = 0; // the numbers beyond a block's threads are nobody's
    f.id = {t % block_size.x, t / block_size.x % block_size.y, t / block_size.x / block_size.y};
    start(f.context, f.stack, stack_size, body);
  }
  static std::vector<unsigned> turn;
  for (;;) {
    bool ran = false, left = false;
    order.fill(turn, numbers);
    for (unsigned i : turn) {
      Fiber &f = fibers[i];
      left |= f.state != DONE;
      if (f.state != READY) continue;
      self = &f;
      enter(scheduler, f.context);
      if (fault.code) return;
      ran = true;
    }
    if (!left) break;
    if (!ran && bulk_flying())
      bulk_land(order.pick(bulk_flying()));
    else if (!ran)
      stuck();
    if (fault.code) return;
  }
  self = &fibers[0];
}

} // namespace

void access(void *p, size_t n, Access kind, size_t align) {
  if (self && is_arena(p) && arena_of(p) != own_block() && arena_of(p) < blocks_together) fail(719, "access of shared memory of block " + std::to_string(arena_of(p)) + " of the cluster, by an instruction that takes the block's own");
  access_cluster(p, n, kind, align);
}

void access_cluster(void *p, size_t n, Access kind, size_t align) {
  if (!self) return;
  char *a = (char *)p;
  if (a >= self->stack && a < self->stack + stack_size) return;
  if (kind == READ && in_library(p) && !is_arena(p)) return; // a constant of the kernels
  const Who me = order_who(running(), self->sync);
  Fault f = check_access(p, n, align, kind, me, now());
  if (f.code) fail(f.code, f.report);
  if (kind != WRITE || !is_arena(p)) return;
  if (const char *why = read_by_wgmma(a, n, me)) fail(719, "write of " + std::to_string(n) + " bytes of shared memory: " + why);
}

void landed(void *p, size_t n) { shared_landed(p, n, order_who(running(), self->sync), now()); }
void landed_by(void *p, size_t n, const Landing &by) { shared_landed(p, n, {by.id, 0, by.phase, nullptr}, now()); }

namespace {

// arrive makes this fiber wait for the lanes of mask at what; true: it is the last one, and all are there.
bool arrive(unsigned mask, const char *what, const char *file, int line) {
  const unsigned me = running(), first = me & ~31u;
  if (!(mask >> (me & 31) & 1)) fail(719, std::string(what) + ": the mask lacks the lane that calls it");
  for (unsigned i = 0; i < 32; i++)
    if (mask >> i & 1 && first % block_numbers + i >= count) fail(719, std::string(what) + ": the mask names a lane that the block does not have");
  self->state = AT_WARP, self->what = what, self->file = file, self->line = line, self->mask = mask;
  bool complete = true;
  for (unsigned i = 0; i < 32; i++) {
    if (!(mask >> i & 1)) continue;
    Fiber &f = fibers[first + i];
    if (f.state != AT_WARP) {
      complete = false;
    } else if (f.mask != mask || strcmp(f.what, what)) {
      char b[200];
      snprintf(b, sizeof b, "%s(mask %08x) at %s:%d meets lane %u in %s(mask %08x) at %s:%d", what, mask, base(file), line, i,
               f.what, f.mask, base(f.file), f.line);
      fail(719, b);
    }
  }
  return complete;
}

} // namespace

void warp_together(void *mine, void (*f)(void *const lanes[32]), const char *what, const char *file, int line) {
  const unsigned first = running() & ~31u;
  self->value = (uint64_t)(uintptr_t)mine;
  if (!arrive(0xffffffffu, what, file, line)) return yield();
  void *lanes[32];
  for (unsigned i = 0; i < 32; i++) lanes[i] = (void *)(uintptr_t)fibers[first + i].value;
  f(lanes);
  for (unsigned i = 0; i < 32; i++) fibers[first + i].state = READY;
}

Fault launch(const Kernel &k, const unsigned grid[3], const unsigned block[3], const unsigned together[3], unsigned dynamic, void **params) {
  fault = {};
  count = block[0] * block[1] * block[2];
  if (count == 0 || count > k.max_threads) {
    char b[200];
    snprintf(b, sizeof b, "kernel %s: a block of %u threads, its launch bound is %u", k.name, count, k.max_threads);
    return {701, b}; // CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES
  }
  unsigned cluster[3], clusters[3];
  for (int d = 0; d < 3; d++) cluster[d] = together[d] ? together[d] : 1, clusters[d] = grid[d] / cluster[d];
  blocks_together = cluster[0] * cluster[1] * cluster[2];
  if (blocks_together > max_cluster) return {912, "a cluster of more than 8 blocks"}; // CUDA_ERROR_INVALID_CLUSTER_SIZE
  block_numbers = blocks_together == 1 ? count : (count + 127) / 128 * 128;             // warps and warpgroups begin at multiples in every block
  while (fibers.size() < blocks_together * block_numbers) {
    Fiber f{};
    f.stack = (char *)mmap(nullptr, stack_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    fibers.push_back(f);
  }
  kernel = &k, parameters = params, dynamic_size = dynamic;
  block_size = {block[0], block[1], block[2]}, grid_size = {grid[0], grid[1], grid[2]};
  launched = ++epochs;
  Order order;
  std::vector<unsigned> turn;
  order.fill(turn, clusters[0] * clusters[1] * clusters[2]);
  for (unsigned b : turn) {
    run_cluster(order, b, cluster, clusters);
    if (fault.code) break;
  }
  self = nullptr;
  stores_land();
  return fault;
}

} // namespace ridge_model

using namespace ridge_model;

extern "C" {

uint3 ridge_model_thread(void) { return self->id; }
uint3 ridge_model_block(void) { return own().index; }
uint3 ridge_model_block_size(void) { return {block_size.x, block_size.y, block_size.z}; }
uint3 ridge_model_grid_size(void) { return {grid_size.x, grid_size.y, grid_size.z}; }

void ridge_model_sync_block(const char *file, int line) {
  self->state = AT_BARRIER, self->what = "__syncthreads", self->file = file, self->line = line;
  yield();
}

void ridge_model_cluster_barrier(const char *file, int line) {
  order_start();
  self->state = AT_CLUSTER, self->what = "barrier.cluster", self->file = file, self->line = line;
  yield();
}

void ridge_model_sync_warp(unsigned mask, uint64_t value, uint64_t *all, const char *what, const char *file, int line) {
  const unsigned first = running() & ~31u;
  self->value = value, self->all = all;
  if (!arrive(mask, what, file, line)) return yield();
  std::vector<unsigned> lanes;
  for (unsigned i = 0; i < 32; i++) {
    if (!(mask >> i & 1)) continue;
    Fiber &f = fibers[first + i];
    for (unsigned k = 0; k < 32; k++) f.all[k] = mask >> k & 1 ? fibers[first + k].value : 0;
    f.sync++;
    f.state = READY;
    lanes.push_back(first + i);
  }
  order_together(lanes);
}

void *ridge_model_shared(size_t bytes, size_t, const char *name, const char *file, int line) {
  void *&p = arrays[{file, name, line, bytes}];
  if (!p && !(p = shared_take(bytes, name))) fail(719, std::string("shared memory is full at array ") + name);
  return shared_at_offset(own_block(), shared_offset(p));
}

void *ridge_model_dynamic_shared(void) {
  if (!dynamic_shared) fail(719, "dynamic shared memory is used, and the launch gives none");
  return shared_at_offset(own_block(), shared_offset(dynamic_shared));
}

void ridge_model_proxy_fence(void) { order_fence(running()), ridge_model_mbarrier_fence(); }
}
