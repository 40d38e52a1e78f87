//go:build cgo && linux

package gemm_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"ridge/goharness/backend"
	"ridge/goharness/op"
	"ridge/goharness/record"
	"ridge/native"
	"ridge/native/gemm"
	"ridge/native/kerneltest"
)

var zen3 = backend.Caches{L1: 32 << 10, L2: 512 << 10, LLC: 16 << 20}

func TestShapesBelongToTheClassThatLimitsTheirBlocks(t *testing.T) {
	for want, s := range map[string]map[string]string{
		"": shape(64, 64, 64), "few_rows": shape(64, 4096, 4096), "few_columns": shape(65, 64, 4096), "short_k": shape(500, 500, 64),
		"small": shape(512, 512, 512), "large": shape(513, 512, 512),
	} {
		if got := gemm.Class(kerneltest.Op(t, "gemm", record.FP32, s)); got != want {
			t.Errorf("%v: class %q, want %q", s, got, want)
		}
	}
	if got := gemm.Class(kerneltest.Op(t, "gemm", record.BF16, shape(128, 128, 64))); got != "" { // by the small products' way with two threads
		t.Errorf("a small bf16 product has class %q", got)
	}
	if got := gemm.Class(kerneltest.Op(t, "gemm", record.FP32, shape(3, 1000, 1000))); got != "" {
		t.Errorf("three rows have class %q", got)
	}
	for n, want := range map[string]string{"48": "", "64": "few_columns"} { // narrow, with all of B in L2 of every chip; and larger
		if got := gemm.Class(kerneltest.Op(t, "gemm", record.FP32, map[string]string{"m": "1000", "n": n, "k": "1200"})); got != want {
			t.Errorf("1000 rows by %s columns have class %q, want %q", n, got, want)
		}
	}
	for m, want := range map[int]string{24: "", 25: "few_rows"} { // weights stored [N,K]
		if got := gemm.Class(kerneltest.Op(t, "linear", record.FP32, shape(m, 1000, 1000))); got != want {
			t.Errorf("a linear layer of %d rows has class %q, want %q", m, got, want)
		}
	}
	for s, want := range map[[3]int]string{{60, 90, 700}: "", {60, 1000, 1000}: "few_rows", {5000, 1, 9000}: "", {5000, 4, 9000}: "", {5000, 5, 9000}: "few_columns"} {
		if got := gemm.Class(kerneltest.Op(t, "gemm", record.FP32, shape(s[0], s[1], s[2], "tb", "1"))); got != want {
			t.Errorf("%v with B stored [N,K] has class %q, want %q", s, got, want)
		}
	}
	for _, c := range []struct {
		d    record.DType
		s    map[string]string
		want string
	}{ // rows of A against panels of B, and few columns along K: and what goes the packed loops' way
		{record.FP32, shape(31, 48, 1024, "tb", "1", "packed", "1"), ""},
		{record.FP32, shape(1000, 64, 1000, "packed", "1"), ""},
		{record.FP32, shape(1000, 300, 1000, "packed", "1"), "large"},
		{record.FP32, shape(1360, 2048, 16), ""},
		{record.FP32, shape(1360, 2048, 48), "short_k"},
		{record.FP64, shape(500, 500, 20), ""},
		{record.BF16, shape(300, 1, 8192), ""},
		{record.BF16, shape(64, 8, 1024, "tb", "1"), ""},
		{record.BF16, shape(300, 40, 8192), "few_columns"},
	} {
		if got := gemm.Class(kerneltest.Op(t, "gemm", c.d, c.s)); got != c.want {
			t.Errorf("%s %v has class %q, want %q", c.d, c.s, got, c.want)
		}
	}
	if got := gemm.Class(kerneltest.Op(t, "gemv", record.FP32, map[string]string{"m": "5", "n": "5"})); got != "" {
		t.Errorf("a GEMV has class %q", got)
	}
}

