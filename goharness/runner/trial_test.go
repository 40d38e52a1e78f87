package runner_test

import (
	"context"
	"encoding/json"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"ridge/goharness/backend"
	"ridge/goharness/op"
	"ridge/goharness/record"
	"ridge/goharness/runner"
	"ridge/internal/fakebackend"
)

// toy serves the toy platform in this process.
func toy(b *fakebackend.Backend) *runner.Server {
	return &runner.Server{Backends: []backend.Backend{b}, Ops: op.Builtin()}
}

func copyCase(n string) record.Case {
	return record.Case{ID: "toy/stream_copy/fp32/n=" + n + "/threads=1/hot", Device: "toy", Threads: 1, Mode: record.Hot, Quick: true, BudgetNS: 100e6,
		Program: record.ProgramRef{Op: "stream_copy", DType: record.FP32, Params: map[string]string{"n": n}}}
}

// twoArms compares the toy's two kernels.
func twoArms(n string) record.Case {
	c := copyCase(n)
	a, b := c.Program, c.Program
	a.Name, a.Kernel, b.Name, b.Kernel = "fast", "stream_copy_fast", "plain", "stream_copy_plain"
	c.Arms = []record.ProgramRef{a, b}
	return c
}

// mortal is a worker that dies where die says so.
type mortal struct {
	runner.Worker
	die func(q runner.Request) error
}

func (m mortal) Do(ctx context.Context, q runner.Request) (runner.Reply, error) {
	if err := m.die(q); err != nil {
		return runner.Reply{}, err
	}
	return m.Worker.Do(ctx, q)
}

// dying launches workers that die with err on the first times requests of a verb.
func dying(s *runner.Server, verb string, times int, err error) runner.Launcher {
	return func(ctx context.Context) (runner.Worker, error) {
		w, _ := runner.InProcess(s)(ctx)
		return mortal{w, func(q runner.Request) error {
			if q.Verb != verb || times == 0 {
				return nil
			}
			times--
			return err
		}}, nil
	}
}

func TestAWorkerThatDiesWithoutAKernelsDoingCostsNoCase(t *testing.T) {
	killed, fault := &runner.CrashError{Exit: -1, Signal: "SIGKILL"}, &runner.CrashError{Exit: -1, Signal: "SIGSEGV"}
	for _, tc := range []struct {
		name     string
		verb     string
		times    int
		err      error
		status   record.Status
		kernel   string
		attempts int
	}{
		{"dead before the case", runner.VerbPrepare, 1, killed, record.OK, "stream_copy_fast", 0},
		{"dead twice before the case", runner.VerbPrepare, 2, killed, record.Crashed, "", 0},
		{"killed once while verifying", runner.VerbVerify, 1, killed, record.OK, "stream_copy_fast", 0},
		{"killed once while measuring", runner.VerbMeasure, 1, killed, record.OK, "stream_copy_fast", 0},
		{"killed twice: the kernel eats the memory", runner.VerbMeasure, 2, killed, record.OK, "stream_copy_plain", 1},
		{"a fault of the kernel's own", runner.VerbMeasure, 1, fault, record.OK, "stream_copy_plain", 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := &runner.Runner{Launch: dying(toy(&fakebackend.Backend{}), tc.verb, tc.times, tc.err)}
			defer r.Close()
			res, err := r.Run(context.Background(), copyCase("100"))
			if err != nil || res.Status != tc.status || res.Kernel != tc.kernel || len(res.Attempts) != tc.attempts || len(r.Quarantined()) != tc.attempts {
				t.Errorf("%s by %q (%s), attempts %+v, set aside %v, err %v", res.Status, res.Kernel, res.Reason, res.Attempts, r.Quarantined(), err)
			}
			if again := strings.Contains(strings.Join(res.Warnings, ""), "started again"); again != (tc.err == error(killed)) {
				t.Errorf("warnings %q", res.Warnings)
			}
		})
	}
}

