// The rate of wgmma m64n128k16 of bf16: see peak_wgmma.cuh.
// sass has peak_bf16_sm90 sm_90a: 4 HGMMA
#include "peak_wgmma.cuh"

RIDGE_PEAK_WGMMA(peak_bf16_sm90, WgmmaBf16, 16, 0x3f803f80u, (1 << 24))
