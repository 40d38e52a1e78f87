//go:build cgo && linux

package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"ridge/goharness/op"
	"ridge/goharness/plan"
	"ridge/goharness/record"
)

// row is one line of the comparison.
type row struct {
	group, label string
	op           string
	params       map[string]string
	dtype        record.DType
	threads      int
	metric       string // gflops, gbps or ns
	network      string
	count        int
	limits       []string // compute, or accesses of the bandwidth probe
	layouts      bool     // a convolution: ours and the peers in their best layout
	entries      []entry
}

// id is the case id, as ridge bench takes it.
func (r row) id(o op.Op) string {
	id := record.CaseID{Device: "cpu", Op: r.op, DType: r.dtype, Threads: r.threads, Mode: record.Hot}
	spec, _ := op.Builtin().Spec(r.op)
	defaults := map[string]string{}
	for _, p := range spec.Params {
		defaults[p.Name] = p.Default
	}
	for _, p := range o.Params() {
		if p.Value != defaults[p.Name] {
			id.Params = append(id.Params, p)
		}
	}
	return id.String()
}

// use is a peer library in one of its variants; which cases it takes is for it to say.
type use struct{ maker, variant, name string }

// peersOf lists the peers for an op. A GEMM's B is packed by the call ("plain") or beforehand
// ("packed"), both where the library offers both.
func peersOf(opName string) []use {
	torch := []use{{"torch", "", "torch"}}
	switch opName {
	case "gemm", "linear":
		return append([]use{
			{"openblas", "plain", "OpenBLAS"}, {"openblas", "gemv", "OpenBLAS gemv"},
			{"openblas_debian", "plain", "OpenBLAS (Debian)"}, {"blis", "plain", "BLIS (Debian)"},
			{"mkl", "plain", "MKL"}, {"mkl", "packed", "MKL packed"}, {"mkl", "jit", "MKL jit"}, {"mkl", "gemv", "MKL gemv"},
			{"onednn", "plain", "oneDNN"}, {"onednn", "packed", "oneDNN packed"},
			{"onednn_debian", "plain", "oneDNN (Debian)"}, {"onednn_debian", "packed", "oneDNN (Debian) packed"},
			{"torch", "packed", "torch packed"}, {"zentorch", "", "zentorch"},
		}, torch...)
	case "attention", "rms_norm":
		return append([]use{{"zentorch", "", "zentorch"}}, torch...)
	case "conv2d":
		return append([]use{
			{"onednn", "packed", "oneDNN"}, {"onednn", "blocked", "oneDNN blocked"},
			{"onednn_debian", "packed", "oneDNN (Debian)"}, {"onednn_debian", "blocked", "oneDNN (Debian) blocked"},
			{"torch", "packed", "torch packed"},
		}, torch...)
	case "dispatch":
		return []use{{"gomp", "plain", "libgomp"}, {"iomp", "plain", "libiomp5"}}
	}
	return append([]use{{"onednn", "plain", "oneDNN"}, {"mkl", "plain", "MKL"}}, torch...)
}

// table lists every row, for each of the thread counts.
func table(of []row, peaks []plan.Peak, threads []int) ([]row, error) {
	var out []row
	for _, n := range threads {
		for _, r := range of {
			r.threads = n
			if err := r.fill(peaks); err != nil {
				return nil, fmt.Errorf("%s %s: %w", r.group, r.label, err)
			}
			out = append(out, r)
		}
	}
	return out, nil
}

const (
	compute = "compute"
	memory  = "memory"
)

