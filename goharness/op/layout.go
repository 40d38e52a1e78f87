package op

import "ridge/goharness/record"

// Layout converts the images of a convolution between the orders NCHW and NHWC: of each image the
// matrix [C, H·W] becomes [H·W, C], or the other way round. The result is contiguous.
type Layout struct {
	N, C, H, W int64
	ToNHWC     bool
	D          record.DType
	params     []record.Param
}

// LayoutSpec declares layout.
func LayoutSpec() Spec {
	return Spec{
		Name: "layout", Family: "memory", Suite: "memory", Item: "element", Metric: "gbps", Batch: "n",
		Doc: "y = a converted between NCHW and NHWC (what a convolution in the other layout would cost beside it), 2N bytes x element size",
		Params: []ParamSpec{
			{Name: "n", Doc: "images", Min: 0, Max: maxDim},
			{Name: "c", Doc: "channels", Min: 0, Max: maxDim},
			{Name: "h", Doc: "height", Min: 0, Max: maxDim},
			{Name: "w", Doc: "width", Min: 0, Max: maxDim},
			{Name: "to", Doc: "order of y; a has the other", Default: "nhwc", Enum: []string{"nhwc", "nchw"}},
		},
		DTypes: []record.DType{record.FP32, record.BF16, record.INT8},
		New: func(v Values, d record.DType) (Op, error) {
			return &Layout{N: v.Int("n"), C: v.Int("c"), H: v.Int("h"), W: v.Int("w"), ToNHWC: v.Str("to") == "nhwc", D: d, params: v.List()}, nil
		},
	}
}

func (l *Layout) Name() string             { return "layout" }
func (l *Layout) Params() []record.Param   { return l.params }
func (l *Layout) DType() record.DType      { return l.D }
func (l *Layout) Accumulate() record.DType { return accumulatorOf(l.D) }
func (l *Layout) Items() int64             { return Product(l.N, l.C, l.H, l.W) }

// Matrix is the rows and columns of each image as the conversion reads it.
func (l *Layout) Matrix() (rows, cols int64) {
	if l.ToNHWC {
		return l.C, Product(l.H, l.W)
	}
	return Product(l.H, l.W), l.C
}

// Tensors: a and y, in the orders that the conversion says.
func (l *Layout) Tensors() []Tensor {
	nchw, nhwc := []int64{l.N, l.C, l.H, l.W}, []int64{l.N, l.H, l.W, l.C}
	a := Tensor{Name: "a", Role: In, DType: l.D, Dims: nhwc}
	y := Tensor{Name: "y", Role: Out, DType: l.D, Dims: nchw}
	if l.ToNHWC {
		a.Dims, y.Dims = nchw, nhwc
	}
	if !l.D.Float() {
		a.Fill = FillBytes
	}
	return []Tensor{a, y}
}

// FLOPs is 0.
func (l *Layout) FLOPs() int64 { return 0 }

// Bytes reads and writes every element once.
func (l *Layout) Bytes() int64 { return Product(2, l.N, l.C, l.H, l.W, l.D.Size()) }

// IntegerExact: a move.
func (l *Layout) IntegerExact() (bool, string) { return true, "" }

// Expect is the mirrored element of the same image; nothing is rounded.
func (l *Layout) Expect(in *Inputs, out int, i int64) Expectation {
	rows, cols := l.Matrix()
	image, at := i/(rows*cols), i%(rows*cols)
	return Expectation{Value: in.At(0, image*rows*cols+at%rows*cols+at/rows)}
}
