//go:build cgo && linux

package toyop_test

import (
	"testing"

	"ridge/goharness/backend"
	"ridge/goharness/op"
	"ridge/goharness/plan"
	"ridge/goharness/record"
	"ridge/goharness/runner"
	"ridge/internal/toyop"
	"ridge/native"
	"ridge/native/kerneltest"
)

func ops() *op.Registry { return op.Builtin().With(toyop.Spec()) }

func TestSaxpbyKernelsMatchTheExpectation(t *testing.T) {
	var list []op.Op
	for _, n := range []string{"0", "1", "15", "16", "17", "1021", "4096"} {
		o, err := ops().New("saxpby", map[string]string{"n": n, "b": "-5"}, record.FP32)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, o)
	}
	kerneltest.All(t, native.New(toyop.Family()), list)
}

func TestSaxpbyIsMeasured(t *testing.T) {
	r := &runner.Runner{Launch: runner.InProcess(&runner.Server{Backends: []backend.Backend{native.New(toyop.Family())}, Ops: ops()})}
	defer r.Close()
	k, err := plan.FromID(ops(), "cpu/saxpby/fp32/n=100000/threads=1/hot")
	if err != nil {
		t.Fatal(err)
	}
	k.Warmup, k.Trials = 1, 5
	res, err := r.Run(t.Context(), k)
	if err != nil || res.Status != record.OK || res.Kernel != "saxpby_fp32_portable" {
		t.Fatalf("%s by %q (%s), %v", res.Status, res.Kernel, res.Reason, err)
	}
}
