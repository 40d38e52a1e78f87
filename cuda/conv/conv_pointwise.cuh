// The body of conv2d_DTYPE_sm90_pointwise.cu: convolution of one tap, stride 1 and no padding on Hopper's tensor cores, nhwc, one group: Y[N·H·W,K] = X[N·H·W,C] · W[K,C]ᵀ, a plain product, with
// the epilogue of conv_simt.cuh. 16 bytes of channels of x and of y or a multiple, all tensors at multiples of 16 bytes (pointwise.go asks).
//
// Stages and warpgroups: ridge_wgmma_tile.cuh, in tiles of 128 pixels by 256, 128 or 64 channels. These layers are bound by memory: 64 or 512 terms a sum, and all of x and y on the way once. So what counts is that both
// ways are never idle. A block takes every gridDim.x-th tile, those of the same pixels one after the other, so that x comes from memory once and to its neighbours from the second-level cache; three to six stages of the next tiles
// are on the way (72 to 160 KB a multiprocessor; 4.2 TB/s × 1 us / 132 asks for 32). y leaves by TMA: a warp rounds its sums into panels of 16 rows of 128 bytes in shared memory, one lane orders
// that they leave, and the warp goes on to the next tile; four panels of a warp, 64 KB of a block, are on the way, and one is written again when it has been read. TMA leaves out rows and channels beyond y.
// A residual comes by TMA into the panel from which its sums will leave, a tile (of 64 channels: two) ahead, of 256 channels under the products; each thread adds what lies where it will write.
// Bias is loaded under the products (up to 128 channels), activations work on registers.
//
// FLOP: 2·N·H·W·K·C. Bytes: x, w, bias, residual and y once; from L2 128 pixels and 64, 128 or 256 filters a stage. Registers 168 (the launch bound's), no spill.
// Instructions, disassembled, bf16, 128 channels, a warp: before a tile's first wgmma 36, its end 143 (32 roundings, 32 stores to shared memory, 2 to y); + 64 with ReLU, some 110 with a residual. The boxes' kernel
// (conv_wgmma.cuh) has 197 before the first wgmma, among them seven divisions that wait for each other (some 0.4 us of each tile, with the tensor cores idle), and 799 at the end: bias is asked for and
// loaded by the element, twice, whose predicates (103 comparisons, 40 of predicates) are there without bias too. With two warps a scheduler there is nothing to hide such a chain: that, and first
// executions of some 13 KB of code, is what the 0.8 us of 64 columns are likely made of.
//
// ResNet-50's layers for 32 images, bf16, an H200 (4.2 TB/s of DRAM; 10.5 of stages and y from L2), beside what boxes and cuDNN took there. All predictions are not yet measured; 2.5 us of start and end are in them.
//                        MB of DRAM  us   GFLOP  tiles             us of tiles  MB of L2  us    predicted  boxes  cuDNN
//   64 > 256, 56²        64.2        15.3 3.3    784 × 256, 6 rounds  9.2       90        8.6   19         28.8   23.0   (0.80 of the DRAM's roof)
//   … residual, ReLU     115.6       27.5 3.3    1568 × 128, 12       10.5      154       14.7  32                       (0.86)
//   256 > 64, 56²        64.2        15.3 3.3    784 × 64, 6          5.8       90        8.6   18.5       20.7   17.6   (0.83)
//   512 > 128, 28²       32.2        7.7  3.3    196 × 128, 2         5.8       58        5.5   8.5        10.9   8.1    (L2 holds all: 0.65 of its roof)
//   256 > 1024, 14²      16.6        4.0  3.3    392 × 128, 3         5.2       64        6.1   8.6        12.8   8.4    (0.71)
//   1024 > 256, 14²      16.6        4.0  3.3    98 × 128, 1          5.2       55        5.2   7.7        9.5    7.6    (0.67)
//   2048 > 512, 7²       10.1        2.4  3.3    104 × 64, 1          5.0       83        7.9   10         10.0   9.1    (0.79)
//
// Versions: 1 as described, not yet measured. Next, if measured to be worth it: three warpgroups of 64 pixels (512 > 128: 131 tiles of 192 in one round); clusters of two that share x by multicast (2048 > 512: 55 MB of L2
// instead of 83); filters that stay in shared memory; stmatrix (8 stores a warp instead of 32).
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
  static constexpr int TOGETHER = SETS > 1 ? PANELS : 1;              // panels that leave at once
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

  // A tile's pixels and channels; a block takes every gridDim.x-th one, those of a row of tiles one after the other. Nothing is divided between two tiles.
  struct Place {
    int row, column, rows, columns;
    unsigned tile, tiles;
    int across;
    __device__ __forceinline__ Place(const PointwiseShape &v, unsigned first) {
      across = (v.k + COLS - 1) / COLS, tiles = (unsigned)(v.m + T::ROWS - 1) / T::ROWS * across, tile = first;
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

  // finish(sums, columns' bias) makes of a thread's sums what y gets; write(sums, panels, place, p, column) puts a panel where it leaves from.
  template <class B, class F, class W>
  static __device__ __forceinline__ void convolve(const PointwiseShape &v, const ridge_tensor_map &x, const ridge_tensor_map &filters, const ridge_tensor_map &y, const ridge_tensor_map &residual,
                                                  bool added, const B *bias, F finish, W write) {
    RIDGE_DYNAMIC_SHARED(unsigned char, dynamic);
    RIDGE_SHARED(uint64_t, bars, [loop::BARRIERS * STAGES + RESIDUALS]);
    const shared_at stages = (shared_address(dynamic) + 1023) & ~(shared_at)1023, full = shared_address(bars), empty = full + 8 * STAGES;
    const shared_at residuals = full + 8 * loop::BARRIERS * STAGES;
    const int tid = threadIdx.x, group = __shfl_sync(0xffffffffu, tid / 128, 0), steps = (v.c + T::STEP - 1) / T::STEP;
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
        for (Place p(v, blockIdx.x); p.exists(); p.next()) {
          for (int s = 0; s < steps; s++) {
            const shared_at to = stages + at.slot * T::STAGE, bar = full + 8 * at.slot;
            mbarrier_wait(empty + 8 * at.slot, at.phase ^ 1);
            mbarrier_expect(bar, T::A_BYTES + T::B_BYTES);
            tma_load(to, x, bar, s * T::STEP, p.y(), 0);
            tma_load(to + T::A_BYTES, filters, bar, s * T::STEP, p.x(), 0);
            at.next(STAGES);
          }
        }
      }
      if constexpr (loop::BARRIERS > 2) {
        if (tid >= 128 - 32 * loop::HELPERS) {
          WgmmaRing at = {stages, full, empty, 0, 0, 0, 0};
          for (Place p(v, blockIdx.x); p.exists(); p.next()) loop::template help<Pointwise>(at, steps);
        }
      }
      return;
    }
    registers_more<232>();
    const int warp = tid / 32 - 4, lane = tid % 32;
    WgmmaRing ring = {stages, full, empty, wgmma_operand(stages + (group - 1) * 8192, 16, 1024), wgmma_operand(stages + T::A_BYTES, 16, 1024), 0, 0};
    const Panels of = {stages + STAGES * T::STAGE + warp * (RING * PANEL), residuals + 8 * SETS * warp, lane / 4, lane % 4, lane};
    TmaStores out;
    Place p(v, blockIdx.x), asked(v, blockIdx.x); // the tile, and the next one whose residual is asked for
    unsigned i = 0, ahead = 0;
    const auto ask = [&] {
      if (asked.exists()) fetch(of, residual, ahead++, asked.x(), asked.y() + 16 * warp);
      asked.next();
    };
    if (lane == 0) {
      tma_prefetch(y);
      if (added) {
        tma_prefetch(residual);
        for (int j = 0; j < AHEAD; j++) ask();
      }
    }
    for (; p.exists(); p.next(), i++) {
      Two<B> early[EARLY ? COLS / 8 : 1];
      const auto later = [&] { // under the first stage's wgmma, where there are any ahead
        if (added && lane == 0) {
          out.template wait<(SETS - AHEAD - 1) * PANELS>();
          ask();
        }
        if constexpr (EARLY) {
          if (bias) {
#pragma unroll
            for (int j = 0; j < COLS / 8; j++) early[j] = pair(bias, p.x() + 8 * j + 2 * of.q, v.k);
          }
        }
      };
      sum acc[COLS / 2];
      if constexpr (loop::LATER) {
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
          return pair(bias, p.x() + 8 * j + 2 * of.q, v.k);
      });
      turn(acc, of);
#pragma unroll
      for (int first = 0; first < PANELS; first += TOGETHER) {
        if (!added) { // else a residual has come there since
          if (lane == 0) out.template wait<RING - TOGETHER>();
          __syncwarp();
        }
#pragma unroll
        for (int n = first; n < first + TOGETHER; n++) write(acc, of, of.panel(i, n), n, p.x());
        proxy_fence();
        __syncwarp();
        if (lane == 0) {
#pragma unroll
          for (int n = first; n < first + TOGETHER; n++) out.store(y, of.panel(i, n), p.x() + n * WIDE, p.y() + 16 * warp, 0);
        }
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
              const auto b = of(j);                                                                                         \
              _Pragma("unroll") for (int e = 0; e < 4; e++) acc[4 * j + e] += b.at(e % 2);                                  \
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
            const auto b = of(j);                                                                                           \
            _Pragma("unroll") for (int e = 0; e < 4; e++) acc[4 * j + e] = W::plus(acc[4 * j + e], b.at(e % 2));            \
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
