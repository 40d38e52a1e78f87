//go:build cgo && linux

package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ridge/goharness/backend"
	"ridge/goharness/measure"
	"ridge/goharness/op"
	"ridge/goharness/plan"
	"ridge/goharness/record"
	"ridge/goharness/runner"
	"ridge/native"
)

// fakeEnv makes the test binary a contender: "speed ns" or a misbehaviour.
const fakeEnv = "BENCHPEERS_FAKE"

func TestMain(m *testing.M) {
	if how := os.Getenv(fakeEnv); how != "" {
		if err := serve(os.NewFile(3, "requests"), os.NewFile(4, "replies"), fake(how)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// fake is a contender whose launches take the given nanoseconds, without doing anything; "1e6 shared 3" finds its threads on one core three times,
// until then they take twice as long.
func fake(how string) func(request) reply {
	asked := 0
	return func(q request) reply {
		var ns float64
		shared := 0
		_, _ = fmt.Sscan(how, &ns)
		if _, n, ok := strings.Cut(how, " shared "); ok {
			_, _ = fmt.Sscan(n, &shared)
		}
		if asked < shared {
			ns *= 2
		}
		switch {
		case q.Verb == verbTogether:
			if asked++; asked <= shared {
				return reply{Together: 2}
			}
			return reply{Together: 1.01}
		case how == "crash" && q.Verb == verbPrepare:
			os.Exit(7)
		case how == "hang" && q.Verb == verbPrepare:
			time.Sleep(time.Hour)
		case how == "wrong" && q.Verb == verbPrepare:
			return reply{Error: "wrong output: c[0 1] is 2, expected 3"}
		case how == "unchecked" && q.Verb == verbPrepare:
			return reply{LaunchNS: 1e6}
		case how == "lesser" && q.Verb == verbPrepare:
			return reply{Checked: "some", Lesser: "saturates", LaunchNS: 1e5}
		case how == "lesser" && q.Verb == verbMeasure:
			return reply{NS: make1(q.Samples, 1e5)}
		case how == "lacking" && q.Verb == verbPrepare:
			return reply{Error: "no such op", Unsupported: true}
		case q.Verb == verbPrepare:
			return reply{Version: "fake " + how, Checked: "all", LaunchNS: ns}
		case q.Verb == verbMeasure:
			return reply{NS: make1(q.Samples, ns)}
		}
		return reply{}
	}
}

func make1(n int, ns float64) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = ns
	}
	return out
}

func TestPeerThatDoesLessIsShownButIsNotTheBest(t *testing.T) {
	res, err := newBench(t).row(context.Background(), testRow(entry{role: ours, maker: "1000000"}, entry{role: peer, maker: "lesser"},
		entry{role: peer, maker: "1100000"}))
	if err != nil {
		t.Fatal(err)
	}
	if res.Peers[0].Name != "1100000" || res.Ratio.Median != 1.1 || len(res.Peers) != 2 || res.Peers[1].Lesser != "saturates" {
		t.Errorf("peers %+v, ratio %+v", res.Peers, res.Ratio)
	}
}

func TestVerdictLetsNoWrongOutputThrough(t *testing.T) {
	bad := func(phase string) *record.Mismatch { return &record.Mismatch{Tensor: "c", Phase: phase} }
	for _, c := range []struct {
		name         string
		v            record.Verification
		peer         bool
		fine, lesser bool
	}{
		{"passed", record.Verification{Passed: true}, false, true, false},
		{"wrong", record.Verification{Mismatch: &record.Mismatch{Phase: "random", Bound: 1e-6}, IntegerTest: "exact"}, true, false, false},
		{"other bits, ours", record.Verification{Mismatch: bad("repeat")}, false, false, false},
		{"other bits, a peer", record.Verification{Mismatch: bad("repeat")}, true, true, false},
		{"padding of a peer", record.Verification{Mismatch: bad("padding"), IntegerTest: "exact"}, true, false, false},
		{"saturates, a peer", record.Verification{Mismatch: bad("random"), IntegerTest: "exact"}, true, true, true},
		{"saturates, ours", record.Verification{Mismatch: bad("random"), IntegerTest: "exact"}, false, false, false},
		{"small integers wrong", record.Verification{Mismatch: bad("integer"), IntegerTest: "exact"}, true, false, false},
	} {
		checked, lesser, err := verdict(c.v, c.peer)
		if (err == nil) != c.fine || (checked != "") != c.fine || (lesser != "") != c.lesser {
			t.Errorf("%s: %q, %q, %v", c.name, checked, lesser, err)
		}
	}
}

// newBench opens contenders that are named by how they behave.
func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{settings: settings{Rounds: 7, Budget: time.Minute, Pilot: 2, Sample: time.Millisecond, Keep: 1.2, KeepMax: 3, Patient: time.Minute},
		steal: func() (int64, error) { return 0, errors.New("none here") }, cpus: 1, cores: 2, wait: func(int) time.Duration { return 0 }, now: time.Now,
		running: map[string]contender{}, Missing: map[string]error{}, versions: map[string]string{}}
	b.open = func(how string, _ int) (contender, error) {
		if how == "absent" {
			return nil, errors.New("not installed")
		}
		return start([]string{os.Args[0]}, []string{fakeEnv + "=" + how})
	}
	t.Cleanup(b.close)
	return b
}