func TestADeadlineSetsAKernelAsideForItsOpAlone(t *testing.T) {
	r := &runner.Runner{Launch: dying(toy(&fakebackend.Backend{}), runner.VerbMeasure, 1, &runner.TimeoutError{Verb: "measure", After: time.Second})}
	defer r.Close()
	res, err := r.Run(context.Background(), copyCase("100"))
	if err != nil || len(res.Attempts) != 1 || res.Attempts[0].Status != record.TimedOut {
		t.Fatalf("attempts %+v, err %v", res.Attempts, err)
	}
	if q := r.Quarantined(); len(q) != 1 || q["stream_copy_fast@stream_copy"] == "" {
		t.Errorf("set aside: %v, want the kernel for stream_copy alone", q)
	}
}

func TestTheArmThatFailedIsBlamed(t *testing.T) {
	fault := &runner.CrashError{Exit: -1, Signal: "SIGSEGV"}
	first := func(b *fakebackend.Backend, verb string, err error) runner.Launcher {
		return dying(toy(b), verb, 1, err)
	}
	for _, tc := range []struct {
		name   string
		launch runner.Launcher
		status record.Status
		kernel string
		aside  string
	}{
		{"a crash in the first arm's verification", first(&fakebackend.Backend{}, runner.VerbVerify, fault), record.Crashed, "stream_copy_fast", "stream_copy_fast"},
		{"the first arm is wrong", runner.InProcess(toy(&fakebackend.Backend{Fault: map[string]string{"stream_copy_fast": fakebackend.Wrong}})),
			record.Wrong, "stream_copy_fast", "stream_copy_fast@stream_copy"},
		{"the second arm returns an error", runner.InProcess(toy(&fakebackend.Backend{Fault: map[string]string{"stream_copy_plain": fakebackend.Fails}})),
			record.Crashed, "stream_copy_plain", "stream_copy_plain@stream_copy"},
		{"a crash while both are timed", first(&fakebackend.Backend{}, runner.VerbMeasure, fault), record.Crashed, "stream_copy_fast+stream_copy_plain", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := &runner.Runner{Launch: tc.launch}
			defer r.Close()
			res, err := r.Run(context.Background(), twoArms("100"))
			if err != nil || res.Status != tc.status || res.Kernel != tc.kernel || len(res.Attempts) != 1 || res.Attempts[0].Kernel != tc.kernel {
				t.Errorf("%s by %s (%s), attempts %+v, err %v", res.Status, res.Kernel, res.Reason, res.Attempts, err)
			}
			if q := r.Quarantined(); (tc.aside != "" && q[tc.aside] == "") || (tc.aside == "" && len(q) > 0) {
				t.Errorf("set aside: %v, want %q", q, tc.aside)
			}
		})
	}
}

func TestAComparisonTellsItsArmsApart(t *testing.T) {
	r := &runner.Runner{Launch: runner.InProcess(toy(&fakebackend.Backend{NS: func(_ op.Program, kernel string) float64 {
		return map[string]float64{"stream_copy_fast": 1e6, "stream_copy_plain": 2e6}[kernel]
	}}))}
	defer r.Close()
	res, err := r.Run(context.Background(), twoArms("100"))
	if err != nil || res.Status != record.OK {
		t.Fatalf("%s %s, err %v", res.Status, res.Reason, err)
	}
	if res.Kernel != "stream_copy_fast" || res.Time.MedianNS != 1e6 || res.BandwidthGBps != 800/1e6 {
		t.Errorf("kernel %s, %v ns, %v GB/s: want all of the first arm", res.Kernel, res.Time.MedianNS, res.BandwidthGBps)
	}
	for i, want := range []float64{800 / 1e6, 800 / 2e6} {
		if a := res.Arms[i]; a.BandwidthGBps != want || a.ISA != "portable" || !slices.Equal(a.ISAs, []string{"portable"}) || a.BufferSets != 1 {
			t.Errorf("arm %d: %v GB/s on %q with %d sets, want %v GB/s", i, a.BandwidthGBps, a.ISA, a.BufferSets, want)
		}
	}
}

func TestAComparisonWithoutEnoughQuartetsIsNoisy(t *testing.T) {
	n := int64(0)
	r := &runner.Runner{Launch: runner.InProcess(toy(&fakebackend.Backend{NS: func(op.Program, string) float64 {
		n++
		return 1e6 * float64(1+n%3)
	}}))}
	defer r.Close()
	c := twoArms("100")
	c.BudgetNS = 1 // used up by the first quartet
	res, err := r.Run(context.Background(), c)
	if err != nil || res.Status != record.Noisy || !strings.Contains(res.Reason, "quartets") {
		t.Errorf("%s %q after %d quartets, err %v: too few for a verdict are no ok", res.Status, res.Reason, len(res.Ratio.Quartets), err)
	}
}

