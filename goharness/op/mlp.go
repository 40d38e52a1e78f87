package op

import (
	"math"
	"sync"

	"ridge/goharness/record"
)

// MLP is Y[M,N] = act(X[M,K]·W1[H,K]ᵀ + b1[H])·W2[N,H]ᵀ + b2[N], row-major, weights stored [out,in]: a transformer's
// feed-forward layer.
type MLP struct {
	M, K, H, N int64
	Act        string
	Packed     bool // both weights are packed beforehand
	D          record.DType
	params     []record.Param
	memory     hiddenRows
}

// MLPSpec declares mlp.
func MLPSpec() Spec {
	return Spec{
		Name: "mlp", Family: "gemm", Suite: "linear", Item: "row (token)", Metric: "gflops", Batch: "m",
		Doc: "Y[M,N] = act(X[M,K]*W1[H,K]^T + b1[H])*W2[N,H]^T + b2[N], weights stored [out,in]",
		Params: []ParamSpec{
			{Name: "m", Doc: "rows (batch × tokens)", Min: 0, Max: maxDim},
			{Name: "k", Doc: "input features", Min: 1, Max: maxDim},
			{Name: "h", Doc: "hidden features", Min: 1, Max: maxDim},
			{Name: "n", Doc: "output features", Min: 0, Max: maxDim},
			{Name: "act", Doc: "activation of the hidden features", Default: "gelu", Enum: Activations},
			{Name: "packed", Doc: "1: both weights are packed beforehand, untimed, as constants of inference are", Default: "0", Enum: []string{"0", "1"}},
		},
		DTypes: []record.DType{record.FP32, record.BF16},
		New: func(v Values, d record.DType) (Op, error) {
			return &MLP{M: v.Int("m"), K: v.Int("k"), H: v.Int("h"), N: v.Int("n"), Act: v.Str("act"), Packed: v.Bool("packed"), D: d, params: v.List()}, nil
		},
	}
}

func (p *MLP) Name() string             { return "mlp" }
func (p *MLP) Params() []record.Param   { return p.params }
func (p *MLP) DType() record.DType      { return p.D }
func (p *MLP) Accumulate() record.DType { return record.FP32 }
func (p *MLP) Items() int64             { return p.M }

// PackedOperands implements Packer.
func (p *MLP) PackedOperands() []string {
	if p.Packed {
		return []string{"w1", "w2"}
	}
	return nil
}

// Tensors: a (X), w1, b1, w2, b2, c (Y).
func (p *MLP) Tensors() []Tensor {
	in := func(name string, dims ...int64) Tensor {
		return Tensor{Name: name, Role: In, DType: p.D, Dims: dims, Fill: FillUniform}
	}
	w1 := in("w1", p.H, p.K)
	w1.Fill, w1.IntRange = FillWeights, unitExponent(p.K)
	return []Tensor{in("a", p.M, p.K), w1, in("b1", p.H), in("w2", p.N, p.H), in("b2", p.N),
		{Name: "c", Role: Out, DType: p.D, Dims: []int64{p.M, p.N}}}
}

// unitExponent e: a sum of k products of uniform numbers in [-1, 1), whose variance is k/9, has about unit variance times 2^-e. With sums of
// size 9 (768 features) a sixtieth of GELU's results were denormal, and a chain that stores them multiplied with a microcode assist for each:
// on Granite Rapids 64 rows in fp32 took 43 ms, with weights of this size 2.7.
func unitExponent(k int64) int64 {
	return max(0, int64(math.Round(math.Log2(math.Sqrt(float64(k))/3))))
}

// FLOPs is 2·M·H·K + 2·M·N·H, one for each bias and the activation's cost.
func (p *MLP) FLOPs() int64 {
	var n int64
	for _, f := range []int64{Product(2, p.M, p.H, p.K), Product(2, p.M, p.N, p.H), Product(p.M, p.H, 1+actFLOPs(p.Act)), Product(p.M, p.N)} {
		if f > math.MaxInt64-n {
			return math.MaxInt64
		}
		n += f
	}
	return n
}

// Bytes reads X, weights and biases once and writes Y once; the hidden features stay in the caches.
func (p *MLP) Bytes() int64 { return tensorBytes(p.Tensors()) }

