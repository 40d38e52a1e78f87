// Loads, stores and atomics of kernels: each is checked before it happens. And the clocks.
#include <time.h>

#include "inner.h"
#include "model.h"

using namespace ridge_model;

namespace {

uint64_t nanoseconds() {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

} // namespace

extern "C" {

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

void ridge_model_lane_outside(unsigned mask, unsigned lane, const char *what, const char *file, int line) {
  char b[160];
  snprintf(b, sizeof b, "%s at %s:%d reads lane %u, which the mask %08x lacks", what, base(file), line, lane, mask);
  fail(719, b);
}

void ridge_model_aligned(const void *p, size_t align) {
  char b[80];
  snprintf(b, sizeof b, "access of %zu bytes at %p: misaligned", align, p);
  if ((uintptr_t)p % align) fail(716, b);
}

void ridge_model_unmodelled(const char *instruction) { fail(719, std::string(instruction) + " is not modelled"); }
}