func testRow(entries ...entry) row {
	for i := range entries {
		entries[i].seat = fmt.Sprint("seat ", i)
		if entries[i].name == "" {
			entries[i].name = entries[i].maker
		}
	}
	return row{group: "g", label: "l", op: "gemm", dtype: record.FP32, params: params("m=8,n=8,k=8"), threads: 1, metric: "gflops", entries: entries}
}

func TestRowComparesWithTheBestPeerAndTheProbe(t *testing.T) {
	b := newBench(t)
	res, err := b.row(context.Background(), testRow(
		entry{role: probe, maker: "500000", limit: compute, work: 1e6, probeWork: 1e6},
		entry{role: ours, maker: "1000000"},
		entry{role: peer, maker: "2000000"},
		entry{role: peer, maker: "1500000"},
		entry{role: peer, maker: "1600000"},
		entry{role: peer, maker: "lacking"},
		entry{role: peer, maker: "absent"}))
	if err != nil {
		t.Fatal(err)
	}
	if res.Ratio == nil || *res.Ratio != (interval{1.5, 1.5, 1.5}) || res.Peers[0].Name != "1500000" {
		t.Errorf("ratio %+v to %s, want 1.5 to 1500000", res.Ratio, res.Peers[0].Name)
	}
	if res.OfProbe == nil || *res.OfProbe != (interval{0.5, 0.5, 0.5}) {
		t.Errorf("of the probe %+v, want 0.5", res.OfProbe)
	}
	if res.againstPeer() != faster || len(res.Peers) != 3 || len(res.Refused) != 0 || res.StealShare != -1 {
		t.Errorf("%s, peers %d, refused %v, steal %v", res.againstPeer(), len(res.Peers), res.Refused, res.StealShare)
	}
	for name, want := range map[string]struct {
		rounds int
		pilot  bool
	}{"1500000": {7, false}, "1600000": {7, false}, "2000000": {2, true}} {
		for _, p := range res.Peers {
			if p.Name == name && (p.Rounds != want.rounds || p.Pilot != want.pilot) {
				t.Errorf("%s: %d rounds, pilot only %v; want %+v", name, p.Rounds, p.Pilot, want)
			}
		}
	}
	if b.Missing["absent"] == nil {
		t.Error("the library that is not installed is not reported")
	}
	if want := "cpu/gemm/fp32/m=8,n=8,k=8/threads=1/hot"; res.ID != want {
		t.Errorf("id %q, want %q", res.ID, want)
	}
}

func TestRoundsOnOneCoreAreTakenAgain(t *testing.T) {
	for _, c := range []struct {
		how       string
		threads   int
		best      float64
		repeats   int
		disturbed int // of seven rounds and two pilots
	}{
		{"1e6 shared 0", 2, 1e6, 0, 0},
		{"1e6 shared 3", 2, 1e6, 3, 0},
		{"1e6 shared 3", 1, 2e6, 0, 0},                       // one thread has no other beside it
		{"1e6 shared 3", 4, 2e6, 0, 0},                       // more threads than cores
		{"1e6 shared 1000", 2, 2e6, measure.MostReplaced, 9}, // for good
	} {
		r := testRow(entry{role: ours, maker: c.how}, entry{role: peer, maker: "1100000"})
		r.threads = c.threads
		res, err := newBench(t).row(context.Background(), r)
		if err != nil {
			t.Fatal(err)
		}
		if res.Ours.NS.Median != c.best || res.Ours.Repeats != c.repeats || res.Ours.Disturbed != c.disturbed {
			t.Errorf("%s, %d threads: %v ns, %d repeats, %d disturbed; want %v, %d, %d", c.how, c.threads, res.Ours.NS.Median, res.Ours.Repeats, res.Ours.Disturbed, c.best, c.repeats, c.disturbed)
		}
	}
}