func TestTheSearchBeginsWithBlocksThatFitTheCaches(t *testing.T) {
	kerneltest.NeedModels(t)
	b := native.New()
	o := kerneltest.Op(t, "gemm", record.FP32, shape(1024, 1024, 1024))
	s, ok := b.Space(o, "gemm_fp32_avx512_14x32_model", zen3, 2)
	if !ok || s.Class != "large" {
		t.Fatalf("%+v, %v", s, ok)
	}
	// 32 x 128 floats are half of L1, 504 x 128 of L2, 128 x 8192 a quarter of the last level.
	if want := (map[string]int64{"kc": 128, "mc": 504, "nc": 8192}); !maps.Equal(s.Start[0], want) {
		t.Errorf("begins with %v, want %v", s.Start[0], want)
	}
	for _, p := range s.Start {
		if p["kc"] < 64 || p["kc"]%64 != 0 || p["mc"]%14 != 0 || p["mc"] == 0 || p["nc"]%32 != 0 {
			t.Errorf("start %v is not in whole tiles", p)
		}
	}
	for _, a := range s.Axes {
		if !slices.IsSorted(a.Values) || len(slices.Compact(slices.Clone(a.Values))) != len(a.Values) {
			t.Errorf("axis %s does not ascend: %v", a.Name, a.Values)
		}
	}
	if s, ok := b.Space(o, "gemm_fp32_avx512_14x32_model", backend.Caches{}, 2); !ok || len(s.Start) > 0 || len(s.Axes) != 3 {
		t.Errorf("with unknown caches: %+v, %v; want the axes alone", s, ok)
	}
	for _, none := range []string{"gemm_fp32_portable", "no_such_kernel"} {
		if s, ok := b.Space(o, none, zen3, 2); ok {
			t.Errorf("%s: %+v", none, s)
		}
	}
}

// Blocks smaller than the shape, off the tile and larger than it: every kernel must be right with each.
func TestKernelsAreRightWithAnyBlocks(t *testing.T) {
	b := native.New()
	dev := open(t, b, 2)
	for _, d := range []record.DType{record.FP64, record.FP32, record.BF16, record.INT8} {
		o := kerneltest.Remember(kerneltest.Op(t, "gemm", d, shape(45, 70, 150)))
		for _, k := range kerneltest.Names(b, o) {
			if strings.HasSuffix(k, "_portable") {
				continue
			}
			for _, p := range []map[string]int64{{"mc": 1, "kc": 1, "nc": 1}, {"mc": 17, "kc": 70, "nc": 33}, {"kc": 64}, {"mc": 1 << 20, "kc": 1 << 20, "nc": 1 << 20}} {
				if err := kerneltest.With(dev, o, k, p); err != nil {
					t.Errorf("%s %s %v: %v", k, kerneltest.Describe(o), p, err)
				}
			}
		}
	}
}

func TestUnknownAndSenselessParametersAreRefused(t *testing.T) {
	dev := open(t, native.New(), 1)
	o := kerneltest.Op(t, "gemm", record.FP32, shape(8, 8, 8))
	for want, p := range map[string]map[string]int64{`"unroll"`: {"unroll": 2}, "mc=0": {"mc": 0}, "kc=-1": {"kc": -1}, "nc=2097152": {"nc": 2 << 20}} {
		if err := kerneltest.With(dev, o, "gemm_fp32_portable", p); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v, want it to name %s", p, err, want)
		}
	}
	relu := kerneltest.Op(t, "relu", record.FP32, map[string]string{"rows": "2", "cols": "2"})
	if err := kerneltest.With(dev, relu, "unary_fp32_portable", map[string]int64{"mc": 1}); err == nil {
		t.Error("a family without parameters took one")
	}
}

// What a search found is used for its op, precision, class and thread count, and for no other.
func TestTheTuningTableIsAppliedInItsPlaceAlone(t *testing.T) {
	blocks := map[string]int64{"kc": 64}
	table := backend.Tuning{
		{Op: "gemm", DType: record.FP32, Class: "small", Threads: 2, Kernel: "gemm_fp32_portable", Params: blocks, Replaces: "another"},
	}
	for _, c := range []struct {
		name    string
		threads int
		dtype   record.DType
		shape   map[string]string
		tuned   bool
	}{
		{"in place", 2, record.FP32, shape(220, 220, 220), true}, {"other threads", 1, record.FP32, shape(220, 220, 220), false},
		{"other precision", 2, record.FP64, shape(220, 220, 220), false}, {"other class", 2, record.FP32, shape(10, 1000, 300), false},
	} {
		dev, err := native.New().Open("cpu", backend.OpenOptions{CPUs: slices.Repeat([]int{-1}, c.threads), Affinity: "none", Tuning: table})
		if err != nil {
			t.Fatal(err)
		}
		e, err := dev.Prepare(op.Single(kerneltest.Op(t, "gemm", c.dtype, c.shape)), backend.PrepareOptions{Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		k := e.Kernels()[0]
		if got := maps.Equal(k.Params, blocks) && k.Name == "gemm_fp32_portable"; got != c.tuned || !c.tuned && k.Params != nil {
			t.Errorf("%s: kernel %s with %v", c.name, k.Name, fmt.Sprint(k.Params))
		}
		if err := e.Release(); err != nil {
			t.Error(err)
		}
		if err := dev.Close(); err != nil {
			t.Error(err)
		}
	}
}
