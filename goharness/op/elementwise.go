package op

import (
	"math"

	"ridge/goharness/record"
)

// ElementwiseOps lists the ops of the elementwise family in the order of RIDGE_EW_* in
// native/include/ridge_elementwise.h.
var ElementwiseOps = []string{
	"add", "multiply", "relu", "gelu", "gelu_tanh", "sigmoid", "tanh", "exp", "sqrt_abs", "sin", "cos", "silu",
	"scale", "bias_add", "batch_norm", "requantize", "add_relu",
}

// function is an elementwise function with the work counted for one element.
type function struct {
	name  string
	doc   string
	two   bool  // takes a and b
	flops int64 // per element, modelled
	exact bool  // one rounding of an exact result, integers included
	wide  bool  // random arguments in [-8, 8)
	f     func(a, b float64) float64
	// df is the derivative of a one-argument function that rounds inside. Where it is a sum
	// whose terms cancel (GELU and SiLU near their minimum), df is the sum of their sizes:
	// the factors round one by one, and those errors do not cancel.
	df func(a float64) float64
}

// functions: FLOP per element are modelled by convention, not counted in the kernels: each
// arithmetic operation and each call of exp, sin, cos, tanh or sqrt is 1. REFERENCE fixes
// ReLU 1 and GELU 8 (both forms); sigmoid is neg, exp, add, div = 4 and SiLU one more.
var functions = []function{
	{name: "add", doc: "y = a + b", two: true, flops: 1, exact: true, f: func(a, b float64) float64 { return a + b }},
	{name: "multiply", doc: "y = a * b", two: true, flops: 1, exact: true, f: func(a, b float64) float64 { return a * b }},
	{name: "add_relu", doc: "y = max(a + b, 0); 2 FLOP per element", two: true, flops: 2, exact: true, f: func(a, b float64) float64 { return math.Max(a+b, 0) }},
	{name: "relu", doc: "y = max(a, 0); 1 FLOP per element", flops: 1, exact: true, f: func(a, _ float64) float64 { return math.Max(a, 0) }},
	{name: "gelu", doc: "y = a/2 * erfc(-a/sqrt 2); 8 FLOP per element", flops: 8, wide: true,
		f: func(a, _ float64) float64 { return Activate("gelu", a) },
		df: func(a float64) float64 {
			return 0.5*math.Erfc(-a/math.Sqrt2) + math.Abs(a)*math.Exp(-a*a/2)/math.Sqrt(2*math.Pi)
		}},
	{name: "gelu_tanh", doc: "y = a/2 * (1 + tanh(sqrt(2/pi) * (a + 0.044715 a^3))); 8 FLOP per element", flops: 8, wide: true,
		f: geluTanh, df: geluTanhSlope},
	{name: "sigmoid", doc: "y = 1/(1 + exp(-a)); 4 FLOP per element", flops: 4, wide: true,
		f: func(a, _ float64) float64 { return sigmoid(a) }, df: func(a float64) float64 { return sigmoid(a) * sigmoid(-a) }},
	{name: "tanh", doc: "y = tanh(a); 1 FLOP per element", flops: 1, wide: true,
		f: func(a, _ float64) float64 { return math.Tanh(a) }, df: func(a float64) float64 { return 1 / (math.Cosh(a) * math.Cosh(a)) }},
	{name: "exp", doc: "y = exp(a); 1 FLOP per element", flops: 1, wide: true,
		f: func(a, _ float64) float64 { return math.Exp(a) }, df: math.Exp},
	{name: "sqrt_abs", doc: "y = sqrt(|a| + 1e-8); 3 FLOP per element", flops: 3, wide: true,
		f:  func(a, _ float64) float64 { return math.Sqrt(math.Abs(a) + 1e-8) },
		df: func(a float64) float64 { return 0.5 / math.Sqrt(math.Abs(a)+1e-8) }},
	{name: "sin", doc: "y = sin(a); 1 FLOP per element", flops: 1, wide: true,
		f: func(a, _ float64) float64 { return math.Sin(a) }, df: math.Cos},
	{name: "cos", doc: "y = cos(a); 1 FLOP per element", flops: 1, wide: true,
		f: func(a, _ float64) float64 { return math.Cos(a) }, df: math.Sin},
	{name: "silu", doc: "y = a/(1 + exp(-a)); 5 FLOP per element", flops: 5, wide: true,
		f:  func(a, _ float64) float64 { return Activate("silu", a) },
		df: func(a float64) float64 { return sigmoid(a) * (1 + math.Abs(a)*sigmoid(-a)) }},
	{name: "scale", doc: "y = s * a", flops: 1, exact: true}, // f depends on s
}

func sigmoid(a float64) float64 { return 1 / (1 + math.Exp(-a)) }

// geluTanh is a·sigmoid(2u): the same function as a/2·(1+tanh u) without its cancellation.
func geluTanh(a, _ float64) float64 {
	return a * sigmoid(2*math.Sqrt(2/math.Pi)*(a+0.044715*a*a*a))
}

