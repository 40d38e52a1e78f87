//go:build cuda && linux && cgo

package cuda_test

import (
	"testing"

	"ridge/cuda"
	"ridge/goharness/backend"
	"ridge/goharness/fusion"
	"ridge/goharness/record"
	"ridge/goharness/runner"
)

// shapesOf a pattern's group: small, with tails.
var shapesOf = map[string][]map[string]string{
	"linear":      {{"m": "9", "k": "33", "n": "21"}, {"m": "18", "k": "40", "n": "24"}},
	"conv":        {{"n": "2", "c": "6", "k": "6", "hw": "7", "r": "3"}, {"n": "2", "c": "6", "k": "6", "hw": "7", "r": "3", "layout": "nhwc"}},
	"attention":   {{"b": "2", "s": "19", "d": "20"}},
	"elementwise": {{"rows": "5", "cols": "37"}},
	"norm":        {{"rows": "5", "cols": "37"}},
}

// Fused and unfused, also the candidates that work in place: chains of kernels meet the expectation of the whole.
func TestBothProgramsOfEveryFusionPatternRunOnTheDevice(t *testing.T) {
	d, err := cuda.New().Open("cuda:0", backend.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	all := fusion.Builtin()
	specs := fusion.Specs(all)
	for _, p := range all {
		shapes := shapesOf[p.Group]
		if len(shapes) == 0 {
			t.Errorf("%s: no shape for its group %s", p.Name, p.Group)
		}
		spec, _ := specs.Spec(p.Name)
		for _, shape := range shapes {
			for _, dtype := range p.DTypes {
				names, err := spec.Candidates(shape, dtype)
				if err != nil {
					t.Fatalf("%s: %v", p.Name, err)
				}
				arms := []string{fusion.Fused}
				for _, n := range names {
					arms = append(arms, fusion.Unfused+":"+n)
				}
				for _, arm := range arms {
					ref := record.ProgramRef{Op: p.Name, Pattern: p.Name, DType: dtype, Params: shape, Name: arm}
					if why := verified(t, d, all, ref); why != "" {
						t.Errorf("%s %s %v %s: %s", p.Name, dtype, shape, arm, why)
					}
				}
			}
		}
	}
}

// verified runs a program in two sets of buffers; "" when it meets the expectation.
func verified(t *testing.T, d backend.Device, all []fusion.Pattern, ref record.ProgramRef) string {
	t.Helper()
	p, err := fusion.Program(all, ref)
	if err != nil {
		return err.Error()
	}
	e, err := d.Prepare(p, backend.PrepareOptions{Seed: runner.Seed, Sets: 2})
	if err != nil {
		return err.Error()
	}
	defer e.Release()
	v, err := runner.Verify(t.Context(), e, p, runner.Seed, runner.DefaultEffort)
	switch {
	case err != nil:
		return err.Error()
	case !v.Passed:
		return v.Mismatch.Tensor + " " + v.Mismatch.Phase + ": got " + v.Mismatch.Got + ", want " + v.Mismatch.Want
	}
	return ""
}
