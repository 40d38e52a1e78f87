package runner

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
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
	// Workers share the rows; of a tensor of gigabytes that is most of a verification.
	workers := min(runtime.GOMAXPROCS(0), len(want))
	wrong := make([]*record.Mismatch, workers)
	errs := make([]error, workers)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Add(1)
		go func() {
			defer wg.Done()
			row := make([]float64, t.Row())
			for r := w * len(want) / workers; r < (w+1)*len(want)/workers && errs[w] == nil && wrong[w] == nil; r++ {
				if errs[w] = v.ctx.Err(); errs[w] == nil {
					wrong[w], errs[w] = v.projectRow(t, int64(r), x, want[r], row)
				}
			}
		}()
	}
	wg.Wait()
	for w := range workers {
		if errs[w] != nil {
			return fmt.Errorf("verify %s: %w", v.p.Name, errs[w])
		}
		if v.out.Mismatch = wrong[w]; wrong[w] != nil {
			return nil
		}
	}
	v.out.Projection = true
	return nil
}

// projectRow is a row's mismatch with its expectation, nil where it has none; row is room for it.
func (v *verifier) projectRow(t op.Tensor, r int64, x []float64, want op.Expectation, row []float64) (*record.Mismatch, error) {
	if err := v.e.Read(t.Name, r*t.Row(), t.Row(), row); err != nil {
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
