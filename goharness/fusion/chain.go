package fusion

import (
	"fmt"
	"math"

	"ridge/goharness/op"
	"ridge/goharness/record"
)

// ops makes the steps' ops: a call per op, one error check at the end.
type ops struct {
	all *op.Registry
	d   record.DType
	err error
}

func newOps(d record.DType) *ops { return &ops{all: op.Builtin(), d: d} }

// new makes a registered op; kv alternates names and values.
func (b *ops) new(name string, kv ...any) op.Op {
	params := map[string]string{}
	for i := 0; i < len(kv); i += 2 {
		params[kv[i].(string)] = fmt.Sprint(kv[i+1])
	}
	o, err := b.all.New(name, params, b.d)
	return b.keep(o, err)
}

func (b *ops) keep(o op.Op, err error) op.Op {
	if err != nil && b.err == nil {
		b.err = err
	}
	return o
}

// expected is the reference of a pattern's programs: the expectation of the op under the
// pattern's own name and parameters.
type expected struct {
	op.Op
	name   string
	params []record.Param
	// rounded is what a program may deviate by because it stores intermediates in a coarse
	// format; nil when it stores none.
	rounded func(in *op.Inputs, i int64) float64
}

func (e *expected) Name() string           { return e.name }
func (e *expected) Params() []record.Param { return e.params }

// Expect adds the rounding of stored intermediates to the op's own slack.
func (e *expected) Expect(in *op.Inputs, out int, i int64) op.Expectation {
	x := e.Op.Expect(in, out, i)
	if e.rounded != nil {
		x.Tiny += e.rounded(in, i)
	}
	return x
}

// IntegerExact is the op's, unless intermediates are rounded.
func (e *expected) IntegerExact() (bool, string) {
	if e.rounded != nil {
		return false, "intermediates are rounded to " + string(e.DType())
	}
	return e.Op.IntegerExact()
}

// Project is the op's; a program that rounds intermediates has none.
func (e *expected) Project(in *op.Inputs, out int, x []float64) []op.Expectation {
	if p, ok := e.Op.(op.Projector); ok && e.rounded == nil {
		return p.Project(in, out, x)
	}
	return nil
}

// RoundsIntermediates implements op.Rounder.
func (e *expected) RoundsIntermediates() bool { return e.rounded != nil }

// ExpectCost is the op's.
func (e *expected) ExpectCost() int64 {
	if c, ok := e.Op.(op.Coster); ok {
		return c.ExpectCost()
	}
	out := int64(1)
	for _, t := range e.Op.Tensors() {
		if t.Role == op.Out {
			out = max(out, t.Elements())
		}
	}
	return e.Op.FLOPs() / out
}

// stage is one step of an unfused chain. Its output becomes the next stage's first input; the other inputs are
// tensors of the program.
type stage struct {
	op   op.Op
	bind []string // the program's tensors for the op's inputs; "" is the stage before
	// value, where the output is stored in less than fp32, is the op whose expectation is the
	// stored value, over the reference's inputs (a prefix of them).
	value op.Op
	// slope of what follows up to the last activation at output element i; nil: 1.
	slope func(in *op.Inputs, i int64) float64
	// to, where the output is an output of the program, is its name; the last stage needs none.
	to string
}

// chain makes the candidates of an unfused program: with a buffer for every intermediate, and,
// where all stages from some one on give tensors of the output's size and are elementwise, with those in place.
func chain(ref *expected, stages []stage) []op.Program {
	out := outputName(ref.Op)
	if ref.DType() == record.BF16 {
		e := *ref
		e.rounded = roundings(stages)
		ref = &e
	}
	build := func(name string, inPlace bool) op.Program {
		p := op.Program{Name: name, Tensors: ref.Op.Tensors(), Reference: ref}
		before := ""
		for i, s := range stages {
			y := s.op.Tensors()[len(s.op.Tensors())-1]
			to := out
			if s.to != "" {
				to = s.to
			} else if i < len(stages)-1 && !(inPlace && follows(stages, i)) {
				to = fmt.Sprintf("t%d", i+1)
				y.Name, y.Role = to, op.Scratch
				p.Tensors = append(p.Tensors, y)
			}
			var bind []string
			for _, b := range s.bind {
				if b == "" {
					b = before
				}
				bind = append(bind, b)
			}
			p.Steps = append(p.Steps, op.Step{Op: s.op, Bind: append(bind, to)})
			before = to
		}
		return p
	}
	all := []op.Program{build("buffers", false)}
	if len(stages) > 1 && follows(stages, 0) {
		all = append(all, build("in place", true))
	}
	return all
}

// follows reports whether all stages after i are elementwise with outputs of one size: stage i
// can then write where the last one does.
func follows(stages []stage, i int) bool {
	last := stages[len(stages)-1].op.Tensors()
	size := last[len(last)-1].Elements()
	for j := i; j < len(stages); j++ {
		ts := stages[j].op.Tensors()
		if ts[len(ts)-1].Elements() != size || j > i && !elementwise(stages[j].op) {
			return false
		}
	}
	return true
}

func elementwise(o op.Op) bool {
	switch o.(type) {
	case *op.Elementwise, *op.PerChannel:
		return true
	}
	return false
}

func outputName(o op.Op) string {
	ts := o.Tensors()
	return ts[len(ts)-1].Name
}

// steepest is the largest slope of an activation that may follow a stored intermediate: GELU's (1.13).
const steepest = 1.13

// roundings sums what storing each intermediate may cost.
func roundings(stages []stage) func(*op.Inputs, int64) float64 {
	return func(in *op.Inputs, i int64) float64 {
		var sum float64
		for _, s := range stages {
			if s.value != nil {
				e := steepest * s.op.DType().Unit() * math.Abs(s.value.Expect(in, len(s.value.Tensors())-1, i).Value)
				if s.slope != nil {
					e *= s.slope(in, i)
				}
				sum += e
			}
		}
		return sum
	}
}

// single is the fused program: one step.
func single(ref *expected, step op.Op) op.Program {
	p := op.Single(step)
	p.Name, p.Reference = Fused, ref
	return p
}
