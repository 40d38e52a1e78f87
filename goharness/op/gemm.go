package op

import (
	"fmt"
	"math"
	"slices"

	"ridge/goharness/record"
)

// Activations that epilogues know, in the order of RIDGE_ACT_* in native/include/ridge_gemm.h.
var Activations = []string{"none", "relu", "gelu", "gelu_tanh", "silu"}

// Gemm is C[M,N] = act(alpha·A[M,K]·op(B) + beta·D + bias), row-major, op(B) = B[K,N] or,
// with TransB, the transpose of B[N,K]; with a Batch above 1 so many of them, the matrices of
// each tensor one after another. It serves the ops gemm and linear.
type Gemm struct {
	opName        string
	M, N, K       int64
	Batch         int64 // products, at least 1
	LDA, LDB, LDC int64 // row pitches in elements
	Alpha         float64
	Scaled        bool // alpha is an operation on each output: a step of its own in the chain that this product stands for
	Beta          int64
	TransB, Bias  bool
	Act           string
	Packed        bool // B is packed beforehand
	Requant       bool // int8 alone: C is int8, round(scale[N]·sum)
	Short         bool // fp16 alone: short sums may be kept in fp16 (acc=fp16)
	D             record.DType
	params        []record.Param
}

var maxDim = int64(1) << 40

// gemmDTypes: the stored types of A, B and C and the accumulator, per precision.
var gemmDTypes = map[record.DType][4]record.DType{
	record.FP64: {record.FP64, record.FP64, record.FP64, record.FP64},
	record.FP32: {record.FP32, record.FP32, record.FP32, record.FP32},
	record.FP16: {record.FP16, record.FP16, record.FP16, record.FP32},
	record.BF16: {record.BF16, record.BF16, record.BF16, record.FP32},
	record.INT8: {record.INT8, record.INT8, record.INT32, record.INT32},
	record.U8S8: {record.UINT8, record.INT8, record.INT32, record.INT32},
	// Stored as fp32; A and B are rounded to tf32 on the way into the product (operand).
	record.TF32:    {record.FP32, record.FP32, record.FP32, record.FP32},
	record.FP8E4M3: {record.FP8E4M3, record.FP8E4M3, record.BF16, record.FP32},
}

// GemmSpec declares gemm.
func GemmSpec() Spec {
	return Spec{
		Name: "gemm", Family: "gemm", Suite: "gemm", Item: "matrix product", Metric: "gflops",
		Doc: "C[M,N] = alpha*A[M,K]*B[K,N] + beta*D[M,N], row-major; int8 and u8s8 accumulate in int32 and store it; tf32 rounds the fp32 elements of A and B to 10 bits of fraction, fp8_e4m3 stores bf16",
		Params: []ParamSpec{
			{Name: "m", Doc: "rows of A and C", Min: 0, Max: maxDim},
			{Name: "n", Doc: "columns of B and C", Min: 0, Max: maxDim},
			{Name: "k", Doc: "columns of A, rows of B", Min: 0, Max: maxDim},
			{Name: "lda", Doc: "row pitch of A in elements, 0 for tight", Default: "0", Max: maxDim},
			{Name: "ldb", Doc: "row pitch of B", Default: "0", Max: maxDim},
			{Name: "ldc", Doc: "row pitch of C", Default: "0", Max: maxDim},
			{Name: "alpha", Doc: "factor of the product", Default: "1", Min: -8, Max: 8},
			{Name: "beta", Doc: "1 adds matrix D", Default: "0", Enum: []string{"0", "1"}},
			{Name: "tb", Doc: "1: B is stored [N,K]", Default: "0", Enum: []string{"0", "1"}},
			{Name: "batch", Doc: "products of this shape, their matrices one after another", Default: "1", Min: 1, Max: maxDim},
			{Name: "packed", Doc: "1: B is packed beforehand, untimed, as constants of inference are", Default: "0", Enum: []string{"0", "1"}},
			{Name: "acc", Doc: "fp16 (at fp16 alone): short sums may be kept in fp16, those in fp32; full: all in the accumulator of the precision", Default: "full", Enum: []string{"full", "fp16"}},
		},
		DTypes: []record.DType{record.FP64, record.FP32, record.FP16, record.BF16, record.INT8, record.U8S8, record.TF32, record.FP8E4M3},
		New: func(v Values, d record.DType) (Op, error) {
			g := &Gemm{opName: "gemm", M: v.Int("m"), N: v.Int("n"), K: v.Int("k"), LDA: v.Int("lda"), LDB: v.Int("ldb"),
				LDC: v.Int("ldc"), Alpha: float64(v.Int("alpha")), Beta: v.Int("beta"), TransB: v.Bool("tb"), Act: "none", D: d, params: v.List(), Batch: v.Int("batch"), Packed: v.Bool("packed"), Short: v.Str("acc") == "fp16"}
			if g.Packed && g.Batch > 1 {
				return nil, fmt.Errorf("packed=1 with batch=%d: one matrix B is packed beforehand, not one for each product", g.Batch)
			}
			if g.Short && d != record.FP16 {
				return nil, fmt.Errorf("acc=fp16 at %s: only products of fp16 have sums in fp16", d)
			}
			if !d.Float() && (g.Alpha != 1 || g.Beta != 0) {
				return nil, fmt.Errorf("alpha=%g beta=%d: integer GEMM has alpha 1 and beta 0", g.Alpha, g.Beta)
			}
			return g, nil
		},
	}
}

