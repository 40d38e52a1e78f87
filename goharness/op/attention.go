package op

import (
	"fmt"
	"math"
	"sync"

	"ridge/goharness/record"
)

// Attention is o[b,h,i,:] = Σ_j softmax_j(q[b,h,i,:]·k[b,g,j,:]/√d)·v[b,g,j,:] with
// g = h/(heads/kv_heads); causal: query i sees the keys j ≤ i + skv − sq.
type Attention struct {
	B, H, HKV, Sq, Skv, Dim int64
	Causal                  bool
	D                       record.DType
	params                  []record.Param
	rows                    rowCache
}

// AttentionSpec declares attention.
func AttentionSpec() Spec {
	return Spec{
		Name: "attention", Family: "attention", Suite: "attention", Item: "query token", Metric: "gflops", Batch: "b",
		Doc: "softmax(q·kᵀ/√d)·v per head, forward, with grouped key/value heads and an optional causal mask",
		Params: []ParamSpec{
			{Name: "b", Doc: "sequences", Min: 0, Max: maxDim},
			{Name: "heads", Doc: "query heads", Min: 1, Max: maxDim},
			{Name: "kv_heads", Doc: "key/value heads, must divide heads; 0: as heads", Default: "0", Max: maxDim},
			{Name: "sq", Doc: "queries per sequence", Min: 0, Max: maxDim},
			{Name: "skv", Doc: "keys per sequence, 0: as sq", Default: "0", Max: maxDim},
			{Name: "d", Doc: "head dimension", Min: 1, Max: maxDim},
			{Name: "causal", Doc: "1: the last query sees every key, each earlier one a key less", Default: "0", Enum: []string{"0", "1"}},
		},
		DTypes: []record.DType{record.FP32, record.BF16},
		New: func(v Values, d record.DType) (Op, error) {
			a := &Attention{B: v.Int("b"), H: v.Int("heads"), HKV: v.Int("kv_heads"), Sq: v.Int("sq"), Skv: v.Int("skv"),
				Dim: v.Int("d"), Causal: v.Bool("causal"), D: d,
				params: normalised(normalised(v.List(), "kv_heads", v.Str("heads")), "skv", v.Str("sq"))}
			if a.HKV == 0 {
				a.HKV = a.H
			}
			if a.Skv == 0 {
				a.Skv = a.Sq
			}
			if a.H%a.HKV != 0 {
				return nil, fmt.Errorf("kv_heads=%d must divide heads=%d", a.HKV, a.H)
			}
			return a, nil
		},
	}
}

func (a *Attention) Name() string             { return "attention" }
func (a *Attention) Params() []record.Param   { return a.params }
func (a *Attention) DType() record.DType      { return a.D }
func (a *Attention) Accumulate() record.DType { return record.FP32 }
func (a *Attention) Items() int64             { return Product(a.B, a.Sq) }

// Scale is the factor of the scores, 1/√d.
func (a *Attention) Scale() float64 { return 1 / math.Sqrt(float64(a.Dim)) }

// Tensors: q, k, v, o. Queries are wide, so that the scores spread over several units and
// the running maximum of a streaming softmax is really exercised.
func (a *Attention) Tensors() []Tensor {
	kv := []int64{a.B, a.HKV, a.Skv, a.Dim}
	return []Tensor{
		{Name: "q", Role: In, DType: a.D, Dims: []int64{a.B, a.H, a.Sq, a.Dim}, Fill: FillWide},
		{Name: "k", Role: In, DType: a.D, Dims: kv},
		{Name: "v", Role: In, DType: a.D, Dims: kv},
		{Name: "o", Role: Out, DType: a.D, Dims: []int64{a.B, a.H, a.Sq, a.Dim}},
	}
}

// VisiblePairs is the number of (query, key) pairs of one head that the mask lets through.
func (a *Attention) VisiblePairs() int64 {
	if !a.Causal {
		return Product(a.Sq, a.Skv)
	}
	// Query i sees i+Skv−Sq+1 keys, none when that is negative: an arithmetic series that
	// ends at Skv.
	rows := min(a.Sq, a.Skv)
	p := Product(rows, a.Skv+a.Skv-rows+1)
	if p == math.MaxInt64 {
		return p
	}
	return p / 2
}