// fill makes the row's entries: the probes of its limits, ours, and the peers.
func (r *row) fill(peaks []plan.Peak) error {
	o, err := op.Builtin().New(r.op, r.params, r.dtype)
	if err != nil {
		return err
	}
	for _, limit := range r.limits {
		probes, err := probesOf(limit, o, r.dtype, peaks, r.threads)
		if err != nil {
			return err
		}
		r.entries = append(r.entries, probes...)
	}
	ask := func(variant string, more map[string]string) request {
		p := map[string]string{}
		for k, v := range r.params {
			p[k] = v
		}
		for k, v := range more {
			p[k] = v
		}
		return request{Op: r.op, Params: p, DType: r.dtype, Variant: variant}
	}
	nhwc := map[string]string{}
	if r.layouts {
		nhwc["layout"] = "nhwc"
		r.entries = append(r.entries, entry{role: ours, name: "ridge nhwc", maker: "ridge", ask: ask("", nhwc)},
			entry{role: ours, name: "ridge nchw", maker: "ridge", ask: ask("", map[string]string{"layout": "nchw"})})
	} else {
		r.entries = append(r.entries, entry{role: ours, name: "ridge", maker: "ridge", ask: ask("", nil)})
	}
	if p, ok := o.(op.Packer); ok && len(p.PackedOperands()) == 0 && r.params["groups"] == "" && r.params["batch"] == "" {
		more, name := map[string]string{"packed": "1"}, "ridge packed"
		if r.layouts {
			more["layout"], name = "nhwc", "ridge packed nhwc"
		}
		r.entries = append(r.entries, entry{role: ours, name: name, maker: "ridge", ask: ask("", more)})
	}
	for _, u := range peersOf(r.op) {
		r.entries = append(r.entries, entry{role: peer, name: u.name, maker: u.maker, ask: ask(u.variant, nhwc)})
	}
	uses := map[string]int{} // each entry of a library has a process of its own
	for i := range r.entries {
		e := &r.entries[i]
		e.seat = fmt.Sprintf("%s#%d", e.maker, uses[e.maker])
		uses[e.maker]++
	}
	return nil
}

// probesOf are the probes of a limit, of which the fastest counts: the arithmetic peaks that the op's kernels may reach (peaksOf), or a stream
// of the given access over a working set of the row's bytes.
func probesOf(limit string, o op.Op, d record.DType, peaks []plan.Peak, threads int) ([]entry, error) {
	if limit != compute {
		e := entry{role: probe, maker: "ridge", name: limit + " stream", limit: memory, work: float64(o.Bytes())}
		e.ask = request{Op: "bandwidth", DType: record.FP32, Params: map[string]string{"access": limit, "bytes": strconv.FormatInt(o.Bytes(), 10)}}
		p, err := op.Builtin().New(e.ask.Op, e.ask.Params, e.ask.DType)
		if err != nil {
			return nil, err
		}
		e.probeWork = float64(p.Bytes())
		return []entry{e}, nil
	}
	var out []entry
	for _, best := range peaksOf(o, d, peaks) {
		chunk, err := op.FindPeak(best.ISA, best.DType)
		if err != nil {
			return nil, err
		}
		e := entry{role: probe, maker: "ridge", name: fmt.Sprintf("%s %s peak", best.ISA, best.DType), limit: compute, work: float64(op.LeastFLOPs(o))}
		e.ask = request{Op: "peak", DType: best.DType, Params: map[string]string{"isa": best.ISA, "instructions": fmt.Sprint(chunk.Chunk * int64(threads))}}
		if best.VL > 0 {
			e.ask.Params["vl"] = fmt.Sprint(best.VL)
		}
		p, err := op.Builtin().New(e.ask.Op, e.ask.Params, e.ask.DType)
		if err != nil {
			return nil, err
		}
		e.probeWork = float64(p.FLOPs())
		out = append(out, e)
	}
	return out, nil
}

// peaksOf are the arithmetic peaks that bound an op: the best of its own precision whose sums are no coarser than the op allows, and of
// 16-bit floats without tiles that of fp32 too, for kernels may widen, which is faster where VDPBF16PS has half of its rate.
func peaksOf(o op.Op, d record.DType, peaks []plan.Peak) []plan.Peak {
	best := func(of ...record.DType) []plan.Peak {
		var out []plan.Peak
		most := int64(0)
		for _, p := range peaks {
			probe := newPeak(p)
			if !slices.Contains(of, p.DType) || probe == nil || d.Float() && probe.Accumulate().Unit() > o.Accumulate().Unit() {
				continue
			}
			if n := probe.FLOPs() / probe.Items(); n > most {
				out, most = []plan.Peak{p}, n
			}
		}
		return out
	}
	own := []record.DType{d}
	if !d.Float() { // signed bytes are multiplied by the instructions for unsigned ones too, with an offset
		own = []record.DType{record.INT8, record.U8S8}
	}
	out := best(own...)
	if len(out) == 0 || d.Float() && d.Size() < 4 && out[0].ISA != "amx" {
		out = append(out, best(record.FP32)...)
	}
	return out
}

// newPeak is the probe of a peak, nil where there is none.
func newPeak(p plan.Peak) op.Op {
	params := map[string]string{"isa": p.ISA}
	if p.VL > 0 {
		params["vl"] = fmt.Sprint(p.VL)
	}
	o, err := op.Builtin().New("peak", params, p.DType)
	if err != nil {
		return nil
	}
	return o
}

