package op

import (
	"fmt"
	"math"
	"testing"

	"ridge/goharness/record"
)

// storedChain is attention for one row as a chain computes it that stores its intermediates in bf16: nothing else is rounded.
func storedChain(score []float64, scale float64, roundings int) []float64 {
	w := make([]float64, len(score))
	top, sum := math.Inf(-1), 0.0
	for j, s := range score {
		if roundings > 0 {
			s = Round(record.BF16, s)
		}
		w[j] = s * scale
		if roundings > 1 {
			w[j] = Round(record.BF16, w[j])
		}
		top = math.Max(top, w[j])
	}
	for j := range w {
		w[j] = math.Exp(w[j] - top)
		sum += w[j]
	}
	for j := range w {
		w[j] /= sum
	}
	return w
}

// The bounds for stored intermediates hold for every output of such a chain, and are not idle: the worst output takes a good
// part of them, and half of them would be exceeded where one rounding decides.
func TestBoundsForStoredScoresAndWeightsHoldAndAreNeeded(t *testing.T) {
	for _, c := range []struct {
		name      string
		s, d      int64
		roundings int
		least     float64
	}{
		{"qk_softmax", 2, 64, 1, 0.5}, {"qk_softmax", 37, 20, 2, 0.3}, {"qk_softmax", 65, 64, 1, 0.3}, {"softmax_v", 2, 16, 0, 0.4},
		{"softmax_v", 40, 33, 0, 0.3}, {"attention", 2, 64, 1, 0.4}, {"attention", 37, 20, 2, 0.2}, {"attention", 65, 64, 1, 0.2},
	} {
		params := map[string]string{"b": "3", "s": fmt.Sprint(c.s), "d": fmt.Sprint(c.d)}
		if c.name == "attention" {
			params = map[string]string{"b": "3", "heads": "1", "sq": fmt.Sprint(c.s), "d": fmt.Sprint(c.d)}
		}
		o, err := Builtin().New(c.name, params, record.BF16)
		if err != nil {
			t.Fatal(err)
		}
		in := NewInputs(3, false, o.Tensors())
		bound := o.(interface {
			Stored(in *Inputs, i int64, u float64, roundings int) float64
		})
		worst := 0.0
		for row := range 3 * c.s {
			score, scale := make([]float64, c.s), 1/math.Sqrt(float64(c.d))
			for j := range score {
				key := row/c.s*c.s + int64(j)
				if c.name == "softmax_v" {
					score[j], scale = in.At(0, row*c.s+int64(j)), 1
					continue
				}
				for d := range c.d {
					score[j] += in.At(0, row*c.d+d) * in.At(1, key*c.d+d)
				}
			}
			w := storedChain(score, scale, c.roundings)
			outputs := c.d
			if c.name == "qk_softmax" {
				outputs = c.s
			}
			for n := range outputs {
				var got float64
				if c.name == "qk_softmax" {
					got = w[n]
				} else {
					v := len(o.Tensors()) - 2
					for j := range w {
						got += Round(record.BF16, w[j]) * in.At(v, (row/c.s*c.s+int64(j))*c.d+n)
					}
				}
				i := row*outputs + n
				off := math.Abs(got - o.Expect(in, len(o.Tensors())-1, i).Value)
				if b := bound.Stored(in, i, record.BF16.Unit(), c.roundings); off > b*(1+1e-9)+1e-15 {
					t.Fatalf("%s s=%d d=%d, output %d: off by %g, bound %g", c.name, c.s, c.d, i, off, b)
				} else if b > 0 {
					worst = math.Max(worst, off/b)
				}
			}
		}
		if worst < c.least {
			t.Errorf("%s s=%d d=%d: the worst output takes %.2f of its bound, want %.2f at least", c.name, c.s, c.d, worst, c.least)
		}
	}
}

func TestCausalSoftmaxCountsThePairsThatAreSeen(t *testing.T) {
	for s, want := range map[string][2]int64{"1": {5, 2 * 4}, "4": {50, (10 + 16) * 4}, "7": {140, (28 + 49) * 4}, "0": {0, 0}} {
		o, err := Builtin().New("causal_softmax", map[string]string{"b": "1", "s": s}, record.FP32)
		if err != nil || o.FLOPs() != want[0] || o.Bytes() != want[1] {
			t.Errorf("s=%s: %d FLOP, %d bytes, %v, want %v", s, o.FLOPs(), o.Bytes(), err, want)
		}
	}
}
