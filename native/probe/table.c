#include "table.h"

#define IS(name, value) \
  int ridge_peak_is_##name(const void *args) { return ((const ridge_probe_args *)args)->isa == (value); }
IS(portable, RIDGE_PROBE_PORTABLE)
#if defined(__x86_64__)
IS(sse2, RIDGE_PROBE_SSE2)
IS(avx2, RIDGE_PROBE_AVX2)
IS(avx512, RIDGE_PROBE_AVX512)
IS(avx512fp16, RIDGE_PROBE_AVX512FP16)
IS(avx512bf16, RIDGE_PROBE_AVX512BF16)
IS(avx512vnni, RIDGE_PROBE_AVX512VNNI)
IS(avxvnni, RIDGE_PROBE_AVXVNNI)
IS(amx, RIDGE_PROBE_AMX)
#endif
#if defined(__aarch64__)
IS(neon, RIDGE_PROBE_NEON)
IS(dotprod, RIDGE_PROBE_DOTPROD)
IS(bf16arm, RIDGE_PROBE_BF16ARM)
IS(i8mm, RIDGE_PROBE_I8MM)
#endif

#define RIDGE_KERNEL RIDGE_DECLARE
#include "kernels.def"
#undef RIDGE_KERNEL

static const ridge_kernel table[] = {
#define RIDGE_KERNEL RIDGE_ENTRY
#include "kernels.def"
#undef RIDGE_KERNEL
};

const ridge_kernel *ridge_probe_table(void) { return table; }
int ridge_probe_table_len(void) { return sizeof table / sizeof *table; }