func TestTrialsOfAComparisonAreQuartets(t *testing.T) {
	r := &runner.Runner{Launch: runner.InProcess(toy(&fakebackend.Backend{}))}
	defer r.Close()
	c := twoArms("100")
	c.Trials, c.Warmup = 11, 5
	res, err := r.Run(context.Background(), c)
	if err != nil || res.Status != record.OK || len(res.Ratio.Quartets) != 11 || res.Arms[1].Time.WarmupLaunches != 5 || res.Time.StopRule != "trials" {
		t.Errorf("%s, ratio %+v, time %+v, err %v", res.Status, res.Ratio, res.Time, err)
	}
}

func TestTheDeadlineLeavesRoomForWhatWasAskedFor(t *testing.T) {
	p := &runner.Prepared{FLOPs: 1e9, StorageBytes: 0.2e9} // 3 s at the slowest
	for _, tc := range []struct {
		name  string
		q     runner.Request
		c     record.Case
		least time.Duration
		most  time.Duration
	}{
		{"the stop rule", runner.Request{Verb: runner.VerbMeasure}, record.Case{Device: "cpu", BudgetNS: 1e9}, 23 * time.Second, 30 * time.Second},
		{"trials", runner.Request{Verb: runner.VerbMeasure}, record.Case{Device: "cpu", Trials: 1000}, 3000 * time.Second, 4000 * time.Second},
		{"warm-up", runner.Request{Verb: runner.VerbMeasure}, record.Case{Device: "cpu", Trials: 1, Warmup: 1000}, 3000 * time.Second, 4000 * time.Second},
		{"a soak", runner.Request{Verb: runner.VerbSoak, Seconds: 3600}, record.Case{Device: "cpu"}, 3600 * time.Second, 3700 * time.Second},
	} {
		if d := runner.DefaultDeadline(tc.q, tc.c, p); d < tc.least || d > tc.most {
			t.Errorf("%s: %v, want %v to %v", tc.name, d, tc.least, tc.most)
		}
	}
	small := &runner.Prepared{FLOPs: 1, StorageBytes: 1}
	if d := runner.DefaultDeadline(runner.Request{Verb: runner.VerbMeasure}, record.Case{Device: "cpu", Trials: 1e6}, small); d < 220*time.Second {
		t.Errorf("a million samples of 220 µs have %v", d)
	}
	huge := &runner.Prepared{FLOPs: 1 << 62, StorageBytes: 1 << 62}
	if d := runner.DefaultDeadline(runner.Request{Verb: runner.VerbMeasure}, record.Case{Device: "cpu", Trials: 1e6}, huge); d <= 0 {
		t.Errorf("the longest deadline is %v", d)
	}
}

func TestTheMeterIsStoppedWhenTheMeasurementFails(t *testing.T) {
	r := &runner.Runner{Launch: dying(toy(&fakebackend.Backend{}), runner.VerbMeasure, 1, &runner.CrashError{Signal: "SIGSEGV"})}
	defer r.Close()
	running, timed := 0, 0
	r.Observe = func(record.Case) func(*record.Result) {
		running++
		return func(res *record.Result) {
			running--
			if res.Time != nil {
				timed++
			}
		}
	}
	if _, err := r.Run(context.Background(), copyCase("100")); err != nil || running != 0 || timed != 1 {
		t.Errorf("%d meters still run, %d windows with a time, err %v", running, timed, err)
	}
}

