package op

import (
	"fmt"
	"math"

	"ridge/goharness/record"
)

// Conv is the 2-D convolution (cross-correlation, as in every deep-learning library)
//
//	y[n,k,ho,wo] = act(bias[k] + Σ_{c,r,s} x[n, c, ho·stride − pad + r·dilation, wo·stride − pad + s·dilation] · w[k,c,r,s] + residual[n,k,ho,wo])
//
// with c running over the C/groups channels of k's group and x zero outside the image.
//
// int8 sums wrap as int32 and are stored as int32. Requantised ones (Requant) are stored as int8:
//
//	y = saturate(round(scale[k] · float32(sum + bias[k]))), with ReLU saturated to [0, 127], else to [-128, 127]
//
// The conversion to float32 and the product round once each, to nearest, and round is to the nearest
// integer, halves to even: each step as written, nothing fused, so that there is one right result.
type Conv struct {
	N, C, H, W, K, R, S                 int64
	Ho, Wo                              int64 // output height and width
	Stride, Pad, Dilation, Groups       int64
	Bias, Residual, NHWC, Requant       bool
	Packed                              bool // filters are packed beforehand
	Act                                 string
	D                                   record.DType
	params                              []record.Param
	seen                                [2][]int64 // rows and columns of an image that windows see; nil: all
	chanX, pixX, chanW, tapW, chanGroup int64      // element strides of the layout; channels per group
}

// convDTypes: the stored types of x and w, of bias, residual and y, and the accumulator.
var convDTypes = map[record.DType][3]record.DType{
	record.FP32: {record.FP32, record.FP32, record.FP32},
	record.BF16: {record.BF16, record.BF16, record.FP32},
	record.INT8: {record.INT8, record.INT32, record.INT32},
}

// Conv2dSpec declares conv2d.
func Conv2dSpec() Spec {
	return Spec{
		Name: "conv2d", Family: "conv", Suite: "conv", Item: "image", Metric: "gflops", Batch: "n",
		Doc: "2-D convolution with optional bias, residual and activation; groups = c is depthwise; int8 accumulates in int32 and stores it, " +
			"or with requant=1 y = saturate(round(scale[k]*float32(sum+bias[k]))) as int8: the conversion and the product rounded to nearest " +
			"in fp32, not fused, halves to even, range -128..127 or with act=relu 0..127",
		Params: []ParamSpec{
			{Name: "n", Doc: "images", Min: 0, Max: maxDim},
			{Name: "c", Doc: "input channels", Min: 1, Max: maxDim},
			{Name: "h", Doc: "input height", Min: 1, Max: maxDim},
			{Name: "w", Doc: "input width", Min: 1, Max: maxDim},
			{Name: "k", Doc: "output channels", Min: 1, Max: maxDim},
			{Name: "r", Doc: "kernel height", Default: "3", Min: 1, Max: maxDim},
			{Name: "s", Doc: "kernel width, 0: as r", Default: "0", Max: maxDim},
			{Name: "stride", Doc: "step of the kernel in both directions", Default: "1", Min: 1, Max: maxDim},
			{Name: "pad", Doc: "zeros on each of the four sides", Default: "0", Max: maxDim},
			{Name: "dilation", Doc: "distance between kernel taps", Default: "1", Min: 1, Max: maxDim},
			{Name: "groups", Doc: "channel groups; must divide c and k", Default: "1", Min: 1, Max: maxDim},
			{Name: "bias", Doc: "1 adds bias[k]", Default: "0", Enum: []string{"0", "1"}},
			{Name: "act", Doc: "activation, of the sum with bias and residual", Default: "none", Enum: Activations},
			{Name: "residual", Doc: "1 adds a tensor of y's shape before the activation, as the end of a ResNet block does", Default: "0", Enum: []string{"0", "1"}},
			{Name: "layout", Doc: "order of x and y; weights are [K,C/groups,R,S] with nchw and [K,R,S,C/groups] with nhwc",
				Default: "nchw", Enum: []string{"nchw", "nhwc"}},
			{Name: "requant", Doc: "int8: 1 scales the sums by scale[k] and stores int8, no residual", Default: "0", Enum: []string{"0", "1"}},
			{Name: "packed", Doc: "1: the filters are packed beforehand, untimed, as constants of inference are", Default: "0", Enum: []string{"0", "1"}},
		},
		DTypes: []record.DType{record.FP32, record.BF16, record.INT8},
		New:    newConv,
	}
}

