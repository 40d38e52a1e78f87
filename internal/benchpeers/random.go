//go:build cgo && linux

package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"

	"ridge/goharness/record"
)

// Rows of random shapes: a table's rows are those that somebody thought of, and what lies between them was up to 40 times slower.

// draws makes one random shape of a kind, or says that it is none: too small, too large, or impossible.
type draws func(d *dice) (op, label string, params map[string]string, ok bool)

var kinds = map[string]draws{
	"conv2d": drawConv, "depthwise": drawDepthwise, "gemm": drawProduct("gemm"), "linear": drawProduct("linear"), "attention": drawAttention, "rows": drawRows,
	"elementwise": drawElementwise,
}

const kindNames = "attention, conv2d, depthwise, elementwise, gemm, linear, rows"

// randomRows are the rows of KIND/DTYPE:SEED:COUNT, several separated by ";". The same seed gives the same rows.
func randomRows(specs string) ([]row, error) {
	var out []row
	for spec := range strings.SplitSeq(specs, ";") {
		f := strings.Split(spec, ":")
		name, d, _ := strings.Cut(f[0], "/")
		draw := kinds[name]
		if draw == nil || len(f) != 3 || d == "" {
			return nil, fmt.Errorf("%q: expected KIND/DTYPE:SEED:COUNT with one of the kinds %s", spec, kindNames)
		}
		seed, err := strconv.ParseUint(f[1], 10, 64)
		if err != nil {
			return nil, fmt.Errorf("%q: %q is no seed: expected a whole number", spec, f[1])
		}
		count, err := strconv.Atoi(f[2])
		if err != nil || count < 1 || count > 10000 {
			return nil, fmt.Errorf("%q: %q is no count: expected 1 to 10000", spec, f[2])
		}
		r := dice{rand.New(rand.NewPCG(seed, 0))}
		seen := map[string]bool{}
		for tries := 0; len(seen) < count && tries < 1000*count; tries++ {
			op, label, p, ok := draw(&r)
			if !ok || seen[label] {
				continue
			}
			seen[label] = true
			rw := row{group: "Random " + f[0] + ", seed " + f[1], label: label, op: op, dtype: record.DType(d), metric: "gflops", params: p}
			switch name {
			case "conv2d", "depthwise":
				rw.layouts = true
			case "rows", "elementwise":
				rw.metric = "gbps"
			}
			if rw.dtype == record.INT8 && rw.layouts {
				p["requant"] = "1" // bytes in, bytes out
			}
			out = append(out, rw)
		}
		if len(seen) < count {
			return nil, fmt.Errorf("%q: only %d different shapes came up: ask for fewer", spec, len(seen))
		}
	}
	return out, nil
}

type dice struct{ *rand.Rand }

// of picks one, usual sizes the more often the more often they are listed.
func (d *dice) of(v ...int64) int64 { return v[d.IntN(len(v))] }

// log is a number between the two, each order of magnitude as likely as another.
func (d *dice) log(lo, hi float64) int64 { return int64(lo * math.Exp(d.Float64()*math.Log(hi/lo))) }

func (d *dice) one(in int) bool { return d.IntN(in) == 0 }

func drawConv(d *dice) (string, string, map[string]string, bool) {
	channels := func() int64 {
		return d.of(1, 3, 4, 8, 12, 16, 24, 32, 40, 48, 64, 72, 80, 96, 112, 128, 160, 192, 240, 256, 320, 384, 512, d.log(1, 300), d.log(1, 300))
	}
	n, c, k, r, stride := d.of(1, 1, 1, 2, 4, 8), channels(), channels(), d.of(1, 1, 3, 3, 3, 5, 7), d.of(1, 1, 1, 2)
	h, pad, dilation, groups := d.of(5, 7, 8, 13, 14, 16, 17, 28, 32, 35, 56, 64, 73, 112, d.log(4, 120)), r/2, int64(1), int64(1)
	if d.one(5) {
		pad = 0
	}
	if r == 3 && d.one(10) {
		dilation, pad = 2, 2*pad
	}
	if g := d.of(2, 4, 8, 32); d.one(8) && c%g == 0 && k%g == 0 {
		groups = g
	}
	out := (h+2*pad-dilation*(r-1)-1)/stride + 1
	flop := 2 * float64(n*out*out) * float64(c/groups*k*r*r)
	label := fmt.Sprintf("%d × %d×%d×%d → %d, %d×%d/%d, pad %d, groups %d, dilation %d", n, c, h, h, k, r, r, stride, pad, groups, dilation)
	p := params("n=%d,c=%d,h=%d,w=%d,k=%d,r=%d,s=%d,stride=%d,pad=%d", n, c, h, h, k, r, r, stride, pad)
	if groups > 1 {
		p["groups"] = strconv.FormatInt(groups, 10)
	}
	if dilation > 1 {
		p["dilation"] = strconv.FormatInt(dilation, 10)
	}
	return "conv2d", label, p, h+2*pad > dilation*(r-1) && flop > 3e5 && flop < 6e8 && c*k*r*r < 4e6
}

