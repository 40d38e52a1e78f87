// The rate of wgmma m64n128k32 of signed bytes: see peak_wgmma.cuh.
// sass has peak_int8_sm90 sm_90a: 4 IGMMA
#include "peak_wgmma.cuh"

RIDGE_PEAK_WGMMA(peak_int8_sm90, WgmmaBytes, 32, 0x01010101u, (1 << 24))
