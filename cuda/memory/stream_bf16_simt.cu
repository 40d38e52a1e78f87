// copy, fill and add_scalar at bf16: see stream.cuh.
#include "stream.cuh"

RIDGE_STREAM(stream_bf16_simt_copy, ridge_bf16, 1, p)
RIDGE_STREAM(stream_bf16_simt_fill, ridge_bf16, 0, element<ridge_bf16>::store(s))
RIDGE_STREAM(stream_bf16_simt_add_scalar, ridge_bf16, 1, element<ridge_bf16>::store(load(p) + s))
