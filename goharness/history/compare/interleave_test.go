package compare

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"ridge/goharness/measure"
	"ridge/goharness/record"
	"ridge/goharness/runner"
)

// site is a simulated machine on which two builds run: they share its clock and its noise, as
// two processes share a machine.
type site struct {
	clock measure.VirtualClock
	src   *measure.NoiseSource
	rng   *rand.Rand
	born  float64 // standard deviation of what a process is born with
}

func newSite(n measure.Noise, born float64, seed uint64) *site {
	src, err := measure.NewNoiseSource(n, seed)
	if err != nil {
		panic(err)
	}
	return &site{src: src, rng: rand.New(rand.NewPCG(seed, 9)), born: born}
}

// build of a factor of slowness on the site; says changes what its workers answer.
func (s *site) build(name string, factor float64, says func(q runner.Request, r *runner.Reply) error) Build {
	return Build{Name: name, Launch: func(context.Context) (runner.Worker, error) {
		return &worker{s: s, factor: factor * math.Exp(s.born*s.rng.NormFloat64()), says: says}, nil
	}}
}

type worker struct {
	s      *site
	factor float64
	says   func(q runner.Request, r *runner.Reply) error
	done   bool
}

func (w *worker) Close() error { w.done = true; return nil }

func (w *worker) Do(ctx context.Context, q runner.Request) (runner.Reply, error) {
	var r runner.Reply
	switch q.Verb {
	case runner.VerbPrepare:
		r.Prepared = &runner.Prepared{Arms: []runner.PreparedArm{{Kernels: []string{"k"}}}}
	case runner.VerbVerify:
		r.Verified = &record.Verification{Passed: true}
	case runner.VerbMeasure:
		t, _, err := measure.Run(ctx, &measure.Simulated{Clock: &w.s.clock, Launch: time.Duration(3e5 * w.factor), Source: w.s.src},
			measure.Options{Trials: samplesAsked, Warmup: 1, Now: w.s.clock.Now})
		if err != nil {
			return r, err
		}
		r.Measured = &runner.Measured{Times: []record.Time{t}}
	}
	if w.says != nil {
		if err := w.says(q, &r); err != nil {
			return r, err
		}
	}
	return r, nil
}

func someCases(n int) []record.Case {
	var out []record.Case
	for i := range n {
		out = append(out, record.Case{ID: fmt.Sprintf("cpu/gemm/fp32/m=%d/threads=1/hot", i+1), Device: "cpu", Threads: 1, Mode: record.Hot})
	}
	return out
}

func interleaved(t testing.TB, b Builds, n int) Comparison {
	t.Helper()
	c, err := Interleave(context.Background(), b, someCases(n))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// trial compares builds of a ratio of slowness on trials simulated machines of 10 cases; the shares of
// cases and of whole comparisons that are called slower or faster.
func trial(t testing.TB, n measure.Noise, born, factor float64, trials int) (cases, comparisons float64) {
	if testing.Short() {
		trials = max(3, trials/6) // the race detector, which runs these ten times as slowly, sees the same goroutines
	}
	for i := range trials {
		s := newSite(n, born, uint64(i))
		c := interleaved(t, Builds{A: s.build("a", 1, nil), B: s.build("b", factor, nil)}, 10)
		called := c.Counts[Slower] + c.Counts[Faster]
		if factor > 1 {
			called = c.Counts[Slower]
		}
		cases += float64(called) / 10 / float64(trials)
		if called > 0 {
			comparisons += 1 / float64(trials)
		}
	}
	return cases, comparisons
}

// sites are the noises of a measurement's self-test but bursts beyond what quartets cancel, on
// machines where processes differ by 0.3 %.
func sites() []measure.Noise {
	out := []measure.Noise{{Name: "iid", Sigma: 0.01}, {Name: "AR(1) 0.9", Sigma: 0.01, Rho: 0.9},
		{Name: "drift AR(1) 0.999, 5 %", Sigma: 0.05, Rho: 0.999},
		{Name: "steps", Sigma: 0.01, StepHeight: 0.03, StepShare: 0.25, StepDwell: 8}, measure.SlowSteps()}
	return append(out, measure.Noise{Name: "steal bursts", Sigma: 0.01, BurstHeight: 0.15, BurstShare: 0.1, BurstDwell: 3})
}

const bornDifferent = 0.003

func TestInterleavedBuildsOfOneSpeedAreNotCalled(t *testing.T) {
	for _, n := range sites() {
		if cases, comparisons := trial(t, n, bornDifferent, 1, 30); cases > 0.01 || comparisons > 0.05 {
			t.Errorf("%s: %.2f %% of the cases, %.0f %% of the comparisons are called", n.Name, 100*cases, 100*comparisons)
		}
	}
}

func TestAnInterleavedSlowdownOfFivePercentIsFound(t *testing.T) {
	for _, n := range sites() {
		if cases, _ := trial(t, n, bornDifferent, 1.05, 20); cases < 0.95 {
			t.Errorf("%s: %.1f %% found, expected at least 95 %%", n.Name, 100*cases)
		}
	}
}

// On a machine where the place of their pages moves a process by 2 or 3 %, as it does an addition of 128 KiB on Zen 3, many rounds find 5 % all the same.
func TestASlowdownIsFoundAmongProcessesThatDiffer(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: ten times as long under the race detector, which other tests of the same code meet")
	}
	n := measure.Noise{Name: "iid", Sigma: 0.01}
	if cases, comparisons := trial(t, n, 0.02, 1, 30); cases > 0.01 || comparisons > 0.05 {
		t.Errorf("one speed: %.2f %% of the cases are called, %.0f %% of the comparisons", 100*cases, 100*comparisons)
	}
	for born, trials := range map[float64]int{0.02: 20, 0.03: 10} {
		if cases, _ := trial(t, n, born, 1.05, trials); cases < 0.95 {
			t.Errorf("processes differ by %.0f %%: of a slowdown of 5 %% %.1f %% are found, expected at least 95 %%", 100*born, 100*cases)
		}
	}
}