// params reads "m=1,n=2".
func params(format string, a ...any) map[string]string {
	out := map[string]string{}
	for _, kv := range strings.Split(fmt.Sprintf(format, a...), ",") {
		if k, v, ok := strings.Cut(kv, "="); ok {
			out[k] = v
		}
	}
	return out
}

var (
	floats = []record.DType{record.FP32, record.BF16}
	// Accesses of streams that an op could at best be like.
	unaryStreams  = []string{"copy", "nt_copy"}
	binaryStreams = []string{"triad", "nt_triad"}
	readStream    = []string{"read"}
)

// rows is the table without thread counts.
func rows() []row {
	var out []row
	gemm := func(group string, d record.DType, limits []string, m, n, k int64) {
		out = append(out, row{group: group, label: fmt.Sprintf("%d×%d×%d", m, n, k), op: "gemm", dtype: d, metric: "gflops",
			params: params("m=%d,n=%d,k=%d", m, n, k), limits: limits})
	}
	arithmetic := []string{compute}
	for _, d := range []record.DType{record.FP32, record.FP64} {
		for _, n := range []int64{256, 512, 1024, 2048, 4096} {
			gemm("GEMM "+string(d), d, arithmetic, n, n, n)
		}
	}
	for _, s := range [][3]int64{{1, 4096, 4096}, {4, 4096, 4096}, {8, 4096, 4096}, {16, 4096, 4096}, {64, 3072, 768}, {4096, 4096, 64}} {
		limits := []string{compute, "read"}
		if s[0] == 4096 { // the result is most of the bytes
			limits = []string{compute, "write", "nt_write"}
		}
		gemm("GEMM skinny fp32", record.FP32, limits, s[0], s[1], s[2])
	}
	// B in L2, of few columns or a short K, of sizes that fill no tile.
	for _, s := range [][3]int64{{1, 1024, 1024}, {4, 300, 300}, {1000, 1, 3000}, {1024, 1, 192}, {1024, 16, 4096}, {1000, 32, 1000}, {1000, 100, 600}, {4096, 64, 4096}, {579, 353, 14}, {65536, 256, 256}, {16384, 128, 64}} {
		gemm("GEMM narrow fp32", record.FP32, arithmetic, s[0], s[1], s[2])
	}
	for _, l := range []struct {
		d record.DType
		s [][3]int64
	}{
		{record.FP32, [][3]int64{{102, 15, 744}, {168, 43, 1867}, {328, 101, 80}, {24, 16, 768}, {243, 2, 300}}},
		{record.INT8, [][3]int64{{256, 7, 33}, {768, 7, 64}, {512, 48, 1129}, {4096, 64, 31}}},
	} {
		for _, s := range l.s {
			out = append(out, row{group: "Linear narrow, weights [N,K], " + string(l.d), label: fmt.Sprintf("%d×%d×%d", s[0], s[1], s[2]), op: "linear", dtype: l.d, metric: "gflops",
				params: params("m=%d,n=%d,k=%d,bias=0", s[0], s[1], s[2]), limits: arithmetic})
		}
	}
	// Weights as a linear layer stores them, [N,K]: a few tokens at a time.
	for _, d := range []record.DType{record.FP32, record.BF16, record.INT8} {
		for _, m := range []int64{1, 4, 16, 64} {
			out = append(out, row{group: "Linear, weights [N,K], " + string(d), label: fmt.Sprintf("%d×4096×4096", m), op: "linear", dtype: d, metric: "gflops",
				params: params("m=%d,n=4096,k=4096,bias=0", m), limits: []string{compute, "read"}})
		}
	}
	for _, d := range []record.DType{record.BF16, record.FP16, record.INT8, record.U8S8} {
		for _, n := range []int64{512, 1024, 2048} {
			gemm("GEMM "+string(d), d, arithmetic, n, n, n)
		}
	}
	// Short sums in fp16, which no library here has: its peers keep all in fp32.
	for _, n := range []int64{512, 1024, 2048} {
		gemm("GEMM fp16, short sums in fp16", record.FP16, arithmetic, n, n, n)
		out[len(out)-1].params["acc"] = "fp16"
	}
	for _, s := range [][3]int64{{8, 8, 8}, {16, 16, 16}, {24, 24, 24}, {32, 32, 32}, {48, 48, 48}, {64, 64, 64}, {5, 7, 9}, {33, 33, 33}} {
		gemm("GEMM small fp32", record.FP32, arithmetic, s[0], s[1], s[2])
	}
	for _, n := range []int64{8, 16, 32, 64} {
		gemm("GEMM small fp64", record.FP64, arithmetic, n, n, n)
	}
	for _, s := range [][4]int64{{256, 16, 16, 16}, {64, 32, 32, 32}, {64, 64, 64, 64}, {12, 128, 128, 64}} {
		out = append(out, row{group: "GEMM batched fp32", label: fmt.Sprintf("%d × %d×%d×%d", s[0], s[1], s[2], s[3]), op: "gemm", dtype: record.FP32,
			metric: "gflops", params: params("m=%d,n=%d,k=%d,batch=%d", s[1], s[2], s[3], s[0]), limits: arithmetic})
	}
	out = append(out, convRows()...)
	out = append(out, attentionRows()...)
	out = append(out, streamingRows()...)
	return append(out, row{group: "Team dispatch", label: "empty launch", op: "dispatch", dtype: record.FP64, metric: "ns"})
}