// IntegerExact: sums of small integers (-3..3) are exact below 2^24, activations other than ReLU are not.
func (p *MLP) IntegerExact() (bool, string) {
	switch {
	case p.Act != "none" && p.Act != "relu":
		return false, "the activation " + p.Act + " is not exact on integers"
	case Product(27, p.H, p.K+1) >= 1<<24:
		return false, "sums of sums may leave the integers that fp32 holds"
	}
	return true, ""
}

// ExpectCost: a row of hidden features is computed once for all elements of Y in it.
func (p *MLP) ExpectCost() int64 { return Product(2, p.H) + Product(p.H, p.K)/max(1, p.N) }

// Expect is one element in float64: the error of a hidden feature (its own magnitude) reaches Y by its weight. Rounded is for hidden
// features that a kernel rounds to the dtype.
func (p *MLP) Expect(in *Inputs, out int, i int64) Expectation {
	hid := p.Hidden(in, i/p.N)
	w := make([]float64, p.H)
	in.Span(3, i%p.N*p.H, 1, w)
	e := Expectation{Value: in.At(4, i%p.N)}
	e.Magnitude = math.Abs(e.Value)
	var squares float64
	for h, x := range hid {
		y := x.Value * w[h]
		e.Value += y
		e.Magnitude += (x.Magnitude + math.Abs(x.Value)) * math.Abs(w[h])
		squares += y * y
	}
	e.Rounded = math.Sqrt(squares)
	return e
}

// Spread is how far Y's element i moves, as the root of the sum of squares, when each hidden feature moves by its own size and 0.3: so much
// more may an activation move when its argument moves by its own size (GELU and SiLU on the left of 0).
func (p *MLP) Spread(in *Inputs, i int64) float64 {
	w := make([]float64, p.H)
	in.Span(3, i%p.N*p.H, 1, w)
	var sum float64
	for h, x := range p.Hidden(in, i/p.N) {
		d := (math.Abs(x.Value) + 0.3) * w[h]
		sum += d * d
	}
	return math.Sqrt(sum)
}

// hiddenRows remembers rows of hidden features: every element of a row of Y needs all of one.
type hiddenRows struct {
	mu   sync.Mutex
	key  uint64 // of the inputs that the rows belong to
	rows map[int64]*hiddenRow
	w1   []float32 // exact: fp32 and bf16 elements; nil where there are too many
}

// weightLimit bounds the copy of W1, whose elements take longer to make than to multiply.
const weightLimit = 1 << 24

type hiddenRow struct {
	once sync.Once
	x    []Expectation
}

// hiddenLimit bounds what is remembered: expectations of 32 bytes.
const hiddenLimit = 1 << 22

// Hidden is row m of act(X·W1ᵀ + b1).
func (p *MLP) Hidden(in *Inputs, m int64) []Expectation {
	key := in.keys[0]
	if in.Integer {
		key = ^key
	}
	p.memory.mu.Lock()
	if p.memory.rows == nil || p.memory.key != key || int64(len(p.memory.rows)+1)*p.H > hiddenLimit {
		if p.memory.rows == nil || p.memory.key != key {
			p.memory.w1 = p.firstWeights(in)
		}
		p.memory.key, p.memory.rows = key, map[int64]*hiddenRow{}
	}
	row, w1 := p.memory.rows[m], p.memory.w1
	if row == nil {
		row = &hiddenRow{}
		p.memory.rows[m] = row
	}
	p.memory.mu.Unlock()
	row.once.Do(func() {
		x := make([]float64, p.K)
		var w []float64
		if w1 == nil {
			w = make([]float64, p.K)
		}
		row.x = make([]Expectation, p.H)
		in.Span(0, m*p.K, 1, x)
		for h := range row.x {
			b := in.At(2, int64(h))
			d := dot{sum: b, mag: math.Abs(b)}
			if w1 == nil {
				in.Span(1, int64(h)*p.K, 1, w)
				d.add(x, w)
			} else {
				d.addNarrow(x, w1[int64(h)*p.K:int64(h+1)*p.K])
			}
			row.x[h] = activate(p.Act, d.sum, d.mag)
		}
	})
	return row.x
}

func (p *MLP) firstWeights(in *Inputs) []float32 {
	if Product(p.H, p.K) > weightLimit {
		return nil
	}
	out, row := make([]float32, p.H*p.K), make([]float64, p.K)
	for h := range p.H {
		in.Span(1, h*p.K, 1, row)
		for k, v := range row {
			out[h*p.K+int64(k)] = float32(v)
		}
	}
	return out
}
