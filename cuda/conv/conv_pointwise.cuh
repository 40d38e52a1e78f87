// HEADER
#ifndef RIDGE_CONV_POINTWISE_CUH
#define RIDGE_CONV_POINTWISE_CUH

#include "conv_store.cuh"
#include "ridge_epilogue.cuh"
#include "ridge_wgmma_3xtf32.cuh"

// Pixels, output channels, channels.
struct PointwiseShape {
  int m, k, c;
};

// E: of y.
template <class P, class E, int COLS> struct Pointwise : WgmmaTile<P, true, COLS> {
  typedef WgmmaTile<P, true, COLS> T;
  typedef typename T::sum sum;
  typedef typename T::loop loop;
  static constexpr int WIDE = 128 / sizeof(E), PANELS = COLS / WIDE; // a panel: 16 rows of a warp by 128 bytes of y
  static constexpr int RING = 4, PANEL = 16 * 128;                    // panels of a warp in shared memory
  static constexpr int SETS = RING / PANELS, AHEAD = SETS / 2;       // tiles of them; so many tiles ahead a residual is asked for
  static constexpr int STAGES = (232448 - 2048 - 8 * RING * PANEL) / T::STAGE;
  static constexpr int RESIDUALS = 8 * SETS;                         // mbarriers: of a warp and a set
  static constexpr bool EARLY = loop::LATER && COLS <= 128;          // there are registers for the bias during the sums
  static_assert(SETS > 0, "a tile's panels have places");

  // Where the warp's panels lie, how far they are, and on which side a thread of the warp stands.
  struct Panels {
    shared_at at, bars; // of the warp
    int row, q, lane;   // lane / 4, lane % 4
    __device__ __forceinline__ shared_at panel(unsigned tile, int p) const { return at + (tile % SETS * PANELS + p) * PANEL; }
    __device__ __forceinline__ shared_at bar(unsigned tile) const { return bars + 8 * (tile % SETS); }
  };

  // Calls f(place, i) for what lies at 4 bytes of 2 neighbours (bf16) or at 8 (words) of a panel, i being the first's number among the sums of 8 rows of the panel's columns; + 2: of the rows 8 below, 1024 bytes on.
  // Odd rows of words take their columns in another order, or two rows would use the same banks.
  template <class F> static __device__ __forceinline__ void pieces(const Panels &of, shared_at panel, F f) {
    const shared_at line = panel + of.row * 128;
    if constexpr (sizeof(E) == 2) {
#pragma unroll
      for (int j = 0; j < 8; j++) f(line + ((j ^ of.row) << 4) + of.q * 4, 4 * j);
    } else {
      const int swap = of.row % 2 * 2;
#pragma unroll
      for (int j = 0; j < 4; j++) f(line + ((((j ^ swap) * 2 + of.q / 2) ^ of.row) << 4) + of.q % 2 * 8, 4 * j);
    }
  }

  static __device__ __forceinline__ float plus(float a, float b) { return a + b; }
  static __device__ __forceinline__ int plus(int a, int b) { return (int)((unsigned)a + (unsigned)b); } // wraps
  static __device__ __forceinline__ void swap(sum &a, sum &b, bool really) {
    const sum x = really ? b : a, y = really ? a : b;
    a = x, b = y;
  }
  // Sums of words, with the columns of odd rows as `pieces` has them, and back.
  static __device__ __forceinline__ void turn(sum (&acc)[COLS / 2], const Panels &of) {
    if constexpr (sizeof(E) == 4) {
#pragma unroll
      for (int i = 0; i < COLS / 2; i++)
        if (i / 4 % 4 < 2) swap(acc[i], acc[i + 8], of.row % 2);
    }
  }

  // The residual's panels of a tile come to where its sums will leave from; by one lane.
  static __device__ __forceinline__ void fetch(const Panels &of, const ridge_tensor_map &residual, unsigned tile, int x, int y) {
    mbarrier_expect(of.bar(tile), PANELS * PANEL);
#pragma unroll
    for (int p = 0; p < PANELS; p++) tma_load(of.panel(tile, p), residual, of.bar(tile), x + p * WIDE, y, 0);
  }
  static __device__ __forceinline__ void add(sum (&acc)[COLS / 2], const Panels &of, unsigned tile) {
    mbarrier_wait(of.bar(tile), tile / SETS & 1);
#pragma unroll
    for (int p = 0; p < PANELS; p++)
      pieces(of, of.panel(tile, p), [&](shared_at place, int i) {
#pragma unroll
        for (int half = 0; half < 2; half++) {
          sum &a = acc[p * WIDE / 2 + i + 2 * half], &b = acc[p * WIDE / 2 + i + 2 * half + 1];
          unsigned low, high;
          if constexpr (sizeof(E) == 2) {
            load_shared(low, place + 1024 * half);
            a += Pair<E>::low(low), b += Pair<E>::high(low);
          } else {
            load_shared(low, high, place + 1024 * half);
            sum x, y;
            of_bits(x, low), of_bits(y, high);
            a = plus(a, x), b = plus(b, y);
          }
        }
      });
  }
  static __device__ __forceinline__ void lay(const sum (&acc)[COLS / 2], const Panels &of, shared_at panel, int p) {
    pieces(of, panel, [&](shared_at place, int i) {
#pragma unroll
      for (int half = 0; half < 2; half++) {
        const sum a = acc[p * WIDE / 2 + i + 2 * half], b = acc[p * WIDE / 2 + i + 2 * half + 1];
        if constexpr (sizeof(E) == 2)
          store_shared(place + 1024 * half, Pair<E>::of(a, b));
        else
          store_shared(place + 1024 * half, bits_of(a), bits_of(b));
      }
    });
  }

  // The bias of a thread's columns of the tile, zeros beyond the channels.
  template <class B> static __device__ __forceinline__ Run<B, 2> pair(const B *of, int column, int channels) {
    Run<B, 2> none = {};
    return column < channels ? *(const Run<B, 2> *)(of + column) : none;
  }

  // Sums of a tile, with `add` and bias in them, through f; the code of f is there for eight of them.
  template <class F> static __device__ __forceinline__ void through(sum (&acc)[COLS / 2], F f) {
#pragma unroll 1
    for (int i = 0; i < COLS / 16; i++) {
      sum v[8];
#pragma unroll
      for (int e = 0; e < 8; e++) v[e] = f(acc[e]);
#pragma unroll
      for (int e = 0; e < COLS / 2 - 8; e++) acc[e] = acc[e + 8];
#pragma unroll
      for (int e = 0; e < 8; e++) acc[COLS / 2 - 8 + e] = v[e];
    }
  }

  // finish(sums, columns' bias) makes of a thread's sums what y gets; write(sums, panels, place, p, column) puts a panel where it leaves from.
  template <class B, class F, class W>
  static __device__ __forceinline__ void convolve(const PointwiseShape &v, const ridge_tensor_map &x, const ridge_tensor_map &filters, const ridge_tensor_map &y, const ridge_tensor_map &residual,
                                                  bool added, const B *bias, F finish, W write) {
    RIDGE_DYNAMIC_SHARED(unsigned char, dynamic);
    RIDGE_SHARED(uint64_t, bars, [loop::BARRIERS * STAGES + RESIDUALS]);
    const shared_at stages = (shared_address(dynamic) + 1023) & ~(shared_at)1023, full = shared_address(bars), empty = full + 8 * STAGES;
    const shared_at residuals = full + 8 * loop::BARRIERS * STAGES;
    const int tid = threadIdx.x, group = __shfl_sync(0xffffffffu, tid / 128, 0), steps = (v.c + T::STEP - 1) / T::STEP;
    const unsigned across = (unsigned)(v.k + COLS - 1) / COLS, tiles = (unsigned)(v.m + T::ROWS - 1) / T::ROWS * across;
    if (tid == 0) {
      tma_prefetch(x);
      tma_prefetch(filters);
      for (int s = 0; s < STAGES; s++) {
        mbarrier_init(full + 8 * s, 1);
        mbarrier_init(empty + 8 * s, 8);
        if constexpr (loop::BARRIERS > 2) mbarrier_init(full + 16 * STAGES + 8 * s, loop::HELPERS);
      }
      for (int s = 0; s < RESIDUALS; s++) mbarrier_init(residuals + 8 * s, 1);
      mbarrier_init_fence();
    }
    __syncthreads();
    if (group == 0) {
      registers_fewer<40>();
      if (tid == 0) {
        WgmmaRing at = {stages, full, empty, 0, 0, 0, 0};
        for (unsigned t = blockIdx.x; t < tiles; t += gridDim.x) {
          const int row = (int)(t / across) * T::ROWS, column = (int)(t % across) * COLS;
          for (int s = 0; s < steps; s++) {
            const shared_at to = stages + at.slot * T::STAGE, bar = full + 8 * at.slot;
            mbarrier_wait(empty + 8 * at.slot, at.phase ^ 1);
            mbarrier_expect(bar, T::A_BYTES + T::B_BYTES);
            tma_load(to, x, bar, s * T::STEP, row, 0);
            tma_load(to + T::A_BYTES, filters, bar, s * T::STEP, column, 0);
            at.next(STAGES);
          }
        }
      }
      if constexpr (loop::BARRIERS > 2) {
        if (tid >= 128 - 32 * loop::HELPERS) {
          WgmmaRing at = {stages, full, empty, 0, 0, 0, 0};
          for (unsigned t = blockIdx.x; t < tiles; t += gridDim.x) loop::template help<Pointwise>(at, steps);
        }
      }
      return;
    }
    registers_more<232>();
    const int warp = tid / 32 - 4, lane = tid % 32;
    WgmmaRing ring = {stages, full, empty, wgmma_operand(stages + (group - 1) * 8192, 16, 1024), wgmma_operand(stages + T::A_BYTES, 16, 1024), 0, 0};
    const Panels of = {stages + STAGES * T::STAGE + warp * (RING * PANEL), residuals + 8 * SETS * warp, lane / 4, lane % 4, lane};
    TmaStores<RING> out;
    if (lane == 0) {
      tma_prefetch(y);
      if (added) {
        tma_prefetch(residual);
        for (int i = 0; i < AHEAD; i++)
          if (const unsigned t = blockIdx.x + i * gridDim.x; t < tiles) fetch(of, residual, i, (int)(t % across) * COLS, (int)(t / across) * T::ROWS + 16 * warp);
      }
    }
    unsigned i = 0;
    for (unsigned t = blockIdx.x; t < tiles; t += gridDim.x, i++) {
      const int row = (int)(t / across) * T::ROWS + 16 * warp, column = (int)(t % across) * COLS;
      const auto later = [&] { // under the first stage's wgmma, where there are any ahead
        if (!added || lane != 0) return;
        out.template wait<(SETS - AHEAD - 1) * PANELS>();
        if (const unsigned next = t + AHEAD * gridDim.x; next < tiles) fetch(of, residual, i + AHEAD, (int)(next % across) * COLS, (int)(next / across) * T::ROWS + 16 * warp);
      };
      sum acc[COLS / 2];
      Run<B, 2> early[EARLY ? COLS / 8 : 1];
      if constexpr (EARLY) {
        if (bias) {
#pragma unroll
          for (int j = 0; j < COLS / 8; j++) early[j] = pair(bias, column + 8 * j + 2 * of.q, v.k);
        }
        loop::template sums<Pointwise>(acc, ring, steps, later);
      } else if constexpr (loop::LATER) {
        loop::template sums<Pointwise>(acc, ring, steps, later);
      } else {
        later();
        loop::template sums<Pointwise>(acc, ring, steps);
      }
      if constexpr (sizeof(E) > 1) {
        if (added) {
          turn(acc, of);
          add(acc, of, i);
          turn(acc, of);
        }
      }
      finish(acc, [&](int j) {
        if constexpr (EARLY)
          return early[j];
        else
          return pair(bias, column + 8 * j + 2 * of.q, v.k);
      });
      turn(acc, of);
#pragma unroll
      for (int p = 0; p < PANELS; p++) {
        if (!added) { // else a residual has come there since
          if (lane == 0) out.template wait<RING - 1>();
          __syncwarp();
        }
        const shared_at panel = of.panel(i, p);
        write(acc, of, panel, p, column);
        proxy_fence();
        __syncwarp();
        if (lane == 0) out.store(y, panel, column + p * WIDE, row);
      }
    }
    if (lane == 0) out.template wait<0>();
  }
};

