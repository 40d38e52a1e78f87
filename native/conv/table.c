#include "table.h"
#include "conv.h"

#include "kernels.h"

// Rows and columns of the image, and a kernel's extent, are counted in 32 bits while packing.
int ridge_conv_sizes_fit(const void *args) {
  const ridge_conv_args *a = args;
  const int64_t limit = 1 << 30;
  return a->H < limit && a->W < limit && (a->Ho - 1) * a->stride_h < limit && (a->Wo - 1) * a->stride_w < limit &&
         a->pad_h < limit && a->pad_w < limit && (a->R - 1) * a->dil_h < limit && (a->S - 1) * a->dil_w < limit;
}

// A block of pixels (392, or a row of them) sees few input rows: a dilated kernel may span more than a
// thread's copy of them should hold, 16 Mi elements.
int ridge_conv_window_fits(const void *args) {
  const ridge_conv_args *a = args;
  if (!ridge_conv_sizes_fit(args)) return 0;
  int64_t rows = 392 / (a->Wo < 392 ? a->Wo : 392) + 1, outputs = a->Wo < 392 ? a->Wo : 392;
  double high = (double)rows * ((a->R - 1) * a->dil_h + 1 + (a->stride_h < a->R * a->dil_h ? a->stride_h : a->R * a->dil_h));
  double wide = (double)outputs * a->stride_w + (double)(a->S - 1) * a->dil_w + 1;
  return high * wide * (double)(a->C / a->groups) < 16 << 20;
}

// Beside the kernels that read NCHW in place: turning the pixels of 1x1 kernels costs more than it gains in floating point. Those
// kernels pack nothing beforehand, so that filters packed beforehand come here (or to Winograd).
int ridge_conv_window_wins(const void *args) {
  const ridge_conv_args *a = args;
  return ridge_conv_window_fits(args) && (a->layout == 1 || a->R * a->S > 1 || a->packing);
}

// A band of one output row is copied at least: 16 Mi elements. Offsets into it, and into x, have 32 bits.
static int planes_fit(const ridge_conv_args *a) {
  if (a->groups == 0 || !ridge_conv_sizes_fit(a) || a->stride_h > 4 || a->stride_w > 4) return 0;
  const double cg = (double)(a->C / a->groups), rows = (double)((a->R - 1) * a->dil_h + a->stride_h), wide = (double)(a->Wo + a->pad_w) * a->stride_w + (double)(a->S - 1) * a->dil_w;
  return a->K >= a->groups && (cg + 4) * 16 * (rows + 4) * (wide + 16) < 16 << 24 && cg * (double)a->H * (double)a->W < 1 << 30;
}

// One input channel per group; NHWC kernels take one output per channel. One channel of an NCHW image, of one group, is depthwise too, but goes along the pixels of
// planes where outputs or taps are many: 40 outputs by 7x7 0.44 of the time, 24 by 3x3 0.88, 8 and fewer by 3x3 1.3 to 3.7 (one thread of Emerald Rapids).
int ridge_conv_is_depthwise(const void *args) {
  const ridge_conv_args *a = args;
  const int many = a->groups == 1 && a->Ho * a->Wo >= 64 && (a->K > 8 || a->R * a->S > 9) && planes_fit(a);
  return a->groups == a->C && (a->layout == 0 ? !many : a->K == a->C);
}

// Along the pixels of planes, beside the indirect kernel, whose vectors are 16 outputs of one group: where these are not full. (One thread of Emerald Rapids, of the
// faster of the kernels before, 90 random shapes: docs/kernels/conv.md.) In NCHW, which the indirect kernel turns, also where a few input channels
// or a group's leave it little to do for that; in NHWC pixels are turned here, so that groups have to be small. Groups of whole vectors of outputs and 16 inputs: with
// steps, few pixels or as many inputs the indirect kernel, which copies a group's pixels side by side, is 1.03 to 1.7 times as fast in NCHW, in NHWC always.
int ridge_conv_planes_win(const void *args) {
  const ridge_conv_args *a = args;
  if (!planes_fit(a) || ridge_conv_is_depthwise(args) || ridge_conv_winograd_stem_wins(args)) return 0;
  const int64_t cg = a->C / a->groups, kg = a->K / a->groups, pixels = a->Ho * a->Wo, steps = a->stride_h * a->stride_w;
  if (a->groups == 1 && a->layout == 0) return pixels >= 64 && (a->C <= 8 || (kg < 16 && a->C <= 64 && steps == 1));
  if (a->groups == 1) return kg < 16 && a->C <= 8;
  if (pixels < 16 || (kg % 16 == 0 && cg >= 16 && a->R * a->S > 1 && (a->layout == 1 || steps > 1 || pixels < 64 || (kg >= 32 && cg >= 32)))) return 0;
  if (a->layout == 0) return kg <= (steps > 1 ? 31 : 64);
  return kg < 16 ? cg <= 64 : kg <= 24 && cg <= 24 && a->R * a->S > 1 && pixels >= 49;
}

