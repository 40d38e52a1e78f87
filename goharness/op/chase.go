package op

import (
	"fmt"

	"ridge/goharness/record"
)

// lineBytes is the distance between two links of a pointer chase.
const lineBytes = ChaseStride * 8

// ChaseSpec declares chase: one thread follows int64 links along one random cycle through
// all 64-byte lines of a buffer. Items are the steps, so the time per item is the latency.
func ChaseSpec() Spec {
	return Spec{
		Name: "chase", Family: "memory", Suite: "bandwidth", Item: "dependent load", Metric: "ns",
		Doc: "i = a[i], steps times over one random cycle of 64-byte lines, from where y says that the last launch ended, or from 0; one thread; y = the last i",
		Params: []ParamSpec{
			{Name: "bytes", Doc: "size of the buffer, a multiple of 64", Min: lineBytes, Max: maxDim},
			{Name: "steps", Doc: "links to follow in one launch", Min: 0, Max: maxDim},
		},
		DTypes: []record.DType{record.INT64},
		New: func(v Values, d record.DType) (Op, error) {
			c := &Chase{Lines: v.Int("bytes") / lineBytes, Steps: v.Int("steps"), params: v.List()}
			if c.Lines*lineBytes != v.Int("bytes") {
				return nil, fmt.Errorf("bytes=%d: expected a multiple of %d, the line that one link occupies", v.Int("bytes"), lineBytes)
			}
			return c, nil
		},
	}
}

// Chase is a walk of Steps links over Lines 64-byte lines. It goes on from y where y is the index of a link, and starts at element 0 where
// it is none (the poison of a verification is none). So launches of a few links each visit every line of a large buffer before they come
// back to one, and a launch need not take the seconds that the whole cycle takes.
type Chase struct {
	Lines, Steps int64
	params       []record.Param
}

func (c *Chase) Name() string             { return "chase" }
func (c *Chase) Params() []record.Param   { return c.params }
func (c *Chase) DType() record.DType      { return record.INT64 }
func (c *Chase) Accumulate() record.DType { return record.INT64 }
func (c *Chase) Items() int64             { return c.Steps }

// Tensors: the links a and the element index y where the walk stands.
func (c *Chase) Tensors() []Tensor {
	return []Tensor{
		{Name: "a", Role: In, DType: record.INT64, Dims: []int64{c.Lines * ChaseStride}, Fill: FillChase},
		{Name: "y", Role: Out, DType: record.INT64, Dims: []int64{1}},
	}
}

// FLOPs is 0.
func (c *Chase) FLOPs() int64 { return 0 }

// Bytes are the lines that a launch touches for the first time: the walk visits every line of the
// cycle before it comes back to one.
func (c *Chase) Bytes() int64 { return Product(lineBytes, min(c.Steps, c.Lines)) }

// IntegerExact: indices.
func (c *Chase) IntegerExact() (bool, string) { return true, "" }

// Expect is the element index after the last step of a launch from element 0.
func (c *Chase) Expect(in *Inputs, out int, _ int64) Expectation {
	return Expectation{Value: float64(ChaseAfter(in.keys[0], c.Lines, c.Steps))}
}
