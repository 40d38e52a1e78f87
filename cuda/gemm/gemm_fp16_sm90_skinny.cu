// gemm at fp16 with fp32 sums of up to 128 rows on Hopper's tensor cores: see skinny_wgmma.cuh.
#include "skinny_wgmma.cuh"

typedef SkinnyOf<WgmmaFp16Across, ridge_fp16, false> Across;
typedef SkinnyOf<WgmmaFp16, ridge_fp16, true> Along;
RIDGE_SKINNY_RINGS(gemm_fp16_sm90_skinny_nn, ridge_fp16, Across)
RIDGE_SKINNY_RINGS(gemm_fp16_sm90_skinny_nt, ridge_fp16, Along)
