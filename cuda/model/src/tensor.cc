// mma.sync, ldmatrix and the banks of shared memory. Fragments lie over the lanes of a warp as the PTX ISA lays them out
// (9.7.15.5); g is lane / 4, t is lane % 4.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "inner.h"
#include "model.h"

namespace ridge_model {
namespace {

struct Mma {
  ridge_mma kind;
  void *c;
  const void *a, *b;
};

float widen(ridge_mma kind, const void *registers, int i) {
  uint32_t bits = 0;
  if (kind == RIDGE_MMA_TF32) {
    memcpy(&bits, (const uint32_t *)registers + i, 4);
    bits &= 0xffffe000u; // the device ignores the low 13 bits
  } else {
    const uint16_t half = ((const uint16_t *)registers)[i];
    if (kind == RIDGE_MMA_BF16) {
      bits = (uint32_t)half << 16;
    } else {
      return half_to_float(half);
    }
  }
  return __uint_as_float(bits);
}

} // namespace

float half_to_float(uint16_t half) {
  const float magnitude = (half & 0x7c00) == 0x7c00 ? half & 0x3ff ? NAN : INFINITY : __uint_as_float((half & 0x7fffu) << 13) * 0x1p112f;
  return half & 0x8000 ? -magnitude : magnitude;
}

// One step of a tensor core: terms and c are aligned to the largest exponent, cut off two bits below fp32's last one, added, and the
// sum is cut off to fp32 (Fasi, Higham, Mikaitis and Pranesh 2021 found so on an A100, in blocks of eight products). Of fp8 13 bits are left of either
// (goharness/op/cutoff.go has the source).
float block_sum(const double *terms, int n, float c, int aligned, int kept) {
  double top = fabs((double)c), plain = c;
  for (int i = 0; i < n; i++) plain += terms[i], top = fmax(top, fabs(terms[i]));
  if (!isfinite(plain) || top == 0) return (float)plain;
  int e;
  frexp(top, &e); // top < 2^e
  const double quantum = ldexp(1, e - 1 - aligned);
  double sum = trunc((double)c / quantum) * quantum;
  for (int i = 0; i < n; i++) sum += trunc(terms[i] / quantum) * quantum;
  const float f = (float)sum, toward = fabs((double)f) > fabs(sum) ? nextafterf(f, 0) : f;
  return __uint_as_float(__float_as_uint(toward) & ~0u << (23 - kept));
}

namespace {

// D[16,8] = A[16,K]·B[K,8] + C of floats; EACH elements lie in a register.
template <int K, int EACH> void mma_floats(void *const lanes[32]) {
  const ridge_mma kind = ((Mma *)lanes[0])->kind;
  float a[16][K], b[K][8];
  for (int l = 0; l < 32; l++) {
    const Mma &m = *(Mma *)lanes[l];
    const int g = l / 4, t = l % 4;
    for (int r = 0; r < 4; r++)
      for (int i = 0; i < EACH; i++) a[g + r % 2 * 8][t * EACH + i + r / 2 * (K / 2)] = widen(kind, m.a, r * EACH + i);
    for (int r = 0; r < 2; r++)
      for (int i = 0; i < EACH; i++) b[t * EACH + i + r * (K / 2)][g] = widen(kind, m.b, r * EACH + i);
  }
  for (int l = 0; l < 32; l++)
    for (int i = 0; i < 4; i++) {
      const int row = l / 4 + i / 2 * 8, col = l % 4 * 2 + i % 2;
      float &c = ((float *)((Mma *)lanes[l])->c)[i];
      for (int k0 = 0; k0 < K; k0 += 8) {
        double terms[8];
        for (int k = 0; k < 8; k++) terms[k] = (double)a[row][k0 + k] * b[k0 + k][col];
        c = block_sum(terms, 8, c);
      }
    }
}

// D[16,8] = A[16,32]·B[32,8] + C of bytes, which wraps.
template <class A> void mma_bytes(void *const lanes[32]) {
  int a[16][32], b[32][8];
  for (int l = 0; l < 32; l++) {
    const Mma &m = *(Mma *)lanes[l];
    const int g = l / 4, t = l % 4;
    for (int r = 0; r < 4; r++)
      for (int i = 0; i < 4; i++) a[g + r % 2 * 8][4 * t + i + r / 2 * 16] = ((const A *)m.a)[4 * r + i];
    for (int r = 0; r < 2; r++)
      for (int i = 0; i < 4; i++) b[4 * t + i + r * 16][g] = ((const signed char *)m.b)[4 * r + i];
  }
  for (int l = 0; l < 32; l++)
    for (int i = 0; i < 4; i++) {
      uint32_t &c = ((uint32_t *)((Mma *)lanes[l])->c)[i];
      for (int k = 0; k < 32; k++) c += (uint32_t)(a[l / 4 + i / 2 * 8][k] * b[k][l % 4 * 2 + i % 2]);
    }
}

// D[8,8] = A[8,4]·B[4,8] + C of doubles.
void mma_doubles(void *const lanes[32]) {
  double a[8][4], b[4][8];
  for (int l = 0; l < 32; l++) {
    const Mma &m = *(Mma *)lanes[l];
    a[l / 4][l % 4] = *(const double *)m.a, b[l % 4][l / 4] = *(const double *)m.b;
  }
  for (int l = 0; l < 32; l++)
    for (int i = 0; i < 2; i++) {
      double &c = ((double *)((Mma *)lanes[l])->c)[i];
      for (int k = 0; k < 4; k++) c = fma(a[l / 4][k], b[k][l % 4 * 2 + i], c);
    }
}

struct Rows {
  uintptr_t at;
  uint16_t row[8];
  uint32_t *out;
  int count;
  bool transposed;
};

void ldmatrix(void *const lanes[32]) {
  const Rows &first = *(Rows *)lanes[0];
  for (int m = 0; m < first.count; m++) {
    for (int i = 0; i < 8; i++)
      for (int j = 0; j < i; j++) {
        if ((((Rows *)lanes[8 * m + i])->at ^ ((Rows *)lanes[8 * m + j])->at) >> 4 & 7) continue;
        char b[96];
        snprintf(b, sizeof b, "ldmatrix: rows %d and %d of matrix %d lie in the same banks", j, i, m);
        fail(719, b);
      }
    for (int l = 0; l < 32; l++) {
      const int g = l / 4, t = l % 4;
      uint32_t word = 0;
      for (int h = 0; h < 2; h++) {
        const Rows &r = *(Rows *)lanes[8 * m + (first.transposed ? 2 * t + h : g)];
        word |= (uint32_t)r.row[first.transposed ? g : 2 * t + h] << 16 * h;
      }
      ((Rows *)lanes[l])->out[m] = word;
    }
  }
}

struct Word {
  uintptr_t at;
  size_t bytes;
};

// A wavefront serves 128 bytes: 32 lanes of 4 bytes, or 16 of 8, from each bank one word.
void banks(void *const lanes[32]) {
  const size_t bytes = ((Word *)lanes[0])->bytes;
  const int together = (int)(128 / bytes);
  for (int l = 0; l < 32; l++)
    for (int o = l / together * together; o < l; o++) {
      const uintptr_t x = ((Word *)lanes[l])->at, y = ((Word *)lanes[o])->at;
      if (x == y || x % 128 / bytes != y % 128 / bytes) continue;
      char b[96];
      snprintf(b, sizeof b, "shared memory: lanes %d and %d use different words of the same bank", o, l);
      fail(719, b);
    }
}

} // namespace
} // namespace ridge_model

