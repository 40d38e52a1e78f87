// conv2d_fp32_avx512intel_indirect: implicit GEMM through pixel pointers, 6x64 tiles, for Intel's cores: 1x1 layers, and others where conv.go's sixWins.
//
// Formula, layouts, blocking and source: conv_indirect_body.h. Preconditions: sizes below 2^30,
// any alignment. FLOP 2*N*Ho*Wo*K*(C/groups)*R*S; bytes x, w and y once. Plain AVX-512: conv.go tells the cores.
// Limit: arithmetic; 12 cycles for an element's 24 multiply-adds, 10 loads beside them (7x64: 14 cycles, 17 loads).
// One thread of Emerald Rapids, all in L1 or L2, of the FMA probe, best of 400: 64 channels to 256 0.96 (7x64 0.935), 256 to 256 0.985 (0.936),
// 512 to 256 0.975 (0.927): tiles with many loads have the state that docs/kernels/gemm.md, Granite Rapids, describes. Where all kernels have 0.65 to 0.8 of the
// probe, probably beside a busy thread on the other half of the core, each instruction of the loop counts.
// Ice Lake (1.13 loads of 512 bits a cycle), one thread, of 7x64's speed: 1x1 layers of ResNet-50 packed 1.15 to 1.5, from 0.62 to 0.73 of the probe to 0.73 to 0.93
// in the same rounds; 3x3 packed 1.02 to 1.17 from 14x14 on.
// Lines of y are asked for from 16 MiB on alone: 64x56x56 to 256 1.03 to 1.06.
// Versions: 1, an element a turn. 2, four a turn: there 1.03 to 1.06, else 1.00. (All factors from memory, as in gemm_exact.h: 28 loads in 12
// cycles, 0.91 to 0.95 of version 1; those of two or three pixels: as version 2.)
// 3, few output channels as conv2d_fp32_avx512_indirect: 128x28x28 to 16 1.3, to 24 1.45, to 8 2.1.
// 4, packed beforehand: tiles of five and six pixels one after another from registers alone, panels beyond L2 asked for, up to 2304 channels in one slab
// (conv_even.h): 0.99 to 1.17 on the 1x1 layers of ResNet-50, 64x56x56 to 64 1.07, 512x7x7 to 2048 1.12, 2048x7x7 to 512 1.10; 256x56x56 to 64 of batch 16 0.98.
// 5, K up to 16 by 12 pixels also where they come from beyond L2: 1.33 to 1.42; K % 16 channels from registers: 1.04 to 1.12.
#include "../include/ridge.h"

#define RIDGE_VL 16
#define RIDGE_MR 6
#define RIDGE_NV 4
#define RIDGE_WIDE 12
#define CONV_FEW 8
#define RIDGE_VT RIDGE_TARGET_AVX512
#define CONV_FP32
#define CONV_FN ridge_conv2d_fp32_avx512intel_indirect
#define CONV_KC 1152
#define CONV_MAC "vfmadd231ps"
#define CONV_FOURS
#define CONV_KEPT (512 << 10)
#define CONV_FAR_Y (16 << 20)
#include "conv_indirect_body.h"
