// conv2d_fp32_avx2_indirect: implicit GEMM through pixel pointers, 6x16 tiles (fp32 throughout).
//
// Formula, layouts, blocking and source: conv_indirect_body.h. Preconditions: sizes below 2^30,
// any alignment. FLOP 2*N*Ho*Wo*K*(C/groups)*R*S; bytes x, w and y once. Limit: arithmetic, 6 cycles
// for an element of 6 pixels and 16 channels at two FMA a cycle; 8 loads a tile step, 4 cycles.
// Versions, as parts of the FMA probe's rate over ten layers of ResNet-50 at batch 1, one core of Zen 3:
// 1, slabs of 256 elements, two divisions a tile: 0.74 on a busy core. 2, panels fetched 1 KiB ahead from L2 and
// slabs of 512: 0.89 against 0.74 (interleaved, busy core). 3, slabs of 2304 (whole reductions of most layers) and no
// divisions, filters packed a cache line at a time and fetched ahead: 0.90; blocks of 392 pixels for 256: +1 %.
// 4, four elements a turn without asking for panels ahead (a contiguous panel comes by itself, and the
// load slot counts when another thread has the other half of the core), the next tile's lines of y asked
// for: 1.05 to 1.2 times version 3 on the 1x1 layers (0.65 to 0.71 of the probe at 64x56x56 to 256 channels, 0.58 to
// 0.71 at 512x7x7 to 2048), 1.06 to 1.17 on 3x3. conv2d_fp32_avx2 beside version 3: 0.61. A 3x32 tile (fewer broadcasts): 2 % slower, as its panel is read twice as often;
// asking for pixels ahead as well: nothing.
// 5, filters packed beforehand (packed=1) with a tile going over 256 KiB of panels: 1x1 layers 1.03 to 1.13 times version 4, 3x3 1.01 to 1.07.
// 6, tiles that end by two pixels over three elements, all their panels in one call (packed=1): 1x1 layers over 64 channels 1.03 to 1.05 times version 5,
// others 1.01 to 1.05, 3x3 and 7x7 the same.
// 7, six pixels at even distances by three addresses and one piece of assembly (twos_six; packed=1), 60 instructions less a tile: 1x1 layers 1.00 to 1.025 times
// version 6 on a quiet core, 1.02 to 1.08 where a neighbour has the other half of it, the stem 0.98 to 1.03.
#include "../include/ridge.h"

#define RIDGE_VL 8
#define RIDGE_MR 6
#define RIDGE_NV 2
#define RIDGE_VT RIDGE_TARGET_AVX2
#define CONV_FP32
#define CONV_FN ridge_conv2d_fp32_avx2_indirect
#include "conv_indirect_body.h"
