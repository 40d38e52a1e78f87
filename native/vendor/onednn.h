// What ridge uses of oneDNN's C interface, version 3: types, numbers and functions as declared in
// include/oneapi/dnnl/{dnnl.h,dnnl_common.h,dnnl_types.h,dnnl_common_types.h,dnnl_config.h} of releases 3.0
// to 3.x (https://github.com/uxlfoundation/oneDNN), whose major version promises that they stay.
// Objects are opaque pointers there; version 2 passes some of them by value and is another interface.
#ifndef RIDGE_ONEDNN_H
#define RIDGE_ONEDNN_H

#include <stddef.h>
#include <stdint.h>

#define ONEDNN_MAJOR 3

// dnnl_version_t: the same from version 1 on.
typedef struct onednn_version {
  int major, minor, patch;
  const char *hash;
  unsigned cpu_runtime, gpu_runtime;
} onednn_version;

enum { ONEDNN_RUNTIME_SEQ = 1, ONEDNN_RUNTIME_OMP = 2 }; // dnnl_config.h

enum { ONEDNN_SUCCESS = 0 }; // dnnl_status_t; the others by name in onednn.c
enum { ONEDNN_CPU = 1 };     // dnnl_engine_kind_t
enum { ONEDNN_STREAM_DEFAULT = 1 };
enum { ONEDNN_BF16 = 2, ONEDNN_F32 = 3 }; // dnnl_data_type_t
enum { ONEDNN_TAG_ANY = 1 };              // dnnl_format_tag_t
enum { ONEDNN_FORWARD_INFERENCE = 96 };   // dnnl_prop_kind_t
enum {                                    // dnnl_alg_kind_t
  ONEDNN_CONVOLUTION_DIRECT = 0x1,
  ONEDNN_RELU = 0x20,
  ONEDNN_GELU_TANH = 0x2b,
  ONEDNN_SWISH = 0x2c,
  ONEDNN_GELU_ERF = 0x31,
  ONEDNN_SOFTMAX_ACCURATE = 0x30000,
};
enum { ONEDNN_USE_SCALE = 2, ONEDNN_USE_SHIFT = 4 }; // dnnl_normalization_flags_t
enum {                                               // dnnl_query_t
  ONEDNN_QUERY_IMPL = 8,
  ONEDNN_QUERY_SRC = 129,
  ONEDNN_QUERY_WEIGHTS = 131,
  ONEDNN_QUERY_DST = 133,
};
enum { // DNNL_ARG_...
  ONEDNN_ARG_SRC = 1,
  ONEDNN_ARG_FROM = 1,
  ONEDNN_ARG_DST = 17,
  ONEDNN_ARG_TO = 17,
  ONEDNN_ARG_WEIGHTS = 33,
  ONEDNN_ARG_BIAS = 41,
  ONEDNN_ARG_SCALE = 51,
  ONEDNN_ARG_SHIFT = 52,
};
#define ONEDNN_DIMS 12 // DNNL_MAX_NDIMS

typedef int64_t onednn_dims[ONEDNN_DIMS];
typedef struct onednn_arg {
  int arg;
  void *memory;
} onednn_arg;

// F(result, name without dnnl_, arguments)
#define ONEDNN_FUNCTIONS(F) \
  F(const onednn_version *, version, (void)) \
  F(int, engine_create, (void **engine, int kind, size_t index)) \
  F(int, stream_create, (void **stream, void *engine, unsigned flags)) \
  F(int, stream_wait, (void *stream)) \
  F(int, memory_desc_create_with_strides, (void **md, int n, const int64_t *dims, int type, const int64_t *strides)) \
  F(int, memory_desc_create_with_tag, (void **md, int n, const int64_t *dims, int type, int tag)) \
  F(int, memory_desc_destroy, (void *md)) \
  F(int, memory_desc_equal, (const void *a, const void *b)) \
  F(size_t, memory_desc_get_size, (const void *md)) \
  F(int, memory_create, (void **memory, const void *md, void *engine, void *data)) \
  F(int, memory_destroy, (void *memory)) \
  F(int, post_ops_create, (void **ops)) \
  F(int, post_ops_append_eltwise, (void *ops, int alg, float alpha, float beta)) \
  F(int, post_ops_destroy, (void *ops)) \
  F(int, primitive_attr_create, (void **attr)) \
  F(int, primitive_attr_set_post_ops, (void *attr, const void *ops)) \
  F(int, primitive_attr_destroy, (void *attr)) \
  F(int, matmul_primitive_desc_create, (void **pd, void *engine, const void *src, const void *weights, const void *bias, const void *dst, const void *attr)) \
  F(int, convolution_forward_primitive_desc_create, \
    (void **pd, void *engine, int prop, int alg, const void *src, const void *weights, const void *bias, const void *dst, const int64_t *strides, \
     const int64_t *dilates, const int64_t *pad_l, const int64_t *pad_r, const void *attr)) \
  F(int, softmax_forward_primitive_desc_create, (void **pd, void *engine, int prop, int alg, const void *src, const void *dst, int axis, const void *attr)) \
  F(int, layer_normalization_forward_primitive_desc_create, \
    (void **pd, void *engine, int prop, const void *src, const void *dst, const void *stat, float epsilon, unsigned flags, const void *attr)) \
  F(int, reorder_primitive_desc_create, (void **pd, const void *src, void *src_engine, const void *dst, void *dst_engine, const void *attr)) \
  F(int, primitive_desc_query, (const void *pd, int what, int index, void *result)) \
  F(const void *, primitive_desc_query_md, (const void *pd, int what, int index)) \
  F(int, primitive_desc_destroy, (void *pd)) \
  F(int, primitive_create, (void **primitive, const void *pd)) \
  F(int, primitive_execute, (const void *primitive, void *stream, int n, const onednn_arg *args)) \
  F(int, primitive_destroy, (void *primitive))

#endif
