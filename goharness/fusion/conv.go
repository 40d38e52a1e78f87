package fusion

import (
	"fmt"
	"math"

	"ridge/goharness/op"
	"ridge/goharness/record"
)

// convBase is what patterns of one convolution share.
func convBase() Pattern {
	return Pattern{
		Group: "conv", Shapes: convShapes(), DTypes: []record.DType{record.FP32, record.BF16},
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
}

// convPatterns are a convolution with what follows it in its epilogue. A batch norm is folded into
// the weights and the bias before timing, as a compiler does once for a model.
func convPatterns() []Pattern {
	with := func(name, doc string, operators []string, build func(op.Values, record.DType) (Pair, error)) Pattern {
		p := convBase()
		p.Name, p.Doc, p.Operators, p.Build = name, doc, operators, build
		return p
	}
	norm := func(e normEnd, doc string, after ...string) Pattern {
		return with(e.name, doc, append([]string{"conv2d", "batchnorm"}, after...), func(v op.Values, d record.DType) (Pair, error) { return convBN(e, v, d) })
	}
	relu := with("Conv2d_ReLU", "y = relu(conv(x, w))", []string{"conv2d", "relu"}, convReLU)
	bn := norm(normEnd{name: "Conv2d_BN", act: "none"}, "y = batch_norm(conv(x, w) + bias)")
	bnRelu := norm(normEnd{name: "Conv2d_BN_ReLU", act: "relu"}, "y = relu(batch_norm(conv(x, w) + bias))", "relu")
	bnAdd := norm(normEnd{name: "Conv2d_BN_Add_ReLU", act: "relu", residual: 1}, "y = relu(batch_norm(conv(x, w) + bias) + residual)", "add", "relu")
	depth := norm(normEnd{name: "DepthwiseConv2d_BN_ReLU", act: "relu", depthwise: true}, "y = relu(batch_norm(conv(x, w, groups = C) + bias)), K = C", "relu")
	depth.Shapes = depthwiseShapes()
	// That format counts a bias beside every fused convolution, and beside an unfused one where no norm follows.
	graphs := func(biases, outs int64) func(op.Values, int64) (int64, int64) {
		return func(v op.Values, e int64) (int64, int64) {
			n, c, k, hw, r := v.Int("n"), v.Int("c"), v.Int("k"), v.Int("hw"), v.Int("r")
			in, w, out := n*c*hw*hw, k*c*r*r, n*k*hw*hw
			return e * (in + w + biases*k + outs*out), e * (in + w + k + out)
		}
	}
	relu.GraphsBytes, bn.GraphsBytes, bnRelu.GraphsBytes = graphs(1, 3), graphs(0, 3), graphs(0, 5)
	return []Pattern{relu, bn, bnRelu, bnAdd, depth}
}

func convShape(n, c, k, hw, r int, quick bool) Shape {
	return Shape{Quick: quick, Params: map[string]string{"n": fmt.Sprint(n), "c": fmt.Sprint(c), "k": fmt.Sprint(k), "hw": fmt.Sprint(hw), "r": fmt.Sprint(r)}}
}

// nhwc is a shape in the other layout.
func nhwc(s Shape) Shape {
	s.Params["layout"], s.Quick = "nhwc", false
	return s
}

// convShapes: the seeds (B, Cin, Cout, HW, k) of REFERENCE 1.3 in both layouts, a 1×1 and a sweep of the batch.
func convShapes() []Shape {
	return []Shape{
		convShape(1, 64, 64, 56, 3, true), nhwc(convShape(1, 64, 64, 56, 3, false)), convShape(1, 64, 256, 56, 1, false), convShape(4, 64, 64, 56, 3, false),
		convShape(4, 128, 128, 28, 3, true), convShape(8, 256, 256, 14, 3, false), nhwc(convShape(8, 256, 256, 14, 3, false)), convShape(16, 64, 64, 56, 3, false),
		convShape(32, 64, 64, 56, 3, false), convShape(32, 64, 256, 56, 1, false), growing(convShape(96, 64, 64, 56, 3, false)), // 154 MB in fp32
	}
}

// growing is the largest batch of a sweep.
func growing(s Shape) Shape {
	s.Grow = "n"
	return s
}

func depthwiseShapes() []Shape {
	var out []Shape
	for _, n := range []int{1, 2, 4, 8, 16, 32, 48} {
		out = append(out, convShape(n, 128, 128, 56, 3, n == 1))
	}
	out[len(out)-1] = growing(out[len(out)-1])
	return append(out, nhwc(convShape(1, 128, 128, 56, 3, false)), nhwc(convShape(32, 128, 128, 56, 3, false)),
		convShape(1, 256, 256, 28, 3, true), convShape(32, 256, 256, 28, 3, false))
}

// convWith makes the convolution of a shape with further parameters, names and values in turn.
func convWith(b *ops, v op.Values, kv ...any) *op.Conv {
	c, _ := b.new("conv2d", append([]any{"n", v.Int("n"), "c", v.Int("c"), "h", v.Int("hw"), "w", v.Int("hw"), "k", v.Int("k"), "r", v.Int("r"),
		"pad", v.Int("r") / 2, "layout", v.Str("layout")}, kv...)...).(*op.Conv)
	return c
}

func convReLU(v op.Values, d record.DType) (Pair, error) {
	b := newOps(d)
	fused, plain := convWith(b, v, "act", "relu"), convWith(b, v)
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

// normEnd is a pattern of a convolution with a batch norm: what follows the norm, and whether there is a group per channel.
type normEnd struct {
	name, act string
	residual  int // 1: added before the activation
	depthwise bool
}

func convBN(end normEnd, v op.Values, d record.DType) (Pair, error) {
	groups := int64(1)
	if end.depthwise {
		if groups = v.Int("c"); v.Int("k") != groups {
			return Pair{}, fmt.Errorf("k=%d: a depthwise convolution has as many output channels as input channels, c=%d", v.Int("k"), groups)
		}
	}
	b := newOps(d)
	fused, plain := convWith(b, v, "groups", groups, "bias", 1, "residual", end.residual, "act", end.act), convWith(b, v, "groups", groups, "bias", 1)
	if b.err != nil {
		return Pair{}, b.err
	}
	flat := func(name string) op.Op {
		return b.new(name, "rows", op.Product(plain.N, plain.K), "cols", op.Product(plain.Ho, plain.Wo))
	}
	norm := b.new("batch_norm", "n", plain.N, "c", plain.K, "h", plain.Ho, "w", plain.Wo, "layout", v.Str("layout"))
	normed := &normalized{Conv: plain, act: "none"}
	stages := []stage{{op: plain, bind: []string{"x", "w", "bias"}, value: plain, slope: normed.slope},
		{op: norm, bind: []string{"", "gamma", "beta", "mean", "variance"}}}
	if end.residual > 0 {
		stages[len(stages)-1].value = normed
		stages = append(stages, stage{op: flat("add"), bind: []string{"", "residual"}})
		normed = &normalized{Conv: plain, act: "none", residual: true}
	}
	if end.act != "none" {
		stages[len(stages)-1].value = normed
		stages = append(stages, stage{op: flat(end.act), bind: []string{""}})
	}
	if b.err != nil {
		return Pair{}, b.err
	}
	whole := &normalized{Conv: plain, fused: fused, act: end.act, residual: end.residual > 0}
	ref := &expected{Op: whole, name: end.name, params: v.List()}
	return Pair{Unfused: chain(ref, stages), Fused: folded(ref, whole)}, nil
}

// normalized is act(batch_norm(conv(x, w) + bias) [+ residual]): the reference of the batch norm patterns.
// Tensors: x, w, bias, gamma, beta, mean, variance, [residual], y.
type normalized struct {
	*op.Conv          // with bias, without residual and activation
	fused    *op.Conv // with all of them
	act      string
	residual bool
}

func (c *normalized) Tensors() []op.Tensor {
	ts := c.Conv.Tensors() // x, w, bias, y
	vec := func(name string, f op.Fill) op.Tensor {
		return op.Tensor{Name: name, Role: op.In, DType: c.DType(), Dims: []int64{c.K}, Fill: f}
	}
	all := append(ts[:3:3], vec("gamma", op.FillPositive), vec("beta", op.FillUniform), vec("mean", op.FillUniform), vec("variance", op.FillPositive))
	if c.residual {
		res := ts[3]
		res.Name, res.Role = "residual", op.In
		all = append(all, res)
	}
	return append(all, ts[3])
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

// slope is the batch norm's size at element i.
func (c *normalized) slope(in *op.Inputs, i int64) float64 {
	k, _ := fold(in, 3, c.channel(i))
	return math.Abs(k)
}

// Expect is one element in float64; the magnitude is the sum of all terms' sizes.
func (c *normalized) Expect(in *op.Inputs, out int, i int64) op.Expectation {
	e := c.Conv.Expect(in, out, i)
	ch := c.channel(i)
	k, m := fold(in, 3, ch)
	value := e.Value*k + m
	mag := e.Magnitude*math.Abs(k) + math.Abs(in.At(5, ch)*k) + math.Abs(in.At(4, ch))
	if c.residual {
		r := in.At(7, i)
		value, mag = value+r, mag+math.Abs(r)
	}
	return op.Expectation{Value: op.Activate(c.act, value), Magnitude: mag, Rounded: e.Rounded * math.Abs(k)}
}

// foldedUnits is how many roundoffs of a folded weight's format, times the root of the sum of the squared products, the rounding of
// all weights may change an output by. The roundings are independent and each is one roundoff at most: eight are exceeded with
// probability 2·exp(−8²/2) (Hoeffding), as for attention's weights.
const foldedUnits = 8

// foldRounding is what weights and bias rounded to less than fp32 may change element i by.
func (c *normalized) foldRounding(in *op.Inputs, i int64) float64 {
	ch, u := c.channel(i), c.DType().Unit()
	k, m := fold(in, 3, ch)
	return foldedUnits*u*c.Expect(in, len(c.Tensors())-1, i).Rounded + u*math.Abs(in.At(2, ch)*k+m)
}

// folded is the fused program: the convolution with the batch norm in its weights and bias, computed in
// float64 from the same inputs and rounded once.
func folded(ref *expected, c *normalized) op.Program {
	if c.DType() == record.BF16 {
		e := *ref
		e.rounded = c.foldRounding
		ref = &e
	}
	p := op.Program{Name: Fused, Reference: ref}
	for _, t := range ref.Op.Tensors() {
		if t.Role == op.In && t.Name != "x" && t.Name != "residual" {
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
	bind := []string{"x", "folded_w", "folded_bias"}
	if c.residual {
		bind = append(bind, "residual")
	}
	p.Steps = []op.Step{{Op: c.fused, Bind: append(bind, "y")}}
	return p
}
