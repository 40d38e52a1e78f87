// What qk_softmax and softmax_v on tensor cores share (attention_parts_qk.cuh, attention_parts_sv.cuh): operands that lanes read from memory as they are, and the maxima
// and sums of a query's keys, which several warps have.
//
// A product does not mind the order of what it sums over, nor in which order keys or columns are its rows. So a lane takes 16 bytes of a row that lie together, where mma would
// have it take 4: two steps' operands by one load, without shared memory, barriers and ldmatrix. A quad reads 64 bytes of a row, two sectors of 32.
#ifndef RIDGE_ATTENTION_PARTS_CUH
#define RIDGE_ATTENTION_PARTS_CUH

#include "attention_3xtf32.cuh"

// Operands of one step: 16 rows, and 8 columns. Words of A: rows g and g + 8 of the first k of a lane, the same of the second.
template <class T> struct PartOperands;
template <> struct PartOperands<ridge_bf16> {
  struct Left {
    unsigned w[4];
    Left() = default;
    __device__ __forceinline__ Left(unsigned a, unsigned b, unsigned c, unsigned d) : w{a, b, c, d} {}
  };
  struct Right {
    unsigned w[2];
    __device__ __forceinline__ Right(unsigned a, unsigned b) : w{a, b} {}
  };
  static __device__ __forceinline__ void multiply(float (&sum)[4], const Left &a, const Right &b) { MmaBf16::mma(sum, a.w, b.w); }
};
template <> struct PartOperands<float> {
  struct Left : Split<4> {
    Left() = default;
    __device__ __forceinline__ Left(unsigned a, unsigned b, unsigned c, unsigned d) : Split<4>({__uint_as_float(a), __uint_as_float(b), __uint_as_float(c), __uint_as_float(d)}) {}
  };
  struct Right : Split<2> {
    __device__ __forceinline__ Right(unsigned a, unsigned b) : Split<2>({__uint_as_float(a), __uint_as_float(b)}) {}
  };
  static __device__ __forceinline__ void multiply(float (&sum)[4], const Left &a, const Right &b) { multiply_3xtf32(sum, a, b); }
};

// Neighbours of a row as words, COUNT of them.
template <int COUNT, class T> __device__ __forceinline__ void load_words(unsigned *w, const T *from) {
  if constexpr (COUNT == 4) {
    const pack<unsigned> x = load_pack((const pack<unsigned> *)from);
#pragma unroll
    for (int i = 0; i < 4; i++) w[i] = x.at[i];
  } else {
    const Run<unsigned, COUNT> x = *(const Run<unsigned, COUNT> *)from;
#pragma unroll
    for (int i = 0; i < COUNT; i++) w[i] = x.at[i];
  }
}

// The largest and the sum of the four lanes of a quad.
__device__ __forceinline__ float quad_max(float x) {
  x = fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 1));
  return fmaxf(x, __shfl_xor_sync(0xffffffffu, x, 2));
}
__device__ __forceinline__ float quad_sum(float x) {
  x += __shfl_xor_sync(0xffffffffu, x, 1);
  return x + __shfl_xor_sync(0xffffffffu, x, 2);
}

// Bases and sums of all parts of a query's keys, up to 8 (those of another part of totals lie `apart` floats on), put together by the quad that has the query: base becomes that of all,
// and the sum of all is given.
__device__ __forceinline__ float all_parts(const float *totals, int apart, int parts, float c, float &base) {
  const int t = threadIdx.x % 4;
  float top[2] = {NOTHING, NOTHING}, sum[2] = {};
#pragma unroll
  for (int i = 0; i < 2; i++)
    if (t + 4 * i < parts) top[i] = totals[(t + 4 * i) * apart], sum[i] = totals[(t + 4 * i) * apart + 1];
  base = quad_max(fmaxf(top[0], top[1]));
  return quad_sum(sum[0] * rebase(top[0], base, c) + sum[1] * rebase(top[1], base, c));
}

// Outputs of a product whose 8 columns of a tile each lane read together: lanes g have OWN columns of each piece of 8·OWN, then half and a quarter of that. Column n of tile j of a
// piece is n·OWN + j there, so that a lane's columns 2t and 2t + 1 of its tiles are OWN neighbours.
template <class T, int D> struct PartColumns {
  static constexpr int OWN = 16 / (int)sizeof(T), PIECE = 8 * OWN, WHOLE = D / PIECE;
  static constexpr bool HALF = (D & PIECE / 2) != 0, QUARTER = PIECE / 4 >= 16 && (D & PIECE / 4) != 0;

  template <int COUNT> static __device__ __forceinline__ void leave(const float (&out)[D / 8][4], int tile, int at, float factor, float *to) {
#pragma unroll
    for (int j = 0; j < COUNT; j += COUNT < 4 ? 2 : 4) {
      if constexpr (COUNT < 4)
        *(Run<float, 2> *)(to + j) = Run<float, 2>{{out[tile + j][at] * factor, out[tile + j + 1][at] * factor}};
      else
        store_pack((pack<float> *)(to + j), pack<float>{{out[tile + j][at] * factor, out[tile + j + 1][at] * factor, out[tile + j + 2][at] * factor, out[tile + j + 3][at] * factor}});
    }
  }

  // The lane's columns of its row h, each times factor, to a row of D floats.
  static __device__ __forceinline__ void leave(const float (&out)[D / 8][4], int h, float factor, float *row) {
#pragma unroll
    for (int e = 0; e < 2; e++) {
      const int at = 2 * h + e, column = threadIdx.x % 4 * 2 + e;
#pragma unroll
      for (int j = 0; j < WHOLE; j++) leave<OWN>(out, j * OWN, at, factor, row + j * PIECE + column * OWN);
      if constexpr (HALF) leave<OWN / 2>(out, WHOLE * OWN, at, factor, row + WHOLE * PIECE + column * (OWN / 2));
      if constexpr (QUARTER) leave<OWN / 4>(out, (D - PIECE / 4) / 8, at, factor, row + D - PIECE / 4 + column * (OWN / 4));
    }
  }
};

// Columns j of two keys, whose words lie in a and b, as a pair.
__device__ __forceinline__ unsigned column_pair(unsigned a, unsigned b, int j) { return __byte_perm(a, b, j % 2 ? 0x7632 : 0x5410); }

#endif
