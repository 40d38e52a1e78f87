//go:build cgo && linux

package attention_test

import (
	"errors"
	"math"
	"slices"
	"sync"
	"testing"

	"ridge/goharness/backend"
	"ridge/goharness/op"
	"ridge/goharness/record"
	"ridge/native"
	"ridge/native/kerneltest"
)

// row is what a fault may change of one query's softmax: its scores, then its weights before they are divided by their sum, and the
// order in which keys find their values.
type row struct {
	query, top    int64 // of the head; the key with the largest score
	score, weight []float64
	value         []int64
}

// fault is a way to be wrong that a kernel could have.
type fault struct {
	name   string
	hides  int64                     // last features of the dot product that are left out
	shows  int64                     // keys beyond the mask, or (negative) short of it, that are seen
	scale  func(dim float64) float64 // nil: as it should be
	weigh  func(r *row)              // nil: as it should be
	dtypes []record.DType            // nil: all
}

// typical is the key whose weight is nearest to the mean: neither without influence nor all of it.
func typical(r *row) int64 {
	var sum float64
	for _, w := range r.weight {
		sum += w
	}
	best, at := math.Inf(1), int64(0)
	for j, w := range r.weight {
		if far := math.Abs(math.Log(w * float64(len(r.weight)) / sum)); far < best {
			best, at = far, int64(j)
		}
	}
	return at
}

// rounded to 8 bits of significand, as bf16 has.
func rounded(x float64) float64 {
	f, e := math.Frexp(x)
	return math.Ldexp(math.RoundToEven(f*256), e-8)
}

var faults = []fault{
	{name: "the last feature is left out", hides: 1},
	{name: "the mask is one key too wide", shows: 1},
	{name: "the mask is one key too narrow", shows: -1},
	{name: "the scale is that of one feature more", scale: func(d float64) float64 { return 1 / math.Sqrt(d+1) }},
	{name: "a key is left out of one query", weigh: func(r *row) {
		if r.query == 3 {
			r.weight[typical(r)] = 0
		}
	}},
	{name: "a key counts twice in one query", weigh: func(r *row) {
		if r.query == 3 {
			r.weight[typical(r)] *= 2
		}
	}},
	{name: "two values are swapped", weigh: func(r *row) {
		a := typical(r)
		b := (a + 1) % int64(len(r.value))
		r.value[a], r.value[b] = r.value[b], r.value[a]
	}},
	{name: "the keys before the largest score are not scaled down to it", weigh: func(r *row) {
		before := math.Inf(-1)
		for _, s := range r.score[:r.top] {
			before = math.Max(before, s)
		}
		for j := range r.top {
			r.weight[j] *= math.Exp(r.score[r.top] - before)
		}
	}},
	{name: "the exponential is off by 2^-16", dtypes: []record.DType{record.FP32}, weigh: func(r *row) {
		for j := range r.weight {
			r.weight[j] *= 1 + float64(j%2)*0x1p-16
		}
	}},
	{name: "weights are rounded to bf16", dtypes: []record.DType{record.FP32}, weigh: func(r *row) {
		for j, w := range r.weight {
			r.weight[j] = rounded(w)
		}
	}},
}

// faulty is an attention that expects what a kernel with the fault would give, within the bound of what is right.
type faulty struct {
	*op.Attention
	fault fault
	rows  sync.Map // by rowOf
}

type rowOf struct {
	in *op.Inputs
	at int64 // of o
}

func (f *faulty) Expect(in *op.Inputs, out int, i int64) op.Expectation {
	a := f.Attention
	e := a.Expect(in, out, i)
	at := i / a.Dim
	group := at/a.Sq/a.H*a.HKV + at/a.Sq%a.H/(a.H/a.HKV)
	found, known := f.rows.Load(rowOf{in, at})
	if !known {
		found, _ = f.rows.LoadOrStore(rowOf{in, at}, f.row(in, at, group))
	}
	r := found.(*row)
	var sum float64
	e.Value = 0
	for j, w := range r.weight {
		sum += w
		e.Value += w * in.At(2, (group*a.Skv+r.value[j])*a.Dim+i%a.Dim)
	}
	if sum > 0 {
		e.Value /= sum
	}
	return e
}

func (f *faulty) row(in *op.Inputs, at, group int64) *row {
	a := f.Attention
	n := a.Skv
	if a.Causal {
		n = max(0, min(a.Skv, at%a.Sq+a.Skv-a.Sq+1+f.fault.shows))
	}
	r := &row{query: at % a.Sq, score: make([]float64, n), weight: make([]float64, n), value: make([]int64, n)}
	if n == 0 {
		return r
	}
	scale := a.Scale()
	if f.fault.scale != nil {
		scale = f.fault.scale(float64(a.Dim))
	}
	for j := range n {
		for d := range a.Dim - f.fault.hides {
			r.score[j] += scale * in.At(0, at*a.Dim+d) * in.At(1, (group*a.Skv+j)*a.Dim+d)
		}
		if r.value[j] = j; r.score[j] > r.score[r.top] {
			r.top = j
		}
	}
	for j, s := range r.score {
		r.weight[j] = math.Exp(s - r.score[r.top])
	}
	if f.fault.weigh != nil {
		f.fault.weigh(r)
	}
	return r
}

// The bound of attention tells kernels with a fault from those without one. A fault is planted in the expectation, which is the same as in the kernel.
// Each must be found at one of the shapes at least: at 700 keys a key of the mean weight lies within what rounding the largest weights may do, and an
// exponential off by 2^-16 within what 700 additions may.
func TestEveryFaultPlantedInAttentionIsOutsideTheBound(t *testing.T) {
	b := native.New()
	dev, err := b.Open("cpu", backend.OpenOptions{CPUs: []int{-1}, Affinity: "none"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = dev.Close() }()
	shapes := []map[string]string{shape(1, 2, 1, 12, 37, 40, 1), shape(1, 2, 0, 7, 33, 64, 1), shape(1, 1, 0, 5, 130, 64, 0), shape(1, 1, 0, 4, 700, 128, 0)}
	for _, d := range []record.DType{record.FP32, record.BF16} {
		missed, found := map[string][]string{}, map[string]bool{} // by kernel and fault: shapes at which it was not found
		for _, s := range shapes {
			o := kerneltest.Op(t, "attention", d, s)
			names := kerneltest.Names(b, o)
			if len(names) == 0 {
				t.Fatalf("no kernel for attention at %s", d)
			}
			for _, f := range append([]fault{{}}, faults...) {
				if f.shows != 0 && s["causal"] == "0" || f.dtypes != nil && !slices.Contains(f.dtypes, d) {
					continue
				}
				reference := kerneltest.Remember(&faulty{Attention: o.(*op.Attention), fault: f})
				for _, k := range names {
					passed, err := kerneltest.Against(dev, o, reference, k)
					key := k + ": " + f.name
					var unsupported *backend.UnsupportedError
					switch {
					case errors.As(err, &unsupported):
						missed[key] = append(missed[key], "a shape that it does not take")
					case err != nil:
						t.Fatalf("%s %s, fault %q: %v", k, kerneltest.Describe(o), f.name, err)
					case f.name == "" && !passed:
						t.Errorf("%s %s: refused without a fault", k, kerneltest.Describe(o))
					case f.name == "" || !passed:
						found[key] = true
					default:
						missed[key] = append(missed[key], kerneltest.Describe(o))
					}
				}
			}
		}
		for key, at := range missed {
			if !found[key] {
				t.Errorf("%s not found at %q", key, at)
			}
		}
	}
}
