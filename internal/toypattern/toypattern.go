// Package toypattern is the worked example of a fusion pattern in docs/extending.md: z = 2·x + 3·y in
// three launches against one launch of the toy op's kernel.
package toypattern

import (
	"fmt"
	"slices"

	"ridge/goharness/fusion"
	"ridge/goharness/op"
	"ridge/goharness/record"
	"ridge/internal/toyop"
)

// Pattern declares Scale_Scale_Add.
func Pattern() fusion.Pattern {
	return fusion.Pattern{
		Name: "Scale_Scale_Add", Group: "toy", Doc: "z = 2*x + 3*y",
		Operators: []string{"scale", "scale", "add"},
		DTypes:    []record.DType{record.FP32},
		Params:    []op.ParamSpec{{Name: "n", Doc: "elements", Min: 1, Max: 1 << 40}},
		Shapes:    shapes(),
		Build:     build,
		Input:     func(v op.Values) []int64 { return []int64{v.Int("n")} },
		Size:      func(v op.Values) (string, int64) { return "n", v.Int("n") },
	}
}

// shapes from the first cache to well beyond the last; the first two are quick's.
func shapes() []fusion.Shape {
	var out []fusion.Shape
	for n, i := 1<<12, 0; n <= 1<<26; n, i = n*4, i+1 {
		out = append(out, fusion.Shape{Params: map[string]string{"n": fmt.Sprint(n)}, Quick: i < 2})
	}
	return out
}

// reference is what both programs compute, under the pattern's name.
type reference struct {
	op.Op
	params []record.Param
}

func (r reference) Name() string           { return "Scale_Scale_Add" }
func (r reference) Params() []record.Param { return r.params }

// build makes both programs of a shape.
func build(v op.Values, d record.DType) (fusion.Pair, error) {
	n := v.Int("n")
	ops := op.Builtin().With(toyop.Spec())
	fused, err := ops.New("saxpby", map[string]string{"n": v.Str("n"), "a": "2", "b": "3"}, d)
	if err != nil {
		return fusion.Pair{}, err
	}
	twice, err := op.NewScale(1, n, 2, d)
	if err != nil {
		return fusion.Pair{}, err
	}
	thrice, err := op.NewScale(1, n, 3, d)
	if err != nil {
		return fusion.Pair{}, err
	}
	add, err := ops.New("add", map[string]string{"rows": "1", "cols": v.Str("n")}, d)
	if err != nil {
		return fusion.Pair{}, err
	}
	ref := reference{fused, v.List()}
	between := func(name string) op.Tensor {
		return op.Tensor{Name: name, Role: op.Scratch, DType: d, Dims: []int64{n}}
	}
	chain := op.Program{Name: "buffers", Reference: ref, Tensors: append(slices.Clone(fused.Tensors()), between("x2"), between("y3")),
		Steps: []op.Step{
			{Op: twice, Bind: []string{"x", "x2"}},
			{Op: thrice, Bind: []string{"y", "y3"}},
			{Op: add, Bind: []string{"x2", "y3", "z"}},
		}}
	one := op.Single(fused)
	one.Name, one.Reference = fusion.Fused, ref
	return fusion.Pair{Unfused: []op.Program{chain}, Fused: one}, nil
}
