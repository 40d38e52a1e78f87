//go:build cgo && linux

package runner_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ridge/goharness/backend"
	"ridge/goharness/measure"
	"ridge/goharness/op"
	"ridge/goharness/record"
	"ridge/goharness/runner"
	"ridge/internal/faultkernel"
	"ridge/native"
	"ridge/native/team"
)

// The test binary is its own worker: cgo is refused in _test files, so the faults live in
// internal/faultkernel and this process re-executes itself to meet them.
func TestMain(m *testing.M) {
	if os.Getenv("RIDGE_TEST_WORKER") == "1" {
		team.DefaultSignals()
		if os.Getenv("RIDGE_TEST_LIMIT") == "1" { // the oom kernel meets a wall instead of the machine's memory
			lim := unix.Rlimit{Cur: 3 << 30, Max: 3 << 30}
			_ = unix.Setrlimit(unix.RLIMIT_AS, &lim)
		}
		if err := runner.ServeProcess(server()); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func server() *runner.Server {
	return &runner.Server{Backends: []backend.Backend{native.New(faultkernel.Family())},
		Ops: op.Builtin().With(faultkernel.Spec())}
}

func process() *runner.Runner {
	r := &runner.Runner{Launch: runner.Process([]string{os.Args[0]}, []string{"RIDGE_TEST_WORKER=1", "RIDGE_TEST_LIMIT=1"})}
	r.Deadline = func(_ runner.Request, c record.Case, p *runner.Prepared) time.Duration {
		if c.Program.Params["kind"] == "hang" && p != nil && p.Arms[0].Kernels[0] == "fault_fp32_bad" {
			return time.Second // only the kernel that hangs; its stand-in may meet a busy machine
		}
		return 30 * time.Second
	}
	return r
}

func faultCase(kind string) record.Case {
	return record.Case{ID: "cpu/fault/fp32/n=5000,kind=" + kind + "/threads=1/hot", Device: "cpu", Threads: 1, Mode: record.Hot,
		Program: record.ProgramRef{Op: "fault", DType: record.FP32, Params: map[string]string{"n": "5000", "kind": kind}},
		Quick:   true, BudgetNS: 20e6}
}

func TestAFailingKernelCostsOneCaseAndTheNextVariantTakesItsPlace(t *testing.T) {
	for _, tc := range []struct {
		kind   string
		status record.Status // of the failed attempt
		signal string
	}{
		{"segv", record.Crashed, "SIGSEGV"},
		{"ill", record.Crashed, ""}, // SIGILL on x86, SIGTRAP on arm64
		{"abort", record.Crashed, "SIGABRT"},
		{"oom", record.Crashed, "SIGABRT"},
		{"hang", record.TimedOut, ""},
		{"wrong", record.Wrong, ""},
		{"skip_last", record.Wrong, ""},
		{"overrun", record.Wrong, ""},
		{"unstable", record.Wrong, ""},
		{"clobber", record.Wrong, ""},
		{"overrun_input", record.Wrong, ""},
		{"status", record.Crashed, ""},
	} {
		t.Run(tc.kind, func(t *testing.T) {
			r := process()
			defer r.Close()
			res, err := r.Run(context.Background(), faultCase(tc.kind))
			if err != nil {
				t.Fatal(err)
			}
			if len(res.Attempts) != 1 || res.Attempts[0].Status != tc.status || res.Attempts[0].Kernel != "fault_fp32_bad" {
				t.Fatalf("attempts = %+v, want one of fault_fp32_bad with status %s", res.Attempts, tc.status)
			}
			if tc.signal != "" && res.Attempts[0].Signal != tc.signal {
				t.Errorf("signal = %q, want %q", res.Attempts[0].Signal, tc.signal)
			}
			if res.Kernel != "fault_fp32_good" || !res.Status.Counts() {
				t.Errorf("kernel %s status %s (%s), want fault_fp32_good to stand in", res.Kernel, res.Status, res.Reason)
			}
			if tc.kind == "hang" && !strings.Contains(res.Attempts[0].Reason, "(ridge-team-0 (state ") {
				t.Errorf("reason %q: expected what its threads did", res.Attempts[0].Reason)
			}
			if res.KernelRequested != "fault_fp32_bad" || res.FallbackReason == "" {
				t.Errorf("requested %q, fallback reason %q", res.KernelRequested, res.FallbackReason)
			}
			if phase := map[string]string{"clobber": "input", "overrun_input": "padding"}[tc.kind]; !strings.HasPrefix(res.Attempts[0].Reason, phase) || phase != "" && !strings.Contains(res.Attempts[0].Reason, "tensor x") {
				t.Errorf("reason %q, want a %s test that names tensor x", res.Attempts[0].Reason, phase)
			}
			after, err := r.Run(context.Background(), faultCase("ok"))
			if err != nil || !after.Status.Counts() {
				t.Errorf("the next case: %s %s %v", after.Status, after.Reason, err)
			}
			if after.Kernel != "fault_fp32_good" {
				t.Errorf("the next case used %s, which was set aside", after.Kernel)
			}
			if after.KernelRequested != "fault_fp32_bad" || !strings.Contains(after.FallbackReason, string(tc.status)+" in "+faultCase(tc.kind).ID) {
				t.Errorf("the next case hides that a stand-in ran: requested %q, fallback reason %q", after.KernelRequested, after.FallbackReason)
			}
			forced := faultCase("ok")
			forced.Program.Kernel = "fault_fp32_bad"
			refused, err := r.Run(context.Background(), forced)
			if err != nil {
				t.Fatal(err)
			}
			if refused.Status != record.Skipped || !strings.Contains(refused.Reason, string(tc.status)+" in "+faultCase(tc.kind).ID) {
				t.Errorf("the kernel forced after its failure: %s %q, want skipped with what it did", refused.Status, refused.Reason)
			}
		})
	}
}

func TestAForcedKernelHasNoStandIn(t *testing.T) {
	r := process()
	defer r.Close()
	c := faultCase("segv")
	c.Program.Kernel = "fault_fp32_bad"
	res, err := r.Run(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	if res.Status != record.Crashed || res.Kernel != "fault_fp32_bad" || !strings.Contains(res.Reason, "SIGSEGV") {
		t.Errorf("got %s %s %q", res.Status, res.Kernel, res.Reason)
	}
}

func TestAKernelStatusIsReported(t *testing.T) {
	r := process()
	defer r.Close()
	c := faultCase("status")
	c.Program.Kernel = "fault_fp32_bad"
	res, err := r.Run(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	if res.Status != record.Crashed || !strings.Contains(res.Reason, "refused its arguments") || len(res.Attempts) != 1 {
		t.Errorf("got %s %q, attempts %+v", res.Status, res.Reason, res.Attempts)
	}
	if q := r.Quarantined(); len(q) != 1 || q["fault_fp32_bad@fault"] == "" {
		t.Errorf("set aside: %v, want the kernel for this op alone: its process lived on", q)
	}
}

func TestWrongKernelsAreNeverTimed(t *testing.T) {
	r := process()
	defer r.Close()
	c := faultCase("skip_last")
	c.Program.Kernel = "fault_fp32_bad"
	res, err := r.Run(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	if res.Status != record.Wrong || res.Time != nil || res.Verification.Mismatch == nil {
		t.Fatalf("got %s, time %v, verification %+v", res.Status, res.Time, res.Verification)
	}
	if m := res.Verification.Mismatch; m.Tensor != "y" || len(m.Index) != 1 || m.Index[0] != 4999 {
		t.Errorf("mismatch at %s%v, want y[4999]", m.Tensor, m.Index)
	}
}

func TestTwoArmsAreComparedInQuartets(t *testing.T) {
	r := &runner.Runner{Launch: runner.InProcess(server())}
	defer r.Close()
	c := faultCase("ok")
	a, b := c.Program, c.Program
	a.Name, a.Kernel = "bad", "fault_fp32_bad"
	b.Name, b.Kernel = "good", "fault_fp32_good"
	c.Arms = []record.ProgramRef{a, b}
	c.BudgetNS = 50e6
	res, err := r.Run(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	// Few quartets fit into the budget while the machine does something else: noisy then.
	if res.Ratio == nil || len(res.Ratio.Quartets) == 0 || !res.Status.Counts() ||
		len(res.Ratio.Quartets) < measure.MinQuartets && res.Status != record.Noisy {
		t.Fatalf("status %s %s ratio %+v", res.Status, res.Reason, res.Ratio)
	}
	if len(res.Arms) != 2 || res.Arms[0].Time == nil || res.Arms[1].Verification == nil || res.Arms[1].Kernels[0] != "fault_fp32_good" {
		t.Fatalf("arms = %+v", res.Arms)
	}
	if _, known := res.Conditions.InvoluntarySwitches.Get(); !known {
		t.Errorf("involuntary switches: %s", res.Conditions.InvoluntarySwitches.Unavailable)
	}
	if _, known := res.Conditions.RunDelayNS.Get(); !known {
		t.Errorf("run delay: %s", res.Conditions.RunDelayNS.Unavailable)
	}
}

func TestSoakRunsForTheTimeAskedFor(t *testing.T) {
	s := server()
	defer s.Close()
	c := faultCase("ok")
	for _, q := range []runner.Request{{Verb: runner.VerbPrepare, Case: &c}, {Verb: runner.VerbMeasure}} {
		if rep := s.Handle(context.Background(), q); rep.Err != nil {
			t.Fatal(rep.Err)
		}
	}
	rep := s.Handle(context.Background(), runner.Request{Verb: runner.VerbSoak, Seconds: 0.05})
	if rep.Err != nil {
		t.Fatal(rep.Err)
	}
	if d := rep.Soaked.EndNS - rep.Soaked.StartNS; d < 50e6 || rep.Soaked.Launches < 1 {
		t.Errorf("soaked for %d ns with %d launches", d, rep.Soaked.Launches)
	}
}

func TestBadRequestsAreAnsweredWithOneLine(t *testing.T) {
	s := server()
	defer s.Close()
	bad := faultCase("ok")
	bad.Program.Params = map[string]string{"n": "-3"}
	mode := faultCase("ok")
	mode.Mode = "warmish"
	noCUDA := faultCase("ok")
	noCUDA.Device = "cuda:0"
	for _, q := range []runner.Request{
		{Verb: "dance"}, {Verb: runner.VerbPrepare}, {Verb: runner.VerbVerify}, {Verb: runner.VerbMeasure},
		{Verb: runner.VerbSoak, Seconds: -1}, {Verb: runner.VerbPrepare, Case: &bad}, {Verb: runner.VerbPrepare, Case: &mode},
		{Verb: runner.VerbPrepare, Case: &noCUDA},
	} {
		rep := s.Handle(context.Background(), q)
		if rep.Err == nil || strings.Contains(rep.Err.Message, "\n") || rep.Err.Message == "" {
			t.Errorf("%+v: error %v", q, rep.Err)
		}
	}
	if rep := s.Handle(context.Background(), runner.Request{Verb: runner.VerbPrepare, Case: &noCUDA}); rep.Err.Kind != "unsupported" {
		t.Errorf("a device that is not in the build is %q, want unsupported: never another device", rep.Err.Kind)
	}
}

func TestOpenCloseCyclesLeakNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("long")
	}
	b := native.New()
	o, err := op.Builtin().New("gemm", map[string]string{"m": "8", "n": "8", "k": "8"}, record.FP32)
	if err != nil {
		t.Fatal(err)
	}
	cycle := func() {
		dev, err := b.Open("cpu", backend.OpenOptions{CPUs: []int{-1, -1}})
		if err != nil {
			t.Fatal(err)
		}
		e, err := dev.Prepare(op.Single(o), backend.PrepareOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if err := e.Run(1); err != nil {
			t.Fatal(err)
		}
		if err := e.Release(); err != nil {
			t.Fatal(err)
		}
		if err := dev.Close(); err != nil {
			t.Fatal(err)
		}
	}
	for range 50 {
		cycle()
	}
	before, fds := count(t, "/proc/self/task"), count(t, "/proc/self/fd")
	maps := lines(t, "/proc/self/maps")
	for range 1000 {
		cycle()
	}
	if n := count(t, "/proc/self/task"); n > before+3 {
		t.Errorf("threads grew from %d to %d", before, n)
	}
	if n := count(t, "/proc/self/fd"); n > fds+2 {
		t.Errorf("descriptors grew from %d to %d", fds, n)
	}
	if n := lines(t, "/proc/self/maps"); n > maps+40 {
		t.Errorf("mappings grew from %d to %d", maps, n)
	}
}

func count(t *testing.T, dir string) int {
	t.Helper()
	e, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	return len(e)
}

func lines(t *testing.T, file string) int {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Count(string(b), "\n")
}
