// gemm and linear at bf16 with fp32 sums of up to 128 rows on Hopper's tensor cores: see skinny_wgmma.cuh.
#include "skinny_wgmma.cuh"

typedef SkinnyOf<WgmmaBf16Across, ridge_bf16, false> Across;
typedef SkinnyOf<WgmmaBf16, ridge_bf16, true> Along;
RIDGE_SKINNY_RINGS(gemm_bf16_sm90_skinny_nn, ridge_bf16, Across)
RIDGE_SKINNY_RINGS(gemm_bf16_sm90_skinny_nt, ridge_bf16, Along)
