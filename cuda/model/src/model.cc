// Runs a grid on the CPU: every thread a fiber, blocks one after another. A fiber runs until it
// waits for others or ends; RIDGE_MODEL_ORDER chooses who goes first: forward, reverse or
// random:SEED. Everything a thread does wrong ends the launch with a report.
#include "model.h"

#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#if !defined(__x86_64__)
#include <ucontext.h>
#endif

#include <algorithm>
#include <map>
#include <vector>

#include "inner.h"

namespace ridge_model {
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

enum State { READY, AT_BARRIER, AT_WARP, AT_OBJECT, DONE };

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

std::vector<Fiber> fibers; // grows to the largest block
unsigned count;            // threads of the running block
Fiber *self;
Context scheduler;
const Kernel *kernel;
void **parameters;
uint3 block_index;
dim3 block_size, grid_size;
unsigned dynamic_size;
void *dynamic_shared;
Times times;
uint32_t epochs;
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
std::map<Site, void *> arrays; // of the running block

const char *base(const char *file) {
  const char *s = strrchr(file, '/');
  return s ? s + 1 : file;
}

void yield() { enter(self->context, scheduler); }

} // namespace

[[noreturn]] void fail(int code, const std::string &what) {
  char b[256];
  snprintf(b, sizeof b, "kernel %s, block (%u,%u,%u), thread (%u,%u,%u): ", kernel->name, block_index.x, block_index.y,
           block_index.z, self->id.x, self->id.y, self->id.z);
  fault = {code, b + what};
  yield();
  abort();
}

unsigned running() { return (unsigned)(self - &fibers[0]); }
unsigned block_threads() { return count; }
uint32_t epoch() { return times.epoch; }

bool warp_ended(unsigned warp) {
  bool all = true;
  for (unsigned i = 32 * warp; i < 32 * warp + 32 && i < count; i++) all = all && (fibers[i].state == DONE || &fibers[i] == self);
  return all;
}

void wait_at(const void *object, const char *what, const char *file, int line) {
  self->state = AT_OBJECT, self->object = object, self->what = what, self->file = file, self->line = line;
  yield();
}

void wake(const void *object) {
  for (unsigned i = 0; i < count; i++)
    if (fibers[i].state == AT_OBJECT && fibers[i].object == object) fibers[i].state = READY;
}