func convRows() []row {
	var out []row
	for _, d := range floats {
		for _, n := range []int64{1, 16} {
			network := fmt.Sprintf("ResNet-50 %s, batch %d", d, n)
			for _, l := range plan.ResNet50() {
				out = append(out, row{group: network, label: fmt.Sprintf("%d×%d×%d → %d, %d×%d/%d", l.C, l.H, l.H, l.K, l.R, l.R, l.Stride),
					op: "conv2d", dtype: d, metric: "gflops", network: network, count: int(l.Repeats), layouts: true, limits: []string{compute},
					params: params("n=%d,c=%d,h=%d,w=%d,k=%d,r=%d,s=%d,stride=%d,pad=%d", n, l.C, l.H, l.H, l.K, l.R, l.R, l.Stride, l.R/2)})
			}
		}
	}
	// Requantised as within a network: bytes in, bytes out. Of each block's stage the 3×3 layer, and 1×1 layers.
	for _, l := range plan.ResNet50() {
		if l.Stride != 1 || l.R == 1 && !(l.C == 64 && l.K == 256 || l.C == 1024 && l.K == 256) {
			continue
		}
		out = append(out, row{group: "ResNet-50 int8, batch 1", label: fmt.Sprintf("%d×%d×%d → %d, %d×%d/%d", l.C, l.H, l.H, l.K, l.R, l.R, l.Stride),
			op: "conv2d", dtype: record.INT8, metric: "gflops", layouts: true, limits: []string{compute},
			params: params("n=1,c=%d,h=%d,w=%d,k=%d,r=%d,s=%d,pad=%d,requant=1", l.C, l.H, l.H, l.K, l.R, l.R, l.R/2)})
	}
	// MobileNet's and EfficientNet's shapes.
	for _, s := range [][4]int64{{32, 112, 3, 1}, {144, 56, 3, 1}, {256, 28, 3, 1}, {512, 14, 3, 1}, {144, 56, 5, 2}, {240, 28, 5, 1}, {672, 14, 5, 1}} {
		out = append(out, row{group: "Depthwise fp32", label: fmt.Sprintf("%d×%d×%d, %d×%d/%d", s[0], s[1], s[1], s[2], s[2], s[3]),
			op: "conv2d", dtype: record.FP32, metric: "gflops", layouts: true, limits: []string{compute, "copy"},
			params: params("n=1,c=%d,h=%d,w=%d,k=%d,r=%d,s=%d,stride=%d,pad=%d,groups=%d", s[0], s[1], s[1], s[0], s[2], s[2], s[3], s[2]/2, s[0])})
	}
	// ResNeXt's and RegNet's groups.
	for _, s := range [][4]int64{{128, 56, 128, 32}, {256, 28, 256, 32}, {512, 14, 512, 32}, {64, 56, 64, 8}, {112, 35, 112, 8}} {
		out = append(out, row{group: "Convolution by groups, 3×3, fp32", label: fmt.Sprintf("%d×%d×%d → %d, %d groups", s[0], s[1], s[1], s[2], s[3]),
			op: "conv2d", dtype: record.FP32, metric: "gflops", layouts: true, limits: []string{compute},
			params: params("n=1,c=%d,h=%d,w=%d,k=%d,r=3,s=3,pad=1,groups=%d", s[0], s[1], s[1], s[2], s[3])})
	}
	// Few input or output channels, as the first and the last layers of networks have them, and what fills no tile.
	for _, s := range [][4]int64{{3, 64, 8, 3}, {4, 35, 80, 3}, {8, 64, 80, 3}, {64, 56, 3, 3}, {112, 14, 12, 3}, {48, 112, 16, 3}, {48, 28, 24, 3}, {320, 56, 24, 1}, {72, 13, 160, 3}} {
		out = append(out, row{group: "Convolution of few channels fp32", label: fmt.Sprintf("%d×%d×%d → %d, %d×%d", s[0], s[1], s[1], s[2], s[3], s[3]),
			op: "conv2d", dtype: record.FP32, metric: "gflops", layouts: true, limits: []string{compute},
			params: params("n=1,c=%d,h=%d,w=%d,k=%d,r=%d,s=%d,pad=%d", s[0], s[1], s[1], s[2], s[3], s[3], s[3]/2)})
	}
	return out
}