func TestASoakRunsInSamplesOfItsArmWithoutTheCollector(t *testing.T) {
	launches, percent := map[string]int{}, 0
	b := &fakebackend.Backend{NS: func(_ op.Program, kernel string) float64 {
		return map[string]float64{"stream_copy_fast": 250e3, "stream_copy_plain": 2e6}[kernel]
	}}
	s := toy(b)
	defer s.Close()
	ask := func(q runner.Request) runner.Reply {
		t.Helper()
		rep := s.Handle(context.Background(), q)
		if rep.Err != nil {
			t.Fatal(rep.Err)
		}
		return rep
	}
	c := twoArms("100")
	ask(runner.Request{Verb: runner.VerbPrepare, Case: &c})
	if rep := s.Handle(context.Background(), runner.Request{Verb: runner.VerbSoak, Seconds: 0.01}); rep.Err == nil || rep.Err.Kind != "usage" {
		t.Errorf("a soak before the measurement: %+v", rep.Err)
	}
	m := ask(runner.Request{Verb: runner.VerbMeasure}).Measured
	for arm, name := range []string{"fast", "plain"} {
		b.Before = func(op.Program) {
			percent = debug.SetGCPercent(-1)
		}
		before := b.Launches()
		ask(runner.Request{Verb: runner.VerbSoak, Seconds: 0.001, Arm: arm})
		launches[name] = int(b.Launches() - before)
		if percent != -1 {
			t.Errorf("arm %s: the collector ran at %d %% during the soak", name, percent)
		}
		b.Before = nil
		if n := m.Times[arm].Launches; launches[name]%n != 0 {
			t.Errorf("arm %s: %d launches, want whole samples of %d", name, launches[name], n)
		}
	}
	if m.Times[0].Launches <= 1 || debug.SetGCPercent(100) == -1 {
		t.Errorf("%d launches per sample of the first arm, or the collector stayed off", m.Times[0].Launches)
	}
}

// host has a fixed memory and cache.
type host struct {
	free func() int64
	llc  int64
}

func (h host) CPUs(n int, _ string) ([]int, error) { return make([]int, max(1, n)), nil }
func (h host) FreeMemory() (int64, string, error)  { return h.free(), "the test's memory", nil }
func (h host) LLCBytes() int64                     { return h.llc }
func (h host) LLCReached([]int) int64              { return h.llc }
func (h host) StealNS() (int64, error)             { return 0, nil }
func (h host) Fill(*record.Conditions)             {}

func TestMemoryKeptForTheNextCaseDoesNotRefuseIt(t *testing.T) {
	const total = 10_000
	b := &fakebackend.Backend{}
	s := toy(b)
	s.Host = host{free: func() int64 { return total - b.HeldBytes() }}
	r := &runner.Runner{Launch: runner.InProcess(s)}
	defer r.Close()
	for _, n := range []string{"800", "810", "790"} { // 6.4 of 10 kB each
		res, err := r.Run(context.Background(), copyCase(n))
		if err != nil || res.Status != record.OK {
			t.Errorf("n=%s: %s %s, err %v", n, res.Status, res.Reason, err)
		}
	}
	res, err := r.Run(context.Background(), copyCase("1100"))
	if err != nil || res.Status != record.Skipped {
		t.Errorf("8.8 of 10 kB: %s %s, err %v", res.Status, res.Reason, err)
	}
}

func TestEachColdArmRotatesTwiceTheLastLevelCache(t *testing.T) {
	s := toy(&fakebackend.Backend{})
	s.Host = host{free: func() int64 { return 1 << 40 }, llc: 1 << 20}
	defer s.Close()
	c := twoArms("10000") // 80 kB a set
	c.Mode = record.Cold
	c.Arms[1].Params = map[string]string{"n": "1000"}
	rep := s.Handle(context.Background(), runner.Request{Verb: runner.VerbPrepare, Case: &c})
	if rep.Err != nil {
		t.Fatal(rep.Err)
	}
	for i, ws := range []int{80000, 8000} {
		if n := rep.Prepared.Arms[i].Sets; n < 2 || n*ws < 2<<20 {
			t.Errorf("arm %d rotates %d sets of %d bytes", i, n, ws)
		}
	}
	rep = s.Handle(context.Background(), runner.Request{Verb: runner.VerbMeasure})
	if rep.Err != nil || rep.Measured.Conditions.BufferSets != 28 {
		t.Errorf("conditions say %+v sets, want the 28 of the first arm; %v", rep.Measured, rep.Err)
	}
	tiny := copyCase("10")
	tiny.Mode = record.Cold
	rep = s.Handle(context.Background(), runner.Request{Verb: runner.VerbPrepare, Case: &tiny})
	if rep.Err == nil || rep.Err.Kind != "unsupported" || !strings.Contains(rep.Err.Message, "buffer sets") {
		t.Errorf("80 bytes a set cannot exceed the cache: %+v", rep.Err)
	}
}