// LinearSpec declares linear: Y[M,N] = act(X[M,K]·W[N,K]ᵀ + bias[N]).
func LinearSpec() Spec {
	return Spec{
		Name: "linear", Family: "gemm", Suite: "linear", Item: "row (token)", Metric: "gflops", Batch: "m",
		Doc: "Y[M,N] = act(X[M,K]*W[N,K]^T + bias[N]), weights stored [out,in]; int8 stores int32 sums, with requant act(round(scale[N] * sum)) saturated to int8",
		Params: []ParamSpec{
			{Name: "m", Doc: "rows (batch × tokens)", Min: 0, Max: maxDim},
			{Name: "n", Doc: "output features", Min: 0, Max: maxDim},
			{Name: "k", Doc: "input features", Min: 0, Max: maxDim},
			{Name: "bias", Doc: "1 adds bias[N]", Default: "1", Enum: []string{"0", "1"}},
			{Name: "act", Doc: "activation", Default: "none", Enum: Activations},
			{Name: "requant", Doc: "1: int8 output, one fp32 scale per output feature (int8 alone; act none or relu)", Default: "0", Enum: []string{"0", "1"}},
			{Name: "packed", Doc: "1: W is packed beforehand, untimed, as constants of inference are", Default: "0", Enum: []string{"0", "1"}},
		},
		DTypes: []record.DType{record.FP32, record.BF16, record.INT8, record.TF32, record.FP8E4M3},
		New: func(v Values, d record.DType) (Op, error) {
			g := &Gemm{opName: "linear", M: v.Int("m"), N: v.Int("n"), K: v.Int("k"), Alpha: 1, TransB: true, Batch: 1,
				Bias: v.Bool("bias"), Act: v.Str("act"), Requant: v.Bool("requant"), Packed: v.Bool("packed"), D: d, params: v.List()}
			switch {
			case g.Requant && d != record.INT8:
				return nil, fmt.Errorf("requant=1 at %s: only the sums of int8 are requantised", d)
			case g.Requant && g.Act != "none" && g.Act != "relu":
				return nil, fmt.Errorf("act=%s with requant=1: expected none or relu", g.Act)
			case !d.Float() && !g.Requant && g.Act != "none":
				return nil, fmt.Errorf("act=%s: an integer linear layer has no activation (relu with requant=1)", g.Act)
			}
			return g, nil
		},
	}
}

// NewGemm is batch products C[M,N] = alpha·A[M,K]·op(B) with a real alpha, for steps of programs.
func NewGemm(batch, m, n, k int64, transB bool, alpha float64, d record.DType) (*Gemm, error) {
	if _, ok := gemmDTypes[d]; !ok || !d.Float() && alpha != 1 {
		return nil, fmt.Errorf("gemm at %q with alpha %g: there is none", d, alpha)
	}
	g := &Gemm{opName: "gemm", M: m, N: n, K: k, Batch: batch, Alpha: alpha, TransB: transB, Act: "none", D: d}
	return g, checkSizes(g)
}

func (g *Gemm) Name() string           { return g.opName }
func (g *Gemm) Params() []record.Param { return g.params }
func (g *Gemm) DType() record.DType    { return g.D }

