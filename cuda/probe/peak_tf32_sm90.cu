// The rate of wgmma m64n128k8 of tf32: see peak_wgmma.cuh.
// sass has peak_tf32_sm90 sm_90a: 4 HGMMA
#include "peak_wgmma.cuh"

RIDGE_PEAK_WGMMA(peak_tf32_sm90, WgmmaTf32, 8, 0x3f800000u, (1 << 24))
