// copy, fill, add_scalar and axpy, and the STREAM kernels at fp32: see stream.cuh.
#include "stream.cuh"

RIDGE_STREAM(stream_fp32_simt_copy, float, 1, p)
RIDGE_STREAM(stream_fp32_simt_fill, float, 0, element<float>::store(s))
RIDGE_STREAM(stream_fp32_simt_add_scalar, float, 1, element<float>::store(load(p) + s))
RIDGE_STREAM(stream_fp32_simt_scale, float, 1, element<float>::store(load(p) * s))
RIDGE_STREAM(stream_fp32_simt_add, float, 2, element<float>::store(load(p) + load(q)))
RIDGE_STREAM(stream_fp32_simt_triad, float, 2, element<float>::store(load(p) + s * load(q)))
RIDGE_STREAM(stream_fp32_simt_axpy, float, 2, element<float>::store(s * load(p) + load(q)))
