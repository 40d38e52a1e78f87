#include "fill.h"

#include <math.h>
#include <string.h>

static const int element_size[] = {8, 4, 2, 2, 1, 1, 4, 8, 1};

// To the nearest fp8_e4m3, ties to even, saturated to 448.
static uint8_t float_to_e4m3(float f) {
  const uint32_t u = ridge_float_as_u32(f), sign = u >> 24 & 0x80, a = u & 0x7fffffffu;
  if (a > 0x7f800000u) return (uint8_t)(sign | 0x7f);
  if (a < 0x3c800000u) { // below 2^-6: denormal, steps of 2^-9; adding 2^14 puts the rounding point of the sum there
    const float r = ridge_u32_as_float(a) + 0x1p14f;
    return (uint8_t)(sign | (ridge_float_as_u32(r) - 0x46800000u));
  }
  const uint32_t r = (a + 0x7ffff + (a >> 20 & 1)) >> 20;
  return (uint8_t)(sign | (r > 0x43e ? 0x7e : r - (120 << 3)));
}

typedef struct feistel {
  uint64_t key, n, mask;
  unsigned half;
} feistel;

static uint64_t feistel_forward(const feistel *f, uint64_t x) {
  do {
    uint64_t l = x >> f->half, r = x & f->mask;
    for (uint64_t i = 0; i < 4; i++) {
      uint64_t next = l ^ (ridge_mix64(f->key + i * 0x9E3779B97F4A7C15ull + r) & f->mask);
      l = r, r = next;
    }
    x = l << f->half | r;
  } while (x >= f->n);
  return x;
}

static uint64_t feistel_inverse(const feistel *f, uint64_t x) {
  do {
    uint64_t l = x >> f->half, r = x & f->mask;
    for (uint64_t i = 4; i-- > 0;) {
      uint64_t before = r ^ (ridge_mix64(f->key + i * 0x9E3779B97F4A7C15ull + l) & f->mask);
      r = l, l = before;
    }
    x = l << f->half | r;
  } while (x >= f->n);
  return x;
}

// One random cycle through all cache lines: the line at position p of the permutation links
// to the line at position p + 1. The lines are written in the order of a walk from element 0, so that the caches hold the end of it when it begins.
static void fill_chase(const ridge_fill_args *a, int tid, int nthreads) {
  int64_t *out = a->ptr, lines = a->row / 8;
  if (lines == 0) {
    if (tid == 0) memset(out, 0, (size_t)a->row * 8);
    return;
  }
  feistel f = {a->key, (uint64_t)lines, 0, 1};
  while (1ull << (2 * f.half) < f.n) f.half++;
  f.mask = (1ull << f.half) - 1;
  int64_t from, to;
  ridge_share(lines, 1, tid, nthreads, &from, &to);
  if (from >= to) return;
  const uint64_t start = feistel_inverse(&f, 0);
  uint64_t at = feistel_forward(&f, (start + (uint64_t)from) % f.n);
  for (int64_t p = from; p < to; p++) {
    uint64_t next = feistel_forward(&f, (start + (uint64_t)p + 1) % f.n);
    out[at * 8] = (int64_t)next * 8;
    for (int w = 1; w < 8; w++) out[at * 8 + w] = 0;
    at = next;
  }
  if (to == lines) // a last part of a line holds no link
    for (int64_t w = lines * 8; w < a->row; w++) out[w] = 0;
}

// Integers that are never 0 and sum to 0 (goharness/op.balanced says why and how).
typedef struct balanced {
  uint64_t key;
  int64_t n, c, alone, r1;
} balanced;

static balanced balanced_of(const ridge_fill_args *a) {
  balanced b = {a->key, a->rows * a->row, 0, -1, ((a->range - 1) | 1) + 1};
  if (b.n == 0) return b;
  int64_t c = b.n - b.n / 3 - b.n / 19;
  if (b.n % 2 == 0) {
    b.c = (c | 1) % b.n;
  } else {
    b.alone = c % b.n;
    b.c = 2 * b.alone % b.n;
  }
  return b;
}

