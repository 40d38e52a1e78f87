package campaign

import (
	"testing"

	"ridge/goharness/ceiling"
	"ridge/goharness/machine"
	"ridge/goharness/op"
	"ridge/goharness/plan"
	"ridge/goharness/record"
)

// DRAM-sized cases of a device are sized by its cache and skipped by its memory, whatever the host has.
func TestTheCasesOfAnAcceleratorAreSizedByItsOwnMemory(t *testing.T) {
	for _, tc := range []struct {
		l2      string
		memory  int64
		llc     int64
		levels  int
		skipped bool
	}{
		{"52428800", 80 << 30, 50 << 20, 2, false},
		{"52428800", 64 << 20, 50 << 20, 2, true},
	} {
		c := &campaign{cfg: Config{Plan: plan.Options{Device: "cuda:0", Threads: 1, Ops: op.Builtin(), Operations: []string{"stream_triad"}, Quick: true},
			Accelerator: &record.Device{ID: "cuda:0", Platform: "cuda", Memory: tc.memory, Facts: map[string]string{"l2_bytes": tc.l2}}}}
		wh := NewWorkerHost(machine.Source{})
		c.hostPlan(wh, []int{0})
		o := c.cfg.Plan
		if o.LLC != tc.llc || len(o.Levels) != tc.levels || o.Levels[0].Capacity != tc.llc || o.Levels[tc.levels-1].Name != ceiling.DRAM || o.Memory != tc.memory/10*9 {
			t.Errorf("L2 %s, memory %d: LLC %d, memory %d, levels %v", tc.l2, tc.memory, o.LLC, o.Memory, o.Levels)
		}
		p, err := plan.Build(o)
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range p.Cases {
			if k.UseCase == "from DRAM" && (k.SkipReason != "") != tc.skipped {
				t.Errorf("%s: %q", k.ID, k.SkipReason)
			}
		}
	}
}
