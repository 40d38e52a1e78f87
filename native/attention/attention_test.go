//go:build cgo && linux

package attention_test

import (
	"fmt"
	"slices"
	"testing"

	"ridge/goharness/op"
	"ridge/goharness/record"
	"ridge/native"
	"ridge/native/attention"
	"ridge/native/kernel"
	"ridge/native/kerneltest"
)

func shape(b, heads, kv, sq, skv, d, causal int) map[string]string {
	return map[string]string{"b": fmt.Sprint(b), "heads": fmt.Sprint(heads), "kv_heads": fmt.Sprint(kv), "sq": fmt.Sprint(sq),
		"skv": fmt.Sprint(skv), "d": fmt.Sprint(d), "causal": fmt.Sprint(causal)}
}

func TestAttentionKernelsMatchTheExpectation(t *testing.T) {
	shapes := []map[string]string{
		shape(1, 1, 0, 1, 0, 1, 0), shape(0, 2, 0, 5, 0, 8, 0), shape(2, 3, 0, 7, 0, 17, 0), shape(1, 2, 0, 65, 0, 64, 0),
		shape(1, 1, 0, 200, 0, 128, 0), shape(1, 4, 2, 13, 29, 17, 0), shape(1, 4, 1, 1, 200, 64, 0), shape(2, 2, 0, 65, 7, 1, 0),
		shape(1, 2, 0, 7, 0, 64, 1), shape(1, 1, 0, 65, 0, 17, 1), shape(1, 2, 1, 200, 0, 64, 1), shape(1, 1, 0, 7, 65, 128, 1),
		shape(1, 1, 0, 65, 7, 17, 1), shape(1, 2, 0, 1, 65, 64, 1), shape(1, 1, 0, 200, 0, 1, 1), shape(1, 1, 0, 31, 300, 40, 0),
		shape(1, 1, 0, 9, 0, 200, 0), shape(3, 2, 1, 50, 130, 33, 1),
		shape(1, 6, 2, 40, 600, 24, 1), shape(1, 2, 0, 27, 530, 36, 0),
		shape(5, 1, 0, 33, 0, 64, 0), shape(3, 2, 0, 128, 0, 64, 0), shape(1, 6, 3, 40, 0, 24, 1), shape(1, 1, 0, 250, 256, 32, 0),
		shape(2, 8, 1, 1, 1100, 64, 0), shape(1, 4, 2, 2, 700, 32, 1), shape(3, 1, 0, 1, 1500, 128, 1), shape(1, 1, 0, 7, 3, 32, 1),
		// Few queries: dimensions that are no whole steps, every remainder of queries and keys, parts of a head.
		shape(1, 4, 1, 1, 77, 40, 0), shape(2, 3, 0, 1, 33, 72, 0), shape(1, 1, 0, 3, 530, 33, 1), shape(1, 2, 0, 2, 5, 48, 0), shape(1, 3, 1, 2, 523, 80, 1),
		shape(1, 1, 0, 1, 1100, 95, 0), shape(1, 5, 1, 1, 31, 160, 0), shape(1, 1, 0, 7, 260, 257, 1), shape(1, 2, 0, 1, 1030, 192, 1),
		shape(1, 1, 0, 12, 530, 64, 0), shape(1, 2, 0, 19, 500, 72, 1), shape(1, 4, 2, 9, 505, 130, 1), shape(1, 1, 0, 24, 300, 128, 0),
		// Fewer dimensions than a step: few keys and several heads, parts of a head, a mask, rows of odd addresses.
		shape(2, 2, 0, 1, 70, 8, 0), shape(1, 4, 2, 1, 600, 24, 0), shape(1, 1, 0, 2, 40, 16, 1), shape(1, 2, 0, 1, 3, 12, 0), shape(2, 1, 0, 3, 77, 31, 1),
		// Steps that begin before the operands in heads after the first, which one or two keys do not fill.
		shape(1, 7, 0, 1, 1, 2, 0), shape(1, 3, 0, 1, 1, 5, 0), shape(2, 2, 0, 2, 2, 4, 1),
		// V read in place by one task of a head: blocks of few keys, the last one's rest, more queries than such a task has.
		shape(1, 2, 0, 40, 300, 96, 0), shape(1, 1, 0, 33, 601, 256, 1), shape(1, 3, 0, 100, 261, 72, 1), shape(1, 1, 0, 193, 290, 40, 0), shape(1, 1, 0, 16, 500, 2048, 0),
	}
	var ops []op.Op
	for _, d := range []record.DType{record.FP32, record.BF16} {
		for _, s := range shapes {
			ops = append(ops, kerneltest.Op(t, "attention", d, s))
		}
	}
	kerneltest.All(t, native.New(), ops)
}

// Where VDPBF16PS is slow (cores with AVX512-FP16) the kernel that widens to fp32 comes first but for the softmax alone; tiles always do.
func TestDotProductsOfBF16RankByTheCoresThatRunThemWell(t *testing.T) {
	kerneltest.NeedModels(t) // on arm64 only the model has the name
	table := func() []kernel.Kernel {
		return []kernel.Kernel{{Name: "attention_bf16_avx512", Rank: 30}, {Name: "attention_bf16_avx512bf16", Rank: 40},
			{Name: "attention_bf16_amx", Rank: 50}, {Name: "attention_bf16_avx512bf16_model", Rank: -1}}
	}
	part := map[string]string{"b": "8", "s": "128", "d": "64"}
	for _, c := range []struct {
		name string
		o    op.Op
		dots int // on Emerald Rapids without AMX
	}{
		{"prefill", kerneltest.Op(t, "attention", record.BF16, shape(1, 12, 0, 128, 0, 64, 0)), 29},
		{"sixteen queries", kerneltest.Op(t, "attention", record.BF16, shape(1, 8, 0, 16, 2048, 128, 0)), 29},
		{"decoding with shared keys", kerneltest.Op(t, "attention", record.BF16, shape(1, 32, 8, 1, 4096, 128, 0)), 29},
		{"scores", kerneltest.Op(t, "qk_softmax", record.BF16, part), 29},
		{"weighted sum", kerneltest.Op(t, "softmax_v", record.BF16, part), 29},
		{"softmax alone", kerneltest.Op(t, "causal_softmax", record.BF16, map[string]string{"b": "8", "s": "128"}), 40},
	} {
		for _, cpu := range []struct {
			name string
			have kernel.Mask
			dots int
		}{{"Zen 4", 0, 40}, {"Emerald Rapids without AMX", kerneltest.Feature(t, "avx512fp16"), c.dots}} {
			var got []int
			for _, k := range attention.Ranked(table(), cpu.have) {
				got = append(got, k.RankOn(c.o, 2))
			}
			if want := []int{30, cpu.dots, 50, -1}; !slices.Equal(got, want) {
				t.Errorf("%s on %s: ranks %v, want %v", c.name, cpu.name, got, want)
			}
		}
	}
	if !slices.ContainsFunc(attention.Family().Kernels, func(k kernel.Kernel) bool { return k.Name == "attention_bf16_avx512bf16_model" }) {
		t.Error("no kernel has the name: was it renamed?")
	}
}
