package op

import (
	"fmt"
	"math"

	"ridge/goharness/record"
)

// ChannelLayout says where the channels lie: element (o, c, i) of a per-channel op has the
// logical index (o·Channels + c)·Inner + i.
type ChannelLayout struct{ Outer, Channels, Inner int64 }

// Channel of logical element i.
func (l ChannelLayout) Channel(i int64) int64 { return i / l.Inner % l.Channels }

// PerChannel is bias_add (y = a + bias[c]) or batch_norm at inference
// (y = (a − mean[c])/sqrt(variance[c] + Eps)·gamma[c] + beta[c]).
type PerChannel struct {
	opName string
	layout ChannelLayout
	dims   []int64
	Eps    float64
	D      record.DType
	params []record.Param
}

// NormEps is the ε of batch_norm, layer_norm and rms_norm: 1e-5, the default of the
// frameworks' layers.
const NormEps = 1e-5

// BiasAddSpec declares bias_add.
func BiasAddSpec() Spec {
	return Spec{
		Name: "bias_add", Family: "elementwise", Suite: "elementwise", Item: "element", Metric: "gbps",
		Doc:    "y[rows,cols] = a + bias[cols]",
		Params: matrixParams(0),
		DTypes: []record.DType{record.FP32, record.BF16},
		New: func(v Values, d record.DType) (Op, error) {
			r, c := v.Int("rows"), v.Int("cols")
			return &PerChannel{opName: "bias_add", layout: ChannelLayout{r, c, 1}, dims: []int64{r, c}, D: d, params: v.List()}, nil
		},
	}
}

// BatchNormSpec declares batch_norm at inference.
func BatchNormSpec() Spec {
	return Spec{
		Name: "batch_norm", Family: "elementwise", Suite: "normalization", Item: "image", Metric: "gbps", Batch: "n",
		Doc: "y = (a - mean[c])/sqrt(variance[c] + 1e-5)*gamma[c] + beta[c] (inference); counted as 2 FLOP per element (folded)",
		Params: []ParamSpec{
			{Name: "n", Doc: "images", Min: 0, Max: maxDim},
			{Name: "c", Doc: "channels", Min: 1, Max: maxDim},
			{Name: "h", Doc: "height", Min: 1, Max: maxDim},
			{Name: "w", Doc: "width", Min: 1, Max: maxDim},
			{Name: "layout", Doc: "order of the dimensions in memory", Default: "nchw", Enum: []string{"nchw", "nhwc"}},
		},
		DTypes: []record.DType{record.FP32, record.BF16},
		New: func(v Values, d record.DType) (Op, error) {
			n, c, h, w := v.Int("n"), v.Int("c"), v.Int("h"), v.Int("w")
			b := &PerChannel{opName: "batch_norm", Eps: NormEps, D: d, params: v.List(),
				layout: ChannelLayout{n, c, Product(h, w)}, dims: []int64{n, c, h, w}}
			if v.Str("layout") == "nhwc" {
				b.layout, b.dims = ChannelLayout{Product(n, h, w), c, 1}, []int64{n, h, w, c}
			}
			return b, nil
		},
	}
}

func (b *PerChannel) Name() string             { return b.opName }
func (b *PerChannel) Params() []record.Param   { return b.params }
func (b *PerChannel) DType() record.DType      { return b.D }
func (b *PerChannel) Accumulate() record.DType { return record.FP32 }

// Layout tells where the channels lie.
func (b *PerChannel) Layout() ChannelLayout { return b.layout }

// Items: elements of bias_add, images of batch_norm.
func (b *PerChannel) Items() int64 {
	if b.opName == "batch_norm" {
		return b.dims[0]
	}
	return Product(b.dims...)
}

