package fusion

import (
	"fmt"
	"math"

	"ridge/goharness/op"
	"ridge/goharness/record"
)

// convPatterns are a convolution with what follows it in its epilogue. A batch norm is folded into
// the weights and the bias before timing, as a compiler does once for a model.
func convPatterns() []Pattern {
	both, fp32 := []record.DType{record.FP32, record.BF16}, []record.DType{record.FP32}
	base := Pattern{
		Group: "conv", Shapes: convShapes(),
		Params: []op.ParamSpec{
			{Name: "n", Doc: "images", Min: 1, Max: 1 << 20},
			{Name: "c", Doc: "input channels", Min: 1, Max: 1 << 20},
			{Name: "k", Doc: "output channels", Min: 1, Max: 1 << 20},
			{Name: "hw", Doc: "height and width", Min: 1, Max: 1 << 20},
			{Name: "r", Doc: "height and width of the kernel, padded by half of it", Min: 1, Max: 1 << 10},
			{Name: "layout", Doc: "order of the dimensions in memory", Default: "nchw", Enum: []string{"nchw", "nhwc"}},
		},
		Input: func(v op.Values) []int64 { return []int64{v.Int("n"), v.Int("c"), v.Int("hw"), v.Int("hw")} },
		Size:  func(v op.Values) (string, int64) { return "n", v.Int("n") },
	}
	with := func(name, doc string, operators []string, dtypes []record.DType, build func(op.Values, record.DType) (Pair, error)) Pattern {
		p := base
		p.Name, p.Doc, p.Operators, p.DTypes, p.Build = name, doc, operators, dtypes, build
		return p
	}
	relu := with("Conv2d_ReLU", "y = relu(conv(x, w))", []string{"conv2d", "relu"}, both, convReLU)
	bn := with("Conv2d_BN", "y = batch_norm(conv(x, w) + bias)", []string{"conv2d", "batchnorm"}, fp32,
		func(v op.Values, d record.DType) (Pair, error) { return convBN("Conv2d_BN", 1, "none", v, d) })
	bnRelu := with("Conv2d_BN_ReLU", "y = relu(batch_norm(conv(x, w) + bias))", []string{"conv2d", "batchnorm", "relu"}, fp32,
		func(v op.Values, d record.DType) (Pair, error) { return convBN("Conv2d_BN_ReLU", 1, "relu", v, d) })
	depth := with("DepthwiseConv2d_BN_ReLU", "y = relu(batch_norm(conv(x, w, groups = C) + bias)), K = C", []string{"conv2d", "batchnorm", "relu"}, fp32,
		func(v op.Values, d record.DType) (Pair, error) {
			return convBN("DepthwiseConv2d_BN_ReLU", v.Int("c"), "relu", v, d)
		})
	depth.Shapes = depthwiseShapes()
	graphs := func(extra int64) func(op.Values, int64) (int64, int64) {
		return func(v op.Values, e int64) (int64, int64) {
			n, c, k, hw, r := v.Int("n"), v.Int("c"), v.Int("k"), v.Int("hw"), v.Int("r")
			in, w, out := n*c*hw*hw, k*c*r*r, n*k*hw*hw
			return e * (in + w + extra*out), e * (in + w + k + out)
		}
	}
	bn.GraphsBytes, bnRelu.GraphsBytes = graphs(3), graphs(5)
	return []Pattern{relu, bn, bnRelu, depth}
}

func convShape(n, c, k, hw, r int, quick bool) Shape {
	return Shape{Quick: quick, Params: map[string]string{"n": fmt.Sprint(n), "c": fmt.Sprint(c), "k": fmt.Sprint(k), "hw": fmt.Sprint(hw), "r": fmt.Sprint(r)}}
}

// convShapes: the seeds (B, Cin, Cout, HW, k) of REFERENCE 1.3, a 1×1 and a sweep of the batch.
func convShapes() []Shape {
	return []Shape{
		convShape(1, 64, 64, 56, 3, true), convShape(1, 64, 256, 56, 1, false), convShape(2, 64, 64, 56, 3, false), convShape(4, 128, 128, 28, 3, true),
		convShape(4, 64, 64, 56, 3, false), convShape(8, 256, 256, 14, 3, false), convShape(8, 64, 64, 56, 3, false), convShape(16, 64, 64, 56, 3, false),
		convShape(32, 64, 64, 56, 3, false), convShape(32, 64, 256, 56, 1, false),
	}
}

func depthwiseShapes() []Shape {
	var out []Shape
	for _, n := range []int{1, 2, 4, 8, 16, 32} {
		out = append(out, convShape(n, 128, 128, 56, 3, n == 1))
	}
	return append(out, convShape(1, 256, 256, 28, 3, true), convShape(32, 256, 256, 28, 3, false))
}

// conv makes the convolution of a shape.
func conv(b *ops, v op.Values, groups int64, bias int, act string) *op.Conv {
	c, _ := b.new("conv2d", "n", v.Int("n"), "c", v.Int("c"), "h", v.Int("hw"), "w", v.Int("hw"), "k", v.Int("k"), "r", v.Int("r"),
		"pad", v.Int("r")/2, "groups", groups, "bias", bias, "act", act, "layout", v.Str("layout")).(*op.Conv)
	return c
}

