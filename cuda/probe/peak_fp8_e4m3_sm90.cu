// The rate of wgmma m64n128k32 of e4m3: see peak_wgmma.cuh. Sums keep 14 bits, so that they count to 2^14 at most.
// sass has peak_fp8_e4m3_sm90 sm_90a: 4 QGMMA
#include "peak_wgmma.cuh"

RIDGE_PEAK_WGMMA(peak_fp8_e4m3_sm90, WgmmaE4m3, 32, 0x38383838u, (1 << 14))
