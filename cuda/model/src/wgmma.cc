// wgmma.mma_async: D[64,N] += A[64,K]·B[K,N] by four warps, A and B in shared memory by descriptors (PTX ISA 9.7.16.5), each warp for 16 rows.
// At its worst: the operands are read, and the sums written, at the wait. Until then registers hold poison, and the operands must neither be
// written nor be on their way; a stage that is given back before the wait is found by the order of the read and the next write.
// A may lie in registers, which hold poison until the wait too. Registers that a thread writes behind its last wgmma.fence are found when a wgmma takes them
// that had them before.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <deque>
#include <map>

#include "inner.h"
#include "model.h"

namespace ridge_model {
namespace {

struct Call {
  ridge_wgmma kind;
  int n;
  uint32_t *sums, *words; // words: of A in registers, nullptr: a is its descriptor
  uint64_t a, b;
  bool across, keep; // B along its columns; the sums are added to
};

// Registers of a wgmma that goes on, of sums or of A, and what is in them.
struct Registers {
  uint32_t *at[32];
  std::vector<uint32_t> values[32];
  int pending = 0;
};
typedef std::map<uint32_t *, Registers> Held; // by lane 0's

struct Warp {
  Held sums, words;
  std::map<uint32_t *, std::vector<uint32_t>> fenced_values[32]; // of a lane: what its registers held at the last fence, or when a wgmma gave them back
  std::vector<Call> open;
  std::deque<std::vector<Call>> committed;
  std::vector<Call> log; // what it issued, which its warpgroup must issue too
  bool fenced = false;
};
std::vector<Warp> warps;

// A piece of shared memory that a warp's wgmma read or are going to read.
struct Reading {
  char *begin, *end;
  unsigned warp;
  int pending;
  uint32_t time; // of the warp's first lane, at the last wait
};
std::vector<Reading> readings;
char *lowest, *highest;

constexpr uint32_t poison = 0x7fffdead; // a NaN

int size_of(ridge_wgmma kind) { return kind == RIDGE_WGMMA_TF32 ? 4 : kind == RIDGE_WGMMA_BF16 || kind == RIDGE_WGMMA_FP16 ? 2 : 1; }
bool integers(ridge_wgmma kind) { return kind == RIDGE_WGMMA_S8 || kind == RIDGE_WGMMA_U8S8; }

// The address of element (row, k), row a row of A or a column of B, by a descriptor: swizzled 128 bytes, [row][k] or, across, [k][row].
char *address(uint64_t d, int row, int k, int size, bool across) {
  const uintptr_t start = (d & 0x3fff) << 4, leading = (d >> 16 & 0x3fff) << 4, stride = (d >> 32 & 0x3fff) << 4;
  const uintptr_t at = across ? (uintptr_t)row / 64 * leading + (uintptr_t)k / 8 * stride + (uintptr_t)k % 8 * 128 + (uintptr_t)row % 64 * 2
                              : (uintptr_t)row / 8 * stride + (uintptr_t)row % 8 * 128 + (uintptr_t)(k * size);
  const uintptr_t p = start + at;
  return shared_at_offset(own_block(), p ^ (p >> 7 & 7) << 4);
}

// The lanes' registers go to a wgmma: they keep poison until it is done.
void take(Held &held, uint32_t *const (&at)[32], int count, const char *which) {
  Registers &r = held[at[0]];
  Warp &w = warps[running() / 32];
  for (int l = 0; l < 32; l++) {
    if (r.pending == 0) {
      const auto known = w.fenced_values[l].find(at[l]);
      if (known != w.fenced_values[l].end() && (int)known->second.size() == count && memcmp(known->second.data(), at[l], (size_t)count * 4))
        fail(719, std::string("wgmma: no wgmma.fence since the ") + which + " were written");
      r.at[l] = at[l];
      r.values[l].assign(at[l], at[l] + count);
    }
    for (int i = 0; i < count; i++) {
      if (r.pending > 0 && at[l][i] != poison) fail(719, std::string("wgmma: the ") + which + " of a wgmma that has not been waited for were written");
      at[l][i] = poison;
    }
  }
  r.pending++;
}

// One wgmma with them is done.
void give_back(Held &held, uint32_t *key, const char *which) {
  Registers &r = held.at(key);
  if (--r.pending > 0) return;
  Warp &w = warps[running() / 32];
  for (int l = 0; l < 32; l++) {
    for (size_t i = 0; i < r.values[l].size(); i++)
      if (r.at[l][i] != poison) fail(719, std::string("wgmma: the ") + which + " of a wgmma that has not been waited for were written");
    memcpy(r.at[l], r.values[l].data(), r.values[l].size() * 4);
    w.fenced_values[l][r.at[l]] = r.values[l];
  }
  held.erase(key);
}

void check_descriptor(uint64_t d, const char *which) {
  if (d >> 62 != 1) fail(719, std::string("wgmma: only descriptors with a swizzle of 128 bytes are modelled, of operand ") + which);
  if (d >> 49 & 7) fail(719, std::string("wgmma: a base offset is not modelled, of operand ") + which);
}

// Calls f(row, k, chunk) for each 16 bytes of an operand's rows [row0, row0 + rows).
template <class F> void chunks(uint64_t d, int row0, int rows, int size, bool across, F f) {
  if (across) {
    for (int k = 0; k < 16; k++)
      for (int r = 0; r < rows; r += 8) f(address(d, row0 + r, k, 2, true));
    return;
  }
  for (int r = 0; r < rows; r++)
    for (int k = 0; k < 32; k += 16) f(address(d, row0 + r, k / size, size, false));
}

void reading(uint64_t d, int row0, int rows, int size, bool across, unsigned warp, int step, uint32_t time) {
  char *begin = nullptr, *end = nullptr;
  chunks(d, row0, rows, size, across, [&](char *p) {
    if (!begin || p < begin) begin = p;
    if (!end || p + 16 > end) end = p + 16;
  });
  lowest = lowest && lowest < begin ? lowest : begin, highest = highest > end ? highest : end;
  for (Reading &r : readings)
    if (r.begin == begin && r.end == end && r.warp == warp) {
      r.pending += step;
      if (step < 0) r.time = time;
      return;
    }
  readings.push_back({begin, end, warp, step, time});
}

float number(ridge_wgmma kind, const char *p) {
  uint32_t bits = 0;
  memcpy(&bits, p, (size_t)size_of(kind));
  switch (kind) {
    case RIDGE_WGMMA_BF16: return __uint_as_float(bits << 16);
    case RIDGE_WGMMA_FP16: return half_to_float((uint16_t)bits);
    case RIDGE_WGMMA_TF32: return __uint_as_float(bits & 0xffffe000u);
    case RIDGE_WGMMA_S8: return (float)(signed char)bits;
    case RIDGE_WGMMA_E4M3: // bias 7, no infinity, all ones is NaN
      return (bits & 0x7f) == 0x7f ? NAN : (bits & 0x80 ? -1.0f : 1.0f) * __uint_as_float((bits & 0x7f) << 20) * 0x1p120f;
    default: return (float)bits;
  }
}

// Element (row, k) of A in registers: four of each lane, of rows l / 4 and l / 4 + 8, for the lower and the upper half of k.
const char *element(const Registers &a, int row, int k, int size) {
  const int per = 4 / size, half = 16 / size;
  const uint32_t *words = a.values[row % 8 * 4 + k % half / per].data();
  return (const char *)(words + row / 8 + k / half * 2) + k % per * size;
}

// The warp's 16 rows of one operation. What nobody found out of the order in which wgmma adds is taken as mma.sync's: products of one
// instruction and the sum are aligned and cut off together, of e4m3 to 14 bits.
void calculate(const Call &c, unsigned warp) {
  const int size = size_of(c.kind), depth = 32 / size, row0 = (int)(warp % 4) * 16;
  std::vector<float> a((size_t)(16 * depth)), b((size_t)(c.n * depth));
  if (!c.words) chunks(c.a, row0, 16, size, false, [&](char *p) { access(p, 16, ASYNC_READ, 16); });
  chunks(c.b, 0, c.n, size, c.across, [&](char *p) { access(p, 16, ASYNC_READ, 16); });
  const ridge_wgmma kind_b = c.kind == RIDGE_WGMMA_U8S8 ? RIDGE_WGMMA_S8 : c.kind;
  for (int k = 0; k < depth; k++) {
    for (int r = 0; r < 16; r++) a[(size_t)(r * depth + k)] = number(c.kind, c.words ? element(warps[warp].words.at(c.words), r, k, size) : address(c.a, row0 + r, k, size, false));
    for (int j = 0; j < c.n; j++) b[(size_t)(j * depth + k)] = number(kind_b, address(c.b, j, k, size, c.across));
  }
  Registers &s = warps[warp].sums.at(c.sums);
  for (int r = 0; r < 16; r++)
    for (int j = 0; j < c.n; j++) {
      uint32_t &sum = s.values[r % 8 * 4 + j % 8 / 2][(size_t)(j / 8 * 4 + r / 8 * 2 + j % 2)];
      const float *x = &a[(size_t)(r * depth)], *y = &b[(size_t)(j * depth)];
      if (integers(c.kind)) {
        uint32_t v = c.keep ? sum : 0;
        for (int k = 0; k < depth; k++) v += (uint32_t)((int)x[k] * (int)y[k]);
        sum = v;
      } else {
        double terms[32];
        for (int k = 0; k < depth; k++) terms[k] = (double)x[k] * y[k];
        const float before = c.keep ? __uint_as_float(sum) : 0.0f;
        sum = __float_as_uint(c.kind == RIDGE_WGMMA_E4M3 ? block_sum(terms, depth, before, 13, 13) : block_sum(terms, depth, before));
      }
    }
  give_back(warps[warp].sums, c.sums, "sums");
  if (c.words) give_back(warps[warp].words, c.words, "registers of A");
}

void issue(void *const lanes[32]) {
  const unsigned warp = running() / 32;
  Warp &w = warps[warp];
  const Call c = *(Call *)lanes[0];
  for (int l = 1; l < 32; l++) {
    const Call &o = *(Call *)lanes[l];
    if (o.kind != c.kind || o.n != c.n || o.a != c.a || o.b != c.b || o.keep != c.keep || !o.words != !c.words) fail(719, "wgmma: the lanes of a warp give different arguments");
  }
  if (!w.fenced) fail(719, "wgmma: no wgmma.fence since the registers were read or written");
  if (!c.words) check_descriptor(c.a, "A");
  check_descriptor(c.b, "B");
  const int size = size_of(c.kind);
  uint32_t *sums[32], *words[32];
  for (int l = 0; l < 32; l++) sums[l] = ((Call *)lanes[l])->sums, words[l] = ((Call *)lanes[l])->words;
  if (c.words) {
    take(w.words, words, 4, "registers of A");
  } else {
    chunks(c.a, (int)(warp % 4) * 16, 16, size, false, [&](char *p) { access(p, 16, ASYNC_READ, 16); });
    reading(c.a, (int)(warp % 4) * 16, 16, size, false, warp, 1, 0);
  }
  chunks(c.b, 0, c.n, size, c.across, [&](char *p) { access(p, 16, ASYNC_READ, 16); });
  reading(c.b, 0, c.n, size, c.across, warp, 1, 0);
  take(w.sums, sums, c.n / 2, "sums");
  w.open.push_back(c);
  w.log.push_back(c);
  for (unsigned o = warp / 4 * 4; o < warp / 4 * 4 + 4 && o < warps.size(); o++) {
    const std::vector<Call> &log = warps[o].log;
    if (log.size() < w.log.size()) continue;
    const Call &other = log[w.log.size() - 1];
    if (other.a != c.a || other.b != c.b || other.keep != c.keep || !other.words != !c.words) fail(719, "wgmma: the warps of a warpgroup give different arguments");
  }
}

void wait(void *const lanes[32]) {
  const unsigned warp = running() / 32, pending = *(unsigned *)lanes[0];
  Warp &w = warps[warp];
  std::vector<unsigned> all;
  for (unsigned l = 0; l < 32; l++) all.push_back(warp * 32 + l);
  const uint32_t time = order_who(warp * 32, 0).time + 1; // after what its lanes gave away until now
  for (; w.committed.size() > pending; w.committed.pop_front()) {
    for (const Call &c : w.committed.front()) {
      calculate(c, warp);
      const int size = size_of(c.kind);
      if (!c.words) reading(c.a, (int)(warp % 4) * 16, 16, size, false, warp, -1, time);
      reading(c.b, 0, c.n, size, c.across, warp, -1, time);
    }
  }
  order_count(warp * 32); // its time is `time` from here on, and its lanes know of it
  order_together(all);
  w.fenced = w.sums.size() > 0;
}

void multiply(Call c, const char *file, int line) {
  order_start();
  if (in_block() / 128 * 128 + 128 > block_threads()) fail(719, "wgmma: a warpgroup is four whole warps");
  warp_together(&c, issue, "wgmma.mma_async", file, line);
}

} // namespace

void wgmma_reset(unsigned threads) {
  warps.assign((threads + 31) / 32, {});
  readings.clear();
  lowest = highest = nullptr;
}

void wgmma_end() {
  const unsigned warp = running() / 32, first = warp / 4 * 4;
  if (!warps[warp].sums.empty()) fail(719, "the thread ends before its wgmma are waited for");
  for (unsigned o = first; o < first + 4 && o < warps.size(); o++)
    if (warps[o].log.size() != warps[warp].log.size() && warp_ended(o) && warp_ended(warp)) fail(719, "wgmma: a warp of the warpgroup does not take part");
}

const char *read_by_wgmma(const char *p, size_t n, const Who &me) {
  if (p >= highest || p + n <= lowest) return nullptr;
  for (const Reading &r : readings) {
    if (p >= r.end || p + n <= r.begin) continue;
    if (r.pending > 0) return "a wgmma that has not been waited for reads it";
    if (me.seen[r.warp * 32 + 1] < r.time) return "a race: a wgmma read it and nothing orders the two";
  }
  return nullptr;
}

} // namespace ridge_model

