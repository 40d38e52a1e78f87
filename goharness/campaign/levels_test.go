package campaign

import (
	"fmt"
	"strings"
	"testing"

	"ridge/goharness/ceiling"
	"ridge/goharness/plan"
	"ridge/goharness/record"
)

func planOf(ds ...record.DType) plan.Options { return plan.Options{Precisions: ds} }

// swept is a campaign that has measured a sweep of a machine with 32 KiB L1, 512 KiB L2 and an
// L3 of which share bytes are ours.
func swept(t *testing.T, share int64, levels []ceiling.Level) *campaign {
	t.Helper()
	c := &campaign{done: map[string]record.Result{}, model: ceiling.NewModel("cpu", levels, levels)}
	c.cfg.Plan.Threads = 2
	for n := int64(8 << 10); n <= 256<<20; n *= 2 {
		ns := 90.0
		switch {
		case n <= 32<<10:
			ns = 1.2
		case n <= 512<<10:
			ns = 3.5
		case n <= share:
			ns = 12
		}
		for _, op := range []string{"chase", "bandwidth"} {
			k := record.Case{ID: fmt.Sprint(op, n), Device: "cpu", Threads: 1, Program: record.ProgramRef{Op: op, Params: map[string]string{"bytes": fmt.Sprint(n)}}}
			r := record.Result{ID: k.ID, Op: op, UseCase: record.UseCaseSweep, Status: record.OK, WorkingSetBytes: n, Bytes: n, Items: 1000, Time: &record.Time{MedianNS: 1000 * ns, MinNS: 1000 * ns, CI95NS: [2]float64{1000 * ns, 1000 * ns}}}
			if op == "bandwidth" {
				k.Threads, r.Threads = 2, 2
			}
			c.plan.Probes = append(c.plan.Probes, plan.Probe{Case: k, Sweep: true})
			c.doc.Results, c.done[k.ID] = append(c.doc.Results, r), r
		}
	}
	c.levelsFromSweep()
	return c
}

func reported() []ceiling.Level {
	return []ceiling.Level{{Name: "L1", Capacity: 32 << 10}, {Name: "L2", Capacity: 512 << 10}, {Name: "L3", Capacity: 32 << 20}, {Name: "DRAM"}}
}

func TestTheSweepsPlateausStandInTheDocumentBesideTheReportedSizes(t *testing.T) {
	for _, tc := range []struct {
		name  string
		share int64
		l2    int64 // reported
		want  []string
	}{
		{"all as reported", 32 << 20, 512 << 10, nil},
		{"a shared host", 4 << 20, 512 << 10, []string{"L3 up to 4 MiB of the 32 MiB reported"}},
		{"a size made up by the hypervisor", 32 << 20, 4 << 20, []string{"L2 up to 512 KiB of the 4 MiB reported"}},
		{"a size too small", 32 << 20, 192 << 10, []string{"L2 up to 512 KiB, the system reports 192 KiB"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			levels := reported()
			levels[1].Capacity = tc.l2
			c := swept(t, tc.share, levels)
			got := c.plateauWarnings()
			if len(got) != len(tc.want) {
				t.Fatalf("warnings %q, want %q", got, tc.want)
			}
			for i := range got {
				if !strings.Contains(got[i], tc.want[i]) {
					t.Errorf("%q, want %q", got[i], tc.want[i])
				}
			}
			ps := c.plateaus()
			if len(ps) != 4 {
				t.Fatalf("plateaus %+v", ps)
			}
			for i, p := range ps {
				if p.Level != levels[i].Name || p.ReportedBytes != levels[i].Capacity || p.LatencyNS == 0 || p.FromBytes > p.ToBytes || p.Points == 0 {
					t.Errorf("plateau %+v, want %+v", p, levels[i])
				}
			}
			if ps[2].ToBytes != tc.share || ps[2].LatencyNS != 12 {
				t.Errorf("L3 %+v, want it to end at %d", ps[2], tc.share)
			}
		})
	}
}

func TestWithoutReportedCachesTheSweepTellsTheLevels(t *testing.T) {
	c := swept(t, 8<<20, []ceiling.Level{{Name: "DRAM"}})
	for ws, want := range map[int64]string{16 << 10: "L1", 256 << 10: "L2", 4 << 20: "L3", 20 << 20: "L3-DRAM", 256 << 20: "DRAM"} {
		if got := c.model.LevelOf(ws, 1); got != want {
			t.Errorf("%d bytes of one thread are %q, want %q", ws, got, want)
		}
	}
	// Two threads might have an L3 each: 4 × 8 MiB is not enough then.
	if got := c.model.LevelOf(40<<20, 2); got != "L3-DRAM" {
		t.Errorf("40 MiB of two threads are %q", got)
	}
	if b := c.model.Bandwidth("L2", 2); b == nil || b.Probes[0].Why != "sweep" {
		t.Errorf("the sweep's points gave no L2 ceiling: %+v", b)
	}
	if w := c.plateauWarnings(); len(w) != 1 || !strings.Contains(w[0], "reports no cache sizes") || !strings.Contains(w[0], "L3 ends near 8 MiB") {
		t.Errorf("warnings %q", w)
	}
	for _, p := range c.plateaus() {
		if p.Level == "" || p.ReportedBytes != 0 {
			t.Errorf("%+v", p)
		}
	}
	if known := swept(t, 8<<20, reported()); known.sweepLevels || known.model.Levels1[2].Capacity != 32<<20 {
		t.Error("the sweep overruled the sizes that the system reports")
	}
}
