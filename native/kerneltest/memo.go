//go:build cgo && linux

package kerneltest

import (
	"sync"

	"ridge/goharness/op"
)

// remembered is an op that keeps its expectations: the same op is verified for every kernel,
// thread count and alignment, and the float64 recomputation is most of a test's time.
type remembered struct {
	op.Op
	mu    sync.Mutex
	known map[output]*expectations
}

// output is a tensor under one kind of input.
type output struct {
	integer bool
	seed    uint64
	out     int
}

// listedMost bounds the elements of a tensor whose expectations stand in a list: of larger ones few are compared.
const listedMost = 1 << 20

type expectations struct {
	mu     sync.Mutex
	listed []op.Expectation
	known  []bool
	few    map[int64]op.Expectation
}

func (x *expectations) get(i int64) (op.Expectation, bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.few != nil {
		e, ok := x.few[i]
		return e, ok
	}
	return x.listed[i], x.known[i]
}

func (x *expectations) put(i int64, e op.Expectation) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.few != nil {
		x.few[i] = e
		return
	}
	x.listed[i], x.known[i] = e, true
}

func remember(o op.Op) *remembered {
	return &remembered{Op: o, known: map[output]*expectations{}}
}

// Expect is the op's expectation, computed once for each element and input kind.
func (r *remembered) Expect(in *op.Inputs, out int, i int64) op.Expectation {
	x := r.tensor(output{in.Integer, in.Seed, out})
	if e, ok := x.get(i); ok {
		return e
	}
	e := r.Op.Expect(in, out, i)
	x.put(i, e)
	return e
}

func (r *remembered) tensor(at output) *expectations {
	r.mu.Lock()
	defer r.mu.Unlock()
	x, ok := r.known[at]
	if !ok {
		x = &expectations{}
		if n := r.Op.Tensors()[at.out].Elements(); n <= listedMost {
			x.listed, x.known = make([]op.Expectation, n), make([]bool, n)
		} else {
			x.few = map[int64]op.Expectation{}
		}
		r.known[at] = x
	}
	return x
}

// Project forwards to the op where it has a projection.
func (r *remembered) Project(in *op.Inputs, out int, x []float64) []op.Expectation {
	if p, ok := r.Op.(op.Projector); ok {
		return p.Project(in, out, x)
	}
	return nil
}