func TestRowsOfOtherThreadCountsKeepTheirPlace(t *testing.T) {
	d := document{rows: []result{{Threads: 2}, {Threads: 1}, {Threads: 2}}}
	if got := fmt.Sprint(d.threads([]int{4, 1})); got != "[1 2 4]" {
		t.Errorf("thread counts %s", got)
	}
}

func TestBadContendersAreRefusedAndTheRestGoesOn(t *testing.T) {
	var res result
	for patient := 3 * time.Second; ; patient *= 5 { // a starved contender answers late too, and the one that hangs does with any patience
		b := newBench(t)
		b.Patient = patient
		var err error
		res, err = b.row(context.Background(), testRow(entry{role: ours, maker: "1000000"}, entry{role: peer, maker: "wrong"},
			entry{role: peer, maker: "crash"}, entry{role: peer, maker: "hang"}, entry{role: peer, maker: "unchecked"}, entry{role: peer, maker: "1100000"}))
		late := err != nil && strings.Contains(err.Error(), "too long")
		if err == nil {
			for name, why := range res.Refused {
				late = late || name != "hang" && strings.Contains(why, "too long")
			}
		}
		if late && patient < time.Minute {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		break
	}
	for name, want := range map[string]string{"wrong": "wrong output", "crash": "process ended", "hang": "too long", "unchecked": "not checked"} {
		if !strings.Contains(res.Refused[name], want) {
			t.Errorf("%s: refused with %q, want %q in it", name, res.Refused[name], want)
		}
	}
	if len(res.Peers) != 1 || res.Peers[0].Name != "1100000" {
		t.Errorf("peers %+v, want 1100000 alone", res.Peers)
	}
}

func TestOursMustBeThere(t *testing.T) {
	b := newBench(t)
	_, err := b.row(context.Background(), testRow(entry{role: ours, maker: "wrong"}, entry{role: peer, maker: "1000"}))
	if err == nil || !strings.Contains(err.Error(), "wrong output") {
		t.Errorf("error %v, want one that says that ours is wrong", err)
	}
}

// drifting contenders slow down together, so that only the ratio within a round tells.
type drifting struct {
	ns    float64
	round *float64
}

func (d drifting) Ask(_ context.Context, q request) (reply, error) {
	r := reply{Checked: "all", LaunchNS: 1e6}
	for range q.Samples {
		*d.round *= 1.01
		r.NS = append(r.NS, d.ns**d.round)
	}
	return r, nil
}
func (drifting) Close() {}

func TestRatioComesFromAdjacentRounds(t *testing.T) {
	b := newBench(t)
	clock := 1.0
	b.open = func(how string, _ int) (contender, error) {
		return drifting{map[string]float64{"a": 1e6, "b": 1.2e6}[how], &clock}, nil
	}
	res, err := b.row(context.Background(), testRow(entry{role: ours, maker: "a"}, entry{role: peer, maker: "b"}))
	if err != nil {
		t.Fatal(err)
	}
	if math.Abs(res.Ratio.Median-1.2) > 0.02 {
		t.Errorf("ratio %.3f of contenders that drift together, want 1.2", res.Ratio.Median)
	}
}

// busy answers as if other processes had its CPUs in its first samples.
type busy struct{ left *int }

func (d busy) Ask(_ context.Context, q request) (reply, error) {
	r := reply{Checked: "all", LaunchNS: 1e6}
	for range q.Samples {
		r.NS = append(r.NS, 1e6)
	}
	if q.Verb == verbMeasure && *d.left > 0 {
		*d.left--
		r.WaitedNS = 1e9
		for i := range r.NS {
			r.NS[i] *= 3
		}
	}
	return r, nil
}
func (busy) Close() {}

func TestDisturbedSamplesAreTakenAgain(t *testing.T) {
	for _, c := range []struct{ left, repeats, disturbed int }{{0, 0, 0}, {2, 2, 0}, {4, 3, 1}} {
		b := newBench(t)
		l := &lane{c: busy{&c.left}, launches: 1, samples: 5}
		ns, err := b.sample(context.Background(), l, 1)
		if err != nil || (ns == 1e6) != (c.disturbed == 0) || l.repeats != c.repeats || l.disturbed != c.disturbed {
			t.Errorf("%+v: %v ns, %d repeats, %d disturbed, %v", c, ns, l.repeats, l.disturbed, err)
		}
	}
}

func TestLongLaunchesHaveFewerRounds(t *testing.T) {
	b := newBench(t)
	b.Rounds, b.Budget, b.Idle = 25, 10*time.Second, 0
	for ms, want := range map[float64]int{1: 25, 100: 10, 1000: leastRounds} {
		l := &lane{rep: reply{LaunchNS: ms * 1e6}, launches: 1, samples: 9}
		if got := b.rounds([]*lane{l}); got != want {
			t.Errorf("%v ms a launch: %d rounds, want %d", ms, got, want)
		}
	}
}

func TestIntervalsAreExactOrderStatistics(t *testing.T) {
	// Ranks from the binomial distribution: of 7, the 1st and 7th enclose the median with 98.4 %;
	// of 9, the 2nd and 8th with 96.1 %; of 15, the 4th and 12th with 96.5 %.
	for n, k := range map[int]int{3: 1, 6: 1, 7: 1, 8: 1, 9: 2, 12: 3, 15: 4} {
		var xs []float64
		for i := n; i > 0; i-- {
			xs = append(xs, float64(i))
		}
		got, err := summarize(xs)
		if want := (interval{float64(n+1) / 2, float64(k), float64(n + 1 - k)}); err != nil || got != want {
			t.Errorf("n=%d: %+v, %v; want %+v", n, got, err, want)
		}
	}
	for _, bad := range [][]float64{nil, {1, math.NaN()}, {1, math.Inf(1)}} {
		if _, err := summarize(bad); err == nil {
			t.Errorf("%v was summarized", bad)
		}
	}
}

func TestFloorsTakeTheFastestProbeOfALimitAndTheTighterLimit(t *testing.T) {
	probes := []lane{
		{entry: entry{limit: memory, work: 100, probeWork: 10}, ns: []float64{1, 1}},   // 10 a ns: 10 ns
		{entry: entry{limit: memory, work: 100, probeWork: 10}, ns: []float64{2, 0.5}}, // 5, 20: 20 ns, 5 ns
		{entry: entry{limit: compute, work: 7, probeWork: 1}, ns: []float64{1, 1}},     // 7 ns
	}
	if got := floors(probes, 2); got[0] != 10 || got[1] != 7 {
		t.Errorf("floors %v, want [10 7]", got)
	}
}

// An adapter with a planted fault is built here and must be refused by the verifier; without
// the fault the same adapter is timed.
func TestPeerWithWrongOutputIsRefused(t *testing.T) {
	cc := os.Getenv("CC")
	if cc == "" {
		cc = "gcc"
	}
	if _, err := exec.LookPath(cc); err != nil {
		t.Skip("no C compiler to build the adapter with")
	}
	dir := t.TempDir()
	for _, c := range []struct{ fault, want string }{{"0", ""}, {"1", "wrong output"}, {"2", "padding"}} {
		so := filepath.Join(dir, "peer"+c.fault+".so")
		args := append(strings.Fields(cc)[1:], "-shared", "-fPIC", "-O1", "-DFAULT="+c.fault, "-I../../native/include", "-I../../scripts/peers.d",
			"-o", so, "testdata/peer.c")
		if out, err := exec.Command(strings.Fields(cc)[0], args...).CombinedOutput(); err != nil {
			t.Skipf("build the adapter: %v\n%s", err, out)
		}
		r := askPeer(t, so, request{Verb: verbPrepare, Op: "gemm", DType: record.FP32, Params: params("m=17,n=19,k=23"), Variant: "plain"})
		switch {
		case c.want == "" && (r.Error != "" || r.Checked == "" || r.Version != "test peer" || r.Kernel != "finished"):
			t.Errorf("fault %s: %+v, want a checked answer", c.fault, r)
		case !strings.Contains(r.Error, c.want):
			t.Errorf("fault %s: error %q, want %q in it", c.fault, r.Error, c.want)
		}
	}
}

// offBy is a requantised convolution whose every byte is wrong by the same distance.
type offBy struct {
	backend.Executable
	in *op.Inputs
	o  *op.Conv
	by float64
}

func (offBy) Fill(bool, int) error { return nil }
func (offBy) Run(int) error        { return nil }
func (e offBy) Read(_ string, first, _ int64, dst []float64) error {
	dst[0] = op.Round(record.INT8, e.o.Expect(e.in, 3, first).Value) + e.by
	return nil
}

func TestAPeerThatLosesBitsOfBytesIsShownButFarOnesAreNot(t *testing.T) {
	built, err := op.Builtin().New("conv2d", params("n=1,c=8,h=6,w=6,k=9,requant=1"), record.INT8)
	if err != nil {
		t.Fatal(err)
	}
	o, p := built.(*op.Conv), op.Single(built)
	for by, fine := range map[float64]bool{1: true, -3: true, coarsest: true, coarsest + 1: false, -200: false} {
		checked, lesser, err := coarse(offBy{in: op.NewInputs(runner.Seed, false, p.Tensors), o: o, by: by}, p, o)
		if (err == nil) != fine || (checked != "") != fine || (lesser != "") != fine {
			t.Errorf("off by %g: %q, %q, %v", by, checked, lesser, err)
		}
	}
}

// askPeer asks an adapter in this process.
func askPeer(t *testing.T, so string, q request) reply {
	t.Helper()
	lib, err := openPeer(so, []int{-1}, native.New().Families)
	if err != nil {
		t.Fatal(err)
	}
	dev, err := (&native.Backend{Families: lib.families}).Open("cpu", backend.OpenOptions{CPUs: []int{-1}})
	if err != nil {
		t.Fatal(err)
	}
	c := &nativeContender{dev: dev, lib: lib}
	defer func() { c.release(); _ = dev.Close() }()
	return c.answer(q)
}

func TestTheLimitIsThePeakThatTheOpsKernelsMayReach(t *testing.T) {
	amd := []plan.Peak{{ISA: "avx512", DType: record.INT8}, {ISA: "avx512vnni", DType: record.U8S8}, {ISA: "avx512", DType: record.FP32}}
	cove := []plan.Peak{{ISA: "avx512", DType: record.FP32}, {ISA: "avx512fp16", DType: record.FP16}, {ISA: "avx512bf16", DType: record.BF16}}
	tiles := append([]plan.Peak{{ISA: "amx", DType: record.FP16}, {ISA: "amx", DType: record.BF16}}, cove...)
	for _, c := range []struct {
		name  string
		dtype record.DType
		acc   string
		peaks []plan.Peak
		want  []string
	}{
		{"signed bytes by instructions for unsigned ones", record.INT8, "", amd, []string{"avx512vnni u8s8 peak"}},
		{"signed bytes", record.INT8, "", amd[:1], []string{"avx512 int8 peak"}},
		{"signed bytes widened", record.INT8, "", amd[2:], []string{"avx512 fp32 peak"}},
		{"fp32", record.FP32, "", cove, []string{"avx512 fp32 peak"}},
		{"bf16 may be widened", record.BF16, "", cove, []string{"avx512bf16 bf16 peak", "avx512 fp32 peak"}},
		{"fp16 sums are too coarse", record.FP16, "", cove, []string{"avx512 fp32 peak"}},
		{"fp16 sums allowed", record.FP16, "fp16", cove, []string{"avx512fp16 fp16 peak", "avx512 fp32 peak"}},
		{"fp16 tiles", record.FP16, "", tiles, []string{"amx fp16 peak"}},
		{"bf16 tiles", record.BF16, "", tiles, []string{"amx bf16 peak"}},
	} {
		p := map[string]string{"m": "8", "n": "8", "k": "8"}
		if c.acc != "" {
			p["acc"] = c.acc
		}
		o, err := op.Builtin().New("gemm", p, c.dtype)
		if err != nil {
			t.Fatal(err)
		}
		probes, err := probesOf(compute, o, c.dtype, c.peaks, 1)
		var got []string
		for _, e := range probes {
			got = append(got, e.name)
		}
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %q %v, want %q", c.name, got, err, c.want)
		}
	}
}

func TestFlagsThatMakeNoSenseAreUsageErrors(t *testing.T) {
	for _, args := range [][]string{{"-nonsense"}, {"-rounds", "2"}, {"-only", "("}, {"-with", "("}, {"-threads", "x"}, {"-threads", "1", "-only", "no such row"}} {
		if err := run(args); err == nil || exitCode(err) != 2 {
			t.Errorf("%q: %v, exit code %d; want an error and 2", args, err, exitCode(err))
		}
	}
	if got := exitCode(errors.New("the measurement failed")); got != 1 {
		t.Errorf("another error: exit code %d, want 1", got)
	}
}
