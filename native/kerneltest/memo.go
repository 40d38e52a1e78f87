//go:build cgo && linux

package kerneltest

import (
	"sync"
	"sync/atomic"

	"ridge/goharness/op"
)

// remembered is an op that keeps its expectations: the same op is verified for every kernel,
// thread count and alignment, and the float64 recomputation is most of a test's time.
type remembered struct {
	op.Op
	mu    sync.Mutex
	known atomic.Pointer[[]*expectations]
}

// output is a tensor under one kind of input.
type output struct {
	integer bool
	seed    uint64
	out     int
}

// listedMost bounds the elements of a tensor whose expectations stand in a list: of larger ones few are compared.
const listedMost = 1 << 20

// expectations of one output. The verifier's goroutines ask for millions of them: a listed one is read without a lock.
type expectations struct {
	of     output
	listed []op.Expectation
	state  []atomic.Uint32 // of each listed one: nothing yet, written, known
	mu     sync.Mutex
	few    map[int64]op.Expectation
}

const (
	written = 1
	known   = 2
)

func (x *expectations) get(i int64) (op.Expectation, bool) {
	if x.few == nil {
		if x.state[i].Load() != known {
			return op.Expectation{}, false
		}
		return x.listed[i], true
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	e, ok := x.few[i]
	return e, ok
}

func (x *expectations) put(i int64, e op.Expectation) {
	if x.few == nil {
		if x.state[i].CompareAndSwap(0, written) {
			x.listed[i] = e
			x.state[i].Store(known)
		}
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.few[i] = e
}

func remember(o op.Op) *remembered { return &remembered{Op: o} }

// Expect is the op's expectation, computed once for each element and input kind.
func (r *remembered) Expect(in *op.Inputs, out int, i int64) op.Expectation {
	at := output{in.Integer, in.Seed, out}
	x := r.find(at)
	if x == nil {
		x = r.add(at)
	}
	if e, ok := x.get(i); ok {
		return e
	}
	e := r.Op.Expect(in, out, i)
	x.put(i, e)
	return e
}

// find is the output's expectations, nil where none has been asked for.
func (r *remembered) find(at output) *expectations {
	if list := r.known.Load(); list != nil {
		for _, x := range *list { // two kinds of input of one or two outputs
			if x.of == at {
				return x
			}
		}
	}
	return nil
}

func (r *remembered) add(at output) *expectations {
	r.mu.Lock()
	defer r.mu.Unlock()
	if x := r.find(at); x != nil {
		return x
	}
	x := &expectations{of: at}
	if n := r.Op.Tensors()[at.out].Elements(); n <= listedMost {
		x.listed, x.state = make([]op.Expectation, n), make([]atomic.Uint32, n)
	} else {
		x.few = map[int64]op.Expectation{}
	}
	list := []*expectations{x}
	if old := r.known.Load(); old != nil {
		list = append(list, *old...)
	}
	r.known.Store(&list)
	return x
}

// Project forwards to the op where it has a projection.
func (r *remembered) Project(in *op.Inputs, out int, x []float64) []op.Expectation {
	if p, ok := r.Op.(op.Projector); ok {
		return p.Project(in, out, x)
	}
	return nil
}
