package fusion

import (
	"fmt"

	"ridge/goharness/op"
	"ridge/goharness/record"
)

// addPatterns are an addition of a residual with what follows it: ReLU (the end of a ResNet block whose
// convolution is not in the kernel) or the norm at the start of a transformer's next block.
//
// Both programs of the norms write the sum z as well as y: the next block adds to z, so a kernel that kept it to itself would be of no
// use. Neither updates x in place, as some frameworks do: inputs stay as they are, so that every launch computes the same.
func addPatterns() []Pattern {
	base := Pattern{
		DTypes: []record.DType{record.FP32, record.BF16}, Shapes: addShapes(),
		Params: []op.ParamSpec{
			{Name: "rows", Doc: "rows (batch × tokens)", Min: 1, Max: 1 << 32},
			{Name: "cols", Doc: "columns (features)", Min: 1, Max: 1 << 32},
		},
		Input: func(v op.Values) []int64 { return []int64{v.Int("rows"), v.Int("cols")} },
		Size:  func(v op.Values) (string, int64) { return "rows", v.Int("rows") },
	}
	with := func(name, group, doc, second string, build func(op.Values, record.DType) (Pair, error)) Pattern {
		p := base
		p.Name, p.Group, p.Doc, p.Operators, p.Build = name, group, doc, []string{"add", second}, build
		return p
	}
	return []Pattern{
		with("Add_ReLU", "elementwise", "y = relu(a + b)", "relu", addReLU),
		with("Add_LayerNorm", "norm", "z = x + r, y = layer_norm(z)*gamma + beta; z and y are written", "layer_norm",
			func(v op.Values, d record.DType) (Pair, error) {
				return addNorm("Add_LayerNorm", "layer_norm", []string{"gamma", "beta"}, v, d)
			}),
		with("Add_RMSNorm", "norm", "z = x + r, y = rms_norm(z)*gamma; z and y are written", "rms_norm",
			func(v op.Values, d record.DType) (Pair, error) {
				return addNorm("Add_RMSNorm", "rms_norm", []string{"gamma"}, v, d)
			}),
	}
}

// addShapes: rows of 4,096 features from what a core's cache holds to 384 MiB (fp32, three arrays).
func addShapes() []Shape {
	var out []Shape
	for i, rows := range []int{4, 16, 64, 256, 1024, 2048, 4096, 8192} {
		out = append(out, Shape{Params: map[string]string{"rows": fmt.Sprint(rows), "cols": "4096"}, Quick: i < 2})
	}
	out[len(out)-1].Grow = "rows"
	return out
}

func addReLU(v op.Values, d record.DType) (Pair, error) {
	b := newOps(d)
	matrix := func(name string) op.Op { return b.new(name, "rows", v.Int("rows"), "cols", v.Int("cols")) }
	fused, add, relu := matrix("add_relu"), matrix("add"), matrix("relu")
	if b.err != nil {
		return Pair{}, b.err
	}
	ref := &expected{Op: fused, name: "Add_ReLU", params: v.List()}
	return Pair{Unfused: chain(ref, []stage{{op: add, bind: []string{"a", "b"}, value: add}, {op: relu, bind: []string{""}}}), Fused: single(ref, fused)}, nil
}

// addNorm: what the norm reads is the sum as it is stored, in both programs, so nothing more is rounded in either.
func addNorm(name, norm string, vectors []string, v op.Values, d record.DType) (Pair, error) {
	b := newOps(d)
	matrix := func(name string) op.Op { return b.new(name, "rows", v.Int("rows"), "cols", v.Int("cols")) }
	fused, add, second := matrix("add_"+norm), matrix("add"), matrix(norm)
	if b.err != nil {
		return Pair{}, b.err
	}
	ref := &expected{Op: fused, name: name, params: v.List()}
	return Pair{Unfused: chain(ref, []stage{{op: add, bind: []string{"x", "r"}, to: "z"}, {op: second, bind: append([]string{""}, vectors...)}}), Fused: single(ref, fused)}, nil
}
