// Two convolutions with planted faults, fp32 NCHW, no groups: the verifier must refuse both.
//   badconv_padding: reads the nearest edge pixel where the padding's zero belongs
//   badconv_last_channel: leaves the last output channel unwritten
#include "badconv.h"

static int64_t clamp(int64_t i, int64_t n) { return i < 0 ? 0 : i >= n ? n - 1 : i; }

static int conv(const ridge_conv_args *a, const ridge_ctx *ctx, int64_t channels, int edge) {
  const float *x = a->x, *w = a->w;
  float *y = a->y;
  int64_t from, to;
  ridge_share(a->N * channels, 1, ctx->tid, ctx->nthreads, &from, &to);
  for (int64_t u = from; u < to; u++) {
    int64_t n = u / channels, k = u % channels;
    for (int64_t o = 0; o < a->Ho * a->Wo; o++) {
      float acc = 0;
      for (int64_t c = 0; c < a->C; c++)
        for (int64_t r = 0; r < a->R; r++)
          for (int64_t s = 0; s < a->S; s++) {
            int64_t hi = o / a->Wo * a->stride_h - a->pad_h + r * a->dil_h;
            int64_t wi = o % a->Wo * a->stride_w - a->pad_w + s * a->dil_w;
            int inside = hi >= 0 && hi < a->H && wi >= 0 && wi < a->W;
            if (inside || edge)
              acc += x[((n * a->C + c) * a->H + clamp(hi, a->H)) * a->W + clamp(wi, a->W)] *
                     w[((k * a->C + c) * a->R + r) * a->S + s];
          }
      y[(n * a->K + k) * a->Ho * a->Wo + o] = acc;
    }
  }
  return RIDGE_OK;
}

static int badconv_padding(const void *args, const ridge_ctx *ctx) {
  const ridge_conv_args *a = args;
  return conv(a, ctx, a->K, 1);
}

static int badconv_last_channel(const void *args, const ridge_ctx *ctx) {
  const ridge_conv_args *a = args;
  return conv(a, ctx, a->K - 1, 0);
}

static const ridge_kernel table[] = {
    {"badconv_padding", "conv2d", "fp32", "fp32", RIDGE_ISA_NONE, -1, 6, 1, badconv_padding, NULL, NULL},
    {"badconv_last_channel", "conv2d", "fp32", "fp32", RIDGE_ISA_NONE, -1, 6, 1, badconv_last_channel, NULL, NULL},
};

const ridge_kernel *ridge_badconv_table(void) { return table; }
int ridge_badconv_table_len(void) { return sizeof table / sizeof *table; }