#define RIDGE_POINTWISE_SHAPE \
  RIDGE_TENSOR_MAP(x), RIDGE_TENSOR_MAP(filters), RIDGE_TENSOR_MAP(y), RIDGE_TENSOR_MAP(residual), int64_t m, int64_t k, int64_t c
#define RIDGE_POINTWISE_VALUES PointwiseShape{(int)m, (int)k, (int)c}, x, filters, y, residual

#define RIDGE_POINTWISE(entry, P, E, COLS)                                                                                  \
  RIDGE_KERNEL_ALONE(entry, WGMMA_THREADS)(RIDGE_POINTWISE_SHAPE, int64_t added, int64_t act, const E *bias) {              \
    typedef Pointwise<P, E, COLS> W;                                                                                        \
    W::convolve(                                                                                                            \
        RIDGE_POINTWISE_VALUES, added != 0, bias,                                                                           \
        [&](float(&acc)[COLS / 2], auto of) {                                                                               \
          if (bias) {                                                                                                       \
            _Pragma("unroll") for (int j = 0; j < COLS / 8; j++) {                                                          \
              const Run<E, 2> b = of(j);                                                                                    \
              _Pragma("unroll") for (int e = 0; e < 4; e++) acc[4 * j + e] += load(b.at[e % 2]);                            \
            }                                                                                                               \
          }                                                                                                                 \
          if (act == ACT_RELU) {                                                                                            \
            _Pragma("unroll") for (int i = 0; i < COLS / 2; i++) acc[i] = relu(acc[i]);                                     \
          } else if (act != ACT_NONE) {                                                                                     \
            W::through(acc, [&](float s) { return activate((int)act, s); });                                                \
          }                                                                                                                 \
        },                                                                                                                  \
        [](const float(&acc)[COLS / 2], const W::Panels &of, shared_at panel, int p, int) { W::lay(acc, of, panel, p); });  \
  }                                                                                                                         \
  RIDGE_ENTRY(entry)