using namespace ridge_model;

extern "C" {

void ridge_model_mma(ridge_mma kind, void *c, const void *a, const void *b, const char *file, int line) {
  Mma m{kind, c, a, b};
  switch (kind) {
    case RIDGE_MMA_BF16: return warp_together(&m, mma_floats<16, 2>, "mma.m16n8k16.bf16", file, line);
    case RIDGE_MMA_FP16: return warp_together(&m, mma_floats<16, 2>, "mma.m16n8k16.f16", file, line);
    case RIDGE_MMA_TF32: return warp_together(&m, mma_floats<8, 1>, "mma.m16n8k8.tf32", file, line);
    case RIDGE_MMA_S8: return warp_together(&m, mma_bytes<signed char>, "mma.m16n8k32.s8.s8", file, line);
    case RIDGE_MMA_U8S8: return warp_together(&m, mma_bytes<unsigned char>, "mma.m16n8k32.u8.s8", file, line);
    case RIDGE_MMA_FP64: return warp_together(&m, mma_doubles, "mma.m8n8k4.f64", file, line);
  }
}

void ridge_model_ldmatrix(uint32_t *out, int count, bool transposed, uintptr_t row, const char *file, int line) {
  Rows r{row, {}, out, count, transposed};
  if ((running() & 31) < (unsigned)(8 * count)) {
    if (!is_arena((void *)row)) fail(716, "ldmatrix reads shared memory");
    access((void *)row, 16, READ, 16);
    memcpy(r.row, (void *)row, 16);
  }
  warp_together(&r, ldmatrix, transposed ? "ldmatrix.trans" : "ldmatrix", file, line);
}

void ridge_model_banks(uintptr_t at, size_t bytes, const char *file, int line) {
  Word w{at, bytes};
  if (!is_arena((void *)at)) fail(716, "ld.shared and st.shared take shared memory");
  warp_together(&w, banks, "ld.shared or st.shared", file, line);
}
}
