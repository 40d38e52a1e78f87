// The rate of mma.sync m8n8k4 of fp64 (from 9.0 on two of them are one m16n8k4, see ptx_mma.cuh): see peak_mma.cuh.
// sass has peak_fp64_sm80 sm_90a: 8 DMMA
#include "peak_mma.cuh"

RIDGE_PEAK_MMA(peak_fp64_sm80, MmaFp64)