// Tensors: a, then bias, or gamma, beta, mean and variance, then y. The vectors have the
// data's dtype. Statistics are non-trivial in every fill: the mean is around 0 in [-1, 1),
// variance and gamma in [0.5, 1.5).
func (b *PerChannel) Tensors() []Tensor {
	vec := func(name string, f Fill) Tensor {
		return Tensor{Name: name, Role: In, DType: b.D, Dims: []int64{b.layout.Channels}, Fill: f}
	}
	ts := []Tensor{{Name: "a", Role: In, DType: b.D, Dims: b.dims}}
	if b.opName == "bias_add" {
		ts = append(ts, vec("bias", FillUniform))
	} else {
		ts = append(ts, vec("gamma", FillPositive), vec("beta", FillUniform), vec("mean", FillUniform), vec("variance", FillPositive))
	}
	return append(ts, Tensor{Name: "y", Role: Out, DType: b.D, Dims: b.dims})
}

// FLOPs: 1 per element for bias_add, 2 for batch_norm (REFERENCE 1.3: a folded multiply-add).
func (b *PerChannel) FLOPs() int64 {
	per := int64(1)
	if b.opName == "batch_norm" {
		per = 2
	}
	return Product(append([]int64{per}, b.dims...)...)
}

// Bytes: 2N elements and the vectors.
func (b *PerChannel) Bytes() int64 { return tensorBytes(b.Tensors()) }

// IntegerExact holds for bias_add.
func (b *PerChannel) IntegerExact() (bool, string) {
	if b.opName == "bias_add" {
		return true, ""
	}
	return false, "batch_norm divides by a square root"
}

// Expect computes one element in float64. Batch norm may be evaluated folded, as a·k + m
// with k = gamma/sqrt(variance+ε) and m = beta − mean·k rounded once each: the magnitude is
// the sum of the terms' sizes.
func (b *PerChannel) Expect(in *Inputs, out int, i int64) Expectation {
	a, c := in.At(0, i), b.layout.Channel(i)
	if b.opName == "bias_add" {
		v := a + in.At(1, c)
		if b.D == record.FP32 {
			return Expectation{Value: v}
		}
		return Expectation{Value: v, Magnitude: math.Abs(v)}
	}
	beta, mean := in.At(2, c), in.At(3, c)
	k := in.At(1, c) / math.Sqrt(in.At(4, c)+b.Eps)
	return Expectation{Value: (a-mean)*k + beta, Magnitude: math.Abs(a*k) + math.Abs(mean*k) + math.Abs(beta)}
}

// FoldBatchNorm folds an inference batch norm into the convolution before it: with
// k[o] = gamma[o]/sqrt(variance[o] + eps), conv(x, w·k) + (convBias − mean)·k + beta gives
// what batch_norm(conv(x, w) + convBias) gives. w holds the weights with the output channel
// first, len(w)/len(gamma) of them per channel; convBias may be nil. The arguments are not
// changed.
func FoldBatchNorm(w, convBias, gamma, beta, mean, variance []float64, eps float64) (wf, bf []float64, err error) {
	n := len(gamma)
	if n == 0 || len(w)%n != 0 || len(beta) != n || len(mean) != n || len(variance) != n || (convBias != nil && len(convBias) != n) {
		return nil, nil, fmt.Errorf("fold batch norm: %d weights, %d conv biases, gamma %d, beta %d, mean %d, variance %d: expected one of each vector per output channel and a multiple of it in weights",
			len(w), len(convBias), n, len(beta), len(mean), len(variance))
	}
	wf, bf = make([]float64, len(w)), make([]float64, n)
	per := len(w) / n
	for o := range n {
		if !(variance[o]+eps > 0) {
			return nil, nil, fmt.Errorf("fold batch norm: variance[%d] + eps = %g, expected a positive number", o, variance[o]+eps)
		}
		k := gamma[o] / math.Sqrt(variance[o]+eps)
		for j := o * per; j < (o+1)*per; j++ {
			wf[j] = w[j] * k
		}
		bias := 0.0
		if convBias != nil {
			bias = convBias[o]
		}
		bf[o] = (bias-mean[o])*k + beta[o]
	}
	return wf, bf, nil
}
