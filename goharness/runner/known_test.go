package runner_test

import (
	"sync/atomic"
	"testing"

	"ridge/goharness/backend"
	"ridge/goharness/op"
	"ridge/goharness/record"
	"ridge/goharness/runner"
	"ridge/internal/fakebackend"
)

// counting is an op that counts what is asked of it.
type counting struct {
	op.Op
	elements, projections *atomic.Int64
}

func (c counting) Expect(in *op.Inputs, out int, i int64) op.Expectation {
	c.elements.Add(1)
	return c.Op.Expect(in, out, i)
}

func (c counting) Project(in *op.Inputs, out int, x []float64) []op.Expectation {
	c.projections.Add(1)
	return c.Op.(op.Projector).Project(in, out, x)
}

func TestWhatIsExpectedOfAProgramIsComputedOnce(t *testing.T) {
	const whole, part = "m=9", "m=3000" // compared whole, and 1,024 elements with a projection
	for name, rows := range map[string]string{whole: "9", part: "3000"} {
		t.Run(name, func(t *testing.T) {
			o, err := op.Builtin().New("linear", map[string]string{"m": rows, "n": "40", "k": "30"}, record.FP32)
			if err != nil {
				t.Fatal(err)
			}
			kernel := ""
			once := false
			verify := func(b *fakebackend.Backend, p op.Program, known *runner.Known) record.Verification {
				d, err := b.Open("toy", backend.OpenOptions{})
				if err != nil {
					t.Fatal(err)
				}
				defer d.Close()
				e, err := d.Prepare(op.Single(o), backend.PrepareOptions{Seed: runner.Seed})
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = e.Release() }()
				kernel = e.Kernels()[0].Name
				effort := runner.Effort{AllBelow: 1 << 16, Samples: 1024, Known: known, Once: once}
				v, err := runner.Verify(t.Context(), e, p, runner.Seed, effort)
				if err != nil {
					t.Fatal(err)
				}
				return v
			}
			var elements, projections atomic.Int64
			p := op.Single(o)
			p.Reference = counting{o, &elements, &projections}
			plain := verify(&fakebackend.Backend{}, p, nil)
			every := elements.Load()
			known := &runner.Known{}
			for i, want := range []int64{every, 0, 0} {
				elements.Store(0)
				projections.Store(0)
				v := verify(&fakebackend.Backend{}, p, known)
				if !v.Passed || v.Checked != plain.Checked || v.WorstBound != plain.WorstBound || v.Projection != plain.Projection {
					t.Errorf("verification %d: %+v, without anything known %+v", i, v, plain)
				}
				if elements.Load() != want || projections.Load() > 0 != (want > 0 && name == part) {
					t.Errorf("verification %d: %d elements and %d projections computed, want %d", i, elements.Load(), projections.Load(), want)
				}
			}
			wrong := verify(&fakebackend.Backend{Fault: map[string]string{kernel: fakebackend.Wrong}}, p, known)
			if wrong.Passed || wrong.Mismatch == nil {
				t.Errorf("a wrong kernel passes by what is known: %+v", wrong)
			}
			once = true
			if v := verify(&fakebackend.Backend{}, p, nil); !v.Passed || v.Checked >= plain.Checked || v.Repeatable || v.WrittenBytes != 0 || v.IntegerTest == "exact" {
				t.Errorf("verified once: %+v", v)
			}
			if v := verify(&fakebackend.Backend{Fault: map[string]string{kernel: fakebackend.Wrong}}, p, nil); v.Passed {
				t.Errorf("a wrong kernel passes where it is verified once: %+v", v)
			}
		})
	}
}
