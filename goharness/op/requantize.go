package op

import (
	"math"

	"ridge/goharness/record"
)

// Requantize is y = max(low, round(scale[c]·a)), at most 127: int32 sums become int8 with one scale per channel, low is -128 or,
// with ReLU, 0. Element (o, c, i) has the logical index (o·Channels + c)·Inner + i. The arithmetic is that of a requantised convolution.
type Requantize struct {
	layout ChannelLayout
	dims   []int64
	Act    string
	params []record.Param
}

// RequantizeSpec declares requantize.
func RequantizeSpec() Spec {
	return Spec{
		Name: "requantize", Family: "elementwise", Suite: "elementwise", Item: "element", Metric: "gbps",
		Doc: "y[rows,cols,inner] = act(round(scale[cols] * a)), int32 to int8, saturated; the channel is the column, or with inner > 1 the plane",
		Params: append(matrixParams(0),
			ParamSpec{Name: "inner", Doc: "elements of a channel side by side: 1 for rows of a matrix or NHWC, height × width for NCHW", Default: "1", Min: 1, Max: maxDim},
			ParamSpec{Name: "act", Doc: "activation", Default: "none", Enum: []string{"none", "relu"}}),
		DTypes: []record.DType{record.INT8},
		New: func(v Values, d record.DType) (Op, error) {
			l := ChannelLayout{v.Int("rows"), v.Int("cols"), v.Int("inner")}
			r := &Requantize{layout: l, dims: []int64{l.Outer, l.Channels, l.Inner}, Act: v.Str("act"), params: v.List()}
			if l.Inner == 1 {
				r.dims = r.dims[:2]
			}
			return r, nil
		},
	}
}

func (r *Requantize) Name() string             { return "requantize" }
func (r *Requantize) Params() []record.Param   { return r.params }
func (r *Requantize) DType() record.DType      { return record.INT8 }
func (r *Requantize) Accumulate() record.DType { return record.FP32 }
func (r *Requantize) Items() int64             { return Product(r.dims...) }

// Layout tells where the channels lie.
func (r *Requantize) Layout() ChannelLayout { return r.layout }

// Tensors: a (int32), scale (fp32), y (int8). Integers reach ±600, so that half of them saturates.
func (r *Requantize) Tensors() []Tensor {
	return []Tensor{
		{Name: "a", Role: In, DType: record.INT32, Dims: r.dims, Fill: FillBytes, IntRange: 600},
		{Name: "scale", Role: In, DType: record.FP32, Dims: []int64{r.layout.Channels}, Fill: FillScales},
		{Name: "y", Role: Out, DType: record.INT8, Dims: r.dims},
	}
}

// FLOPs: 1 per element for the scale, 1 for ReLU.
func (r *Requantize) FLOPs() int64 {
	return Product(append([]int64{1 + actFLOPs(r.Act)}, r.dims...)...)
}

// Bytes: 5 per element and the scales.
func (r *Requantize) Bytes() int64 { return tensorBytes(r.Tensors()) }

// IntegerExact: every step is fixed to the bit.
func (r *Requantize) IntegerExact() (bool, string) { return true, "" }

// Expect is the fp32 product, which the output's format rounds and saturates.
func (r *Requantize) Expect(in *Inputs, out int, i int64) Expectation {
	return Expectation{Value: requantised(in.At(0, i), in.At(1, r.layout.Channel(i)), r.Act)}
}

// requantised is an int32 sum (which wraps) in units of an int8 output before it is rounded and saturated.
func requantised(sum, scale float64, act string) float64 {
	v := float64(float32(float32(wrapInt32(sum)) * float32(scale)))
	if act == "relu" {
		return math.Max(v, 0)
	}
	return v
}

// requantExponent e makes scales near 2^-e bring the standard deviation of a sum of n products of random bytes to about 48: most
// of the range of int8 is used and about 1 % saturates. A uniform byte has the variance (256²-1)/12.
func requantExponent(n int64) int64 {
	product := float64(256*256-1) / 12
	return int64(math.Max(0, math.Round(math.Log2(product*math.Sqrt(float64(n))/48))))
}