// FLOPs is 4·D + 6 for each visible pair of each head: 2·D for the score, 2·D for the
// weighted sum, 6 for scale, maximum, subtraction, exponential, sum and division
// (REFERENCE 1.3). A causal mask counts the visible pairs only, exactly.
func (a *Attention) FLOPs() int64 {
	per := Product(4, a.Dim)
	if per > math.MaxInt64-6 {
		return math.MaxInt64
	}
	return Product(a.B, a.H, a.VisiblePairs(), per+6)
}

// Bytes reads q, k and v once and writes o once.
func (a *Attention) Bytes() int64 { return tensorBytes(a.Tensors()) }

// IntegerExact is false: softmax weights are not integers.
func (a *Attention) IntegerExact() (bool, string) {
	return false, "softmax weights of integer scores are not integers"
}

// Expect computes one output element in float64. The error of an output has two sources:
//
//   - the weighted sum and the sum of the exponentials: each of the n additions rounds a
//     partial sum that may already have its final size (one dominant key seen early), which
//     adds up like a random walk: √n·Σ w·|v|
//   - the errors δ of the scores. They change the weights by w·(δ − mean of δ), so the output
//     by at most Σ w·|v − o|·|δ|, and |δ| is bounded by a constant times u·(scale·Σ|q||k| + |s| + top − s): the sum, its
//     scaling to base 2 and the maximum's subtraction. The exponential's own error of about a unit moves a weight as such
//     a δ does.
//
// Their sum is the magnitude.
//
// A kernel that rounds the weights to the dtype (and divides by the sum of the rounded ones) moves the output by
// Σ w·r·(v − o), |r| ≤ u. The r are independent and as often up as down, so √Σ (w·(v − o))² is what one unit does, and
// eight of them are exceeded with probability 2·exp(−8²/2) at most (Hoeffding). That root is Rounded.
func (a *Attention) Expect(in *Inputs, out int, i int64) Expectation {
	r, v := a.at(in, i)
	return weighted(r, v)
}

// at is the softmax row and the values that output i sums up.
func (a *Attention) at(in *Inputs, i int64) (*softRow, func(j int64) float64) {
	row := i / a.Dim
	v0 := a.group(row/a.Sq)*a.Skv*a.Dim + i%a.Dim
	return a.rows.get(in, row, a.weights), func(j int64) float64 { return in.At(2, v0+j*a.Dim) }
}

// group is the key/value head of a query head, both counted over all sequences.
func (a *Attention) group(head int64) int64 { return head/a.H*a.HKV + head%a.H/(a.H/a.HKV) }

// Stored bounds what it adds to the error of output i when scores and weights are stored; see AttentionPart.Stored.
func (a *Attention) Stored(in *Inputs, i int64, u float64, roundings int) float64 {
	r, v := a.at(in, i)
	return r.storedSum(u, roundings, v)
}

func (a *Attention) weights(in *Inputs, row int64) *softRow {
	visible := a.Skv
	if a.Causal {
		visible = max(0, row%a.Sq+a.Skv-a.Sq+1)
	}
	return productRow(in, row*a.Dim, a.group(row/a.Sq)*a.Skv*a.Dim, visible, a.Dim, a.Scale())
}

// rowCache keeps the softmax rows computed last, up to rowCacheFloats weights: the elements
// of one output row share a row, and a verifier asks for neighbouring or random elements from
// several goroutines.
type rowCache struct {
	mu    sync.Mutex
	rows  map[rowKey]*softRow
	order []rowKey // oldest first
	held  int
}

type rowKey struct {
	in  *Inputs
	row int64
}

const rowCacheFloats = 1 << 21 // 16 MiB

func (c *rowCache) get(in *Inputs, row int64, compute func(*Inputs, int64) *softRow) *softRow {
	key := rowKey{in, row}
	c.mu.Lock()
	r := c.rows[key]
	c.mu.Unlock()
	if r != nil {
		return r
	}
	r = compute(in, row) // outside the lock: two goroutines may compute the same row
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.rows == nil {
		c.rows = map[rowKey]*softRow{}
	}
	if c.rows[key] == nil {
		c.rows[key] = r
		c.order = append(c.order, key)
		c.held += r.floats()
	}
	for c.held > rowCacheFloats && len(c.order) > 1 {
		c.held -= c.rows[c.order[0]].floats()
		delete(c.rows, c.order[0])
		c.order = c.order[1:]
	}
	return r
}
