package runner_test

import (
	"context"
	"strings"
	"testing"

	"ridge/goharness/backend"
	"ridge/goharness/op"
	"ridge/goharness/plan"
	"ridge/goharness/record"
	"ridge/goharness/runner"
	"ridge/internal/fakebackend"
)

// A device that is lost ends its worker: the kernel is set aside, the next variant runs in a new one.
func TestALostDeviceEndsItsWorkerAndTheRunGoesOn(t *testing.T) {
	started := 0
	b := &fakebackend.Backend{Fault: map[string]string{"relu_fast": fakebackend.Loses}}
	r := &runner.Runner{Launch: func(ctx context.Context) (runner.Worker, error) {
		started++
		return runner.InProcess(&runner.Server{Backends: []backend.Backend{b}, Ops: op.Builtin()})(ctx)
	}}
	defer r.Close()
	k, err := plan.FromID(op.Builtin(), "toy/relu/fp32/rows=3,cols=5/threads=1/hot")
	if err != nil {
		t.Fatal(err)
	}
	k.Warmup, k.Trials = 1, 5
	res, err := r.Run(t.Context(), k)
	if err != nil || res.Status != record.OK || res.Kernel != "relu_plain" {
		t.Fatalf("%s by %s (%s), %v", res.Status, res.Kernel, res.Reason, err)
	}
	if len(res.Attempts) != 1 || res.Attempts[0].Status != record.Crashed || !strings.Contains(res.Attempts[0].Reason, "device is lost") {
		t.Errorf("attempts %+v", res.Attempts)
	}
	if _, aside := r.Quarantined()["relu_fast"]; !aside || started != 2 {
		t.Errorf("%d workers started, set aside: %v", started, r.Quarantined())
	}
}
