package toydevice_test

import (
	"testing"

	"ridge/goharness/backend"
	"ridge/goharness/op"
	"ridge/goharness/plan"
	"ridge/goharness/record"
	"ridge/goharness/runner"
	"ridge/internal/toydevice"
)

func TestTheToyDeviceIsVerifiedAndMeasured(t *testing.T) {
	ops := op.Builtin()
	r := &runner.Runner{Launch: runner.InProcess(&runner.Server{Backends: []backend.Backend{toydevice.Backend{}}, Ops: ops})}
	defer r.Close()
	for _, tc := range []struct {
		id   string
		want record.Status
	}{
		{"toy:0/add/fp32/rows=3,cols=1000/threads=1/hot", record.OK},
		{"toy:0/add/bf16/rows=3,cols=1000/threads=1/hot", record.Unsupported},
		{"toy:0/relu/fp32/rows=3,cols=1000/threads=1/hot", record.Unsupported},
		{"toy:7/add/fp32/rows=3,cols=1000/threads=1/hot", record.Unsupported},
	} {
		k, err := plan.FromID(ops, tc.id)
		if err != nil {
			t.Fatal(err)
		}
		k.Warmup, k.Trials = 1, 5
		res, err := r.Run(t.Context(), k)
		if err != nil || res.Status != tc.want {
			t.Errorf("%s: %s (%s), %v: want %s", tc.id, res.Status, res.Reason, err, tc.want)
		}
		if tc.want == record.OK && (!res.Verification.Passed || res.Kernel != "add_fp32_toy") {
			t.Errorf("%s: kernel %s, verification %+v", tc.id, res.Kernel, res.Verification)
		}
	}
}