using namespace ridge_model;

extern "C" {

void ridge_model_wgmma(ridge_wgmma kind, int n, void *sums, uint64_t a, uint64_t b, int across, int keep, const char *file, int line) {
  multiply({kind, n, (uint32_t *)sums, nullptr, a, b, across != 0, keep != 0}, file, line);
}

void ridge_model_wgmma_registers(ridge_wgmma kind, int n, void *sums, uint32_t *a, uint64_t b, int across, int keep, const char *file, int line) {
  multiply({kind, n, (uint32_t *)sums, a, 0, b, across != 0, keep != 0}, file, line);
}

void ridge_model_wgmma_fence(void) {
  Warp &w = warps[running() / 32];
  w.fenced = true;
  for (auto &r : w.fenced_values[running() % 32]) r.second.assign(r.first, r.first + r.second.size());
}

void ridge_model_wgmma_commit(void) {
  if (running() % 32) return; // once a warp; all its lanes are at the last wgmma together
  Warp &w = warps[running() / 32];
  w.committed.push_back(w.open);
  w.open.clear();
}

void ridge_model_wgmma_wait(unsigned pending, const char *file, int line) { warp_together(&pending, wait, "wgmma.wait_group", file, line); }

uintptr_t ridge_model_shared_offset(uintptr_t at) { return shared_offset((void *)at); }
}
