// conv2d_bf16_avx512_indirect_model: implicit GEMM through pixel pointers, 8x32 tiles in plain vectors, to prove the logic of the variant on machines without its
// instructions; never chosen by itself.
//
// Formula, layouts, blocking and source: conv_indirect_body.h. Preconditions: sizes below 2^30,
// any alignment. FLOP 2*N*Ho*Wo*K*(C/groups)*R*S; bytes x, w and y once. Limit: arithmetic;
// see the variant.
// Versions: 1, this one; the model.
#include "../include/ridge_model.h"

#define RIDGE_MODEL
#define RIDGE_VL 16
#define RIDGE_MR 8
#define RIDGE_NV 2
#define RIDGE_VT
#define CONV_BF16
#define CONV_FN ridge_conv2d_bf16_avx512_indirect_model
#include "conv_indirect_body.h"
