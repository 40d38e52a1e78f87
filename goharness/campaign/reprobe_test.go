package campaign

import (
	"testing"

	"ridge/goharness/ceiling"
	"ridge/goharness/op"
	"ridge/goharness/plan"
	"ridge/goharness/record"
	"ridge/internal/fakebackend"
)

// The probe of two threads' copies in L2 is slowed by a neighbour for its first runs: the ceiling is what an
// undisturbed one gives, and the document says why it was repeated.
func TestProbesThatStayBehindOneThreadAreRepeated(t *testing.T) {
	const slowdown = 3.0
	for _, tc := range []struct {
		name      string
		disturbed int // runs
		whys      []string
		factor    float64 // of one thread's bandwidth
	}{
		{"an undisturbed one", 0, []string{"initial"}, 2},
		{"a disturbed one", 1, []string{"initial", "low"}, 2},
		{"twice disturbed", 2, []string{"initial", "low", "low"}, 2},
		{"disturbed until the end", 4, []string{"initial", "low", "low", "low", "low"}, 2},
		{"always disturbed", 100, []string{"initial", "low", "low", "low", "low", "low", "low"}, 2 / slowdown},
	} {
		t.Run(tc.name, func(t *testing.T) {
			b := &fakebackend.Backend{}
			cfg, _ := toy(t, b, "", "cpu/stream_copy/fp32/n=100/threads=2/hot")
			cfg.Source.Affinity = func() ([]int, error) { return []int{0, 1}, nil }
			cfg.Plan.Threads = 2
			cfg.Plan.Levels = []ceiling.Level{{Name: "L1", Capacity: 9 << 10}, {Name: "L2", Capacity: 35 << 10}, {Name: "L3", Capacity: 150 << 10}, {Name: "DRAM"}}
			two, one := probeSize(t, cfg.Plan, "L2", 2), probeSize(t, cfg.Plan, "L2", 1)
			if two == one {
				t.Fatal("the probes of one and two threads are the same program")
			}
			calls, first := 0, 0 // of the slowed probe: all, and in its first run; equal runs take equally many
			b.NS = func(p op.Program, k string) float64 {
				size := ""
				if o, ok := p.Reference.(*op.Bandwidth); ok && o.Access == "copy" {
					size = o.Params()[1].Value
				}
				if size == two {
					calls++
				} else if first == 0 {
					first = calls
				}
				runs := (calls-1)/max(1, first) + 1
				if first == 0 {
					runs = 1
				}
				switch ns := toyNS(p, k); {
				case size == two && runs <= tc.disturbed:
					return slowdown * ns / 2
				case size == two:
					return ns / 2
				case size == one:
					return ns
				default:
					return ns / 2 // all other probes scale
				}
			}
			doc := mustRun(t, cfg)
			var pair [2]*record.Ceiling
			for i := range doc.Ceilings {
				if c := &doc.Ceilings[i]; c.Level == "L2" && c.Access == "copy" && c.Kind == record.CeilingBandwidth {
					pair[c.Threads-1] = c
				}
			}
			var got []string
			for _, p := range pair[1].Probes {
				got = append(got, p.Why)
			}
			if len(got) != len(tc.whys) {
				t.Fatalf("probes %v, want %v", got, tc.whys)
			}
			for i := range got {
				if got[i] != tc.whys[i] {
					t.Errorf("probes %v, want %v", got, tc.whys)
				}
			}
			if f := pair[1].Measured.Value / pair[0].Measured.Value; f < 0.95*tc.factor || f > 1.05*tc.factor {
				t.Errorf("two threads reach %.2f of one, want %.2f", f, tc.factor)
			}
		})
	}
}

// probeSize is the bytes parameter of a level's copy probe.
func probeSize(t *testing.T, o plan.Options, level string, threads int) string {
	t.Helper()
	o.ProbesOnly = true
	p, err := plan.Build(o)
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range p.Probes {
		if x.Ceiling.Level == level && x.Ceiling.Access == "copy" && x.Ceiling.Threads == threads && x.Ceiling.Kind == record.CeilingBandwidth {
			return x.Case.Program.Params["bytes"]
		}
	}
	t.Fatalf("no copy probe of %s with %d threads", level, threads)
	return ""
}
