// gemm_DTYPE_sm80_unaligned.cu: the products of gemm_mma.cuh where rows of A or B do not begin at multiples of 16 bytes (odd leading dimensions). The same tiles
// in shared memory, filled by narrower copies: …_by8 and …_by4 by cp.async of 8 and 4 bytes, …_by2 and …_by1 by elements that go through registers (cp.async
// has no narrower one). Other copies, other chunks and fragments are as there; fp64 has …_by8 alone, which is an element.
// FLOP and bytes as there.
//
// 128 × 128 by 8 warps of 64 × 32 (fp64 128 × 64 by 4), so that a thread holds 64 sums and the loads of elements have registers. Counts a stage and
// warp: 32 mma, of bf16 256 cycles of a sub-core on 8.0, and 4 chunks a thread, whose elements, where they go through registers, are waited for in the stage that issues them. Disassembled (sm_80):
//
//   copies         instructions (B along k, across)    of them copies and stores    registers
//   by 8           115, 147                            8 cp.async                   160
//   by 4           152, 207                            16 cp.async                  168
//   by 2 (halves)  192, 218                            32 loads, 4 stores           168
//   by 1 (bytes)   283, 355                            64 loads, 4 stores           168
//
// Two warps a sub-core take 2·115 to 2·355 issue slots for 512 cycles of mma: loads of elements wait for memory, which two warps do not hide; by 8 and by 4 the
// tensor cores bind, at 48 wavefronts of fragments for 64 cycles of mma. No spill (fp64: 242 registers).
// Predicted of the roof at 4096³ and an odd pitch: on 8.0 by 8 0.6 to 0.7, by 4 0.5 to 0.6, by 2 0.2 to 0.3; on 9.0 0.4 to 0.5, 0.35 to 0.45 and 0.15 to 0.25, against about 0.06 of the
// portable tier. not yet measured.
#ifndef RIDGE_UNALIGNED_MMA_CUH
#define RIDGE_UNALIGNED_MMA_CUH

#include "gemm_mma.cuh"

#endif
