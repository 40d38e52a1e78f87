//go:build cgo && linux

package kerneltest

import (
	"testing"

	"ridge/goharness/backend"
	"ridge/goharness/op"
	"ridge/goharness/record"
	"ridge/goharness/runner"
)

// Program verifies a program of any number of steps on a device, in two buffer sets.
func Program(t *testing.T, dev backend.Device, p op.Program) record.Verification {
	t.Helper()
	const seed = 7
	e, err := dev.Prepare(p, backend.PrepareOptions{Seed: seed, Sets: 2})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = e.Release() }()
	v, err := runner.Verify(t.Context(), e, p, seed, runner.DefaultEffort)
	if err != nil {
		t.Fatal(err)
	}
	return v
}
