package campaign

import (
	"context"
	"strings"
	"testing"

	"ridge/goharness/ceiling"
	"ridge/goharness/op"
	"ridge/goharness/plan"
	"ridge/goharness/record"
	"ridge/goharness/runner"
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
			var verified []bool // the slowed probe's verifications: in full
			cfg.Launch = watching(cfg.Launch, func(k record.Case, v *record.Verification) {
				if k.Program.Op == "bandwidth" && k.Program.Params["access"] == "copy" && k.Program.Params["bytes"] == two {
					verified = append(verified, !strings.Contains(v.IntegerTest, "verified before"))
				}
			})
			doc := mustRun(t, cfg)
			for i, full := range verified {
				if full != (i == 0) {
					t.Errorf("verification %d of %d is full: %v, want the first alone", i, len(verified), full)
				}
			}
			if len(verified) != len(tc.whys) {
				t.Errorf("%d verifications or fills, want %d", len(verified), len(tc.whys))
			}
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

// What passed before a kernel was set aside, in another run, or without being compared does not count.
func TestAProbeIsRepeatedUnverifiedOnlyAfterItPassedInThisRun(t *testing.T) {
	passed := record.Result{ID: "p", Status: record.OK, Verification: &record.Verification{Passed: true, Checked: 100}}
	filled, wrong, crashed, failed := passed, passed, passed, passed
	filled.Verification = &record.Verification{Passed: true}
	wrong.Status, wrong.Verification = record.Wrong, &record.Verification{Checked: 100}
	crashed.Status = record.Crashed
	failed.Verification = &record.Verification{Checked: 100}
	for _, tc := range []struct {
		name  string
		r     []record.Result
		aside int // a kernel is set aside before the result of that number, -1: never
		want  bool
	}{
		{"nothing", nil, -1, false},
		{"passed", []record.Result{passed}, -1, true},
		{"passed, then filled", []record.Result{passed, filled}, -1, true},
		{"filled alone", []record.Result{filled}, -1, false},
		{"wrong", []record.Result{wrong}, -1, false},
		{"crashed", []record.Result{crashed}, -1, false},
		{"a figure without a pass", []record.Result{failed}, -1, false},
		{"passed behind what was set aside", []record.Result{passed}, 0, true},
		{"set aside since", []record.Result{passed}, 1, false},
		{"set aside, then filled", []record.Result{passed, filled}, 1, false},
		{"set aside, then passed", []record.Result{passed, passed}, 1, true},
	} {
		c := &campaign{runner: &runner.Runner{}}
		for i := range len(tc.r) + 1 {
			if i == tc.aside {
				c.runner.Quarantine("k", "it crashed")
			}
			if i < len(tc.r) {
				c.verifiedNow(&tc.r[i])
			}
		}
		if got := c.verifiedHere("p"); got != tc.want {
			t.Errorf("%s: verified is %v, want %v", tc.name, got, tc.want)
		}
	}
}

// watching tells of each verification that a worker made, of what case.
func watching(launch runner.Launcher, tell func(record.Case, *record.Verification)) runner.Launcher {
	return func(ctx context.Context) (runner.Worker, error) {
		w, err := launch(ctx)
		return &watcher{Worker: w, tell: tell}, err
	}
}

type watcher struct {
	runner.Worker
	k    record.Case
	tell func(record.Case, *record.Verification)
}

func (w *watcher) Do(ctx context.Context, q runner.Request) (runner.Reply, error) {
	if q.Case != nil {
		w.k = *q.Case
	}
	r, err := w.Worker.Do(ctx, q)
	if r.Verified != nil {
		w.tell(w.k, r.Verified)
	}
	return r, err
}