func newConv(v Values, d record.DType) (Op, error) {
	c := &Conv{N: v.Int("n"), C: v.Int("c"), H: v.Int("h"), W: v.Int("w"), K: v.Int("k"), R: v.Int("r"), S: v.Int("s"),
		Stride: v.Int("stride"), Pad: v.Int("pad"), Dilation: v.Int("dilation"), Groups: v.Int("groups"),
		Bias: v.Bool("bias"), Residual: v.Bool("residual"), NHWC: v.Str("layout") == "nhwc", Act: v.Str("act"), Requant: v.Bool("requant"),
		Packed: v.Bool("packed"), D: d, params: normalised(v.List(), "s", v.Str("r"))}
	if c.S == 0 {
		c.S = c.R
	}
	if c.C%c.Groups != 0 || c.K%c.Groups != 0 {
		return nil, fmt.Errorf("groups=%d must divide c=%d and k=%d", c.Groups, c.C, c.K)
	}
	if err := c.checkEpilogue(); err != nil {
		return nil, err
	}
	var err error
	if c.Ho, err = convOut("height", c.H, c.R, c); err != nil {
		return nil, err
	}
	if c.Wo, err = convOut("width", c.W, c.S, c); err != nil {
		return nil, err
	}
	c.seen = [2][]int64{c.rows().seen(), c.columns().seen()}
	c.chanGroup = c.C / c.Groups
	c.chanX, c.pixX, c.chanW, c.tapW = Product(c.H, c.W), 1, Product(c.R, c.S), 1
	if c.NHWC {
		c.chanX, c.pixX, c.chanW, c.tapW = 1, c.C, 1, c.chanGroup
	}
	return c, nil
}

// checkEpilogue refuses what integer sums, requantised or not, do not have.
func (c *Conv) checkEpilogue() error {
	switch {
	case c.Requant && c.D != record.INT8:
		return fmt.Errorf("requant=1 at %s: only the sums of int8 are requantised", c.D)
	case c.Requant && c.Residual:
		return fmt.Errorf("requant=1 with residual=1: a requantised convolution adds no residual")
	case c.Requant && c.Act != "none" && c.Act != "relu":
		return fmt.Errorf("act=%s with requant=1: expected none or relu", c.Act)
	case !c.D.Float() && !c.Requant && c.Act != "none":
		return fmt.Errorf("act=%s: integer convolution has no activation (relu with requant=1)", c.Act)
	}
	return nil
}

// normalised replaces a parameter that repeats what its default 0 means, so that one
// convolution has one case id.
func normalised(list []record.Param, name, same string) []record.Param {
	for i := range list {
		if list[i].Name == name && list[i].Value == same {
			list[i].Value = "0"
		}
	}
	return list
}

// convOut is the output extent for an input extent and a kernel extent.
func convOut(what string, in, taps int64, c *Conv) (int64, error) {
	span := Product(c.Dilation, taps-1)
	padded := in + 2*c.Pad
	if span >= padded {
		return 0, fmt.Errorf("the output is empty: a kernel of %d taps with dilation %d spans %d, the padded input %s is %d (%d + 2·%d)",
			taps, c.Dilation, span+1, what, padded, in, c.Pad)
	}
	return (padded-span-1)/c.Stride + 1, nil
}

func (c *Conv) Name() string             { return "conv2d" }
func (c *Conv) Params() []record.Param   { return c.params }
func (c *Conv) DType() record.DType      { return c.D }
func (c *Conv) Accumulate() record.DType { return convDTypes[c.D][2] }
func (c *Conv) Items() int64             { return c.N }

// PackedOperand implements Packer.
func (c *Conv) PackedOperands() []string {
	if c.Packed {
		return []string{"w"}
	}
	return nil
}

// Tensors: x, w, [bias], [residual], [scale], y.
func (c *Conv) Tensors() []Tensor {
	dt := convDTypes[c.D]
	x := Tensor{Name: "x", Role: In, DType: dt[0], Dims: []int64{c.N, c.C, c.H, c.W}}
	w := Tensor{Name: "w", Role: In, DType: dt[0], Dims: []int64{c.K, c.chanGroup, c.R, c.S}}
	y := Tensor{Name: "y", Role: Out, DType: dt[1], Dims: []int64{c.N, c.K, c.Ho, c.Wo}}
	if c.NHWC {
		x.Dims = []int64{c.N, c.H, c.W, c.C}
		w.Dims = []int64{c.K, c.R, c.S, c.chanGroup}
		y.Dims = []int64{c.N, c.Ho, c.Wo, c.K}
	}
	if c.seen[0] != nil || c.seen[1] != nil {
		x.Seen = [][]int64{nil, nil, c.seen[0], c.seen[1]}
		if c.NHWC {
			x.Seen = [][]int64{nil, c.seen[0], c.seen[1], nil}
		}
	}
	bias := Tensor{Name: "bias", Role: In, DType: dt[1], Dims: []int64{c.K}}
	res := Tensor{Name: "residual", Role: In, DType: dt[1], Dims: y.Dims}
	if !c.D.Float() {
		x.Fill, w.Fill, bias.Fill, res.Fill = FillBytes, FillBytes, FillBytes, FillBytes
	}
	ts := []Tensor{x, w}
	if c.Bias {
		ts = append(ts, bias)
	}
	if c.Residual {
		ts = append(ts, res)
	}
	if c.Requant {
		ts = append(ts, Tensor{Name: "scale", Role: In, DType: record.FP32, Dims: []int64{c.K}, Fill: FillScales, IntRange: c.scaleExponent()})
		y.DType = record.INT8
	}
	return append(ts, y)
}

