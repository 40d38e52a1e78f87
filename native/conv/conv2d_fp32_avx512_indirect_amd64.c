// conv2d_fp32_avx512_indirect: implicit GEMM through pixel pointers, 7x64 tiles.
//
// Formula, layouts, blocking and source: conv_indirect_body.h. Preconditions: sizes below 2^30,
// any alignment. FLOP 2*N*Ho*Wo*K*(C/groups)*R*S; bytes x, w and y once. Limit: arithmetic;
// 14 cycles for an element at two FMA a cycle, 10 loads of the panel and 7 broadcasts beside them.
// Versions: 1, 8x32 tiles. 2, 7x64, taps outside the image left out, no pointers for 1x1 layers: docs/kernels/conv.md, Zen 5.
// 3, the next tile's pixels and lines of y asked for where they lie beyond L2: docs/kernels/conv.md, Zen 4.
// 4, stems in NHWC read in place with one pointer a pixel; panels kept between blocks: docs/kernels/conv.md, Zen 4.
// 5, sums leave a tile pixel by pixel: 1x1 layers over 64 channels 1.01 to 1.035 times as fast.
// 6, K that does not fill panels of 64: 12 pixels by one and two vectors, even panels, vectors along channels for K up to 8: K = 32 1.07, 16 1.25, 8 1.8, 4 4 times as
// fast (docs/kernels/conv.md, few output channels).
// 7, groups of 16 and 32 outputs: their pixels side by side in a copy, one pointer for a row of taps, pointers kept for the next group. Emerald Rapids, 3x3, NHWC: of 16
// outputs 1.17 to 1.5 times as fast, of 32 1.0 to 1.13; filters of whole eights of outputs packed as those
// of whole vectors are, 24, 40 and 56 outputs 1.17 to 4.2 times as fast (docs/kernels/conv.md, groups of whole vectors).
// 8, K up to 16 without indexed addresses, rows of taps in one run up to 48 channels, K % 16 channels from registers: 3x3 to 16 1.05 to 1.18, 7x7 over 8 channels to 16 1.27
// (docs/kernels/conv.md, one vector without indexed addresses).
#include "../include/ridge.h"

#define RIDGE_VL 16
#define RIDGE_MR 7
#define RIDGE_NV 4
#define RIDGE_WIDE 12
#define CONV_FEW 8
#define RIDGE_VT RIDGE_TARGET_AVX512
#define CONV_FP32
#define CONV_FN ridge_conv2d_fp32_avx512_indirect
#define CONV_EDGES
#define CONV_KC 1152
#define CONV_MAC "vfmadd231ps"
#define CONV_KEPT (512 << 10)
#include "conv_indirect_body.h"
