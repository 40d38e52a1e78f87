package runner

import (
	"testing"
	"time"

	"ridge/goharness/backend"
	"ridge/goharness/record"
)

// of is an executable that says which instructions its kernel needs, and nothing else.
type of struct {
	backend.Executable
	isa string
}

func (e of) Kernels() []backend.KernelInfo { return []backend.KernelInfo{{ISA: []string{e.isa}}} }

// Tensor cores draw so much that a device lowers its clock over seconds; nothing else is warmed up that long.
func TestTensorCoresAreWarmedUpForSeconds(t *testing.T) {
	for _, tc := range []struct {
		name, device    string
		quick           bool
		budget          time.Duration
		isa             []string // of the arms
		longest, window time.Duration
	}{
		{"wgmma", "cuda:0", false, time.Second, []string{"sm_90a"}, 3 * time.Second, 250 * time.Millisecond},
		{"mma.sync, quick", "cuda:0", true, time.Second, []string{"sm_80"}, 500 * time.Millisecond, 50 * time.Millisecond},
		{"one arm of two", "cuda:1", false, time.Second, []string{"", "sm_80"}, 3 * time.Second, 250 * time.Millisecond},
		{"other units", "cuda:0", false, time.Second, []string{""}, 500 * time.Millisecond, 0},
		{"a small budget", "cuda:0", false, 20 * time.Millisecond, []string{""}, 60 * time.Millisecond, 0},
		{"the host's matrix units", "cpu", false, 4 * time.Second, []string{"amx-bf16"}, time.Second, 0},
	} {
		var arms []arm
		for _, isa := range tc.isa {
			arms = append(arms, arm{e: of{isa: isa}})
		}
		longest, window := warmup(record.Case{Device: tc.device, Quick: tc.quick, BudgetNS: int64(tc.budget)}, arms)
		if longest != tc.longest || window != tc.window {
			t.Errorf("%s: %v in windows of %v, want %v and %v", tc.name, longest, window, tc.longest, tc.window)
		}
	}
}
