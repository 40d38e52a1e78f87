// Streams with 64-byte vectors (AVX-512); non-temporal stores are vmovntdq, one whole line each.
#include <immintrin.h>

#include "../include/ridge.h"

#define VB 64
#define TARGET RIDGE_TARGET_AVX512
#define K(name) ridge_##name##_avx512
#define KNT(name) ridge_##name##_avx512_nt
#define NT_STORE(p, v0, v1) _mm512_stream_si512((__m512i *)(p), (__m512i)(v0)), _mm512_stream_si512((__m512i *)(p) + 1, (__m512i)(v1))
#define NT_FENCE() _mm_sfence()
#define ROUND_PAIR(e, o) ridge_round_pair_512((__m512i)(e), (__m512i)(o))
#include "stream_vector.h"
