package runner

import (
	"fmt"
	"sync"

	"ridge/goharness/op"
)

// expectations remembers what the arms of one case are held against: sampled elements and projections of one reference on
// one fill, which are the same for each arm. Outputs that are compared whole are cheap and are not kept.
type expectations struct {
	mu  sync.Mutex
	all map[string][]op.Expectation
}

// of returns what is remembered under a key, made by make the first time. A nil store remembers nothing.
func (x *expectations) of(key string, make func() []op.Expectation) []op.Expectation {
	if x == nil {
		return make()
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if got, ok := x.all[key]; ok {
		return got
	}
	got := make()
	if x.all == nil {
		x.all = map[string][]op.Expectation{}
	}
	x.all[key] = got
	return got
}

// expectationKey names a reference with its fill and inputs: two arms that were given different work share nothing.
func (v *verifier) expectationKey(what string, n int, integer bool) string {
	key := fmt.Sprint(what, n, integer, v.seed, v.p.Reference.Name(), v.p.Reference.Params(), v.p.Reference.DType())
	for _, t := range v.p.Reference.Tensors() {
		key += fmt.Sprint(" ", t.Name, t.Role, t.DType, t.Dims)
	}
	return key
}