// scaleExponent of the scales of its sums.
func (c *Conv) scaleExponent() int64 { return requantExponent(Product(c.chanGroup, c.R, c.S)) }

// FLOPs is 2·N·Ho·Wo·K·(C/groups)·R·S, taps in the padding included as in every published
// count, plus one per output for a bias, one for a residual, one for a scale and the activation's cost.
func (c *Conv) FLOPs() int64 {
	out := Product(c.N, c.Ho, c.Wo, c.K)
	n := Product(2, out, c.chanGroup, c.R, c.S)
	if n == math.MaxInt64 || n > math.MaxInt64/2 {
		return math.MaxInt64
	}
	per := actFLOPs(c.Act)
	if c.Bias {
		per++
	}
	if c.Residual {
		per++
	}
	if c.Requant {
		per++
	}
	extra := Product(out, per)
	if extra > math.MaxInt64/2 {
		return math.MaxInt64
	}
	return n + extra
}

// LeastFLOPs leaves out the multiply-adds of taps in the padding: at 7x7 with 3x3 taps they are 18 % of FLOPs, at 14x14 9 %.
func (c *Conv) LeastFLOPs() int64 {
	all := c.FLOPs()
	if all == math.MaxInt64 || all == 0 {
		return all
	}
	padded := Product(c.Ho, c.R)*Product(c.Wo, c.S) - c.rows().pairs()*c.columns().pairs()
	return all - Product(2, c.N, c.K, c.chanGroup, padded)
}

// rows and columns are how the kernel slides over an image.
func (c *Conv) rows() window    { return window{c.H, c.Ho, c.R, c.Stride, c.Pad, c.Dilation} }
func (c *Conv) columns() window { return window{c.W, c.Wo, c.S, c.Stride, c.Pad, c.Dilation} }

// Bytes reads what windows see of x, and w, bias, residual and scale once and writes y once; a requantised y has one byte an element.
func (c *Conv) Bytes() int64 { return tensorBytes(c.Tensors()) }

// IntegerExact: sums of small integers are exact below 2^24, their scales are powers of two;
// activations other than ReLU are not exact.
func (c *Conv) IntegerExact() (bool, string) {
	if c.Act != "none" && c.Act != "relu" {
		return false, "the activation " + c.Act + " is not exact on integers"
	}
	return true, ""
}

// Expect computes one output pixel of one channel in float64; Rounded is for weights that are rounded (none of the op's own
// kernels does; a batch norm folded into them is). Integer sums wrap as int32
// accumulators do; of a requantised one Value is the fp32 product, which the output's format rounds.
func (c *Conv) Expect(in *Inputs, out int, i int64) Expectation {
	var n, k, ho, wo int64
	if c.NHWC {
		k, wo, ho, n = i%c.K, i/c.K%c.Wo, i/c.K/c.Wo%c.Ho, i/c.K/c.Wo/c.Ho
	} else {
		wo, ho, k, n = i%c.Wo, i/c.Wo%c.Ho, i/c.Wo/c.Ho%c.K, i/c.Wo/c.Ho/c.K
	}
	first := k / (c.K / c.Groups) * c.chanGroup // the group's first input channel
	x0 := n*c.C*c.H*c.W + first*c.chanX
	w0 := k * c.chanGroup * c.R * c.S
	var d dot
	for r := int64(0); r < c.R; r++ {
		hi := ho*c.Stride - c.Pad + r*c.Dilation
		if hi < 0 || hi >= c.H {
			continue
		}
		for s := int64(0); s < c.S; s++ {
			wi := wo*c.Stride - c.Pad + s*c.Dilation
			if wi < 0 || wi >= c.W {
				continue
			}
			xa, wa := x0+(hi*c.W+wi)*c.pixX, w0+(r*c.S+s)*c.tapW
			d.addSpans(in, 0, xa, c.chanX, 1, wa, c.chanW, c.chanGroup)
		}
	}
	sum, mag := d.sum, d.mag
	next := 2
	if c.Bias {
		b := in.At(next, k)
		sum, mag, next = sum+b, mag+math.Abs(b), next+1
	}
	if c.Requant {
		return Expectation{Value: requantised(sum, in.At(next, k), c.Act)}
	}
	if c.Residual {
		r := in.At(next, i)
		sum, mag = sum+r, mag+math.Abs(r)
	}
	e := activate(c.Act, sum, mag)
	e.Rounded = math.Sqrt(d.squares)
	if !c.D.Float() {
		e.Value = wrapInt32(e.Value)
	}
	return e
}
