package op

import (
	"fmt"
	"math"

	"ridge/goharness/record"
)

// StreamScalar is the factor s of scale, triad and axpy, the addend of add_scalar and the
// value of fill. 3 is STREAM's own scalar; its products with random inputs need rounding.
const StreamScalar = 3

// Stream is y[i] = f(a[i], b[i]) over N contiguous elements: the four STREAM kernels, copy,
// fill, add_scalar and axpy. Every input is read once and y is written once; the read that
// a cache makes before an ordinary store (write-allocate) is not counted, as in STREAM.
type Stream struct {
	opName string
	N      int64
	dims   []int64
	D      record.DType
	params []record.Param
	kind   streamKind
}

type streamKind struct {
	inputs, flops int64
	doc           string
	// value of one element and the magnitude of its error, apart from the last rounding:
	// 0 where nothing is rounded but the result.
	value func(a, b float64) (v, mag float64)
}

// fma rounds s·x + y once, so that the expectation is as exact as float64 allows.
func fma(x, y float64) (v, mag float64) {
	return math.FMA(StreamScalar, x, y), math.Abs(StreamScalar*x) + math.Abs(y)
}

func streamKindOf(name string) streamKind {
	switch name {
	case "copy", "stream_copy":
		return streamKind{1, 0, "y = a", func(a, _ float64) (float64, float64) { return a, 0 }}
	case "fill":
		return streamKind{0, 0, "y = 3", func(_, _ float64) (float64, float64) { return StreamScalar, 0 }}
	case "add_scalar":
		return streamKind{1, 1, "y = a + 3", func(a, _ float64) (float64, float64) {
			return a + StreamScalar, math.Abs(a + StreamScalar)
		}}
	case "stream_scale":
		return streamKind{1, 1, "y = 3*a", func(a, _ float64) (float64, float64) { return StreamScalar * a, 0 }}
	case "stream_add":
		return streamKind{2, 1, "y = a + b", func(a, b float64) (float64, float64) { return a + b, 0 }}
	case "stream_triad":
		return streamKind{2, 2, "y = a + 3*b", func(a, b float64) (float64, float64) { return fma(b, a) }}
	default: // axpy
		return streamKind{2, 2, "z = 3*x + y", func(a, b float64) (float64, float64) { return fma(a, b) }}
	}
}

// streamSpec declares a one-dimensional stream.
func streamSpec(name, suite, doc string) Spec {
	return Spec{
		Name: name, Family: "memory", Suite: suite, Item: "element", Metric: "gbps", Doc: doc,
		Params: []ParamSpec{{Name: "n", Doc: "elements of each array", Max: maxDim}},
		DTypes: []record.DType{record.FP32, record.FP64},
		New: func(v Values, d record.DType) (Op, error) {
			n := v.Int("n")
			return &Stream{opName: name, N: n, dims: []int64{n}, D: d, params: v.List(), kind: streamKindOf(name)}, nil
		},
	}
}

// StreamSpecs declares the four STREAM kernels (McCalpin): bytes are counted as STREAM does.
func StreamSpecs() []Spec {
	var out []Spec
	for _, name := range []string{"stream_copy", "stream_scale", "stream_add", "stream_triad"} {
		k := streamKindOf(name)
		doc := fmt.Sprintf("%s: %d arrays, %d FLOP an element, bytes as STREAM counts them (no write-allocate)", k.doc, k.inputs+1, k.flops)
		out = append(out, streamSpec(name, "stream", doc))
	}
	return out
}

func (s *Stream) Name() string             { return s.opName }
func (s *Stream) Params() []record.Param   { return s.params }
func (s *Stream) DType() record.DType      { return s.D }
func (s *Stream) Accumulate() record.DType { return accumulatorOf(s.D) }
func (s *Stream) Items() int64             { return s.N }

// accumulatorOf is the format that the memory family calculates in: bf16 values are widened.
func accumulatorOf(d record.DType) record.DType {
	if d == record.BF16 {
		return record.FP32
	}
	return d
}

// Tensors: a and b as far as they are read, then y.
func (s *Stream) Tensors() []Tensor {
	var ts []Tensor
	for _, name := range []string{"a", "b"}[:s.kind.inputs] {
		ts = append(ts, Tensor{Name: name, Role: In, DType: s.D, Dims: s.dims})
	}
	return append(ts, Tensor{Name: "y", Role: Out, DType: s.D, Dims: s.dims})
}

// FLOPs is 0 to 2 an element.
func (s *Stream) FLOPs() int64 { return Product(s.kind.flops, s.N) }

// Bytes is one array's bytes times 1 (fill), 2 or 3.
func (s *Stream) Bytes() int64 { return Product(s.kind.inputs+1, s.N, s.D.Size()) }

// IntegerExact: small integers stay exact in every format.
func (s *Stream) IntegerExact() (bool, string) { return true, "" }

// Expect computes one element in float64. Pure moves have magnitude 0; that not one bit
// changes is proved by the integer phase and, for the whole array, by the repeated run.
func (s *Stream) Expect(in *Inputs, out int, i int64) Expectation {
	var x [2]float64
	for t := range x[:s.kind.inputs] {
		x[t] = in.At(t, i)
	}
	v, mag := s.kind.value(x[0], x[1])
	return Expectation{Value: v, Magnitude: mag}
}