#define RIDGE_POINTWISE_BYTES(entry, P, COLS)                                                                               \
  RIDGE_KERNEL_ALONE(entry, WGMMA_THREADS)(RIDGE_POINTWISE_SHAPE, int64_t added, const int32_t *bias) {                     \
    typedef Pointwise<P, int32_t, COLS> W;                                                                                  \
    W::convolve(                                                                                                            \
        RIDGE_POINTWISE_VALUES, added != 0, bias,                                                                           \
        [&](int(&acc)[COLS / 2], auto of) {                                                                                 \
          if (!bias) return;                                                                                                \
          _Pragma("unroll") for (int j = 0; j < COLS / 8; j++) {                                                            \
            const Run<int32_t, 2> b = of(j);                                                                                \
            _Pragma("unroll") for (int e = 0; e < 4; e++) acc[4 * j + e] = W::plus(acc[4 * j + e], b.at[e % 2]);            \
          }                                                                                                                 \
        },                                                                                                                  \
        [](const int(&acc)[COLS / 2], const W::Panels &of, shared_at panel, int p, int) { W::lay(acc, of, panel, p); });    \
  }                                                                                                                         \
  RIDGE_ENTRY(entry)

// Bytes of a panel: a quad has 16 columns of two wgmma columns of eight, which even and odd lanes exchange, so that each has four neighbours.
template <class W, int COUNT>
__device__ __forceinline__ void lay_requantised(const int (&acc)[COUNT], const typename W::Panels &of, shared_at panel, int p, int column, int channels, const int32_t *bias, const float *scale,
                                                bool relu) {
#pragma unroll
  for (int i = 0; i < 8; i++) {
    Run<float, 2> factor[2];
    Run<int32_t, 2> shift[2] = {};
#pragma unroll
    for (int n = 0; n < 2; n++) {
      const int at = column + p * 128 + 16 * i + 8 * n + 2 * of.q;
      factor[n] = W::pair(scale, at, channels);
      if (bias) shift[n] = W::pair(bias, at, channels);
    }
#pragma unroll
    for (int half = 0; half < 2; half++) {
      unsigned word = 0; // the columns of the first eight in the lower half
#pragma unroll
      for (int e = 0; e < 4; e++) {
        const int8_t b = requantise(W::plus(acc[4 * (16 * p + 2 * i + e / 2) + 2 * half + e % 2], shift[e / 2].at[e % 2]), factor[e / 2].at[e % 2], relu);
        word |= (unsigned)(unsigned char)b << 8 * e;
      }
      const unsigned other = __shfl_xor_sync(0xffffffffu, word, 1);
      const unsigned four = of.q % 2 ? other >> 16 | (word & 0xffff0000u) : (word & 0xffffu) | other << 16;
      store_shared(panel + of.row * 128 + 1024 * half + ((i ^ of.row) << 4) + of.q % 2 * 8 + of.q / 2 * 4, four);
    }
  }
}

#define RIDGE_POINTWISE_REQUANT(entry, P, COLS)                                                                             \
  RIDGE_KERNEL_ALONE(entry, WGMMA_THREADS)(RIDGE_POINTWISE_SHAPE, int64_t act, const int32_t *bias, const float *scale) {   \
    typedef Pointwise<P, int8_t, COLS> W;                                                                                   \
    W::convolve(                                                                                                            \
        RIDGE_POINTWISE_VALUES, false, bias, [](int(&)[COLS / 2], auto) {},                                                 \
        [&](const int(&acc)[COLS / 2], const W::Panels &of, shared_at panel, int p, int column) {                           \
          lay_requantised<W>(acc, of, panel, p, column, (int)k, bias, scale, act == ACT_RELU);                              \
        });                                                                                                                 \
  }                                                                                                                         \
  RIDGE_ENTRY(entry)

#endif