namespace {

void body() {
  kernel->call(parameters);
  copies_end();
  wgmma_end();
  self->state = DONE;
  yield();
  abort();
}

uint64_t nanoseconds() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
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

// The threads in a state, and where the first one is; of those at objects, for each object.
std::string threads_at(State s) {
  std::string all;
  for (unsigned i = 0; i < count; i++) {
    Fiber &f = fibers[i];
    if (f.state != s) continue;
    unsigned n = 0, before = 0;
    for (unsigned k = 0; k < count; k++) {
      const bool same = fibers[k].state == s && (s != AT_OBJECT || fibers[k].object == f.object);
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

// stuck: no thread can run. The barrier opens when all threads of the block wait at the same one;
// everything else is a defect.
void open_barrier() {
  Fiber &first = fibers[0];
  unsigned waiting = 0;
  bool same = true;
  for (unsigned i = 0; i < count; i++) {
    waiting += fibers[i].state == AT_BARRIER;
    if (fibers[i].state == AT_BARRIER && first.state == AT_BARRIER && (fibers[i].line != first.line || strcmp(fibers[i].file, first.file))) same = false;
  }
  if (waiting == count && same) {
    times.epoch = ++epochs;
    std::vector<unsigned> all;
    for (unsigned i = 0; i < count; i++) fibers[i].state = READY, all.push_back(i);
    order_together(all);
    return;
  }
  std::string who;
  for (State s : {AT_BARRIER, AT_WARP, AT_OBJECT, DONE}) {
    std::string w = threads_at(s);
    if (!w.empty()) who += (who.empty() ? "" : "; ") + w;
  }
  if (waiting == count) who += "; others at another one";
  self = &fibers[0];
  char b[128];
  snprintf(b, sizeof b, "kernel %s, block (%u,%u,%u): ", kernel->name, block_index.x, block_index.y, block_index.z);
  const char *kind = waiting ? "divergent barrier: " : "deadlock: ";
  fault = {waiting ? 719 : 702, b + std::string(kind) + who};
}

void run_block(Order &order) {
  shared_reset();
  copies_reset(count);
  order_reset(count);
  barriers_reset();
  bulk_reset();
  wgmma_reset(count);
  arrays.clear();
  dynamic_shared = dynamic_size ? shared_take(dynamic_size, "dynamic") : nullptr;
  times.block = times.epoch = ++epochs;
  for (unsigned i = 0; i < count; i++) {
    Fiber &f = fibers[i];
    f.state = READY, f.sync = 0;
    f.id = {i % block_size.x, i / block_size.x % block_size.y, i / block_size.x / block_size.y};
    start(f.context, f.stack, stack_size, body);
  }
  static std::vector<unsigned> turn;
  for (;;) {
    bool ran = false, left = false;
    order.fill(turn, count);
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
      open_barrier();
    if (fault.code) return;
  }
  self = &fibers[0];
  if (bulk_flying()) fault = {719, std::string("kernel ") + kernel->name + ": the block ends before its bulk copies have landed"};
}

std::map<std::string, Kernel> &kernels() {
  static std::map<std::string, Kernel> m;
  return m;
}

// Image is where this library lies in memory.
struct Image {
  char *begin = nullptr, *end = nullptr;
  Image() {
    dl_iterate_phdr(
        [](dl_phdr_info *info, size_t, void *self) {
          char *lo = (char *)UINTPTR_MAX, *hi = nullptr, *here = (char *)&fault;
          for (int i = 0; i < info->dlpi_phnum; i++) {
            const ElfW(Phdr) &h = info->dlpi_phdr[i];
            if (h.p_type != PT_LOAD) continue;
            char *at = (char *)info->dlpi_addr + h.p_vaddr;
            lo = std::min(lo, at), hi = std::max(hi, at + h.p_memsz);
          }
          if (here < lo || here >= hi) return 0;
          ((Image *)self)->begin = lo, ((Image *)self)->end = hi;
          return 1;
        },
        this);
  }
};

} // namespace

void access(void *p, size_t n, Access kind, size_t align) {
  if (!self) return;
  char *a = (char *)p;
  if (a >= self->stack && a < self->stack + stack_size) return;
  static const Image image;
  if (kind == READ && a >= image.begin && a < image.end && !is_arena(p)) return; // a constant of the kernels
  const Who me = order_who(running(), self->sync);
  Fault f = check_access(p, n, align, kind, me, times);
  if (f.code) fail(f.code, f.report);
  if (kind != WRITE || !is_arena(p)) return;
  if (const char *why = read_by_wgmma(a, n, me)) fail(719, "write of " + std::to_string(n) + " bytes of shared memory: " + why);
}

void landed(void *p, size_t n) { shared_landed(p, n, order_who(running(), self->sync), times); }
void landed_by(void *p, size_t n, const Landing &by) { shared_landed(p, n, {by.id, 0, by.phase, nullptr}, times); }

namespace {

// arrive makes this fiber wait for the lanes of mask at what; true: it is the last one, and all are there.
bool arrive(unsigned mask, const char *what, const char *file, int line) {
  const unsigned me = running(), first = me & ~31u;
  if (!(mask >> (me & 31) & 1)) fail(719, std::string(what) + ": the mask lacks the lane that calls it");
  for (unsigned i = 0; i < 32; i++)
    if (mask >> i & 1 && first + i >= count) fail(719, std::string(what) + ": the mask names a lane that the block does not have");
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

Entry::Entry(const char *name, unsigned max_threads, const std::vector<unsigned> &params, void (*call)(void **)) {
  kernels()[name] = {name, max_threads, params, call};
}

const Kernel *find(const char *name) {
  auto it = kernels().find(name);
  return it == kernels().end() ? nullptr : &it->second;
}

Fault launch(const Kernel &k, const unsigned grid[3], const unsigned block[3], unsigned dynamic, void **params) {
  fault = {};
  count = block[0] * block[1] * block[2];
  if (count == 0 || count > k.max_threads) {
    char b[200];
    snprintf(b, sizeof b, "kernel %s: a block of %u threads, its launch bound is %u", k.name, count, k.max_threads);
    return {701, b}; // CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES
  }
  while (fibers.size() < count) {
    Fiber f{};
    f.stack = (char *)mmap(nullptr, stack_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    fibers.push_back(f);
  }
  kernel = &k, parameters = params, dynamic_size = dynamic;
  block_size = {block[0], block[1], block[2]}, grid_size = {grid[0], grid[1], grid[2]};
  times.launch = ++epochs;
  Order order;
  std::vector<unsigned> blocks;
  order.fill(blocks, grid[0] * grid[1] * grid[2]);
  for (unsigned b : blocks) {
    block_index = {b % grid[0], b / grid[0] % grid[1], b / grid[0] / grid[1]};
    run_block(order);
    if (fault.code) break;
  }
  self = nullptr;
  return fault;
}

} // namespace ridge_model

using namespace ridge_model;

extern "C" {

uint3 ridge_model_thread(void) { return self->id; }
uint3 ridge_model_block(void) { return block_index; }
uint3 ridge_model_block_size(void) { return {block_size.x, block_size.y, block_size.z}; }
uint3 ridge_model_grid_size(void) { return {grid_size.x, grid_size.y, grid_size.z}; }

void ridge_model_sync_block(const char *file, int line) {
  self->state = AT_BARRIER, self->what = "__syncthreads", self->file = file, self->line = line;
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

void ridge_model_lane_outside(unsigned mask, unsigned lane, const char *what, const char *file, int line) {
  char b[160];
  snprintf(b, sizeof b, "%s at %s:%d reads lane %u, which the mask %08x lacks", what, base(file), line, lane, mask);
  fail(719, b);
}

void *ridge_model_shared(size_t bytes, size_t, const char *name, const char *file, int line) {
  void *&p = arrays[{file, name, line, bytes}];
  if (!p && !(p = shared_take(bytes, name))) fail(719, std::string("shared memory is full at array ") + name);
  return p;
}

void *ridge_model_dynamic_shared(void) {
  if (!dynamic_shared) fail(719, "dynamic shared memory is used, and the launch gives none");
  return dynamic_shared;
}

void ridge_model_aligned(const void *p, size_t align) {
  char b[80];
  snprintf(b, sizeof b, "access of %zu bytes at %p: misaligned", align, p);
  if ((uintptr_t)p % align) fail(716, b);
}

void ridge_model_proxy_fence(void) { order_fence(running()), ridge_model_mbarrier_fence(); }

void ridge_model_unmodelled(const char *instruction) { fail(719, std::string(instruction) + " is not modelled"); }

#define ATOMIC_ADD(suffix, type)                              \
  type ridge_model_atomic_add_##suffix(type *p, type v) {     \
    access(p, sizeof *p, ATOMIC, sizeof *p);                             \
    type old = *p;                                            \
    *p = old + v;                                             \
    return old;                                               \
  }
ATOMIC_ADD(i32, int)
ATOMIC_ADD(u32, unsigned)
ATOMIC_ADD(u64, unsigned long long)
ATOMIC_ADD(f32, float)
ATOMIC_ADD(f64, double)

unsigned ridge_model_atomic_max_u32(unsigned *p, unsigned v) {
  access(p, sizeof *p, ATOMIC, sizeof *p);
  unsigned old = *p;
  if (v > old) *p = v;
  return old;
}

// A clock of 1 GHz.
uint64_t ridge_model_clock(void) { return nanoseconds(); }
uint64_t ridge_model_timer(void) { return nanoseconds(); }

// The hooks of -fsanitize=thread.
#define HOOKS(n)                                                        \
  void __tsan_read##n(void *p) { access(p, n, READ, n); }                  \
  void __tsan_write##n(void *p) { access(p, n, WRITE, n); }                \
  void __tsan_unaligned_read##n(void *p) { access(p, n, READ, 1); }        \
  void __tsan_unaligned_write##n(void *p) { access(p, n, WRITE, 1); }      \
  void __tsan_volatile_read##n(void *p) { access(p, n, READ, n); }         \
  void __tsan_volatile_write##n(void *p) { access(p, n, WRITE, n); }
HOOKS(1)
HOOKS(2)
HOOKS(4)
HOOKS(8)
HOOKS(16)
void __tsan_read_range(void *p, size_t n) { access(p, n, READ, 1); }
void __tsan_write_range(void *p, size_t n) { access(p, n, WRITE, 1); }
void __tsan_func_entry(void *) {}
void __tsan_func_exit(void) {}
void __tsan_init(void) {}
void __tsan_vptr_update(void **, void *) {}
}
