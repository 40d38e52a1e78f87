// The stream kernels with NEON's 16-byte vectors. Non-temporal stores are STNP, a hint on which
// cores stream whole lines to memory; the team's barrier orders them as other stores.
#define VB 16
#define TARGET
#define K(name) ridge_##name##_neon
#define KNT(name) ridge_##name##_neon_nt
#define NT_STORE(p, v0, v1) __asm__ volatile("stnp %q1, %q2, [%0]" ::"r"(p), "w"(v0), "w"(v1) : "memory")
#define NT_FENCE() ((void)0)
#define ROUND_PAIR(e, o) ridge_round_pair_128((uint16x8_t)(e), (uint16x8_t)(o))
#include "stream_vector.h"
