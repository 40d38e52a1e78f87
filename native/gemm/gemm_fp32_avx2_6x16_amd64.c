// gemm_fp32_avx2_6x16: fp32 GEMM for AVX2 with FMA.
//
// C[M,N] = act(alpha*A[M,K]*op(B) + beta*D + bias) + residual, row-major, any shape, pitch
// and alignment; C overlaps no input. FLOP 2MNK; bytes: A, B and C once plus the packed copies.
// Limit: the two FMA units. Per k the tile needs 12 FMAs (6 cycles), 2 loads of B and 6
// broadcasts of A: 8 loads against 12 load slots. 12 accumulators, 2 of B and a broadcast
// stay within 16 registers; the loop has no other instruction but its counters (checked in
// the disassembly). The B panel (KC*16*4 = 16 KiB) takes half of a 32 KiB L1, the A block
// (MC*KC*4 = 144 KiB) sits in L2, the packed B (KC*NC*4 = 4 MiB, twice) in L3.
// Version 1: tiles padded to 6 rows, packing in passes of its own. Zen 3, one thread, of the probe: 0.89 at 256^3, 512^3 and 1024^3 beside neighbours.
// Version 2: tiles of every height by assembly, their last three steps by two rows, packing B beside (gemm_exact.h, gemm_own.h), four panels a call: squares 1.00 to 1.02
// times as fast, 1.02 to 1.04 with B packed beforehand, 20 to 128 rows 1.06 to 1.28.
// Source: Goto and van de Geijn 2008; BLIS (Van Zee and van de Geijn 2015).
#include "variant.h"
#define GEMM_NAME GEMM_KERNEL(gemm_fp32_avx2_6x16)
#define GEMM_TARGET GEMM_ON("avx2,fma,f16c")
#define GEMM_S float
#define GEMM_VEC 32
#define GEMM_MR 6
#define GEMM_EXACT 1
#define GEMM_NV 2
#define GEMM_MC 144
#define GEMM_KC 256
#define GEMM_NC 4096
#include "gemm_fma.h"
