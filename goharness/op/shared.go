package op

import (
	"fmt"

	"ridge/goharness/record"
)

// sharedFactor spreads the words of shared memory over 32 bits (2^32 over the golden ratio).
const sharedFactor = 2654435761

// SharedSpec declares shared_memory: each block reads a scratchpad of its own, passes times.
func SharedSpec() Spec {
	return Spec{
		Name: "shared_memory", Family: "probe", Suite: "bandwidth", Item: "pass over the scratchpads", Metric: "gbps",
		Doc: "y[b] = the wrapping sum of the 32-bit words of block b's scratchpad over all passes; word i = 2654435761*(i + b*words). " +
			"Only devices with memory shared by the threads of a block have it",
		Params: []ParamSpec{
			{Name: "blocks", Doc: "blocks, each with a scratchpad", Min: 1, Max: 1 << 16},
			{Name: "bytes", Doc: "scratchpad of a block, a multiple of 16", Min: 16, Max: 1 << 20},
			{Name: "passes", Doc: "reads of the whole scratchpad in one launch", Default: "1", Min: 1, Max: 1 << 22},
		},
		DTypes: []record.DType{record.INT32},
		New: func(v Values, _ record.DType) (Op, error) {
			s := &Shared{Blocks: v.Int("blocks"), Words: v.Int("bytes") / 4, Passes: v.Int("passes"), params: v.List()}
			if v.Int("bytes")%16 != 0 {
				return nil, fmt.Errorf("bytes=%d: expected a multiple of 16, what one load reads", v.Int("bytes"))
			}
			return s, nil
		},
	}
}

// Shared is Passes reads of Blocks scratchpads of Words 32-bit words.
type Shared struct {
	Blocks, Words, Passes int64
	params                []record.Param
}

func (s *Shared) Name() string             { return "shared_memory" }
func (s *Shared) Params() []record.Param   { return s.params }
func (s *Shared) DType() record.DType      { return record.INT32 }
func (s *Shared) Accumulate() record.DType { return record.INT32 }
func (s *Shared) Items() int64             { return s.Passes }

// Tensors: the sums y. The scratchpads are no tensors: nothing outside a block sees them.
func (s *Shared) Tensors() []Tensor {
	return []Tensor{{Name: "y", Role: Out, DType: record.INT32, Dims: []int64{s.Blocks}}}
}

// FLOPs is 0: the sums are only the proof.
func (s *Shared) FLOPs() int64 { return 0 }

// Bytes are what is read from the scratchpads.
func (s *Shared) Bytes() int64 { return Product(4, s.Blocks, s.Words, s.Passes) }

// IntegerExact: the sums wrap.
func (s *Shared) IntegerExact() (bool, string) { return true, "" }

// Expect: Σ over i of factor·(i + b·words), passes times, mod 2^32.
func (s *Shared) Expect(_ *Inputs, _ int, b int64) Expectation {
	n := uint64(s.Words)
	sum := n*(n-1)/2 + n*n*uint64(b)
	return Expectation{Value: float64(int32(uint32(sum * sharedFactor * uint64(s.Passes))))}
}
