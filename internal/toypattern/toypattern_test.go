//go:build cgo && linux

package toypattern_test

import (
	"testing"

	"ridge/goharness/backend"
	"ridge/goharness/fusion"
	"ridge/goharness/op"
	"ridge/goharness/plan"
	"ridge/goharness/record"
	"ridge/goharness/runner"
	"ridge/internal/toyop"
	"ridge/internal/toypattern"
	"ridge/native"
)

func TestTheToyPatternGetsAVerdict(t *testing.T) {
	patterns := []fusion.Pattern{toypattern.Pattern()}
	ops := fusion.WithPatterns(op.Builtin().With(toyop.Spec()), patterns)
	r := &runner.Runner{Launch: runner.InProcess(&runner.Server{Backends: []backend.Backend{native.New(toyop.Family())}, Ops: ops,
		Patterns: func(ref record.ProgramRef) (op.Program, error) { return fusion.Program(patterns, ref) }})}
	defer r.Close()
	k, err := plan.FromID(ops, "cpu/Scale_Scale_Add/fp32/n=65536/threads=1/hot")
	if err != nil {
		t.Fatal(err)
	}
	k.Warmup, k.Trials = 1, 8
	res, err := r.Run(t.Context(), k)
	if err != nil || res.Status != record.OK {
		t.Fatalf("%s (%s), %v", res.Status, res.Reason, err)
	}
	profiles, err := fusion.Profiles(patterns, []record.Result{res}, false, fusion.Limits{})
	if err != nil || len(profiles) != 1 || len(profiles[0].Shapes) != 1 {
		t.Fatalf("%+v, %v", profiles, err)
	}
	// Three launches move seven arrays, one moves three.
	if s := profiles[0].Shapes[0]; s.UnfusedBytes != 7*4*65536 || s.FusedBytes != 3*4*65536 || s.Speedup <= 0 || s.Baseline != "buffers" {
		t.Errorf("%+v", s)
	}
}
