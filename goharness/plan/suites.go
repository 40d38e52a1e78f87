package plan

import (
	"fmt"

	"ridge/goharness/record"
)

// row is one line of a suite: an op with its parameters, at one or more precisions.
type row struct {
	suite, op, use string
	params         func(Options) string
	dtypes         []record.DType // nil: all of the op
	quick          bool
	unsupported    bool   // also list the precisions that no CPU has
	tensor         bool   // of precisions that CPUs lack: left out there
	dram           bool   // sized by the last-level cache: skipped where that is unknown
	one            bool   // at one thread too
	isa            string // of CPUs with its probe at the row's precision alone
}

func fixed(format string, a ...any) func(Options) string {
	s := fmt.Sprintf(format, a...)
	return func(Options) string { return s }
}

// dram sizes n elements of elem bytes per array over arrays arrays to at least four times
// the last-level cache; where that is unknown, to the least DRAM size (the case is skipped).
func dram(elem, arrays int64, format func(n int64) string) func(Options) string {
	return func(o Options) string {
		n := max(DRAMBytes(o.LLC), leastDRAM) / (elem * arrays)
		return format((n + 4095) / 4096 * 4096)
	}
}

// leastDRAM is the smallest DRAM-sized working set of all machines.
const leastDRAM = 256 << 20

// DRAMBytes is the smallest working set whose figure may be called a DRAM figure: four
// times the aggregate last-level cache, and at least 256 MiB. 0 when the cache is unknown.
func DRAMBytes(llc int64) int64 {
	if llc == 0 {
		return 0
	}
	return max(4*llc, leastDRAM)
}

var (
	fp32  = []record.DType{record.FP32}
	fp64  = []record.DType{record.FP64}
	bf16  = []record.DType{record.BF16}
	other = []record.DType{record.FP64, record.FP16, record.BF16, record.INT8, record.U8S8}
	units = []record.DType{record.TF32, record.FP8E4M3} // of tensor cores alone
)

// rows is the list of all suites: the registry. A suite is a function in a file of its own.
func rows() []row {
	var out []row
	for _, suite := range []func() []row{gemmSuite, linearSuite, convSuite, attentionSuite, elementwiseSuite,
		reductionSuite, memorySuite, streamSuite, blasSuite} {
		out = append(out, suite()...)
	}
	return out
}

// gemmSuite: REFERENCE 1.1 and 1.2.
func gemmSuite() []row {
	var out []row
	add := func(m, k, n int64, use string, d []record.DType, quick bool) {
		out = append(out, row{suite: "gemm", op: "gemm", use: use, dtypes: d, quick: quick, params: fixed("m=%d,n=%d,k=%d", m, n, k)})
	}
	cube := func(n int64, d []record.DType, quick bool) { add(n, n, n, fmt.Sprintf("square %d", n), d, quick) }
	out = append(out, row{suite: "gemm", op: "gemm", use: "square 1024", quick: true, unsupported: true, params: fixed("m=1024,n=1024,k=1024")})
	for _, n := range []int64{32, 64, 128, 256, 512} {
		cube(n, fp32, n == 256)
		cube(n, other, false)
	}
	cube(2048, fp32, true)
	cube(2048, other, false)
	cube(4096, fp32, false)
	cube(4096, other, false)
	cube(8192, fp32, false)
	for _, n := range []int64{512, 2048} {
		out = append(out, row{suite: "gemm", op: "gemm", use: fmt.Sprintf("square %d, short sums in fp16", n), dtypes: []record.DType{record.FP16}, isa: "avx512fp16",
			params: fixed("m=%d,n=%d,k=%d,acc=fp16", n, n, n)})
	}
	for _, n := range []int64{2048, 4096, 8192} {
		cube(n, units, n == 4096)
		out[len(out)-1].tensor = true
	}
	add(1, 4096, 4096, "token generation", fp32, true)
	add(1, 4096, 4096, "token generation", other, false)
	add(32, 2048, 2048, "small batch", fp32, true)
	add(32, 2048, 2048, "small batch", other, false)
	add(128, 1024, 1024, "sequence", fp32, true)
	add(128, 1024, 1024, "sequence", other, false)
	out = append(out, row{suite: "gemm", op: "gemm", use: "small batch, B packed beforehand", dtypes: fp32, params: fixed("m=32,n=2048,k=2048,packed=1")})
	return out
}

// linearSuite: the linear sizes of REFERENCE 1.3 as single fused ops.
func linearSuite() []row {
	var out []row
	for i, s := range [][3]int64{{128, 512, 512}, {512, 1024, 1024}, {1024, 2048, 2048}} {
		for _, act := range []string{"none", "relu", "gelu"} {
			out = append(out, row{suite: "linear", op: "linear", use: "transformer layer, act " + act, quick: i == 0 && act == "relu" || i == 1 && act == "gelu",
				dtypes: []record.DType{record.FP32, record.BF16}, params: fixed("m=%d,n=%d,k=%d,act=%s", s[0], s[2], s[1], act)})
		}
		out = append(out, row{suite: "linear", op: "linear", use: "transformer layer, act gelu", tensor: true, dtypes: units, params: fixed("m=%d,n=%d,k=%d,act=gelu", s[0], s[2], s[1])})
		out = append(out, row{suite: "linear", op: "linear", use: "quantised layer", dtypes: []record.DType{record.INT8},
			params: fixed("m=%d,n=%d,k=%d,act=relu,requant=1", s[0], s[2], s[1])})
	}
	return out
}

