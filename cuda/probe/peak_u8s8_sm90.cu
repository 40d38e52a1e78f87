// The rate of wgmma m64n128k32 of unsigned by signed bytes: see peak_wgmma.cuh.
// sass has peak_u8s8_sm90 sm_90a: 4 IGMMA
#include "peak_wgmma.cuh"

RIDGE_PEAK_WGMMA(peak_u8s8_sm90, WgmmaUnsignedBytes, 32, 0x01010101u, (1 << 24))
