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
	known map[element]op.Expectation
}

type element struct {
	integer bool
	seed    uint64
	out     int
	i       int64
}

func remember(o op.Op) *remembered {
	return &remembered{Op: o, known: map[element]op.Expectation{}}
}

// Expect is the op's expectation, computed once for each element and input kind.
func (r *remembered) Expect(in *op.Inputs, out int, i int64) op.Expectation {
	at := element{in.Integer, in.Seed, out, i}
	r.mu.Lock()
	e, ok := r.known[at]
	r.mu.Unlock()
	if ok {
		return e
	}
	e = r.Op.Expect(in, out, i)
	r.mu.Lock()
	r.known[at] = e
	r.mu.Unlock()
	return e
}

// Project forwards to the op where it has a projection.
func (r *remembered) Project(in *op.Inputs, out int, x []float64) []op.Expectation {
	if p, ok := r.Op.(op.Projector); ok {
		return p.Project(in, out, x)
	}
	return nil
}
