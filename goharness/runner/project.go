package runner

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"

	"ridge/goharness/op"
	"ridge/goharness/record"
)

// project compares a random ±1 combination of every row with its expectation (Freivalds),
// where the op can compute that cheaply.
func (v *verifier) project(phase string, in *op.Inputs, n int, t op.Tensor, integer bool) error {
	pr, ok := v.p.Reference.(op.Projector)
	if !ok || integer {
		return nil
	}
	rng := rand.New(rand.NewPCG(v.seed, 7))
	x := make([]float64, t.Row())
	for i := range x {
		x[i] = float64(rng.IntN(2)*2 - 1)
	}
	want := v.effort.Known.project(place{n, integer}, func() []op.Expectation { return pr.Project(in, n, x) })
	if want == nil {
		return nil
	}
	// The first row that is wrong or cannot be read. Of a tensor of gigabytes this is most of a verification.
	var mu sync.Mutex
	first, err := int64(len(want)), error(nil)
	op.InParts(first, t.Row(), func(from, to int64) {
		row := make([]float64, t.Row())
		for r := from; r < to; r++ {
			wrong, failed := v.projectRow(t, r, x, want[r], row)
			if wrong == nil && failed == nil {
				continue
			}
			mu.Lock()
			defer mu.Unlock()
			if r < first {
				first, err, v.out.Mismatch = r, failed, wrong
			}
			return
		}
	})
	if err != nil {
		return fmt.Errorf("verify %s: %w", v.p.Name, err)
	}
	if v.out.Mismatch != nil {
		return nil
	}
	v.out.Projection = true
	return nil
}

// projectRow is a row's mismatch with its expectation, nil where it has none; row is room for it.
func (v *verifier) projectRow(t op.Tensor, r int64, x []float64, want op.Expectation, row []float64) (*record.Mismatch, error) {
	if err := cmp.Or(v.ctx.Err(), v.e.Read(t.Name, r*t.Row(), t.Row(), row)); err != nil {
		return nil, err
	}
	var got, sizes float64
	floor, unit := t.DType.Floor(), t.DType.Unit()
	for i, y := range row {
		got += y * x[i]
		sizes += max(unit*math.Abs(y), floor) // rounding
	}
	bound := v.out.BoundC*v.acc.Unit()*want.Magnitude + v.rounded*want.Rounded + sizes + want.Tiny
	if d := math.Abs(got - want.Value); !(d <= bound) {
		return mismatch(t, r*t.Row(), got, want.Value, bound, "projection"), nil
	}
	return nil, nil
}