// So few rounds that no interval exists for so many cases decide nothing, and the reason says why.
func TestTooFewRoundsDecideNothing(t *testing.T) {
	s := newSite(measure.Noise{Sigma: 0.001}, 0, 1)
	got := interleaved(t, Builds{A: s.build("a", 1, nil), B: s.build("b", 2, nil), Rounds: 6}, 5)
	if got.Counts[Ambiguous] != 5 || got.Cases[0].CI != nil || !strings.Contains(got.Cases[0].Reason, "too few") {
		t.Errorf("%v %+v", got.Counts, got.Cases[0])
	}
	if got := interleaved(t, Builds{A: s.build("a", 1, nil), B: s.build("b", 2, nil), Rounds: 6}, 1); got.Counts[Slower] != 1 {
		t.Errorf("one case: %v", got.Counts)
	}
}

// Builds that differ by their processes alone are not told apart by chance.
func TestWhereProcessesDifferNothingIsCalled(t *testing.T) {
	if cases, _ := trial(t, measure.Noise{Name: "iid", Sigma: 0.003}, 0.04, 1, 60); cases > 0.01 {
		t.Errorf("%.1f %% of the cases are called", 100*cases)
	}
}

// BenchmarkInterleave prints the figures of docs/comparing.md.
func BenchmarkInterleave(b *testing.B) {
	for _, born := range []float64{bornDifferent, 0.01, 0.02, 0.03} {
		for i, n := range sites() {
			if born != bornDifferent && i > 0 {
				continue
			}
			b.Run(fmt.Sprintf("born %.1f %%, %s", 100*born, n.Name), func(b *testing.B) {
				for range b.N {
					cases, comparisons := trial(b, n, born, 1, 100)
					found, _ := trial(b, n, born, 1.05, 100)
					b.ReportMetric(100*cases, "%cases_called")
					b.ReportMetric(100*comparisons, "%comparisons_with_a_call")
					b.ReportMetric(100*found, "%found_of_+5%")
					b.ReportMetric(0, "ns/op")
				}
			})
		}
	}
}

