// Package plantest checks how ops become launches, without a driver and without the tag cuda.
package plantest

import (
	"errors"
	"strings"
	"testing"

	"ridge/cuda/kernel"
	"ridge/goharness/op"
	"ridge/goharness/record"
)

// Planner is a kernel's Plan.
type Planner = func(op.Op, []kernel.Buffer, kernel.Device) (kernel.Plan, error)

// Case is an op on a device and the launch that is expected of it.
type Case struct {
	DType  record.DType
	Params string // "m=1 n=2"
	Device kernel.Device
	Shift  uint64 // address of every buffer
	// Entry of the first launch, or with 0 Blocks part of the reason why the kernel does not take the shape.
	Entry          string
	Blocks, Shared int64
	Cluster        int64 // blocks of a cluster, along x; 0: none
}

// Launches plans the named op in each case.
func Launches(t *testing.T, name string, plan Planner, cases []Case) {
	t.Helper()
	for _, tc := range cases {
		p, err := planned(t, name, tc.DType, tc.Params, tc.Shift, plan, tc.Device)
		if tc.Blocks == 0 {
			var shape *kernel.ShapeError
			if !errors.As(err, &shape) || !strings.Contains(err.Error(), tc.Entry) {
				t.Errorf("%s %s: %v, want a shape error with %q", tc.DType, tc.Params, err, tc.Entry)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s %s: %v", tc.DType, tc.Params, err)
			continue
		}
		if l := p.Launches[0]; l.Entry != tc.Entry || l.Grid[0]*l.Grid[1]*l.Grid[2] != tc.Blocks || l.Shared != tc.Shared ||
			l.Cluster[0] != tc.Cluster || max(l.Cluster[1], l.Cluster[2]) > 1 || tc.Cluster > 0 && l.Grid[0]%tc.Cluster != 0 {
			t.Errorf("%s %s: %s, %v blocks in clusters of %v, %d bytes shared, want %s, %d in clusters of %d, %d", tc.DType, tc.Params, l.Entry, l.Grid, l.Cluster, l.Shared,
				tc.Entry, tc.Blocks, tc.Cluster, tc.Shared)
		}
	}
}

// Plan lays out one op whose buffers all lie at an address.
func Plan(t *testing.T, name string, d record.DType, params string, address uint64, plan Planner, device kernel.Device) kernel.Plan {
	t.Helper()
	p, err := planned(t, name, d, params, address, plan, device)
	if err != nil {
		t.Fatalf("%s %s: %v", d, params, err)
	}
	return p
}

func planned(t *testing.T, name string, d record.DType, params string, address uint64, plan Planner, device kernel.Device) (kernel.Plan, error) {
	t.Helper()
	values := map[string]string{}
	for _, p := range strings.Fields(params) {
		k, v, _ := strings.Cut(p, "=")
		values[k] = v
	}
	o, err := op.Builtin().New(name, values, d)
	if err != nil {
		t.Fatal(err)
	}
	var b []kernel.Buffer
	for _, x := range o.Tensors() {
		b = append(b, kernel.Buffer{Address: address, Tensor: x})
	}
	return plan(o, b, device)
}
