// The kernels of this library: their entries by name, and where what they were compiled with lies.
#include "model.h"

#include <link.h>

#include <algorithm>
#include <map>
#include <string>

#include "runtime.h"

namespace ridge_model {
namespace {

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
          static char inside;
          char *lo = (char *)UINTPTR_MAX, *hi = nullptr, *here = &inside;
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

Entry::Entry(const char *name, unsigned max_threads, const std::vector<unsigned> &params, void (*call)(void **)) {
  kernels()[name] = {name, max_threads, params, call};
}

const Kernel *find(const char *name) {
  auto it = kernels().find(name);
  return it == kernels().end() ? nullptr : &it->second;
}

// in_library tells whether p lies in this library, as the kernels' constants do.
bool in_library(const void *p) {
  static const Image image;
  return p >= image.begin && p < image.end;
}

} // namespace ridge_model
