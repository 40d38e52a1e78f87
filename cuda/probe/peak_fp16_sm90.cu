// The rate of wgmma m64n128k16 of fp16: see peak_wgmma.cuh.
// sass has peak_fp16_sm90 sm_90a: 4 HGMMA
#include "peak_wgmma.cuh"

RIDGE_PEAK_WGMMA(peak_fp16_sm90, WgmmaFp16, 16, 0x3c003c00u, (1 << 24))
