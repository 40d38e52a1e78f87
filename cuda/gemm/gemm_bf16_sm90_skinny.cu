// gemm and linear at bf16 with fp32 sums of up to 128 rows on Hopper's tensor cores: see skinny_wgmma.cuh.
#include "skinny_wgmma.cuh"

typedef SkinnyOf<WgmmaBf16Across, ridge_bf16, false> Across;
typedef SkinnyOf<WgmmaBf16, ridge_bf16, true> Along;
RIDGE_SKINNY_RING_FLOATS(gemm_bf16_sm90_skinny_nn_rows32, ridge_bf16, Across, 32, 64, 1)
RIDGE_SKINNY_RING_FLOATS(gemm_bf16_sm90_skinny_nn_rows32_cluster, ridge_bf16, Across, 32, 64, 2)
RIDGE_SKINNY_RING_FLOATS(gemm_bf16_sm90_skinny_nn_rows64_cluster, ridge_bf16, Across, 64, 64, 4)
RIDGE_SKINNY_RING_FLOATS(gemm_bf16_sm90_skinny_nn_rows128_cluster, ridge_bf16, Across, 128, 64, 4)
RIDGE_SKINNY_RING_FLOATS(gemm_bf16_sm90_skinny_nt_rows32, ridge_bf16, Along, 32, 64, 1)
RIDGE_SKINNY_RING_FLOATS(gemm_bf16_sm90_skinny_nt_rows64_cluster, ridge_bf16, Along, 64, 64, 4)
RIDGE_SKINNY_RING_FLOATS(gemm_bf16_sm90_skinny_nt_rows128_cluster, ridge_bf16, Along, 128, 64, 4)