RIDGE_INLINE int64_t balanced_value(const balanced *b, int64_t i) {
  int64_t j = b->c - i, d = i - b->alone;
  if (j < 0) j += b->n;
  if (b->alone >= 0 && b->n > 1) {
    if (d == 0) return 2;
    if (d == 1 || d == 1 - b->n) return 1;
    if (d == -1 || d == b->n - 1) return -3;
  }
  int64_t v = 2 * (int64_t)((ridge_hash(b->key, i < j ? i : j) >> 32) * (uint64_t)b->r1 >> 32) - (b->r1 - 1);
  return j < i ? -v : v;
}

RIDGE_INLINE double random_value(uint64_t h, int kind) {
  switch (kind) {
    case RIDGE_FILL_BYTES: return (double)(int8_t)(h >> 56);
    case RIDGE_FILL_POSITIVE: return 0.5 + (double)(h >> 41) * 0x1p-23;
    case RIDGE_FILL_WIDE: return ((double)(h >> 40) * 0x1p-23 - 1) * 8;
  }
  return (double)(h >> 40) * 0x1p-23 - 1;
}

RIDGE_INLINE int64_t integer_value(uint64_t h, const ridge_fill_args *a) {
  if (a->dtype == RIDGE_D_UINT8) return (int64_t)((h >> 32) * (uint64_t)(a->range + 1) >> 32);
  if (a->kind == RIDGE_FILL_POSITIVE) return (int64_t)(1 + ((h >> 32) * (uint64_t)a->range >> 32));
  return (int64_t)((h >> 32) * (uint64_t)(2 * a->range + 1) >> 32) - a->range;
}

RIDGE_INLINE double scale_value(uint64_t h, const ridge_fill_args *a) {
  if (a->integer) return ldexp(0.5, -(int)((h >> 32) * 3 >> 32));
  return ldexp(random_value(h, RIDGE_FILL_POSITIVE), -(int)a->range);
}

// Scales, a few per output channel: fp32 alone.
static void fill_scales(const ridge_fill_args *a, float *row, int64_t i0, int64_t n) {
  for (int64_t j = 0; j < n; j++) row[j] = (float)scale_value(ridge_hash(a->key, i0 + j), a);
}

// One loop per dtype keeps the random value and the store in registers.
#define FILL_ROW(type, expr)                                         \
  for (int64_t j = 0; j < n; j++) {                                  \
    uint64_t h = ridge_hash(a->key, i0 + j);                         \
    double v = a->integer ? (double)integer_value(h, a) : random_value(h, a->kind) * unit; \
    ((type *)row)[j] = expr;                                         \
  }

static void fill_balanced(const ridge_fill_args *a, char *row, int64_t i0, int64_t n) {
  const balanced b = balanced_of(a);
  switch (a->dtype) {
#define BALANCED(type, expr)                                          \
  for (int64_t j = 0; j < n; j++) {                                   \
    int64_t v = balanced_value(&b, i0 + j);                           \
    ((type *)row)[j] = expr;                                          \
  }
    case RIDGE_D_FP64: BALANCED(double, (double)v) break;
    case RIDGE_D_FP32: BALANCED(float, (float)v) break;
    case RIDGE_D_FP16: BALANCED(uint16_t, ridge_float_to_fp16((float)v)) break;
    case RIDGE_D_BF16: BALANCED(uint16_t, ridge_float_to_bf16((float)v)) break;
    case RIDGE_D_FP8E4M3: BALANCED(uint8_t, float_to_e4m3((float)v)) break;
    case RIDGE_D_INT32: BALANCED(int32_t, (int32_t)v) break;
    case RIDGE_D_INT64: BALANCED(int64_t, v) break;
    default: BALANCED(int8_t, (int8_t)v) break;
  }
}

// Values that are integers of at most 24 bits times a unit, made from the upper half of a hash: floor(h multiple / 2^32) + plus, or
// h >> shift, plus. The unit is a power of two, so that their products are exact in fp32.
typedef struct fill_case {
  uint32_t multiple; // 0: shift
  int32_t shift, plus;
  float unit;
} fill_case;

