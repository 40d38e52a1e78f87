package plan

import (
	"fmt"

	"ridge/goharness/record"
)

type area struct{ rows, cols int64 }

func (a area) params(more string) func(Options) string {
	return fixed("rows=%d,cols=%d%s", a.rows, a.cols, more)
}

func square(n int64) area { return area{n, n} }

// dramArea is a matrix of 8192 columns such that arrays arrays of it are DRAM-sized.
func dramArea(elem, arrays int64, more string) func(Options) string {
	return dram(elem, arrays, func(n int64) string { return fmt.Sprintf("rows=%d,cols=8192%s", (n+8191)/8192, more) })
}

// elementwiseSuite: REFERENCE 1.1, and the per-channel ops.
func elementwiseSuite() []row {
	var out []row
	areas := []area{square(1024), square(4096), square(8192), square(16384), square(23170), {1024, 8192}}
	binary := []string{"add", "multiply"}
	unary := []string{"relu", "gelu", "gelu_tanh", "sigmoid", "tanh", "exp", "sqrt_abs", "sin", "cos", "silu"}
	for _, name := range append(binary, unary...) {
		for _, a := range areas {
			large := a.rows >= 16384
			out = append(out, row{suite: "elementwise", op: name, use: fmt.Sprintf("%d x %d", a.rows, a.cols), dtypes: fp32,
				quick: a.rows == 1024 && a.cols == 1024, params: a.params("")})
			if !large {
				out = append(out, row{suite: "elementwise", op: name, use: fmt.Sprintf("%d x %d", a.rows, a.cols), dtypes: bf16,
					quick: a.rows == 1024 && a.cols == 1024, params: a.params("")})
			}
		}
	}
	out = append(out, row{suite: "elementwise", op: "add", use: "from DRAM", dtypes: fp32, quick: true, dram: true, params: dramArea(4, 3, "")})
	out = append(out,
		row{suite: "normalization", op: "bias_add", use: "activations", quick: true, params: fixed("rows=1024,cols=1024")},
		row{suite: "normalization", op: "scale", use: "activations", quick: true, params: fixed("rows=1024,cols=1024")},
		row{suite: "normalization", op: "batch_norm", use: "inference", quick: true, params: fixed("n=1,c=64,h=56,w=56")},
		row{suite: "normalization", op: "batch_norm", use: "inference, batch 32", params: fixed("n=32,c=256,h=14,w=14")})
	return out
}

// reductionSuite: REFERENCE 1.1.
func reductionSuite() []row {
	var out []row
	areas := []area{square(1024), square(4096), square(8192), square(16384), square(23170), {2048, 8192}, {512, 16384}}
	for _, name := range []string{"sum", "mean", "max", "min"} {
		for _, a := range areas {
			for _, dim := range []string{"all", "0", "1"} {
				use := fmt.Sprintf("%d x %d, dim %s", a.rows, a.cols, dim)
				large := a.rows >= 16384
				if large && dim != "all" && (name == "max" || name == "min") {
					continue // REFERENCE 1.1 asks sum and mean over dims; the smaller sizes show max and min
				}
				out = append(out, row{suite: "reduction", op: name, use: use, dtypes: fp32, quick: a == square(1024), params: a.params(",dim=" + dim)})
				if !large {
					out = append(out, row{suite: "reduction", op: name, use: use, dtypes: []record.DType{record.BF16, record.FP64},
						quick: a == square(1024) && dim == "1" && (name == "sum" || name == "max"), params: a.params(",dim=" + dim)})
				}
			}
		}
	}
	for _, a := range areas[:3] {
		for _, dim := range []string{"all", "0", "1"} {
			out = append(out, row{suite: "reduction", op: "argmax", use: fmt.Sprintf("%d x %d, dim %s", a.rows, a.cols, dim), dtypes: fp32,
				quick: a == square(1024) && dim == "all", params: a.params(",dim=" + dim)})
		}
	}
	out = append(out, row{suite: "reduction", op: "sum", use: "from DRAM", dtypes: fp32, quick: true, dram: true, params: dramArea(4, 1, ",dim=all")})
	for _, a := range areas {
		large := a.rows >= 16384
		for _, dim := range []string{"0", "1"} {
			use := fmt.Sprintf("%d x %d, dim %s", a.rows, a.cols, dim)
			r := row{suite: "normalization", op: "softmax", use: use, quick: a == square(1024), params: a.params(",dim=" + dim)}
			if large {
				r.dtypes = fp32
			}
			out = append(out, r)
		}
		for _, name := range []string{"layer_norm", "rms_norm"} {
			r := row{suite: "normalization", op: name, use: fmt.Sprintf("%d x %d", a.rows, a.cols), quick: a == square(1024), params: a.params("")}
			if large {
				r.dtypes = fp32
			}
			out = append(out, r)
		}
	}
	return out
}

