// swiglu at bf16 with fp32 sums of up to 128 rows on Hopper's tensor cores: see swiglu_wgmma.cuh.
#include "swiglu_wgmma.cuh"

typedef SkinnyOf<WgmmaBf16, ridge_bf16, true> GatedBf16;
RIDGE_SWIGLU_RINGS(swiglu_bf16_sm90_skinny, ridge_bf16, GatedBf16)