func drawDepthwise(d *dice) (string, string, map[string]string, bool) {
	n, c, h := d.of(1, 1, 1, 4), d.of(3, 8, 16, 24, 32, 40, 96, 144, 240, 384, 512, 960, d.log(2, 600)), d.of(7, 14, 28, 56, 112, d.log(4, 130))
	r, stride := d.of(3, 3, 3, 5, 5, 7), d.of(1, 1, 2)
	size := n * c * h * h
	return "conv2d", fmt.Sprintf("%d × %d×%d×%d, %d×%d/%d", n, c, h, h, r, r, stride),
		params("n=%d,c=%d,h=%d,w=%d,k=%d,r=%d,s=%d,stride=%d,pad=%d,groups=%d", n, c, h, h, c, r, r, stride, r/2, c), size > 2e3 && size < 3e6
}

func drawProduct(op string) draws {
	return func(d *dice) (string, string, map[string]string, bool) {
		size := func() int64 {
			return d.of(1, 2, 3, 4, 5, 7, 8, 12, 15, 16, 17, 24, 31, 32, 33, 48, 64, 96, 100, 127, 128, 192, 256, 300, 384, 512, 600, 768, 1000, 1024, 2048, 4096,
				d.log(1, 4000), d.log(1, 4000), d.log(1, 4000))
		}
		m, n, k := size(), size(), size()
		p := params("m=%d,n=%d,k=%d", m, n, k)
		if op == "linear" {
			p["bias"] = "0"
		}
		flop := 2 * m * n * k
		return op, fmt.Sprintf("%d×%d×%d", m, n, k), p, flop > 1e5 && flop < 3e8 && k >= 8
	}
}

func drawAttention(d *dice) (string, string, map[string]string, bool) {
	heads, q, dim := d.of(1, 2, 4, 8, 12, 16), d.of(1, 1, 4, 16, 17, 50, 64, 77, 100, 128, 197, 256, 333, 512, d.log(1, 700)), d.of(16, 32, 40, 64, 64, 72, 80, 96, 128, 128, 160, 192, 256)
	kv, keys, causal := q, int64(0), d.of(0, 0, 1)
	if q <= 16 || d.one(4) {
		kv, causal = d.of(77, 128, 500, 1000, 1024, 2048, d.log(16, 4000)), 0
	}
	if heads >= 4 && d.one(4) {
		keys = d.of(1, 2)
	}
	flop := 4 * heads * q * kv * dim
	return "attention", fmt.Sprintf("%d heads, %d of keys, %d × %d × %d, causal %d", heads, keys, q, kv, dim, causal),
		params("b=1,heads=%d,kv_heads=%d,sq=%d,skv=%d,d=%d,causal=%d", heads, keys, q, kv, dim, causal), flop > 1e5 && flop < 5e8
}

func drawMatrix(d *dice) (rows, cols int64, ok bool) {
	rows, cols = d.log(1, 20000), d.of(1, 2, 3, 4, 8, 10, 16, 17, 32, 64, 100, 128, 256, 333, 512, 768, 1000, 1024, 4096, 50257)
	if d.one(2) {
		cols = d.log(1, 20000)
	}
	return rows, cols, rows*cols >= 500 && rows*cols <= 1<<21
}

func drawRows(d *dice) (string, string, map[string]string, bool) {
	rows, cols, ok := drawMatrix(d)
	op := []string{"softmax", "layer_norm", "rms_norm", "sum", "mean", "max", "argmax"}[d.of(0, 0, 1, 1, 2, 2, 3, 4, 5, 6)]
	return op, fmt.Sprintf("%s, %d × %d", op, rows, cols), params("rows=%d,cols=%d", rows, cols), ok
}

func drawElementwise(d *dice) (string, string, map[string]string, bool) {
	rows, cols, ok := drawMatrix(d)
	op := []string{"add", "relu", "gelu", "gelu_tanh", "exp", "sigmoid", "tanh", "sin", "cos"}[d.IntN(9)]
	return op, fmt.Sprintf("%s, %d × %d", op, rows, cols), params("rows=%d,cols=%d", rows, cols), ok
}