// memorySuite: REFERENCE 1.1.
func memorySuite() []row {
	var out []row
	for _, name := range []string{"copy", "transpose", "fill", "add_scalar"} {
		for _, a := range []area{square(1024), square(2048), square(4096), square(8192), square(16384), square(23170), {1024, 8192}, {8192, 1024}} {
			r := row{suite: "memory", op: name, use: fmt.Sprintf("%d x %d", a.rows, a.cols), quick: a == square(1024), params: a.params("")}
			if a.rows >= 16384 {
				r.dtypes = fp32
			}
			out = append(out, r)
		}
	}
	return append(out, layoutRows()...)
}

// layoutRows are images of ResNet-50 between the layouts of a convolution: what changing the layout costs beside it.
func layoutRows() []row {
	return []row{
		{suite: "memory", op: "layout", use: "early block, NCHW to NHWC", dtypes: fp32, quick: true, params: fixed("n=1,c=64,h=56,w=56")},
		{suite: "memory", op: "layout", use: "early block, NHWC to NCHW", dtypes: fp32, params: fixed("n=1,c=64,h=56,w=56,to=nchw")},
		{suite: "memory", op: "layout", use: "late block, NCHW to NHWC", dtypes: fp32, params: fixed("n=1,c=512,h=7,w=7")},
	}
}

// streamSuite: REFERENCE 1.2; sizes in MB (10^6 bytes) per array. The DRAM-sized triad is
// asked at one thread too, for the scaling over the cores.
func streamSuite() []row {
	var out []row
	for _, k := range []struct {
		op     string
		arrays int64
	}{{"stream_copy", 2}, {"stream_scale", 2}, {"stream_add", 3}, {"stream_triad", 3}} {
		for _, d := range [][]record.DType{fp32, fp64} {
			for _, mb := range []int64{8, 16, 32, 64, 128, 256, 512} {
				out = append(out, row{suite: "stream", op: k.op, use: fmt.Sprintf("%d MB per array", mb), dtypes: d,
					quick: mb == 8, params: fixed("n=%d", mb*1000000/d[0].Size())})
			}
			out = append(out, row{suite: "stream", op: k.op, use: "from DRAM", dtypes: d, quick: true,
				dram: true, one: k.op == "stream_triad", params: dram(d[0].Size(), k.arrays, func(n int64) string { return fmt.Sprintf("n=%d", n) })})
		}
	}
	return out
}

// blasSuite: REFERENCE 1.2.
func blasSuite() []row {
	var out []row
	for _, name := range []string{"dot", "axpy"} {
		for _, n := range []int64{1e3, 1e4, 1e5, 1e6, 1e7} {
			out = append(out, row{suite: "blas", op: name, use: fmt.Sprintf("n = %d", n), quick: n == 1e5, params: fixed("n=%d", n)})
		}
	}
	for _, n := range []int64{32, 64, 128, 256, 512, 1024, 2048} {
		out = append(out, row{suite: "blas", op: "gemv", use: fmt.Sprintf("n = %d", n), quick: n == 1024, params: fixed("m=%d,n=%d", n, n)})
	}
	return out
}