func convReLU(v op.Values, d record.DType) (Pair, error) {
	b := newOps(d)
	fused, plain := conv(b, v, 1, 0, "relu"), conv(b, v, 1, 0, "none")
	if b.err != nil {
		return Pair{}, b.err
	}
	relu := b.new("relu", "rows", op.Product(plain.N, plain.K), "cols", op.Product(plain.Ho, plain.Wo))
	if b.err != nil {
		return Pair{}, b.err
	}
	ref := &expected{Op: fused, name: "Conv2d_ReLU", params: v.List()}
	return Pair{Unfused: chain(ref, []stage{{op: plain, bind: []string{"x", "w"}, value: plain}, {op: relu, bind: []string{""}}}), Fused: single(ref, fused)}, nil
}

func convBN(name string, groups int64, act string, v op.Values, d record.DType) (Pair, error) {
	if groups > 1 && v.Int("k") != v.Int("c") {
		return Pair{}, fmt.Errorf("k=%d: a depthwise convolution has as many output channels as input channels, c=%d", v.Int("k"), v.Int("c"))
	}
	b := newOps(d)
	fused, plain := conv(b, v, groups, 1, act), conv(b, v, groups, 1, "none")
	if b.err != nil {
		return Pair{}, b.err
	}
	norm := b.new("batch_norm", "n", plain.N, "c", plain.K, "h", plain.Ho, "w", plain.Wo, "layout", v.Str("layout"))
	stages := []stage{{op: plain, bind: []string{"x", "w", "bias"}}, {op: norm, bind: []string{"", "gamma", "beta", "mean", "variance"}}}
	if act != "none" {
		stages = append(stages, stage{op: b.new(act, "rows", op.Product(plain.N, plain.K), "cols", op.Product(plain.Ho, plain.Wo)), bind: []string{""}})
	}
	if b.err != nil {
		return Pair{}, b.err
	}
	whole := &normalized{Conv: plain, fused: fused, act: act}
	ref := &expected{Op: whole, name: name, params: v.List()}
	return Pair{Unfused: chain(ref, stages), Fused: folded(ref, whole)}, nil
}

// normalized is act(batch_norm(conv(x, w) + bias)): the reference of the batch norm patterns.
// Tensors: x, w, bias, gamma, beta, mean, variance, y.
type normalized struct {
	*op.Conv          // with bias, without activation
	fused    *op.Conv // with bias and activation
	act      string
}

func (c *normalized) Tensors() []op.Tensor {
	ts := c.Conv.Tensors() // x, w, bias, y
	vec := func(name string, f op.Fill) op.Tensor {
		return op.Tensor{Name: name, Role: op.In, DType: c.DType(), Dims: []int64{c.K}, Fill: f}
	}
	return append(ts[:3:3], vec("gamma", op.FillPositive), vec("beta", op.FillUniform), vec("mean", op.FillUniform), vec("variance", op.FillPositive), ts[3])
}

// IntegerExact is false: batch norm divides by a square root.
func (c *normalized) IntegerExact() (bool, string) {
	return false, "batch_norm divides by a square root"
}

// Project: there is none through a batch norm.
func (c *normalized) Project(*op.Inputs, int, []float64) []op.Expectation { return nil }

// channel of logical element i of y.
func (c *normalized) channel(i int64) int64 {
	if c.NHWC {
		return i % c.K
	}
	return i / (c.Ho * c.Wo) % c.K
}

// slope and shift of a channel: y = conv·slope + shift; in holds gamma, beta, mean and variance from first on.
func fold(in *op.Inputs, first int, ch int64) (slope, shift float64) {
	slope = in.At(first, ch) / math.Sqrt(in.At(first+3, ch)+op.NormEps)
	return slope, in.At(first+1, ch) - in.At(first+2, ch)*slope
}

// Expect is one element in float64; the magnitude is the sum of all terms' sizes.
func (c *normalized) Expect(in *op.Inputs, out int, i int64) op.Expectation {
	e := c.Conv.Expect(in, out, i)
	ch := c.channel(i)
	k, m := fold(in, 3, ch)
	value := e.Value*k + m
	return op.Expectation{Value: op.Activate(c.act, value), Magnitude: e.Magnitude*math.Abs(k) + math.Abs(in.At(5, ch)*k) + math.Abs(in.At(4, ch))}
}

// folded is the fused program: the convolution with the batch norm in its weights and bias, computed in
// float64 from the same inputs and rounded once.
func folded(ref *expected, c *normalized) op.Program {
	p := op.Program{Name: Fused, Reference: ref}
	for _, t := range ref.Op.Tensors() {
		if t.Role == op.In && t.Name != "x" {
			t.Role = op.Latent
		}
		p.Tensors = append(p.Tensors, t)
	}
	ts := c.fused.Tensors()
	w, bias := ts[1], ts[2]
	per := w.Elements() / c.K
	w.Name, w.Role, w.DeriveFrom = "folded_w", op.Derived, []string{"w", "gamma", "beta", "mean", "variance"}
	w.Derive = func(in *op.Inputs, i int64) float64 {
		k, _ := fold(in, 1, i/per)
		return in.At(0, i) * k
	}
	bias.Name, bias.Role, bias.DeriveFrom = "folded_bias", op.Derived, []string{"bias", "gamma", "beta", "mean", "variance"}
	bias.Derive = func(in *op.Inputs, i int64) float64 {
		k, m := fold(in, 1, i)
		return in.At(0, i)*k + m
	}
	p.Tensors = append(p.Tensors, w, bias)
	p.Steps = []op.Step{{Op: c.fused, Bind: []string{"x", "folded_w", "folded_bias", "y"}}}
	return p
}