// geluTanhSlope is the size of the slope's terms (see function.df).
func geluTanhSlope(a float64) float64 {
	k := 2 * math.Sqrt(2/math.Pi)
	u := k * (a + 0.044715*a*a*a)
	return sigmoid(u) * (1 + math.Abs(a)*sigmoid(-u)*k*(1+3*0.044715*a*a))
}

// Elementwise is y[rows, cols] = f(a) or f(a, b), contiguous.
type Elementwise struct {
	fn         function
	Rows, Cols int64
	Factor     float64 // of the op scale
	D          record.DType
	params     []record.Param
}

// ElementwiseSpecs declares add, multiply, add_relu, the activations and functions, and scale.
func ElementwiseSpecs() []Spec {
	var out []Spec
	for _, fn := range functions {
		s := Spec{
			Name: fn.name, Family: "elementwise", Suite: "elementwise", Item: "element", Metric: "gbps",
			Doc:    fn.doc + ", [rows,cols] contiguous",
			Params: matrixParams(0),
			DTypes: []record.DType{record.FP32, record.BF16},
			New: func(v Values, d record.DType) (Op, error) {
				e := &Elementwise{fn: fn, Rows: v.Int("rows"), Cols: v.Int("cols"), D: d, params: v.List()}
				if fn.name == "scale" {
					e.Factor = float64(v.Int("s"))
					e.fn.f = func(a, _ float64) float64 { return e.Factor * a }
				}
				return e, nil
			},
		}
		if fn.name == "scale" {
			s.Params = append(s.Params, ParamSpec{Name: "s", Doc: "factor", Default: "3", Min: -8, Max: 8})
		}
		out = append(out, s)
	}
	return out
}

// NewScale is y = factor·a with a real factor, for steps of programs.
func NewScale(rows, cols int64, factor float64, d record.DType) (*Elementwise, error) {
	e := &Elementwise{fn: functions[len(functions)-1], Rows: rows, Cols: cols, Factor: factor, D: d}
	e.fn.f = func(a, _ float64) float64 { return factor * a }
	return e, checkSizes(e)
}

func matrixParams(least int64) []ParamSpec {
	return []ParamSpec{
		{Name: "rows", Doc: "rows", Min: least, Max: maxDim},
		{Name: "cols", Doc: "columns", Min: least, Max: maxDim},
	}
}

func (e *Elementwise) Name() string             { return e.fn.name }
func (e *Elementwise) Params() []record.Param   { return e.params }
func (e *Elementwise) DType() record.DType      { return e.D }
func (e *Elementwise) Accumulate() record.DType { return record.FP32 }
func (e *Elementwise) Items() int64             { return Product(e.Rows, e.Cols) }

// Layout sees the matrix as one channel.
func (e *Elementwise) Layout() ChannelLayout {
	return ChannelLayout{Outer: 1, Channels: 1, Inner: Product(e.Rows, e.Cols)}
}

// Tensors: a, [b], y.
func (e *Elementwise) Tensors() []Tensor {
	a := Tensor{Name: "a", Role: In, DType: e.D, Dims: []int64{e.Rows, e.Cols}}
	if e.fn.wide {
		a.Fill = FillWide
	}
	ts := []Tensor{a}
	if e.fn.two {
		b := a
		b.Name = "b"
		ts = append(ts, b)
	}
	return append(ts, Tensor{Name: "y", Role: Out, DType: e.D, Dims: a.Dims})
}

// FLOPs is the function's modelled count times the elements.
func (e *Elementwise) FLOPs() int64 { return Product(e.fn.flops, e.Rows, e.Cols) }

// Bytes: 2N elements, 3N with two operands.
func (e *Elementwise) Bytes() int64 { return tensorBytes(e.Tensors()) }

// IntegerExact holds for the arithmetic ops.
func (e *Elementwise) IntegerExact() (bool, string) {
	if e.fn.exact {
		return true, ""
	}
	return false, "the function " + e.fn.name + " is not exact on integers"
}

// Expect evaluates the function in float64. Single operations are rounded once (bf16:
// first to fp32). The others may err by a few units in the value and, as the rounding of an
// intermediate argument acts like a perturbed argument, in |a·f'(a)|.
func (e *Elementwise) Expect(in *Inputs, out int, i int64) Expectation {
	a, b := in.At(0, i), 0.0
	if e.fn.two {
		b = in.At(1, i)
	}
	return e.ExpectAt(a, b)
}

// ExpectAt is Expect for chosen operands (b is ignored by functions of one).
func (e *Elementwise) ExpectAt(a, b float64) Expectation {
	v := e.fn.f(a, b)
	switch {
	case e.fn.df != nil:
		return Expectation{Value: v, Magnitude: math.Abs(v) + math.Abs(a*e.fn.df(a))}
	case e.D == record.FP32:
		return Expectation{Value: v}
	}
	return Expectation{Value: v, Magnitude: math.Abs(v)}
}