// With vectors of 8 only few outputs gain. Groups: of 16 outputs and more the indirect kernel is 1.1 to 1.6 times as fast, of 24 and 40 even. One group: 3 channels of 64x64 to 24 and 40 by 3x3 1.3 and 1.7, to 80 and 160 0.7 and 1.0 of the indirect kernel's speed.
int ridge_conv_planes_win_avx2(const void *args) {
  const ridge_conv_args *a = args;
  return ridge_conv_planes_win(args) && (a->groups > 1 ? a->K < 16 * a->groups : a->K <= 40);
}

// On matrix tiles: a panel's 32 channels and a unit of 64 bytes of a tap's channels are multiplied whole. Where they hold less than an eighth of what
// is asked for (depthwise, groups of few channels) vectors are faster. A thread copies a row of outputs' input at least: 16 MiB.
static int tiles_win(const ridge_conv_args *a, int64_t unit) {
  if (a->groups == 0 || !ridge_conv_sizes_fit(a)) return 0;
  const int64_t cg = a->C / a->groups, kg = a->K / a->groups, taps = a->R * a->S;
  const double one = (double)((cg + unit - 1) / unit * unit * taps), all = (double)((taps * cg + unit - 1) / unit * unit);
  const double steps = a->layout == 0 || one < 1.5 * all ? one : all, rows = (double)((a->R - 1) * a->dil_h + 1), wide = (double)a->Wo * a->stride_w + (double)(a->S - 1) * a->dil_w;
  const double copied = steps == one ? rows * wide * (double)(cg + unit) : 16 * all;
  return steps * (double)((kg + 31) / 32 * 32) <= 8.0 * (double)(taps * cg * kg) && copied < 16 << 20;
}
int ridge_conv_tiles_win_bf16(const void *args) { return tiles_win(args, 32); }
int ridge_conv_tiles_win_int8(const void *args) { return tiles_win(args, 64); }

// Winograd can, and has enough tiles to pay for its transformed filters. Wider padding
// leaves corners with few products beside the error of a whole tile: the bound would not hold there.
static int winograd_can(const ridge_conv_args *a, int64_t stride) {
  if (a->layout == 0 && a->C * (a->Wo + 6) * stride > 2 << 20) return 0; // a thread's window of six or nine input rows
  return ridge_conv_sizes_fit(a) && a->R == 3 && a->S == 3 && a->stride_h == stride && a->stride_w == stride && a->dil_h == 1 && a->dil_w == 1 &&
         a->groups == 1 && a->pad_h <= 1 && a->pad_w <= 1 && a->H >= 4 && a->W >= 4 && a->C % 16 == 0 && a->K % 32 == 0 && a->C >= 64;
}
// Positions of a side of n outputs at step 2: 9 of a whole tile, 7 and 5 where 3 and fewer are left.
static int64_t phased(int64_t n) { return n / 4 * 9 + (n % 4 == 0 ? 0 : n % 4 == 3 ? 7 : 5); }
static int64_t tiles_of(const ridge_conv_args *a, int64_t step) { return a->N * ((a->Ho + step - 1) / step) * ((a->Wo + step - 1) / step); }

int ridge_conv_winograd_wins(const void *args) {
  const ridge_conv_args *a = args;
  const int64_t step = ridge_conv_winograd_step(a);
  if (step == 2 && a->layout == 1 && !a->packing && a->N * a->Ho * a->Wo < 60) return 0; // 7x7: 0.91 to 1.09 of the indirect kernel
  return winograd_can(a, 1) && tiles_of(a, step) >= 12;
}

// Step 2: 81 positions for 16 outputs. Beside the indirect kernel one thread of Zen 4 gains 1.23 to 1.42 with 1024 positions for 14x14, 1.13 with 529 for
// 9x9, where direct products are 1.72 and 1.38 times as many; one image of 7x7, four tiles beside 512x512 filters transformed, is 0.93 to 0.98 of it.
int ridge_conv_winograd_step2_wins(const void *args) {
  const ridge_conv_args *a = args;
  if (!winograd_can(a, 2)) return 0;
  const int64_t pixels = a->N * a->Ho * a->Wo, at = a->N * phased(a->Ho) * phased(a->Wo);
  return tiles_of(a, 4) >= 12 && 9 * pixels * 4 > at * 5;
}

// A stem: 7x7 of step 2 over three or four channels, at 36 positions of whole tiles for 9 outputs. A thread's window holds six pairs of input rows.
// One channel, 16 products at an image's corner, would have 33 u of error, two 20 (kernels.def).
int ridge_conv_winograd_stem_wins(const void *args) {
  const ridge_conv_args *a = args;
  return ridge_conv_sizes_fit(a) && a->R == 7 && a->S == 7 && a->stride_h == 2 && a->stride_w == 2 && a->dil_h == 1 && a->dil_w == 1 && a->groups == 1 &&
         a->pad_h <= 3 && a->pad_w <= 3 && a->H >= 4 && a->W >= 4 && (a->C == 3 || a->C == 4) && a->K % 32 == 0 && a->Wo <= 1 << 13 && tiles_of(a, 3) >= 12;
}

