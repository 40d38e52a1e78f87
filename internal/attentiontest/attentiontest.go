// Package attentiontest runs a platform's kernels of attention and its parts on chosen operands, which the inputs of a verification do not have: NaN, infinity, scores of any size,
// keys that no query may see. A row of the output is compared with the softmax of what it sees.
package attentiontest

import (
	"fmt"
	"math"
	"testing"

	"ridge/goharness/op"
	"ridge/goharness/record"
)

// Platform is whose kernels are run, on which ops.
type Platform struct {
	Ops     []op.Op
	Kernels func(o op.Op) []string
	// Apply gives a kernel's output for the inputs, which have the order of the op's tensors; nil where it does not take the op.
	Apply func(kernel string, o op.Op, in [][]float64) ([]float64, error)
	Least int // kernels that take an op
	// Splits says of a kernel that it multiplies parts of its operands, of which those of an infinite one are NaN.
	Splits func(kernel string) bool
	// Skip, of a platform whose kernels are slow, says of a case whether to leave it out; nil: of none.
	Skip func() bool
}

// Run makes every check, each on a platform of its own.
func Run(t *testing.T, on func(t *testing.T) Platform) {
	for _, c := range []struct {
		name  string
		check func(t *testing.T, on Platform)
	}{
		{"NaN and infinity of scores reach their rows as in a softmax", nanAndInfinityReachTheirRows},
		{"scores of minus infinity have no weight", minusInfinityHasNoWeight},
		{"huge scores are compared like others", hugeScoresAreCompared},
		{"hidden keys have no influence", hiddenKeysHaveNoInfluence},
		{"infinite values of visible keys give infinity", infiniteValuesGiveInfinity},
	} {
		t.Run(c.name, func(t *testing.T) { c.check(t, on(t)) })
	}
}

// problem is an op of the family with operands of its own, by the tensors' names.
type problem struct {
	op.Op
	sq, skv, dim int64
	group        int64 // queries' heads that share a key's
	scale        float64
	causal       bool
	in           map[string][]float64
}

func problemOf(o op.Op) *problem {
	p := &problem{Op: o, in: map[string][]float64{}}
	switch a := o.(type) {
	case *op.Attention:
		p.sq, p.skv, p.dim, p.group, p.scale, p.causal = a.Sq, a.Skv, a.Dim, a.H/a.HKV, a.Scale(), a.Causal
	case *op.AttentionPart:
		p.sq, p.skv, p.dim, p.group, p.scale, p.causal = a.S, a.S, a.Dim, 1, a.Scale(), a.Causal()
	}
	for n, t := range o.Tensors() {
		if t.Role != op.In {
			continue
		}
		x := make([]float64, t.Elements())
		for i := range x {
			x[i] = float64((i*7+i/5+n)%17-8) / 8 // exact in bf16
		}
		p.in[t.Name] = x
	}
	return p
}

// seen is how many keys a row of the output sees.
func (p *problem) seen(row int64) int64 {
	if !p.causal {
		return p.skv
	}
	return max(0, row%p.sq+p.skv-p.sq+1)
}

// weights is the softmax of what a row sees: NaN of a NaN or an infinite largest score.
func (p *problem) weights(row int64) []float64 {
	w := make([]float64, p.seen(row))
	top, total := math.Inf(-1), 0.0
	s, q, k := p.in["s"], p.in["q"], p.in["k"]
	for j := range w {
		if s != nil {
			w[j] = s[row*p.skv+int64(j)]
		} else {
			key := row/p.sq/p.group*p.skv + int64(j)
			for d, x := range q[row*p.dim : (row+1)*p.dim] {
				w[j] += x * k[key*p.dim+int64(d)] * p.scale
			}
		}
		top = max(top, w[j])
	}
	for j := range w {
		w[j] = math.Exp(w[j] - top)
		total += w[j]
	}
	for j := range w {
		w[j] /= total
	}
	return w
}

// infinite says whether an operand of a product is.
func (p *problem) infinite() bool {
	for _, name := range []string{"q", "k", "v"} {
		for _, x := range p.in[name] {
			if math.IsInf(x, 0) {
				return true
			}
		}
	}
	return false
}

// check runs the op with every kernel and compares each row.
func (p *problem) check(t *testing.T, on Platform, what string) {
	t.Helper()
	if on.Skip != nil && on.Skip() {
		return
	}
	var operands [][]float64
	ts := p.Tensors()
	for _, x := range ts[:len(ts)-1] {
		operands = append(operands, p.in[x.Name])
	}
	rounding := 1e-4 // of exponentials and sums, relative
	if p.DType() == record.BF16 {
		rounding = 0.03
	}
	width := p.dim
	if p.in["v"] == nil {
		width = p.skv
	}
	outputs, ran := map[string][]float64{}, 0
	for _, k := range on.Kernels(p.Op) {
		got, err := on.Apply(k, p.Op, operands)
		if err != nil {
			t.Fatalf("%s of %s %s %s, %s: %v", k, p.Name(), p.DType(), describe(p), what, err)
		}
		if got != nil {
			outputs[k] = got
			ran++
		}
	}
	if ran < on.Least {
		t.Errorf("%s %s %s: %d kernels ran", p.Name(), p.DType(), describe(p), ran)
	}
	failed, v, infinite := map[string]bool{}, p.in["v"], p.infinite()
	for row := range ts[len(ts)-1].Elements() / width {
		w := p.weights(row)
		for c := range width {
			want, bound := 0.0, 0.0
			if v == nil {
				if c < int64(len(w)) {
					want, bound = w[c], rounding*w[c]
				}
				if want > 1e-60 {
					bound += 1e-37
				}
			} else {
				for j, x := range w {
					x *= v[(row/p.sq/p.group*p.skv+int64(j))*width+c]
					want, bound = want+x, bound+rounding*math.Abs(x)
				}
			}
			if bound > 1e30 && !math.IsInf(want, 0) {
				continue // a sum that may outgrow fp32
			}
			for k, got := range outputs {
				y := got[row*width+c]
				if math.IsNaN(y) && (math.IsNaN(want) || infinite && on.Splits != nil && on.Splits(k)) || y == want || math.Abs(y-want) <= bound || failed[k] {
					continue
				}
				failed[k] = true
				t.Errorf("%s of %s %s %s, %s: row %d, column %d is %g, want %g", k, p.Name(), p.DType(), describe(p), what, row, c, y, want)
			}
		}
	}
}

