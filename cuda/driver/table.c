//go:build cuda && linux && cgo

// Stands in for libcuda.so at link time: every driver function that gorgonia.org/cu or ext.c calls
// is a hidden jump through a table that ridge_driver_open fills from the library at run time.
#include <dlfcn.h>
#include <stddef.h>

#include "driver.h"

#define HIDDEN __attribute__((visibility("hidden")))

// CUDA_ERROR_NOT_INITIALIZED before the table is filled, CUDA_ERROR_NOT_SUPPORTED for a function
// that this driver lacks.
static int not_open(void) { return 3; }
static int not_there(void) { return 801; }

#if defined(__x86_64__)
#define JUMP(n) "jmp *ridge_slot_" #n "(%rip)\n"
#elif defined(__aarch64__)
#define JUMP(n) "adrp x16, ridge_slot_" #n "\nldr x16, [x16, :lo12:ridge_slot_" #n "]\nbr x16\n"
#else
#error "no jump through a table for this architecture: see cuda/driver/table.c"
#endif

#define F(n)                                                                                    \
  HIDDEN void *ridge_slot_##n = (void *)not_open;                                               \
  __asm__(".text\n.globl " #n "\n.hidden " #n "\n.type " #n ",%function\n" #n ":\n" JUMP(n) \
          ".size " #n ",.-" #n "\n");
#include "symbols.h"
#undef F

static const struct {
  const char *name;
  void **slot;
} table[] = {
#define F(n) {#n, &ridge_slot_##n},
#include "symbols.h"
#undef F
};

// cu's package init calls cuInit and exits the process when it fails: this one only says yes, and
// ridge_driver_open makes the real call.
HIDDEN int cuInit(unsigned flags) {
  (void)flags;
  return 0;
}

int ridge_driver_open(const char *path, const char **msg, const char **fake) {
  void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!lib) {
    *msg = dlerror();
    return -1;
  }
  int (*init)(unsigned) = (int (*)(unsigned))dlsym(lib, "cuInit");
  if (!init) {
    *msg = dlerror();
    return -1;
  }
  const char *(*of_tests)(void) = (const char *(*)(void))dlsym(lib, "ridge_fake_driver");
  *fake = of_tests ? of_tests() : NULL;
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    void *p = dlsym(lib, table[i].name);
    *table[i].slot = p ? p : (void *)not_there;
  }
  return init(0);
}