// convSuite: REFERENCE 1.1 and every ResNet-50 v1.5 layer (1.4).
func convSuite() []row {
	var out []row
	add := func(use string, n, c, h, k, r, stride, pad int64, more string, d []record.DType, quick bool) {
		out = append(out, row{suite: "conv", op: "conv2d", use: use, dtypes: d, quick: quick,
			params: fixed("n=%d,c=%d,h=%d,w=%d,k=%d,r=%d,s=%d,stride=%d,pad=%d%s", n, c, h, h, k, r, r, stride, pad, more)})
	}
	for _, s := range []struct {
		use                        string
		n, c, h, k, r, stride, pad int64
		quick                      bool
	}{
		{"first layer", 1, 3, 224, 64, 3, 1, 1, false}, {"early block", 1, 64, 56, 128, 3, 1, 1, true},
		{"late block", 1, 256, 14, 512, 3, 1, 1, true}, {"batch 32", 32, 64, 32, 128, 3, 1, 1, false},
		{"pointwise", 1, 512, 7, 2048, 1, 1, 0, true}, {"5x5", 1, 128, 28, 128, 5, 1, 2, false},
		{"batch 16", 16, 256, 16, 256, 3, 1, 1, false},
	} {
		add(s.use, s.n, s.c, s.h, s.k, s.r, s.stride, s.pad, "", fp32, s.quick)
		add(s.use, s.n, s.c, s.h, s.k, s.r, s.stride, s.pad, "", []record.DType{record.BF16, record.INT8}, s.quick && s.c == 64)
	}
	add("depthwise", 1, 256, 28, 256, 3, 1, 1, ",groups=256", fp32, true)
	add("depthwise", 1, 256, 28, 256, 3, 1, 1, ",groups=256", bf16, false)
	for _, l := range ResNet50() {
		add(fmt.Sprintf("ResNet-50 x%d", l.Repeats), 1, l.C, l.H, l.K, l.R, l.Stride, l.R/2, "", fp32, false)
	}
	// The other layout, beside which the memory suite has the conversions: every 3x3 layer, and the 1x1 layers with the
	// largest and smallest images and with a step.
	add("early block, NHWC", 1, 64, 56, 128, 3, 1, 1, ",layout=nhwc", fp32, true)
	for _, l := range ResNet50() {
		if l.R == 3 || l.C == 64 && l.K == 256 || l.C == 2048 || l.K == 2048 {
			add(fmt.Sprintf("ResNet-50 x%d, NHWC", l.Repeats), 1, l.C, l.H, l.K, l.R, l.Stride, l.R/2, ",layout=nhwc", fp32, false)
		}
	}
	add("ResNet-50 x6, filters packed beforehand", 1, 256, 14, 1024, 1, 1, 0, ",layout=nhwc,packed=1", fp32, false)
	add("ResNet-50 x3, filters packed beforehand", 1, 512, 7, 2048, 1, 1, 0, ",layout=nhwc,packed=1", fp32, false)
	return out
}

// Layer is a convolution of a network.
type Layer struct{ C, H, K, R, Stride, Repeats int64 }

// ResNet50 lists the distinct convolutions of ResNet-50 v1.5 with their repeats (REFERENCE
// 1.4): H is the input's height and width.
func ResNet50() []Layer {
	return []Layer{
		{3, 224, 64, 7, 2, 1},
		{64, 56, 256, 1, 1, 4}, {64, 56, 64, 1, 1, 1}, {64, 56, 64, 3, 1, 3}, {256, 56, 64, 1, 1, 2},
		{256, 56, 128, 1, 1, 1}, {128, 56, 128, 3, 2, 1}, {128, 28, 512, 1, 1, 4}, {256, 56, 512, 1, 2, 1},
		{512, 28, 128, 1, 1, 3}, {128, 28, 128, 3, 1, 3},
		{512, 28, 256, 1, 1, 1}, {256, 28, 256, 3, 2, 1}, {256, 14, 1024, 1, 1, 6}, {512, 28, 1024, 1, 2, 1},
		{1024, 14, 256, 1, 1, 5}, {256, 14, 256, 3, 1, 5},
		{1024, 14, 512, 1, 1, 1}, {512, 14, 512, 3, 2, 1}, {512, 7, 2048, 1, 1, 3}, {1024, 14, 2048, 1, 2, 1},
		{2048, 7, 512, 1, 1, 2}, {512, 7, 512, 3, 1, 2},
	}
}

// attentionSuite: the sizes of REFERENCE 1.3 and heads, causal, grouped-query.
func attentionSuite() []row {
	var out []row
	add := func(use, params string, d []record.DType, quick bool) {
		out = append(out, row{suite: "attention", op: "attention", use: use, dtypes: d, quick: quick, params: fixed("%s", params)})
	}
	add("single head", "b=1,heads=1,sq=128,d=64", nil, false)
	add("single head", "b=4,heads=1,sq=256,d=64", nil, false)
	add("single head", "b=8,heads=1,sq=512,d=64", nil, true)
	add("12 heads", "b=1,heads=12,sq=512,d=64", fp32, true)
	add("12 heads, causal", "b=1,heads=12,sq=512,d=64,causal=1", fp32, true)
	add("12 heads, causal", "b=1,heads=12,sq=512,d=64,causal=1", bf16, false)
	add("long", "b=1,heads=12,sq=2048,d=64", nil, false)
	add("grouped query, causal", "b=1,heads=32,kv_heads=8,sq=1024,d=128,causal=1", nil, false)
	add("decode", "b=1,heads=32,kv_heads=8,sq=1,skv=4096,d=128", nil, false)
	return out
}
