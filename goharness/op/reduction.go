package op

import (
	"math"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"

	"ridge/goharness/record"
)

// ReductionOps lists the ops of the reduction family in the order of RIDGE_RD_* in
// native/include/ridge_reduction.h.
var ReductionOps = []string{"sum", "mean", "max", "min", "softmax", "layer_norm", "rms_norm", "argmax", "add_layer_norm", "add_rms_norm"}

// Reduction is sum, mean, max or min of x[rows, cols] over all elements, over the rows
// (dim 0: one value per column) or over the columns (dim 1: one value per row).
type Reduction struct {
	opName     string
	Rows, Cols int64
	Dim        int64 // −1: all
	D          record.DType
	params     []record.Param
}

// ReductionSpecs declares sum, mean, max and min.
func ReductionSpecs() []Spec {
	var out []Spec
	for _, name := range ReductionOps[:4] {
		least := int64(1) // a mean or an extremum of nothing does not exist
		if name == "sum" {
			least = 0
		}
		out = append(out, Spec{
			Name: name, Family: "reduction", Suite: "reduction", Item: "element", Metric: "gbps",
			Doc: name + " of x[rows,cols] over all elements, over rows (dim 0) or over columns (dim 1); 1 FLOP per element",
			Params: append(matrixParams(least),
				ParamSpec{Name: "dim", Doc: "dimension that disappears", Default: "all", Enum: []string{"all", "0", "1"}}),
			DTypes: []record.DType{record.FP64, record.FP32, record.BF16},
			New: func(v Values, d record.DType) (Op, error) {
				return &Reduction{opName: name, Rows: v.Int("rows"), Cols: v.Int("cols"), Dim: dimension(v), D: d, params: v.List()}, nil
			},
		})
	}
	return out
}

func dimension(v Values) int64 {
	if d, err := strconv.ParseInt(v.Str("dim"), 10, 64); err == nil {
		return d
	}
	return -1
}

func (r *Reduction) Name() string           { return r.opName }
func (r *Reduction) Params() []record.Param { return r.params }
func (r *Reduction) DType() record.DType    { return r.D }
func (r *Reduction) Items() int64           { return Product(r.Rows, r.Cols) }

// Accumulate is fp64 for fp64, else fp32 (kernels may carry on in fp64).
func (r *Reduction) Accumulate() record.DType { return sumFormat(r.D) }

func sumFormat(d record.DType) record.DType {
	if d == record.FP64 {
		return record.FP64
	}
	return record.FP32
}

// Tensors: x, y.
func (r *Reduction) Tensors() []Tensor {
	n := int64(1)
	switch r.Dim {
	case 0:
		n = r.Cols
	case 1:
		n = r.Rows
	}
	x := Tensor{Name: "x", Role: In, DType: r.D, Dims: []int64{r.Rows, r.Cols}}
	if r.opName == "sum" || r.opName == "mean" {
		x.Fill, x.IntRange = FillBalanced, sumRange
	}
	return []Tensor{x,
		{Name: "y", Role: Out, DType: r.D, Dims: []int64{n}}}
}

// FLOPs is one addition or comparison per input element; mean also divides each output.
func (r *Reduction) FLOPs() int64 {
	n := Product(r.Rows, r.Cols)
	if out := r.Tensors()[1].Elements(); r.opName == "mean" && n < math.MaxInt64-out {
		n += out
	}
	return n
}

// Bytes reads x once and writes y.
func (r *Reduction) Bytes() int64 { return tensorBytes(r.Tensors()) }

// sumRange of the balanced integers that are summed: odd numbers to ±127, which bf16 holds.
// Their sums grow like a random walk of steps of 74: below 2^24, where fp32 ends, for parts
// of 5·10⁹ elements at three standard deviations.
const sumRange = 127

// IntegerExact holds for sums, extrema and the mean of all elements, whose integers sum to 0
// (of one element: to itself).
func (r *Reduction) IntegerExact() (bool, string) {
	if r.opName == "mean" && r.Dim >= 0 {
		return false, "the quotients of means along one dimension are not exact"
	}
	return true, ""
}

// line is the elements that output i is made from: start, step and count.
func (r *Reduction) line(i int64) (start, step, n int64) {
	switch r.Dim {
	case 0:
		return i, r.Cols, r.Rows
	case 1:
		return i * r.Cols, 1, r.Cols
	}
	return 0, 1, r.Rows * r.Cols
}

// ExpectCost is the input elements behind one output.
func (r *Reduction) ExpectCost() int64 {
	_, _, n := r.line(0)
	return n
}

// Expect reduces the line in float64 (sums with Neumaier's compensation, so that fp64
// kernels can be judged). The magnitude of a sum is Σ|x|, of a mean Σ|x|/n; extrema are
// exact.
func (r *Reduction) Expect(in *Inputs, out int, i int64) Expectation {
	start, step, n := r.line(i)
	blocks := make([]partial, (n+lineBlock-1)/lineBlock)
	var next atomic.Int64
	work := func() {
		buf := make([]float64, min(lineBlock, n))
		for b := next.Add(1) - 1; b < int64(len(blocks)); b = next.Add(1) - 1 {
			x := buf[:min(lineBlock, n-b*lineBlock)]
			in.Span(0, start+b*lineBlock*step, step, x)
			blocks[b] = r.reduce(x)
		}
	}
	if len(blocks) <= 1 {
		work()
	} else { // one output may stand for half a billion inputs
		var wg sync.WaitGroup
		for range min(runtime.GOMAXPROCS(0), len(blocks)) {
			wg.Add(1)
			go func() {
				defer wg.Done()
				work()
			}()
		}
		wg.Wait()
	}
	all := partial{max: math.Inf(-1), min: math.Inf(1)}
	for _, b := range blocks {
		all.sum.add(b.sum.s)
		all.sum.add(b.sum.c)
		all.abs += b.abs
		all.max, all.min = math.Max(all.max, b.max), math.Min(all.min, b.min)
	}
	switch r.opName {
	case "max":
		return Expectation{Value: all.max}
	case "min":
		return Expectation{Value: all.min}
	}
	scale := 1.0
	if r.opName == "mean" {
		scale = float64(n)
	}
	return Expectation{Value: all.sum.value() / scale, Magnitude: all.abs / scale}
}

// lineBlock is the inputs that are generated and reduced at a time.
const lineBlock = 1 << 16

// partial is a block's sums and extrema; an op fills what it needs.
type partial struct {
	sum      sum
	abs      float64
	max, min float64
}

func (r *Reduction) reduce(x []float64) partial {
	p := partial{max: math.Inf(-1), min: math.Inf(1)}
	switch r.opName {
	case "max", "min":
		for _, v := range x {
			if v > p.max {
				p.max = v
			}
			if v < p.min {
				p.min = v
			}
		}
	default:
		for _, v := range x {
			// Neumaier's sum without its branch (Knuth's two-sum): which of the two is larger is
			// a coin's toss here.
			t := p.sum.s + v
			d := t - p.sum.s
			p.sum.c += (p.sum.s - (t - d)) + (v - d)
			p.sum.s = t
			p.abs += math.Abs(v)
		}
	}
	return p
}

// sum adds float64 values with Neumaier's compensation.
type sum struct{ s, c float64 }

func (k *sum) add(x float64) {
	t := k.s + x
	if math.Abs(k.s) >= math.Abs(x) {
		k.c += (k.s - t) + x
	} else {
		k.c += (x - t) + k.s
	}
	k.s = t
}

func (k *sum) value() float64 { return k.s + k.c }
