// Convolutions on Hopper's tensor cores, nhwc, whose y leaves by TMA: the tile, its end and the epilogues that conv_pointwise.cuh and conv_boxes.cuh share, which say where tiles lie.
//
// Stages and warpgroups: ridge_wgmma_tile.cuh. Rounded sums go to panels of 128 bytes of y in shared memory, swizzled as TMA has them, one lane orders that they leave, and who wrote them goes on to the next tile. A panel is
// 16 rows of a warp or, of boxes of pixels, all rows of a tile, for which all that multiply meet. Four panels, 64 KB in all, are on the way, and one is written again when it has been read. A residual comes by TMA
// into the panel from which its sums will leave, where each thread adds what lies where it will write.
#ifndef RIDGE_CONV_TMA_CUH
#define RIDGE_CONV_TMA_CUH

#include "conv_store.cuh"
#include "ridge_epilogue.cuh"
#include "ridge_wgmma_3xtf32.cuh"

// E: of y. G: how its tiles lie (RowsOf of conv_pointwise.cuh, BoxesOf of conv_boxes.cuh).
template <class P, class E, int COLS, class G> struct TmaConv : WgmmaTile<P, true, COLS> {
  typedef WgmmaTile<P, true, COLS> T;
  typedef typename T::sum sum;
  typedef typename T::loop loop;
  static constexpr int WIDE = 128 / sizeof(E), PANELS = COLS / WIDE; // a panel: 128 bytes of y of 16 rows of a warp, or of a box
  static constexpr int RING = 4, PANEL = (G::BOXES ? T::ROWS : 16) * 128; // panels that a warp or, of boxes, the block has in shared memory
  static constexpr int SETS = RING / PANELS, AHEAD = SETS / 2;       // tiles of them; so many tiles ahead a residual is asked for
  static constexpr int STAGES = (232448 - 2048 - RING * T::ROWS * 128) / T::STAGE;
  static constexpr int RESIDUALS = (G::BOXES ? 1 : 8) * SETS;         // mbarriers: of a set of panels
  static constexpr bool EARLY = loop::LATER && COLS <= 128;          // there are registers for the bias during the sums
  static constexpr int TOGETHER = SETS > 1 ? PANELS : 1;              // panels that leave at once
  static_assert(SETS > 0, "a tile's panels have places");

  // Where the warp's panels lie, how far they are, and on which side a thread of the warp stands.
  struct Panels {
    shared_at at, bars; // the warp's rows of the first panel; of the first set
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

  // The residual's panels of a tile come to where its sums will leave from; by one lane, to whom the first rows of a panel belong.
  static __device__ __forceinline__ void fetch(const G &g, const Panels &of, unsigned tile, int row, int column) {
    mbarrier_expect(of.bar(tile), PANELS * g.panel_rows() * 128);
#pragma unroll
    for (int p = 0; p < PANELS; p++) g.fetch(of.panel(tile, p), of.bar(tile), row, column + p * WIDE);
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

  // A thread's two columns of a row of channels, of which all exist or none: as they lie, so that nothing waits for them before they are used.
  template <class B> struct Two {
    Run<unsigned, sizeof(B) / 2> words;
    __device__ __forceinline__ auto at(int e) const {
      if constexpr (sizeof(B) == 2) {
        return e ? Pair<B>::high(words.at[0]) : Pair<B>::low(words.at[0]);
      } else {
        B v;
        of_bits(v, words.at[e]);
        return v;
      }
    }
  };
  template <class B> static __device__ __forceinline__ Two<B> pair(const B *of, int column, int channels) {
    Two<B> v = {};
    if (column < channels) v.words = *(const Run<unsigned, sizeof(B) / 2> *)(of + column);
    return v;
  }

  // A tile's rows and channels; a block takes every gridDim.x-th one, those of a row of tiles one after the other. Nothing is divided between two tiles.
  struct Place {
    int row, column, rows, columns;
    unsigned tile, tiles;
    int across;
    __device__ __forceinline__ Place(const G &g, unsigned first) {
      across = (g.k + COLS - 1) / COLS, tiles = g.down() * across, tile = first;
      row = (int)(first / across), column = (int)(first % across), rows = (int)(gridDim.x / across), columns = (int)(gridDim.x % across);
    }
    __device__ __forceinline__ bool exists() const { return tile < tiles; }
    __device__ __forceinline__ void next() {
      tile += gridDim.x, row += rows, column += columns;
      if (column >= across) column -= across, row++;
    }
    __device__ __forceinline__ int y() const { return row * T::ROWS; }
    __device__ __forceinline__ int x() const { return column * COLS; }
  };
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

  // Those who write a panel together: a warp, or all that multiply.
  static __device__ __forceinline__ void together() {
    if constexpr (G::BOXES)
      named_barrier(1, 256);
    else
      __syncwarp();
  }

  // finish(sums, columns' bias) makes of a thread's sums what y gets; write(sums, panels, panel, its number, column) puts a panel where it leaves from.
  template <class B, class F, class W> static __device__ __forceinline__ void convolve(const G &g, bool added, const B *bias, F finish, W write) {
    RIDGE_DYNAMIC_SHARED(unsigned char, dynamic);
    RIDGE_SHARED(uint64_t, bars, [loop::BARRIERS * STAGES + RESIDUALS]);
    const shared_at stages = (shared_address(dynamic) + 1023) & ~(shared_at)1023, full = shared_address(bars), empty = full + 8 * STAGES;
    const shared_at residuals = full + 8 * loop::BARRIERS * STAGES, panels = stages + STAGES * T::STAGE;
    const int tid = threadIdx.x, group = __shfl_sync(0xffffffffu, tid / 128, 0), steps = g.template steps<T::STEP>();
    if (tid == 0) {
      g.prefetch();
      for (int s = 0; s < STAGES; s++) {
        mbarrier_init(full + 8 * s, 1);
        mbarrier_init(empty + 8 * s, 8);
        if constexpr (loop::BARRIERS > 2) mbarrier_init(full + 16 * STAGES + 8 * s, loop::HELPERS);
      }
      for (int s = 0; s < RESIDUALS; s++) mbarrier_init(residuals + 8 * s, 1);
      mbarrier_init_fence();
    }
    if constexpr (G::BOXES) { // what a box leaves of 128 rows is zeros, in stages and panels
      constexpr unsigned zeros[4] = {};
      for (int s = 0; s < STAGES + RING; s++) {
        const shared_at rows = s < STAGES ? stages + s * T::STAGE : panels + (s - STAGES) * PANEL;
        for (int at = g.panel_rows() * 128 + tid * 16; at < T::A_BYTES; at += WGMMA_THREADS * 16) store_shared(rows + at, zeros);
      }
      proxy_fence();
    }
    __syncthreads();
    if (group == 0) {
      registers_fewer<40>();
      if (tid == 0) {
        WgmmaRing at = {stages, full, empty, 0, 0, 0, 0};
        for (Place p(g, blockIdx.x); p.exists(); p.next()) g.template bring<TmaConv>(at, p.y(), p.x(), steps);
      }
      if constexpr (loop::BARRIERS > 2) {
        if (tid >= 128 - 32 * loop::HELPERS) {
          WgmmaRing at = {stages, full, empty, 0, 0, 0, 0};
          for (Place p(g, blockIdx.x); p.exists(); p.next()) loop::template help<TmaConv>(at, steps);
        }
      }
      return;
    }
    registers_more<232>();
    const int warp = tid / 32 - 4, lane = tid % 32;
    const bool orders = G::BOXES ? tid == 128 : lane == 0; // of the panels
    WgmmaRing ring = {stages, full, empty, wgmma_operand(stages + (group - 1) * 8192, 16, 1024), wgmma_operand(stages + T::A_BYTES, 16, 1024), 0, 0};
    const Panels of = {panels + warp * (G::BOXES ? 2048 : RING * PANEL), residuals + (G::BOXES ? 0 : 8 * SETS * warp), lane / 4, lane % 4, lane};
    const int first_row = G::BOXES ? 0 : 16 * warp; // of a panel in its tile
    TmaStores out;
    Place p(g, blockIdx.x), asked(g, blockIdx.x); // the tile, and the next one whose residual is asked for
    unsigned i = 0, ahead = 0;
    const auto ask = [&] {
      if constexpr (AHEAD == 0) {
        fetch(g, of, i, p.y() + first_row, p.x());
      } else {
        if (asked.exists()) fetch(g, of, ahead++, asked.y() + first_row, asked.x());
        asked.next();
      }
    };
    if (orders && added)
      for (int j = 0; j < AHEAD; j++) ask();
    for (; p.exists(); p.next(), i++) {
      Two<B> early[EARLY ? COLS / 8 : 1];
      const auto later = [&] { // under the first stage's wgmma, where there are any ahead
        if (added && orders) {
          out.template wait<(SETS - AHEAD - 1) * PANELS>();
          ask();
        }
        if constexpr (EARLY) {
          if (bias) {
#pragma unroll
            for (int j = 0; j < COLS / 8; j++) early[j] = pair(bias, p.x() + 8 * j + 2 * of.q, g.k);
          }
        }
      };
      sum acc[COLS / 2];
      if constexpr (loop::LATER) {
        loop::template sums<TmaConv>(acc, ring, steps, later);
      } else {
        later();
        loop::template sums<TmaConv>(acc, ring, steps);
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
          return pair(bias, p.x() + 8 * j + 2 * of.q, g.k);
      });
      turn(acc, of);
#pragma unroll
      for (int first = 0; first < PANELS; first += TOGETHER) {
        if (!added) { // else a residual has come there since
          if (orders) out.template wait<RING - TOGETHER>();
          together();
        }
#pragma unroll
        for (int n = first; n < first + TOGETHER; n++) write(acc, of, of.panel(i, n), n, p.x());
        proxy_fence();
        together();
        if (orders) {
#pragma unroll
          for (int n = first; n < first + TOGETHER; n++) g.leave(out, of.panel(i, n), p.y() + first_row, p.x() + n * WIDE);
        }
      }
    }
    if (orders) out.template wait<0>();
  }
};

#define RIDGE_CONV_TMA(entry, G, P, E, COLS)                                                                                 \
  RIDGE_KERNEL_ALONE(entry, WGMMA_THREADS)(G##_PARAMETERS, int64_t added, int64_t act, const E *bias) {                      \
    typedef TmaConv<P, E, COLS, G##_TYPE> W;                                                                                 \
    W::convolve(                                                                                                             \
        G##_VALUES, added != 0, bias,                                                                                        \
        [&](float(&acc)[COLS / 2], auto of) {                                                                                \
          if (bias) {                                                                                                        \
            _Pragma("unroll") for (int j = 0; j < COLS / 8; j++) {                                                           \
              const auto b = of(j);                                                                                          \
              _Pragma("unroll") for (int e = 0; e < 4; e++) acc[4 * j + e] += b.at(e % 2);                                   \
            }                                                                                                                \
          }                                                                                                                  \
          if (act == ACT_RELU) {                                                                                             \
            _Pragma("unroll") for (int i = 0; i < COLS / 2; i++) acc[i] = relu(acc[i]);                                      \
          } else if (act != ACT_NONE) {                                                                                      \
            W::through(acc, [&](float s) { return activate((int)act, s); });                                                 \
          }                                                                                                                  \
        },                                                                                                                   \
        [](const float(&acc)[COLS / 2], const W::Panels &of, shared_at panel, int p, int) { W::lay(acc, of, panel, p); });   \
  }                                                                                                                          \
  RIDGE_ENTRY(entry)

#define RIDGE_CONV_TMA_BYTES(entry, G, P, COLS)                                                                              \
  RIDGE_KERNEL_ALONE(entry, WGMMA_THREADS)(G##_PARAMETERS, int64_t added, const int32_t *bias) {                             \
    typedef TmaConv<P, int32_t, COLS, G##_TYPE> W;                                                                           \
    W::convolve(                                                                                                             \
        G##_VALUES, added != 0, bias,                                                                                        \
        [&](int(&acc)[COLS / 2], auto of) {                                                                                  \
          if (!bias) return;                                                                                                 \
          _Pragma("unroll") for (int j = 0; j < COLS / 8; j++) {                                                             \
            const auto b = of(j);                                                                                            \
            _Pragma("unroll") for (int e = 0; e < 4; e++) acc[4 * j + e] = W::plus(acc[4 * j + e], b.at(e % 2));             \
          }                                                                                                                  \
        },                                                                                                                   \
        [](const int(&acc)[COLS / 2], const W::Panels &of, shared_at panel, int p, int) { W::lay(acc, of, panel, p); });     \
  }                                                                                                                          \
  RIDGE_ENTRY(entry)

// Bytes of a panel: a quad has 16 columns of two wgmma columns of eight, which even and odd lanes exchange, so that each has four neighbours.
template <class W, int COUNT>
__device__ __forceinline__ void lay_requantised(const int (&acc)[COUNT], const typename W::Panels &of, shared_at panel, int p, int column, int channels, const int32_t *bias, const float *scale,
                                                bool relu) {
#pragma unroll
  for (int i = 0; i < 8; i++) {
    typename W::template Two<float> factor[2];
    typename W::template Two<int32_t> shift[2] = {};
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
        const int8_t b = requantise(W::plus(acc[4 * (16 * p + 2 * i + e / 2) + 2 * half + e % 2], shift[e / 2].at(e % 2)), factor[e / 2].at(e % 2), relu);
        word |= (unsigned)(unsigned char)b << 8 * e;
      }
      const unsigned other = __shfl_xor_sync(0xffffffffu, word, 1);
      const unsigned four = of.q % 2 ? other >> 16 | (word & 0xffff0000u) : (word & 0xffffu) | other << 16;
      store_shared(panel + of.row * 128 + 1024 * half + ((i ^ of.row) << 4) + of.q % 2 * 8 + of.q / 2 * 4, four);
    }
  }
}

#define RIDGE_CONV_TMA_REQUANT(entry, G, P, COLS)                                                                            \
  RIDGE_KERNEL_ALONE(entry, WGMMA_THREADS)(G##_PARAMETERS, int64_t act, const int32_t *bias, const float *scale) {           \
    typedef TmaConv<P, int8_t, COLS, G##_TYPE> W;                                                                            \
    W::convolve(                                                                                                             \
        G##_VALUES, false, bias, [](int(&)[COLS / 2], auto) {},                                                              \
        [&](const int(&acc)[COLS / 2], const W::Panels &of, shared_at panel, int p, int column) {                            \
          lay_requantised<W>(acc, of, panel, p, column, (int)k, bias, scale, act == ACT_RELU);                               \
        });                                                                                                                  \
  }                                                                                                                          \
  RIDGE_ENTRY(entry)

#endif