enum { FILL_BLOCK = 512 };
typedef void (*fill_block_fn)(const ridge_fill_args *a, const fill_case *f, char *row, int64_t i0, int32_t n);

// False for what goes an element at a time: what is rounded to an integer, fp8, values that depend on others.
static int case_of(const ridge_fill_args *a, fill_case *f) {
  const int whole = a->dtype == RIDGE_D_INT8 || a->dtype == RIDGE_D_UINT8 || a->dtype == RIDGE_D_INT32 || a->dtype == RIDGE_D_INT64;
  *f = (fill_case){0, 8, -(1 << 23), 0x1p-23f};
  if (a->dtype == RIDGE_D_FP8E4M3 || a->kind == RIDGE_FILL_SCALES) return 0;
  if (a->integer) {
    if (a->range < 0 || a->range > 32000) return 0; // 65520 and above are infinite in fp16
    f->unit = 1;
    if (a->dtype == RIDGE_D_UINT8)
      f->multiple = (uint32_t)a->range + 1, f->plus = 0;
    else if (a->kind == RIDGE_FILL_BALANCED)
      return 0;
    else if (a->kind == RIDGE_FILL_POSITIVE)
      f->multiple = (uint32_t)a->range, f->plus = 1;
    else
      f->multiple = 2 * (uint32_t)a->range + 1, f->plus = -(int32_t)a->range;
    return f->multiple > 0;
  }
  switch (a->kind) {
    case RIDGE_FILL_BYTES: f->shift = 24, f->plus = 0, f->unit = 1; return 1;
    case RIDGE_FILL_POSITIVE: f->shift = 9, f->plus = 1 << 22; break;
    case RIDGE_FILL_WIDE: f->unit = 0x1p-20f; break;
    case RIDGE_FILL_WEIGHTS:
      if (a->range < 0 || a->range > 64) return 0; // beyond the normal numbers of fp32
      f->unit = ldexpf(0x1p-23f, -(int)a->range);
      break;
  }
  return !whole;
}

// Of finite values below 65520.
RIDGE_INLINE uint16_t finite_to_fp16(float v) {
  const uint32_t u = ridge_float_as_u32(v), a = u & 0x7fffffffu;
  const uint32_t small = ridge_float_as_u32(ridge_u32_as_float(a) + 0.5f) - 0x3f000000u; // as ridge_float_to_fp16 below 2^-14
  const uint32_t normal = (a + 0xfff + (a >> 13 & 1) - 0x38000000u) >> 13;
  return (uint16_t)((u >> 16 & 0x8000) | (a < 0x38800000u ? small : normal));
}

RIDGE_INLINE uint16_t finite_to_bf16(float v) {
  const uint32_t u = ridge_float_as_u32(v);
  return (uint16_t)((u + 0x7fff + (u >> 16 & 1)) >> 16);
}

// Named for the bits of a vector: a profile that looks for the source of the kernel fill_fp32_avx2 (native/memory) reads ##_avx2 as its name.
#define FILL_F(name) name##_each
#define FILL_TARGET
#include "fill_block.h"
#undef FILL_F
#undef FILL_TARGET
#if defined(__x86_64__)
#define FILL_F(name) name##_256
#define FILL_TARGET RIDGE_TARGET_AVX2
#include "fill_block.h"
#undef FILL_F
#undef FILL_TARGET
#define FILL_F(name) name##_512
#define FILL_TARGET RIDGE_TARGET_AVX512
#include "fill_block.h"
#endif