func attentionRows() []row {
	var out []row
	// 32 heads of 4096 × 128 take 550 GFLOP; 4 of them show the same work per head.
	for _, s := range [][3]int64{{12, 512, 64}, {12, 2048, 64}, {4, 4096, 128}} {
		for _, d := range floats {
			for _, causal := range []int{0, 1} {
				label := fmt.Sprintf("%d heads, %d × %d", s[0], s[1], s[2])
				if causal == 1 {
					label += ", causal"
				}
				out = append(out, row{group: "Attention " + string(d), label: label, op: "attention", dtype: d, metric: "gflops", limits: []string{compute},
					params: params("b=1,heads=%d,sq=%d,d=%d,causal=%d", s[0], s[1], s[2], causal)})
			}
		}
	}
	// Tokens one by one, and a few at once, against the keys so far: heads, of those with keys of their own, queries, keys, d.
	for _, s := range [][5]int64{{12, 12, 1, 1000, 64}, {32, 8, 1, 4096, 128}, {12, 12, 1, 1000, 40}, {8, 8, 16, 2048, 80}} {
		for _, d := range floats {
			out = append(out, row{group: "Attention of few queries " + string(d), label: fmt.Sprintf("%d heads, %d of keys, %d × %d × %d", s[0], s[1], s[2], s[3], s[4]), op: "attention", dtype: d,
				metric: "gflops", limits: []string{compute, "read"}, params: params("b=1,heads=%d,kv_heads=%d,sq=%d,skv=%d,d=%d", s[0], s[1], s[2], s[3], s[4])})
		}
	}
	return out
}

// streamingRows are the ops that a stream bounds: 4 MiB, 16 MiB and 256 MiB an array.
func streamingRows() []row {
	var out []row
	for _, size := range []struct {
		name       string
		rows, cols int64
	}{{"1M", 1 << 10, 1 << 10}, {"4M", 1 << 12, 1 << 10}, {"64M", 1 << 16, 1 << 10}} {
		add := func(group, name string, limits []string) {
			out = append(out, row{group: group + " fp32", label: name + ", " + size.name, op: name, dtype: record.FP32, metric: "gbps",
				params: params("rows=%d,cols=%d", size.rows, size.cols), limits: limits})
		}
		add("Elementwise", "add", binaryStreams)
		for _, f := range []string{"relu", "gelu", "gelu_tanh", "exp", "sigmoid", "tanh", "sin", "cos"} {
			add("Elementwise", f, unaryStreams)
		}
		for _, f := range []string{"sum", "mean", "max", "argmax"} {
			add("Reduction", f, readStream)
		}
		for _, f := range []string{"softmax", "layer_norm", "rms_norm"} {
			add("Normalization", f, unaryStreams)
		}
	}
	for _, s := range []struct {
		name       string
		rows, cols int64
	}{{"softmax", 2225, 100}, {"softmax", 254, 16}, {"layer_norm", 5123, 18}, {"layer_norm", 481, 100}, {"rms_norm", 4096, 60}} {
		out = append(out, row{group: "Normalization of short rows fp32", label: fmt.Sprintf("%s, %d × %d", s.name, s.rows, s.cols), op: s.name, dtype: record.FP32, metric: "gbps",
			params: params("rows=%d,cols=%d", s.rows, s.cols), limits: unaryStreams})
	}
	for _, f := range []string{"stream_copy", "stream_scale", "stream_add", "stream_triad"} {
		limits := unaryStreams
		if f == "stream_add" || f == "stream_triad" {
			limits = binaryStreams
		}
		out = append(out, row{group: "STREAM fp64", label: strings.TrimPrefix(f, "stream_") + ", 32M", op: f, dtype: record.FP64, metric: "gbps",
			params: params("n=%d", 1<<25), limits: limits})
	}
	return out
}
