package campaign

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"ridge/goharness/measure"
	"ridge/goharness/record"
	"ridge/internal/fakebackend"
)

// A case that the host ran with both CPUs on one core is measured again; one that it always runs so says it.
func TestAResultMeasuredOnOneCoreIsMeasuredAgain(t *testing.T) {
	ids := copies(leastBarriers + 5)
	marked := ids[leastBarriers+2]
	for _, tc := range []struct {
		name   string
		marked string
		shared int     // runs of the marked case on one core
		slower float64 // together over alone there
		full   bool
		again  int
		warned bool
		before int // cases on one core before anything is known
	}{
		{"never", marked, 0, 2, false, 0, false, 0},
		{"once", marked, 1, 2, false, 1, false, 0},
		{"four times", marked, 4, 2, false, 4, false, 0},
		{"always", marked, 100, 1.9, true, measure.MostReplaced, true, 0},
		{"always, and the run has no time for the last wait", marked, 100, 2, false, measure.MostReplaced - 2, true, 0},
		{"before anything is known", ids[1], 1, 2, false, 0, false, 0},
		{"nearer each other, each on its own core", marked, 100, 1.05, false, 0, false, 0},
		{"once, when others were before anything was known", marked, 1, 2, false, 1, false, 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			id, calls := "", 0 // the case in flight and its barriers: one before and one after each run
			onOne := func(run int) bool { return id == tc.marked && run <= tc.shared || slices.Index(ids, id) < tc.before }
			b := &fakebackend.Backend{Barrier: func() float64 {
				calls++
				switch run, before := (calls+1)/2, calls%2 == 1; {
				case onOne(run) && before:
					return 35
				case id == ids[leastBarriers+3]:
					return 330 // further apart: that may last, and is no reason
				}
				return 75 + float64(calls%5)
			}, Together: func() float64 {
				if onOne((calls + 1) / 2) {
					return tc.slower
				}
				return 1.02
			}}
			cfg, v := toy(t, b, "", ids...)
			cfg.NoProbes, cfg.Plan.Quick = true, !tc.full
			var waits []time.Duration
			cfg.Sleep = func(_ context.Context, d time.Duration) error {
				waits = append(waits, d)
				return nil
			}
			v.onStart = func(k record.Case) { id, calls = k.ID, 0 }
			doc := mustRun(t, cfg)
			again := 0
			for _, w := range v.warned {
				if strings.Contains(w, "on one core during "+tc.marked+": measuring it again") {
					again++
				}
			}
			if again != tc.again || len(v.warned) != again {
				t.Errorf("measured again %d times, want %d: %q", again, tc.again, v.warned)
			}
			want := []time.Duration{0, measure.FirstWait, 2 * measure.FirstWait, 4 * measure.FirstWait, measure.MostWait, measure.MostWait}[:tc.again]
			if !slices.Equal(waits, want) {
				t.Errorf("waited %v, want %v", waits, want)
			}
			for _, r := range doc.Results {
				warned := slices.ContainsFunc(r.Warnings, func(w string) bool { return strings.Contains(w, "on one core while this was measured") })
				if warned != (tc.warned && r.ID == tc.marked) {
					t.Errorf("%s has warnings %q", r.ID, r.Warnings)
				}
			}
		})
	}
}

// Before a run knows its barriers, the machine's word for cores of their own counts, until as many results have contradicted it.
func TestTheFirstResultsGoByTheTopology(t *testing.T) {
	r := &record.Result{Threads: 2, Status: record.OK, Conditions: &record.Conditions{BarrierBeforeNS: record.Known(35.0, "test"), BarrierAfterNS: record.Known(35.0, "test"),
		TogetherOverAlone: record.Known(1.83, "test")}}
	for _, tc := range []struct {
		name string
		core []int // of each CPU
		want bool
	}{{"a core each", []int{0, 1}, true}, {"two threads of one core", []int{0, 0}, false}} {
		c := &campaign{seats: []int{0, 1}}
		c.doc.Host.CPU.Cores = record.Known(2, "test")
		for i, k := range tc.core {
			c.doc.Host.CPU.Logical = append(c.doc.Host.CPU.Logical, record.LogicalCPU{CPU: i, Core: k})
		}
		if got := c.onOneCore(r); got != tc.want {
			t.Errorf("%s: %v, want %v", tc.name, got, tc.want)
		}
		for range leastBarriers {
			c.learnBarrier(r)
		}
		if c.onOneCore(r) {
			t.Errorf("%s: still called an exception when every result was so", tc.name)
		}
	}
	if c := (&campaign{seats: []int{0, 1}}); c.onOneCore(r) {
		t.Error("the topology is not known")
	}
}

// However many results share a core: where those with cores of their own are known, only their barriers are common.
func TestBarriersOfSharedCoresAreNotCommon(t *testing.T) {
	with := func(ns, together float64) *record.Result {
		known := func(x float64) record.Fact[float64] { return record.Known(x, "test") }
		return &record.Result{Conditions: &record.Conditions{BarrierBeforeNS: known(ns + 40), BarrierAfterNS: known(ns), TogetherOverAlone: known(together)}}
	}
	c := &campaign{}
	visits := []float64{35, 75, 35, 320, 80}
	if got := c.withoutShared(slices.Clone(visits)); !slices.Equal(got, visits) {
		t.Errorf("nothing is known: %v", got)
	}
	for i := range leastBarriers {
		c.learnBarrier(with(35, 1.83))
		c.learnBarrier(with(75+float64(i), 1.01))
	}
	if want := []float64{75, 320, 80}; !slices.Equal(c.withoutShared(slices.Clone(visits)), want) {
		t.Errorf("%v of %v, want %v", c.withoutShared(slices.Clone(visits)), visits, want)
	}
}

func TestTheSummaryTellsWhenTheCPUsLayFurtherApart(t *testing.T) {
	some := func(near, far, shared int) (out []record.Result) {
		for i := range near + far + shared {
			ns, together := 75.0+float64(i%7), 1.01
			if i < far {
				ns = 320
			} else if i < far+shared {
				ns, together = 35, 1.83
			}
			out = append(out, record.Result{Conditions: &record.Conditions{BarrierBeforeNS: record.Known(ns+90, "test"), BarrierAfterNS: record.Known(ns, "test"),
				TogetherOverAlone: record.Known(together, "test")}})
		}
		return out
	}
	for _, tc := range []struct {
		near, far, shared int
		want              string
	}{{60, 0, 0, ""}, {60, 2, 9, ""}, {60, 5, 9, "during 5 of 65 results"}, {2, 3, 0, ""}, {0, 40, 0, ""}, {200, 5, 0, ""}} {
		got := strings.Join(placementWarnings(some(tc.near, tc.far, tc.shared)), "; ")
		if !strings.HasPrefix(got, tc.want) || (tc.want == "") != (got == "") {
			t.Errorf("%d near, %d far, %d on one core: %q, want %q", tc.near, tc.far, tc.shared, got, tc.want)
		}
	}
}
