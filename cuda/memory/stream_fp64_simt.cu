// copy, axpy and the STREAM kernels at fp64: see stream.cuh.
#include "stream.cuh"

RIDGE_STREAM(stream_fp64_simt_copy, double, 1, p)
RIDGE_STREAM(stream_fp64_simt_scale, double, 1, element<double>::store(load(p) * s))
RIDGE_STREAM(stream_fp64_simt_add, double, 2, element<double>::store(load(p) + load(q)))
RIDGE_STREAM(stream_fp64_simt_triad, double, 2, element<double>::store(load(p) + s * load(q)))
RIDGE_STREAM(stream_fp64_simt_axpy, double, 2, element<double>::store(s * load(p) + load(q)))