func TestABuildThatFailsACaseCostsThatCase(t *testing.T) {
	for name, c := range map[string]struct {
		says func(q runner.Request, r *runner.Reply) error
		want string
	}{
		"wrong": {func(q runner.Request, r *runner.Reply) error {
			if q.Verb == runner.VerbVerify {
				r.Verified.Passed = false
			}
			return nil
		}, "wrong in b"},
		"unsupported": {func(q runner.Request, r *runner.Reply) error {
			if q.Verb == runner.VerbPrepare {
				r.Err = &runner.WorkerError{Kind: "unsupported", Message: "no such instruction"}
			}
			return nil
		}, "no such instruction"},
		"crash": {func(q runner.Request, _ *runner.Reply) error {
			if q.Verb == runner.VerbMeasure {
				return &runner.CrashError{Signal: "SIGSEGV"}
			}
			return nil
		}, "SIGSEGV"},
		"no time": {func(q runner.Request, r *runner.Reply) error {
			if q.Verb == runner.VerbMeasure {
				r.Measured = nil
			}
			return nil
		}, "without a time"},
	} {
		s := newSite(measure.Noise{Sigma: 0.001}, 0, 1)
		first := "cpu/gemm/fp32/m=1/threads=1/hot"
		current := ""
		says := func(q runner.Request, r *runner.Reply) error {
			if q.Case != nil {
				current = q.Case.ID
			}
			if current != first {
				return nil
			}
			return c.says(q, r)
		}
		got := interleaved(t, Builds{A: s.build("a", 1, nil), B: s.build("b", 1, says)}, 3)
		if got.Counts[NotComparable] != 1 || got.Counts[Same] != 2 {
			t.Errorf("%s: %v", name, got.Counts)
		}
		if n := len(got.Warnings); n == 0 || !strings.Contains(got.Warnings[n-1], "1 cases could not be measured in both") {
			t.Errorf("%s: warnings %q", name, got.Warnings)
		}
		if k := got.Cases[0]; k.ID != first || !strings.Contains(k.Reason, c.want) {
			t.Errorf("%s: %s: %q, expected %q", name, k.ID, k.Reason, c.want)
		}
	}
}

// A worker that is lost once costs the round's case a repeat by new workers and is named; one that is lost again excludes the case.
func TestAWorkerThatIsLostOnceIsStartedAgain(t *testing.T) {
	id := someCases(1)[0].ID
	for times, want := range map[int]Outcome{0: Same, 1: Same, 2: NotComparable} {
		s := newSite(measure.Noise{Sigma: 0.001}, 0, 1)
		requests, started := 0, 0
		a, b := s.build("a", 1, nil), s.build("b", 1, func(q runner.Request, _ *runner.Reply) error {
			if q.Verb != runner.VerbMeasure {
				return nil
			}
			if requests++; requests > 100 && requests <= 100+times { // in the middle of a round
				return &runner.TimeoutError{Verb: q.Verb, After: 20 * time.Second}
			}
			return nil
		})
		for _, build := range []*Build{&a, &b} {
			launch := build.Launch
			build.Launch = func(ctx context.Context) (runner.Worker, error) { started++; return launch(ctx) }
		}
		got := interleaved(t, Builds{A: a, B: b}, 2)
		k := got.Cases[0]
		if got.Counts[want] == 0 || times < 2 && got.Counts[Same] != 2 {
			t.Errorf("lost %d times: %v", times, got.Counts)
		}
		if text := strings.Join(got.Warnings, "\n"); strings.Contains(text, "measure in b: measure did not end within 20s; the worker was killed; its round was taken again") != (times > 0) {
			t.Errorf("lost %d times: warnings %q", times, text)
		}
		if want == Same && (k.ID != id || len(k.Rounds) != firstLook || started != 2*firstLook+2*times) {
			t.Errorf("lost %d times: %d rounds, %d workers started", times, len(k.Rounds), started)
		}
	}
}

func TestAWorkerThatDoesNotStartEndsTheComparison(t *testing.T) {
	s := newSite(measure.Noise{Sigma: 0.001}, 0, 1)
	bad := Build{Name: "old", Launch: func(context.Context) (runner.Worker, error) {
		return nil, fmt.Errorf("worker speaks another protocol")
	}}
	_, err := Interleave(context.Background(), Builds{A: bad, B: s.build("b", 1, nil)}, someCases(1))
	if err == nil || !strings.Contains(err.Error(), "build old") || !strings.Contains(err.Error(), "protocol") {
		t.Errorf("error %v", err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Interleave(ctx, Builds{A: s.build("a", 1, nil), B: s.build("b", 1, nil)}, someCases(1)); err == nil {
		t.Error("interrupted: no error")
	}
}

func TestAnInterruptionAfterALookShowsWhatItSaid(t *testing.T) {
	s := newSite(measure.Noise{Sigma: 0.02}, 0.02, 3)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	b := Builds{A: s.build("a", 1, nil), B: s.build("b", 1, nil), Progress: func(round int, _ string) {
		if round == firstLook {
			cancel()
		}
	}}
	got, err := Interleave(ctx, b, someCases(4))
	if err == nil || len(got.Cases) != 4 || len(got.Warnings) != 1 || !strings.Contains(got.Warnings[0], "interrupted") {
		t.Errorf("%v: %+v", err, got.Warnings)
	}
}