// Kernels whose panels have four vectors take whole ones alone.
static int wide(const void *args) { return ((const ridge_conv_args *)args)->K % 64 == 0; }
int ridge_conv_winograd_wins_64(const void *args) { return wide(args) && ridge_conv_winograd_wins(args); }
int ridge_conv_winograd_step2_wins_64(const void *args) { return wide(args) && ridge_conv_winograd_step2_wins(args); }
int ridge_conv_winograd_stem_wins_64(const void *args) { return wide(args) && ridge_conv_winograd_stem_wins(args); }

// Beside VDPBF16PS one thread of Zen 4 gains 1.10 (NHWC) and 1.15 (NCHW) where outputs stay in L3, of one and two images of 224x224; four to sixteen are even.
int ridge_conv_winograd_stem_beats_dots(const void *args) {
  const ridge_conv_args *a = args;
  return ridge_conv_winograd_stem_wins(args) && a->N * a->Ho * a->Wo * a->K * 2 <= 4 << 20;
}

// Positions of Winograd's tiles along a side of n outputs.
static int64_t positions(int64_t n, int64_t step) { return n / step * (step + 2) + (n % step == 0 ? 0 : n % step == 3 ? 5 : 4); }

// The same beside kernels that multiply bf16 at twice the rate of fp32 (VDPBF16PS on Zen 4 and 5): 9 products of half an fp32's time for a pixel; for a
// position one of a whole one's, 4/3 with the transforms of inputs and outputs; and the filters' transform, beside which the direct kernel turns pixels in
// NCHW. Refused, of the direct kernel's speed on one thread of Zen 4: 13x13 packed in the call 0.92 to 0.98 in NHWC, 14x14 1.0 to 1.08 (two threads
// 0.85 to 0.9), four images of 9x9 0.94 to 0.96.
int ridge_conv_winograd_beats_dots(const void *args) {
  if (!ridge_conv_winograd_wins(args)) return 0;
  const ridge_conv_args *a = args;
  const int64_t step = ridge_conv_winograd_step(a), pixels = a->N * a->Ho * a->Wo, at = a->N * positions(a->Ho, step) * positions(a->Wo, step);
  const int64_t filters = a->packing || (a->layout == 0 && a->C >= 128) ? 200 : 500;
  return 9 * pixels > at * 8 / 3 + filters;
}

// Winograd F(4x4, 3x3) has 36 products where the definition has 144, and its transforms besides.
#define WINOGRAD43(name, dtype, isa, rank, c, wins) \
  RIDGE_DECLARE_PACKED(name, "conv2d", dtype, "fp32", isa, rank, c, 0, ridge_##name##_workspace, wins)
// Step 2: 81 products where the definition has 144.
#define WINOGRAD43S2(name, dtype, isa, rank, c, wins) WINOGRAD43(name, dtype, isa, rank, c, wins)
// A stem: 126C products for 9 outputs of 49C each.
#define WINOGRAD37S2(name, dtype, isa, rank, c, wins) WINOGRAD43(name, dtype, isa, rank, c, wins)
#define RIDGE_KERNEL RIDGE_DECLARE
#define RIDGE_KERNEL_PACKED RIDGE_DECLARE_PACKED
#include "kernels.def"
#undef RIDGE_KERNEL
#undef RIDGE_KERNEL_PACKED
#undef WINOGRAD37S2
#undef WINOGRAD43S2
#undef WINOGRAD43

static const ridge_kernel table[] = {
#define WINOGRAD(name, dtype, isa, rank, c, wins, share)                        \
  {#name, "conv2d", dtype, "fp32", isa, rank, c, 0, ridge_##name, ridge_##name##_workspace, wins, \
   share, .pack = ridge_##name##_pack, .packed = ridge_##name##_packed},
#define WINOGRAD43(name, dtype, isa, rank, c, wins) WINOGRAD(name, dtype, isa, rank, c, wins, 36.0 / 144)
#define WINOGRAD43S2(name, dtype, isa, rank, c, wins) WINOGRAD(name, dtype, isa, rank, c, wins, 81.0 / 144)
#define WINOGRAD37S2(name, dtype, isa, rank, c, wins) WINOGRAD(name, dtype, isa, rank, c, wins, 42.0 / 147)
#define RIDGE_KERNEL RIDGE_ENTRY
#define RIDGE_KERNEL_PACKED RIDGE_ENTRY_PACKED
#include "kernels.def"
#undef RIDGE_KERNEL
#undef RIDGE_KERNEL_PACKED
#undef WINOGRAD37S2
#undef WINOGRAD43S2
#undef WINOGRAD43
#undef WINOGRAD
};

const ridge_kernel *ridge_conv_table(void) { return table; }
int ridge_conv_table_len(void) { return sizeof table / sizeof *table; }
