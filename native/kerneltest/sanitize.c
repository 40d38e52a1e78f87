// Under gcc's AddressSanitizer every access of a vector beyond 16 bytes is a call of these, which took half of the time of the
// sanitized tests. The runtime itself is asked only where the shadow of what is touched is not all zero: what is found stays the
// same, and is reported below a frame of these.
#if defined(__SANITIZE_ADDRESS__) && defined(__x86_64__) && !defined(__clang__)
#include <sanitizer/asan_interface.h>
#include <stdint.h>

#define SHADOW(p) (((p) >> 3) + 0x7fff8000) // of Linux on x86-64, in gcc as in its runtime

#define UNCHECKED __attribute__((no_sanitize("address", "undefined")))

void __asan_report_load_n(void *p, long n);
void __asan_report_store_n(void *p, long n);

// clean: the shadow of all that [p, p+n) touches is 0, one byte for eight.
UNCHECKED static inline int clean(void *p, long n) {
  if (n < 1 || n > 64) return 0;
  uintptr_t at = (uintptr_t)p;
  const uint8_t *shadow = (const uint8_t *)SHADOW(at);
  unsigned last = (unsigned)((at & 7) + (uintptr_t)n - 1) >> 3; // 0 to 8
  uint64_t eight;
  __builtin_memcpy(&eight, shadow, sizeof eight);
  if (last < 7) eight <<= 8 * (7 - last); // what lies after the last is not asked for
  return (eight | shadow[last]) == 0;
}

UNCHECKED void __asan_loadN(void *p, long n) {
  if (!clean(p, n) && __asan_region_is_poisoned(p, (size_t)n)) __asan_report_load_n(p, n);
}

UNCHECKED void __asan_storeN(void *p, long n) {
  if (!clean(p, n) && __asan_region_is_poisoned(p, (size_t)n)) __asan_report_store_n(p, n);
}
#endif