// A column block of a wide matrix: 4,416 bytes of it are touched and 403,712 allocated.
func TestColdSetsFollowWhatIsTouchedAndMemoryWhatIsAllocated(t *testing.T) {
	for _, tc := range []struct {
		free int64
		mode string
		sets int // 0: refused for lack of memory
	}{{1 << 40, record.Hot, 1}, {1 << 40, record.Cold, 2<<20/4416 + 2}, {100e6, record.Cold, 0}, {500e3, record.Hot, 0}} {
		s := toy(&fakebackend.Backend{})
		s.Host = host{free: func() int64 { return tc.free }, llc: 1 << 20}
		c := record.Case{ID: "toy/gemm", Device: "toy", Threads: 1, Mode: tc.mode, Program: record.ProgramRef{Op: "gemm", DType: record.FP32,
			Params: map[string]string{"m": "1", "n": "16", "k": "64", "ldb": "1600"}}}
		rep := s.Handle(t.Context(), runner.Request{Verb: runner.VerbPrepare, Case: &c})
		switch {
		case tc.sets == 0:
			if rep.Err == nil || rep.Err.Kind != string(record.Skipped) {
				t.Errorf("%s with %d bytes free: %+v", tc.mode, tc.free, rep.Err)
			}
		case rep.Err != nil:
			t.Errorf("%s: %v", tc.mode, rep.Err)
		default:
			if p := rep.Prepared; p.Arms[0].Sets != tc.sets || p.WorkingSetBytes != 4416 || p.Bytes != 4416 || p.StorageBytes != 4*(64+63*1600+16+16) {
				t.Errorf("%s: %d sets, want %d; working set %d of %d bytes, %d bytes moved", tc.mode, p.Arms[0].Sets, tc.sets, p.WorkingSetBytes, p.StorageBytes, p.Bytes)
			}
		}
		s.Close()
	}
}

// A pilot's samples are thrown away: reading conditions would take longer than they do.
func TestAPilotHasTimesAndNoConditions(t *testing.T) {
	for _, pilot := range []bool{false, true} {
		s := toy(&fakebackend.Backend{})
		c := copyCase("100")
		c.Pilot, c.Warmup, c.Trials = pilot, 1, 5
		for _, q := range []runner.Request{{Verb: runner.VerbPrepare, Case: &c}, {Verb: runner.VerbVerify}} {
			if r := s.Handle(t.Context(), q); r.Err != nil {
				t.Fatal(r.Err)
			}
		}
		r := s.Handle(t.Context(), runner.Request{Verb: runner.VerbMeasure})
		if r.Err != nil || len(r.Measured.Times[0].SamplesNS) != 5 || (r.Measured.Conditions.Seed == 0) != pilot {
			t.Errorf("pilot %v: %v, %+v", pilot, r.Err, r.Measured)
		}
		if line, err := json.Marshal(r); err != nil || strings.Contains(string(line), "conditions") == pilot {
			t.Errorf("pilot %v: %v %s", pilot, err, line)
		}
		s.Close()
	}
}

// Figures outside of the arms are the first arm's, whose time stands beside them, and not the reference's: an unfused chain moves more than the op.
func TestTheFiguresOfAComparisonAreItsFirstArms(t *testing.T) {
	r := &runner.Runner{Launch: runner.InProcess(toy(&fakebackend.Backend{}))}
	defer r.Close()
	res, err := r.Run(context.Background(), twoArms("100"))
	if err != nil || len(res.Arms) != 2 {
		t.Fatalf("%+v, %v", res, err)
	}
	first := res.Arms[0]
	if res.FLOPs != first.FLOPs || res.Bytes != first.Bytes || res.ReadBytes+res.WriteBytes != first.Bytes || res.Time.MedianNS != first.Time.MedianNS ||
		res.GFLOPS != first.GFLOPS || res.BandwidthGBps != first.BandwidthGBps {
		t.Errorf("%d FLOP, %d bytes, %v GB/s; its first arm has %d, %d, %v", res.FLOPs, res.Bytes, res.BandwidthGBps, first.FLOPs, first.Bytes, first.BandwidthGBps)
	}
}
