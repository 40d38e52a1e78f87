package gemm

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"ridge/cuda/kernel"
	"ridge/cuda/plantest"
	"ridge/goharness/record"
)

// launches of a plan, "entry blocks" each; an entry that another kernel's image does not have by its name shows the image.
func launches(p kernel.Plan) []string {
	var out []string
	for _, l := range p.Launches {
		name := l.Entry
		if !strings.HasPrefix(l.Entry, l.Image) {
			name = l.Image + "/" + l.Entry
		}
		out = append(out, fmt.Sprint(name, " ", l.Grid[0]*l.Grid[1]*l.Grid[2]))
	}
	return out
}

var (
	testH200 = kernel.Device{Capability: 90, SMs: 132, SharedMax: 232448, L2Bytes: 60 << 20}
	testA100 = kernel.Device{Capability: 80, SMs: 108, SharedMax: 166912, L2Bytes: 40 << 20}
)

// Each product is what linear of its shape would be; its parts lie behind the hidden features, whose rows begin at multiples of 16 bytes.
func TestTheProductsOfAnMLPArePlannedAsLinearIs(t *testing.T) {
	for _, tc := range []struct {
		d         record.DType
		tier      func(kernel.Kernel) bool
		device    kernel.Device
		params    string
		workspace int64
		want      []string
	}{
		{record.BF16, onTensorCores, testH200, "m=1 k=768 h=3072 n=768", 6144, []string{"gemm_bf16_sm80_skinny_nt_rows8 96", "gemm_bf16_sm80_skinny_nt_slim_rows8 48"}},
		{record.BF16, onTensorCores, testH200, "m=64 k=768 h=3072 n=768", 393216, []string{"gemm_bf16_sm90_skinny_nt_parts_rows64 96", "gemm_bf16_sm90_skinny_nt_quarters_rows64 48"}},
		{record.BF16, onTensorCores, testH200, "m=512 k=1024 h=4096 n=1024", 4194304 + 4*512*1024*4, []string{"gemm_bf16_sm90_nt_narrow 128", "gemm_bf16_sm90_splitk_nt 128", "gemm_bf16_sm90_splitk_sum 2048"}},
		{record.FP32, onTensorCores, testH200, "m=1 k=768 h=3072 n=768", 12288, []string{"gemm_fp32_sm80_3xtf32_skinny_nt_rows8 96", "gemm_fp32_sm80_3xtf32_skinny_nt_slim_rows8 48"}},
		{record.FP32, onTensorCores, testH200, "m=64 k=768 h=3072 n=768", 786432 + 5*64*3072*4, []string{"gemm_fp32_sm90_3xtf32_splitk_nt 120", "gemm_fp32_sm90_3xtf32_splitk_sum 768",
			"gemm_fp32_sm90_3xtf32_splitk_nt 120", "gemm_fp32_sm90_3xtf32_splitk_sum 192"}},
		{record.FP32, onTensorCores, testH200, "m=512 k=1024 h=4096 n=1024", 8388608 + 4*512*1024*4, []string{"gemm_fp32_sm90_3xtf32_nt 128", "gemm_fp32_sm90_3xtf32_splitk_nt 128", "gemm_fp32_sm90_3xtf32_splitk_sum 2048"}},
		{record.BF16, onAllTensorCores, testA100, "m=1 k=768 h=3072 n=768", 6144, []string{"gemm_bf16_sm80_skinny_nt_rows8 96", "gemm_bf16_sm80_skinny_nt_slim_rows8 48"}},
		{record.BF16, onAllTensorCores, testA100, "m=4096 k=4096 h=16384 n=4096", 2 * 4096 * 16384, []string{"gemm_bf16_sm80_nt_wide 2048", "gemm_bf16_sm80_nt_wide 512"}},
		{record.FP32, onAllTensorCores, testA100, "m=64 k=768 h=3072 n=768", 786432 + 6*64*3072*4, []string{"gemm_fp32_sm80_3xtf32_splitk_nt_rows64 144", "gemm_fp32_sm80_3xtf32_splitk_sum 768",
			"gemm_fp32_sm80_3xtf32_splitk_nt_rows64 144", "gemm_fp32_sm80_3xtf32_splitk_sum 192"}},
		{record.BF16, onAllTensorCores, testH200, "m=5 k=768 h=3075 n=768", 30976, []string{"gemm_bf16_sm80_skinny_nt_rows8 97", "gemm_bf16_sm80_unaligned_nt_by2 6"}},
	} {
		p := plantest.Plan(t, "mlp", tc.d, tc.params, 4096, mlpOf(tc.tier), tc.device)
		if got := launches(p); p.Workspace != tc.workspace || !slices.Equal(got, tc.want) {
			t.Errorf("%s %s on %d: %q, %d bytes, want %q, %d", tc.d, tc.params, tc.device.Capability, got, p.Workspace, tc.want, tc.workspace)
		}
	}
}

// What a product finds in the workspace: the hidden features at its beginning, by address and by tensor map, parts behind them; all else lies where the op's tensors do.
func TestTheHiddenFeaturesLieInTheWorkspace(t *testing.T) {
	p := plantest.Plan(t, "mlp", record.FP32, "m=64 k=768 h=3072 n=768", 4096, mlpOf(onTensorCores), testH200)
	const parts = 64 * 3072 * 4
	var got []string
	for _, l := range p.Launches {
		for _, a := range l.Args {
			switch {
			case a.Map != nil:
				got = append(got, fmt.Sprint("map ", a.Map.Address, " ", a.Work))
			case a.Work:
				got = append(got, fmt.Sprint("work ", a.Bits))
			case a.Bits == 4096:
				got = append(got, "tensor")
			case a.Bits == hiddenFeatures:
				got = append(got, "left over")
			}
		}
	}
	want := []string{"map 4096 false", "map 4096 false", fmt.Sprint("work ", parts), fmt.Sprint("work ", parts), "tensor", "work 0",
		"map 0 true", "map 4096 false", fmt.Sprint("work ", parts), fmt.Sprint("work ", parts), "tensor", "tensor"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// Where no kernel of the tier takes a product, its reasons are told.
func TestAnMLPThatNoTierTakesSaysWhy(t *testing.T) {
	blackwell := kernel.Device{Capability: 120, SMs: 170, SharedMax: 101376}
	plantest.Launches(t, "mlp", mlpOf(onAllTensorCores), []plantest.Case{
		{DType: record.FP32, Params: "m=16 k=768 h=3072 n=768", Device: blackwell, Entry: "gemm_fp32_sm80_3xtf32_skinny_nt_rows16", Blocks: 96, Shared: 24576},
		{DType: record.FP32, Params: "m=17 k=768 h=3072 n=768", Device: blackwell, Entry: "no kernel of this tier takes m=17 n=3072 k=768: gemm_fp32_sm80_3xtf32_skinny: m=17"},
		{DType: record.FP32, Params: "m=17 k=767 h=3072 n=768", Device: testH200, Entry: "rows of a lie 3068 bytes apart"},
	})
}
