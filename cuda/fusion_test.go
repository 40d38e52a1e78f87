//go:build cuda && linux && cgo

package cuda_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"ridge/cuda"
	"ridge/cuda/fatbin"
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

// A kernel without its image cannot be launched, and which tests meet that depends on what they choose: this one names every one. Where images are
// built (make cuda-check) there is none, and here it is no silent pass.
func TestEverySourceHasItsImage(t *testing.T) {
	sources, err := filepath.Glob("*/*.cu")
	if err != nil || len(sources) == 0 {
		t.Fatal(sources, err)
	}
	for _, s := range sources {
		if _, err := fatbin.Image(strings.TrimSuffix(filepath.Base(s), ".cu")); err != nil {
			t.Errorf("%v CHIPS=80,90a, which the tests can do with", err)
		}
	}
}

// Fused and unfused, also the candidates that work in place: chains of kernels meet the expectation of the whole. What has no image is skipped
// by name; TestEverySourceHasItsImage fails for it.
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
					err := verified(t, d, all, ref)
					if errors.Is(err, fatbin.ErrNotBuilt) {
						t.Run(fmt.Sprintf("%s %s %v %s", p.Name, dtype, shape, arm), func(t *testing.T) { t.Skip(err) })
					} else if err != nil {
						t.Errorf("%s %s %v %s: %v", p.Name, dtype, shape, arm, err)
					}
				}
			}
		}
	}
}

// verified runs a program in two sets of buffers; nil when it meets the expectation.
func verified(t *testing.T, d backend.Device, all []fusion.Pattern, ref record.ProgramRef) error {
	t.Helper()
	p, err := fusion.Program(all, ref)
	if err != nil {
		return err
	}
	e, err := d.Prepare(p, backend.PrepareOptions{Seed: runner.Seed, Sets: 2})
	if err != nil {
		return err
	}
	defer e.Release()
	v, err := runner.Verify(t.Context(), e, p, runner.Seed, runner.DefaultEffort)
	switch {
	case err != nil:
		return err
	case !v.Passed:
		return fmt.Errorf("%s %s: got %s, want %s", v.Mismatch.Tensor, v.Mismatch.Phase, v.Mismatch.Got, v.Mismatch.Want)
	}
	return nil
}
