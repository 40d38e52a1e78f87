// Convolutions with planted faults, NCHW, no groups: the verifier must refuse them. In fp32:
//   badconv_padding: reads the nearest edge pixel where the padding's zero belongs
//   badconv_last_channel: leaves the last output channel unwritten
// In int8 with scales, 1x1 and unpadded:
//   badconv_requant: as written in ridge_conv.h, to show that the others differ from it only in their fault
//   badconv_requant_away: rounds halves away from zero
//   badconv_requant_wraps: keeps the low byte of what does not fit
//   badconv_requant_down: rounds towards zero
//   badconv_requant_no_relu: forgets ReLU
#include <math.h>

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

enum { RIGHT, AWAY, WRAPS, DOWN, NO_RELU };

static int requant(const ridge_conv_args *a, const ridge_ctx *ctx, int fault) {
  const int8_t *x = a->x, *w = a->w;
  int64_t from, to, P = a->H * a->W;
  ridge_share(a->N * a->K, 1, ctx->tid, ctx->nthreads, &from, &to);
  for (int64_t u = from; u < to; u++)
    for (int64_t p = 0; p < P; p++) {
      uint32_t sum = 0;
      for (int64_t c = 0; c < a->C; c++) sum += (uint32_t)(x[(u / a->K * a->C + c) * P + p] * w[u % a->K * a->C + c]);
      volatile float v = (float)(int32_t)sum * a->scale[u % a->K];
      double r = fault == AWAY ? round(v) : fault == DOWN ? trunc(v) : rint(v);
      if (a->act == RIDGE_ACT_RELU && fault != NO_RELU && r < 0) r = 0;
      if (fault != WRAPS) r = r < -128 ? -128 : r > 127 ? 127 : r;
      ((int8_t *)a->y)[u * P + p] = (int8_t)(uint8_t)(int64_t)r;
    }
  return RIDGE_OK;
}

#define REQUANT(name, fault) \
  static int name(const void *args, const ridge_ctx *ctx) { return requant(args, ctx, fault); }
REQUANT(badconv_requant, RIGHT)
REQUANT(badconv_requant_away, AWAY)
REQUANT(badconv_requant_wraps, WRAPS)
REQUANT(badconv_requant_down, DOWN)
REQUANT(badconv_requant_no_relu, NO_RELU)
#define REQUANT_ROW(name) {#name, "conv2d", "int8", "int32", RIDGE_ISA_NONE, -1, 0, 1, name, NULL, NULL}

static const ridge_kernel table[] = {
    REQUANT_ROW(badconv_requant),      REQUANT_ROW(badconv_requant_away),    REQUANT_ROW(badconv_requant_wraps),
    REQUANT_ROW(badconv_requant_down), REQUANT_ROW(badconv_requant_no_relu),
    {"badconv_padding", "conv2d", "fp32", "fp32", RIDGE_ISA_NONE, -1, 6, 1, badconv_padding, NULL, NULL},
    {"badconv_last_channel", "conv2d", "fp32", "fp32", RIDGE_ISA_NONE, -1, 6, 1, badconv_last_channel, NULL, NULL},
};

const ridge_kernel *ridge_badconv_table(void) { return table; }
int ridge_badconv_table_len(void) { return sizeof table / sizeof *table; }