// Accumulate is the coarsest format that sums may be kept in.
func (g *Gemm) Accumulate() record.DType {
	if g.Short {
		return record.FP16
	}
	return gemmDTypes[g.D][3]
}
func (g *Gemm) Items() int64 {
	if g.opName == "linear" {
		return g.M
	}
	return g.Batch
}

// PackedOperand implements Packer.
func (g *Gemm) PackedOperands() []string {
	if g.Packed {
		return []string{"b"}
	}
	return nil
}

// dims are those of one matrix, behind the batch when there is one.
func (g *Gemm) dims(rows, cols int64) []int64 {
	if g.Batch > 1 {
		return []int64{g.Batch, rows, cols}
	}
	return []int64{rows, cols}
}

// Tensors: A, B, [D], [bias], [scale], C.
func (g *Gemm) Tensors() []Tensor {
	dt := gemmDTypes[g.D]
	b := Tensor{Name: "b", Role: In, DType: dt[1], Dims: g.dims(g.K, g.N), Pitch: g.LDB, Fill: FillUniform}
	if g.TransB {
		b.Dims = g.dims(g.N, g.K)
	}
	a := Tensor{Name: "a", Role: In, DType: dt[0], Dims: g.dims(g.M, g.K), Pitch: g.LDA, Fill: FillUniform}
	if !g.D.Float() {
		a.Fill, b.Fill = FillBytes, FillBytes
	}
	ts := []Tensor{a, b}
	if g.Beta != 0 {
		ts = append(ts, Tensor{Name: "d", Role: In, DType: dt[2], Dims: g.dims(g.M, g.N)})
	}
	if g.Bias {
		bias := Tensor{Name: "bias", Role: In, DType: dt[2], Dims: []int64{g.N}}
		if !g.D.Float() {
			bias.Fill = FillBytes
		}
		ts = append(ts, bias)
	}
	c := Tensor{Name: "c", Role: Out, DType: dt[2], Dims: g.dims(g.M, g.N), Pitch: g.LDC}
	if g.Requant {
		ts = append(ts, Tensor{Name: "scale", Role: In, DType: record.FP32, Dims: []int64{g.N}, Fill: FillScales, IntRange: requantExponent(g.K)})
		c.DType = record.INT8
	}
	return append(ts, c)
}

// FLOPs is 2·M·N·K for each product, plus M·N for a bias, for a scale (of the op gemm alpha counts nothing, as in BLAS), and the activation's cost (REFERENCE 1.3: ReLU 1, GELU 8, SiLU 5).
func (g *Gemm) FLOPs() int64 {
	n := Product(2, g.Batch, g.M, g.N, g.K)
	if n == math.MaxInt64 {
		return n
	}
	if g.Scaled {
		n += Product(g.Batch, g.M, g.N)
	}
	if g.Bias {
		n += Product(g.M, g.N)
	}
	if g.Requant {
		n += Product(g.M, g.N)
	}
	return n + Product(g.M, g.N, actFLOPs(g.Act))
}

func actFLOPs(act string) int64 {
	switch act {
	case "relu":
		return 1
	case "gelu", "gelu_tanh":
		return 8
	case "silu":
		return 5
	}
	return 0
}

// Bytes reads A, B and what is added once, and writes C once.
func (g *Gemm) Bytes() int64 { return tensorBytes(g.Tensors()) }

// tensorBytes is what all tensors have of elements that the op reads or writes: each moved once. For an empty output nobody reads anything.
func tensorBytes(ts []Tensor) int64 {
	var n int64
	if !slices.ContainsFunc(ts, func(t Tensor) bool { return t.Role == Out && Product(t.Dims...) > 0 }) {
		return 0
	}
	for _, t := range ts {
		b := t.Bytes()
		if b == math.MaxInt64 || n > math.MaxInt64-b {
			return math.MaxInt64
		}
		n += b
	}
	return n
}

// IntegerExact: sums of small integers are exact below 2^24 (fp32), activations other than
// ReLU are not.
func (g *Gemm) IntegerExact() (bool, string) {
	if g.Act != "none" && g.Act != "relu" {
		return false, "the activation " + g.Act + " is not exact on integers"
	}
	if f, _ := math.Frexp(g.Alpha); g.Alpha != math.Trunc(g.Alpha) && math.Abs(f) != 0.5 {
		return false, "multiples of alpha are not exact"
	}
	return true, ""
}

