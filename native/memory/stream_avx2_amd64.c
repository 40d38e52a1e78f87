// Streams with 32-byte vectors (AVX2, fused multiply-add); non-temporal stores are vmovntdq.
#include <immintrin.h>

#include "../include/ridge.h"

#define VB 32
#define TARGET RIDGE_TARGET_AVX2
#define K(name) ridge_##name##_avx2
#define KNT(name) ridge_##name##_avx2_nt
#define NT_STORE(p, v0, v1) _mm256_stream_si256((__m256i *)(p), (__m256i)(v0)), _mm256_stream_si256((__m256i *)(p) + 1, (__m256i)(v1))
#define NT_FENCE() _mm_sfence()
#define ROUND_PAIR(e, o) ridge_round_pair_256((__m256i)(e), (__m256i)(o))
#include "stream_vector.h"
