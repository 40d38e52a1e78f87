// conv2d_*_portable: the direct seven-deep loop, one kernel per dtype.
//
// y[n,k,ho,wo] = act(bias[k] + sum over c,r,s of x[n,c,ho*stride-pad+r*dil,...] * w[k,c,r,s] + residual)
// in either layout, int8 requantised where there are scales (ridge_conv.h); any shape and alignment, groups from 1 to C.
// FLOP 2*N*Ho*Wo*K*(C/groups)*R*S; bytes x, w, y once if caches hold them. Limited by the load
// ports and the chain of additions: it is the fallback for unknown chips and the plain
// statement of what the other kernels compute.
#include "conv.h"

#include "../include/ridge_half.h"

#define IDENTITY(x) (x)

// One kernel: T stored type of x and w, Y of bias, residual and y, SUM accumulator, LOAD to SUM,
// LOADY from Y to the epilogue's type E, PUT the result v to y. Threads share the rows of y.
#define CONV(name, T, Y, SUM, E, LOAD, LOADY, ACT, PUT)                                                \
  int ridge_##name(const void *args, const ridge_ctx *ctx) {                                         \
    const ridge_conv_args *a = args;                                                                 \
    const T *x = a->x, *w = a->w;                                                                    \
    const Y *bias = a->bias, *res = a->residual;                                                     \
    Y *y = a->y;                                                                                     \
    ridge_conv_strides st = ridge_conv_layout(a);                                                    \
    int64_t cg = a->C / a->groups, kg = a->K / a->groups, from, to;                                  \
    ridge_share(a->N * a->K * a->Ho, 1, ctx->tid, ctx->nthreads, &from, &to);                        \
    for (int64_t u = from; u < to; u++) {                                                            \
      int64_t ho = u % a->Ho, k = u / a->Ho % a->K, n = u / a->Ho / a->K;                            \
      const T *xg = x + n * a->C * a->H * a->W + k / kg * cg * st.x_chan;                            \
      const T *wk = w + k * cg * a->R * a->S;                                                        \
      for (int64_t wo = 0; wo < a->Wo; wo++) {                                                       \
        SUM acc = 0;                                                                                 \
        for (int64_t c = 0; c < cg; c++)                                                             \
          for (int64_t r = 0; r < a->R; r++) {                                                       \
            int64_t hi = ho * a->stride_h - a->pad_h + r * a->dil_h;                                 \
            if (hi < 0 || hi >= a->H) continue;                                                      \
            for (int64_t s = 0; s < a->S; s++) {                                                     \
              int64_t wi = wo * a->stride_w - a->pad_w + s * a->dil_w;                               \
              if (wi < 0 || wi >= a->W) continue;                                                    \
              acc += LOAD(xg[c * st.x_chan + (hi * a->W + wi) * st.x_pix]) *                         \
                     LOAD(wk[c * st.w_chan + (r * a->S + s) * st.w_tap]);                            \
            }                                                                                        \
          }                                                                                          \
        int64_t at = n * a->K * a->Ho * a->Wo + k * st.y_chan + (ho * a->Wo + wo) * st.y_pix;        \
        E v = (E)acc;                                                                                \
        if (bias) v += (E)LOADY(bias[k]);                                                            \
        if (res) v += (E)LOADY(res[at]);                                                             \
        v = ACT(v, a->act);                                                                          \
        PUT(v);                                                                                      \
      }                                                                                              \
    }                                                                                                \
    return RIDGE_OK;                                                                                 \
  }

#define NO_ACT(v, act) (v)
#define PUT_FP32(v) y[at] = (float)(v)
#define PUT_BF16(v) y[at] = ridge_float_to_bf16(v)
#define PUT_INT8(v)                                                                                    \
  if (a->scale) ((int8_t *)a->y)[at] = ridge_requantise(v, a->scale[k], ridge_requant_low(a->act)); \
  else y[at] = (int32_t)(v)

CONV(conv2d_fp32_portable, float, float, float, double, (float)IDENTITY, IDENTITY, ridge_act_double, PUT_FP32)
CONV(conv2d_bf16_portable, ridge_bf16, ridge_bf16, float, double, ridge_bf16_to_float, ridge_bf16_to_float,
     ridge_act_double, PUT_BF16)
CONV(conv2d_int8_portable, int8_t, int32_t, uint32_t, uint32_t, (uint32_t)(int32_t)IDENTITY, (uint32_t)IDENTITY,
     NO_ACT, PUT_INT8)