static void fill_span(const ridge_fill_args *a, fill_block_fn block, char *row, int64_t i0, int64_t n) {
  fill_case f;
  if (case_of(a, &f)) {
    const int es = element_size[a->dtype];
    for (int64_t at = 0; at < n; at += FILL_BLOCK)
      block(a, &f, row + at * es, i0 + at, (int32_t)(n - at < FILL_BLOCK ? n - at : FILL_BLOCK));
    return;
  }
  const double unit = a->kind == RIDGE_FILL_WEIGHTS ? ldexp(1, -(int)a->range) : 1;
  if (a->integer && a->kind == RIDGE_FILL_BALANCED && a->dtype != RIDGE_D_UINT8) {
    fill_balanced(a, row, i0, n);
    return;
  }
  if (a->kind == RIDGE_FILL_SCALES) {
    fill_scales(a, (float *)row, i0, n);
    return;
  }
  switch (a->dtype) {
    case RIDGE_D_FP64: FILL_ROW(double, v) break;
    case RIDGE_D_FP32: FILL_ROW(float, (float)v) break;
    // All random values have at most 24 significant bits, so float holds them exactly and
    // the conversion to 16 bits is the only rounding.
    case RIDGE_D_FP16: FILL_ROW(uint16_t, ridge_float_to_fp16((float)v)) break;
    case RIDGE_D_BF16: FILL_ROW(uint16_t, ridge_float_to_bf16((float)v)) break;
    case RIDGE_D_FP8E4M3: FILL_ROW(uint8_t, float_to_e4m3((float)v)) break;
    // Random values are rounded to the nearest even integer; uint8 has no negative ones.
#define WHOLE(v) (a->integer ? (v) : rint(v))
    case RIDGE_D_INT32: FILL_ROW(int32_t, (int32_t)WHOLE(v)) break;
    case RIDGE_D_INT64: FILL_ROW(int64_t, (int64_t)WHOLE(v)) break;
    default:
      if (a->dtype == RIDGE_D_UINT8) {
        FILL_ROW(uint8_t, v > 0 ? (uint8_t)WHOLE(v) : 0)
      } else {
        FILL_ROW(int8_t, (int8_t)WHOLE(v))
      }
  }
}

static int fill(const void *args, const ridge_ctx *ctx, fill_block_fn block) {
  const ridge_fill_args *a = args;
  int es = element_size[a->dtype], bad = a->poison == 1 ? RIDGE_POISON_1 : RIDGE_POISON_0;
  char *base = a->ptr;
  int64_t storage = a->rows > 0 && a->row > 0 ? ((a->rows - 1) * a->ld + a->row) * es : 0;
  if (ctx->tid == 0 && a->guard > 0) {
    memset(base - a->guard, bad, (size_t)a->guard);
    memset(base + storage, bad, (size_t)a->guard);
  }
  if (storage == 0) return RIDGE_OK;
  int64_t from, to;
  if (a->poison >= 0) {
    ridge_share(storage, 4096, ctx->tid, ctx->nthreads, &from, &to);
    memset(base + from, bad, (size_t)(to - from));
    return RIDGE_OK;
  }
  if (a->kind == RIDGE_FILL_CHASE) {
    fill_chase(a, ctx->tid, ctx->nthreads);
    return RIDGE_OK;
  }
  if (a->ld == a->row) { // contiguous: share elements, not rows
    ridge_share(a->rows * a->row, 4096, ctx->tid, ctx->nthreads, &from, &to);
    fill_span(a, block, base + from * es, from, to - from);
    return RIDGE_OK;
  }
  ridge_share(a->rows, 1, ctx->tid, ctx->nthreads, &from, &to);
  for (int64_t r = from; r < to; r++) {
    char *row = base + r * a->ld * es;
    fill_span(a, block, row, r * a->row, a->row);
    if (r + 1 < a->rows) memset(row + a->row * es, 0xff, (size_t)((a->ld - a->row) * es));
  }
  return RIDGE_OK;
}

int ridge_fill_portable(const void *args, const ridge_ctx *ctx) { return fill(args, ctx, block_each); }
#if defined(__x86_64__)
int ridge_fill_avx2(const void *args, const ridge_ctx *ctx) { return fill(args, ctx, block_256); }
int ridge_fill_avx512(const void *args, const ridge_ctx *ctx) { return fill(args, ctx, block_512); }
#endif