func describe(o op.Op) string {
	s := ""
	for _, p := range o.Params() {
		s += p.Name + "=" + p.Value + " "
	}
	return s
}

// NaN of both signs and with all bits set, which arithmetic on the bits must not turn into numbers.
var specials = []float64{math.NaN(), math.Copysign(math.NaN(), -1), float64(math.Float32frombits(0x7fffffff)), float64(math.Float32frombits(0xffffffff)),
	math.Inf(1), math.Inf(-1)}

// nanAndInfinityReachTheirRows puts one special element into q, K or the scores, anywhere: rows that meet it are what the softmax makes of it, the others as without it.
func nanAndInfinityReachTheirRows(t *testing.T, on Platform) {
	for _, o := range on.Ops {
		for _, name := range []string{"q", "k", "s"} {
			n := len(problemOf(o).in[name])
			if n == 0 {
				continue
			}
			for i, v := range specials {
				for _, at := range [][2]int{{0, n / 2}, {n / 3, n - 1}}[i%2] {
					p := problemOf(o)
					p.in[name][at] = v
					p.check(t, on, fmt.Sprintf("%g in element %d of %s", v, at, name))
				}
			}
		}
	}
}

// minusInfinityHasNoWeight: scores of -infinity in a row, the first ones or all: the former have no weight, the latter are no softmax.
func minusInfinityHasNoWeight(t *testing.T, on Platform) {
	for _, o := range on.Ops {
		for _, keep := range []int64{0, 1, 2} { // last scores of each second row that stay finite
			p := problemOf(o)
			s := p.in["s"]
			for i := range s {
				if row, j := int64(i)/p.skv, int64(i)%p.skv; row%2 == 1 && j < p.seen(row)-keep {
					s[i] = math.Inf(-1)
				}
			}
			if s != nil {
				p.check(t, on, fmt.Sprintf("all but %d scores -infinity", keep))
			}
		}
	}
}

// hugeScoresAreCompared: scores as large as fp32 holds, with either sign: equal ones weigh the same, and one that is larger by an eighth has all the weight.
func hugeScoresAreCompared(t *testing.T, on Platform) {
	for _, o := range on.Ops {
		largest := map[record.DType]float64{record.FP32: math.MaxFloat32, record.BF16: 0x1.fep127}[o.DType()]
		for _, size := range []float64{0x1p32, 0x1p125, largest} {
			for _, sign := range []float64{-1, 1} {
				for _, first := range []int64{-1, 0, 2} { // the key whose score is the largest, -1: none
					p := problemOf(o)
					x, of := p.in["s"], sign*size
					if x == nil { // products of q, which has the sign, and K
						if size == largest {
							continue
						}
						for i := range p.in["q"] {
							p.in["q"][i] = sign * 0x1p20
						}
						x, of = p.in["k"], size/0x1p20/float64(p.dim)
					}
					for i := range x {
						key := int64(i) % p.skv
						if p.in["s"] == nil {
							key = int64(i) / p.dim % p.skv
						}
						x[i] = of
						if first >= 0 && (key == first) == (sign < 0) {
							x[i] *= 0.875
						}
					}
					p.check(t, on, fmt.Sprintf("scores of %g, the largest that of key %d", sign*size, first))
				}
			}
		}
	}
}

// hiddenKeysHaveNoInfluence: values that a query does not see may be as large as they like; one that sees no key has no output but 0, whatever K and V hold.
func hiddenKeysHaveNoInfluence(t *testing.T, on Platform) {
	for _, o := range on.Ops {
		a, ok := o.(*op.Attention)
		if !ok || !a.Causal {
			continue
		}
		p := problemOf(o)
		for i := range p.in["v"] {
			if int64(i)/p.dim%p.skv >= p.skv-2 {
				p.in["v"][i] = 3e38
			}
		}
		p.check(t, on, "last two values 3e38")
		p = problemOf(o)
		for i := range p.in["k"] {
			if int64(i)/p.dim%p.skv >= p.skv-2 {
				p.in["k"][i] = math.NaN()
			}
		}
		p.check(t, on, "last two keys NaN")
		for _, v := range []float64{math.NaN(), math.Inf(1), 3e38} {
			if p.sq <= p.skv {
				continue // every query sees a key
			}
			p = problemOf(o)
			for i := range p.in["v"] {
				p.in["k"][i], p.in["v"][i] = v, v
			}
			p.check(t, on, fmt.Sprintf("K and V %g", v))
		}
	}
}

// infiniteValuesGiveInfinity: an infinite value that is seen is the output's, in the dimension where it stands: not NaN by a lane beside it that holds no key.
func infiniteValuesGiveInfinity(t *testing.T, on Platform) {
	for _, o := range on.Ops {
		p := problemOf(o)
		if v := p.in["v"]; v != nil && !p.causal {
			v[len(v)-1], v[p.dim] = math.Inf(1), math.Inf(-1)
			p.check(t, on, "infinity in the last dimension of the last value, the first of the second")
		}
	}
}