// operand is element i of A (0) or B (1) as it enters the product, and how far off it may be: at tf32 rounded to nearest, where a
// tie may go either way.
func (g *Gemm) operand(in *Inputs, t int, i int64) (v, tie float64) {
	v = in.At(t, i)
	if g.D == record.TF32 {
		return Round(record.TF32, v), tieTF32(v)
	}
	return v, 0
}

// Expect computes one dot product in float64. Integer sums wrap as int32 accumulators do.
func (g *Gemm) Expect(in *Inputs, out int, i int64) Expectation {
	row, col := i/g.N, i%g.N // row of all matrices
	var sum, mag, ties float64
	var lost cutOff
	first := row / g.M * g.K * g.N
	ai, bi, step := row*g.K, first+col, g.N
	if g.TransB {
		bi, step = first+col*g.K, 1
	}
	if g.D != record.TF32 && g.D != record.FP8E4M3 {
		var d dot
		d.addSpans(in, 0, ai, 1, 1, bi, step, g.K)
		sum, mag = d.sum, d.mag
	} else {
		sum, mag, ties = g.narrow(in, ai, bi, step, &lost)
	}
	sum, mag, ties = sum*g.Alpha, mag*math.Abs(g.Alpha), ties*math.Abs(g.Alpha)
	next := 2
	add := func(v float64) { sum, mag, next = sum+v, mag+math.Abs(v), next+1 }
	if g.Beta != 0 {
		add(in.At(next, i) * float64(g.Beta))
	}
	if g.Bias {
		add(in.At(next, col))
	}
	if g.Requant {
		return Expectation{Value: requantised(sum, in.At(next, col), g.Act)}
	}
	if !g.D.Float() {
		sum = wrapInt32(sum)
	}
	e := activate(g.Act, sum, mag)
	if ties != 0 {
		e.Tiny = steepest * ties
	}
	e.Tiny += g.lostBelow()
	lost.step()
	e.Rounded = lost.rounded() * math.Abs(g.Alpha)
	if g.Act != "none" && g.Act != "relu" {
		e.Rounded *= steepest
	}
	return e
}

// lostBelow is what sums in fp16 lose where they are subnormal: half a step for each of K products.
func (g *Gemm) lostBelow() float64 {
	if !g.Short {
		return 0
	}
	return float64(g.K) * record.FP16.Floor() * math.Abs(g.Alpha)
}

// narrow sums up one dot product of formats whose products lose more than their rounding: tf32's ties, what fp8's adder cuts off (lost).
func (g *Gemm) narrow(in *Inputs, ai, bi, step int64, lost *cutOff) (sum, mag, ties float64) {
	for k := range g.K {
		a, tieA := g.operand(in, 0, ai+k)
		b, tieB := g.operand(in, 1, bi+k*step)
		sum += a * b
		mag += math.Abs(a * b)
		if g.D == record.FP8E4M3 {
			lost.add(a * b)
		}
		if tieA+tieB != 0 {
			ties += tieA*(math.Abs(b)+tieB) + tieB*math.Abs(a)
		}
	}
	return sum, mag, ties
}

// steepest is above the largest slope of an activation (GELU 1.129, SiLU 1.1).
const steepest = 1.13

// activate applies an activation to an expectation. The error of its argument passes
// through with its slope.
func activate(act string, x, mag float64) Expectation {
	y := Activate(act, x)
	if act == "none" || act == "relu" {
		return Expectation{Value: y, Magnitude: mag}
	}
	return Expectation{Value: y, Magnitude: steepest*mag + math.Abs(x)}
}

// Activate is the activation function in float64, at infinities its limit.
func Activate(act string, x float64) float64 {
	if math.IsInf(x, -1) && act != "none" {
		return 0
	}
	switch act {
	case "relu":
		return math.Max(x, 0)
	case "gelu":
		return 0.5 * x * math.Erfc(-x/math.Sqrt2)
	case "gelu_tanh":
		return 0.5 * x * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(x+0.044715*x*x*x)))
	case "silu":
		return x / (1 + math.Exp(-x))
	}
	return x
}

// wrapFree is the K up to which no sum of products of 8-bit numbers can leave int32: 255·128·K < 2^31.
const wrapFree = (1<<31 - 1) / (255 * 128)
