package plan

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ridge/goharness/ceiling"
	"ridge/goharness/op"
	"ridge/goharness/record"
)

var update = flag.Bool("update", false, "rewrite the golden list of ids")

// host is a fictitious machine: two AVX2 cores with 32 KiB L1 and 512 KiB L2 each, 32 MiB L3.
func host(change func(*Options)) Options {
	o := Options{Device: "cpu", Threads: 2, Ops: op.Builtin(), LLC: 32 << 20, Memory: 16 << 30,
		Levels:  []ceiling.Level{{Name: "L1", Capacity: 64 << 10}, {Name: "L2", Capacity: 1 << 20}, {Name: "L3", Capacity: 32 << 20}, {Name: "DRAM"}},
		Levels1: []ceiling.Level{{Name: "L1", Capacity: 32 << 10}, {Name: "L2", Capacity: 512 << 10}, {Name: "L3", Capacity: 32 << 20}, {Name: "DRAM"}},
		Peaks:   []Peak{{ISA: "portable", DType: record.FP32}, {ISA: "avx2", DType: record.FP32}, {ISA: "avx2", DType: record.FP64}}}
	if change != nil {
		change(&o)
	}
	return o
}

func build(t *testing.T, change func(*Options)) Plan {
	t.Helper()
	p, err := Build(host(change))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// all cases of a plan, probes first.
func all(p Plan) []record.Case {
	var out []record.Case
	for _, x := range p.Probes {
		out = append(out, x.Case)
	}
	return append(out, p.Cases...)
}

func TestIdsAreUniqueCanonicalAndGiveTheirCaseBack(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*Options)
	}{
		{"full", nil},
		{"quick", func(o *Options) { o.Quick = true }},
		{"cold", func(o *Options) { o.Mode = record.Cold }},
		{"one thread", func(o *Options) { o.Threads = 1 }},
		{"batches", func(o *Options) { o.Batches = []int64{1, 8} }},
		{"forced kernel", func(o *Options) { o.Kernel = "gemm_fp32_portable" }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			o := host(tc.change)
			p := build(t, tc.change)
			seen := map[string]bool{}
			for _, c := range all(p) {
				if seen[c.ID] {
					t.Errorf("%s is planned twice", c.ID)
				}
				seen[c.ID] = true
			}
			for _, c := range all(p) {
				id, err := record.ParseCaseID(c.ID)
				if err != nil || id.String() != c.ID {
					t.Fatalf("%s: parsed %v, error %v", c.ID, id, err)
				}
				if c.Unsupported || c.Program.Op == "" {
					continue
				}
				back, err := FromID(o.Ops, c.ID)
				if err != nil {
					t.Fatal(err)
				}
				a, err := o.Ops.New(c.Program.Op, c.Program.Params, c.Program.DType)
				if err != nil {
					t.Fatal(err)
				}
				b, err := o.Ops.New(back.Program.Op, back.Program.Params, back.Program.DType)
				if err != nil {
					t.Fatal(err)
				}
				if back.ID != c.ID || !reflect.DeepEqual(a.Params(), b.Params()) || back.Threads != c.Threads || back.Mode != c.Mode ||
					back.Program.Kernel != c.Program.Kernel || back.Device != c.Device {
					t.Fatalf("%s became %+v", c.ID, back)
				}
			}
		})
	}
}

func TestTwoSizesAreTwoCases(t *testing.T) {
	ops := op.Builtin()
	var ids []string
	for _, n := range []string{"64", "128"} {
		c, err := NewCase(ops, "cpu", record.ProgramRef{Op: "gemm", DType: record.FP32, Params: map[string]string{"m": n, "n": "64", "k": "64"}}, 1, record.Hot)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, c.ID)
	}
	if ids[0] == ids[1] {
		t.Errorf("both sizes are %s", ids[0])
	}
}

// Two spellings of a case have one id: defaults left out, numbers without leading zeros.
func TestOneCaseHasOneId(t *testing.T) {
	ops := op.Builtin()
	var want string
	for _, params := range []map[string]string{
		{"access": "read", "bytes": "4096"}, {"access": "read", "bytes": "4096", "passes": "1"}, {"access": "read", "bytes": "04096", "passes": "01"},
	} {
		c, err := NewCase(ops, "cpu", record.ProgramRef{Op: "bandwidth", DType: record.FP32, Params: params}, 2, record.Hot)
		if err != nil {
			t.Fatal(err)
		}
		if want == "" {
			want = c.ID
		}
		if c.ID != want {
			t.Errorf("%v is %s, want %s", params, c.ID, want)
		}
	}
	if want != "cpu/bandwidth/fp32/access=read,bytes=4096/threads=2/hot" {
		t.Error(want)
	}
}

func TestTheQuickPlansIdsNeverChange(t *testing.T) {
	var b strings.Builder
	for _, c := range all(build(t, func(o *Options) { o.Quick = true })) {
		fmt.Fprintln(&b, c.ID)
	}
	golden := filepath.Join("testdata", "quick-ids.txt")
	if *update {
		if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got := b.String(); got != string(want) {
		gl, wl := strings.Split(got, "\n"), strings.Split(string(want), "\n")
		for i := range min(len(gl), len(wl)) {
			if gl[i] != wl[i] {
				t.Fatalf("line %d of %d is %q, the golden list of %d has %q: ids are stable for ever, new cases need -update", i+1, len(gl), gl[i], len(wl), wl[i])
			}
		}
		t.Fatalf("%d ids, the golden list has %d", len(gl), len(wl))
	}
}

func TestSelectionsKeepWhatWasAskedFor(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*Options)
		keep   func(record.Case) bool
	}{
		{"a suite", func(o *Options) { o.Operations = []string{"stream"} }, func(c record.Case) bool { return c.Suite == "stream" }},
		{"an op", func(o *Options) { o.Operations = []string{"stream_triad"} }, func(c record.Case) bool { return c.Program.Op == "stream_triad" }},
		{"a precision", func(o *Options) { o.Precisions = []record.DType{record.FP64} }, func(c record.Case) bool { return c.Program.DType == record.FP64 }},
		{"int8 means both forms", func(o *Options) { o.Precisions = []record.DType{record.INT8} }, func(c record.Case) bool {
			return c.Program.DType == record.INT8 || c.Program.DType == record.U8S8
		}},
		{"batches", func(o *Options) { o.Operations, o.Batches = []string{"attention"}, []int64{3} }, func(c record.Case) bool {
			return c.Batch == 3 && strings.Contains(c.ID, "b=3") || c.Unsupported
		}},
		{"probes only", func(o *Options) { o.ProbesOnly = true }, func(record.Case) bool { return false }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := build(t, tc.change)
			if len(p.Cases) == 0 && tc.name != "probes only" {
				t.Fatal("nothing is left")
			}
			for _, c := range p.Cases {
				if !tc.keep(c) {
					t.Errorf("%s was not asked for", c.ID)
				}
			}
		})
	}
	for _, tc := range []struct {
		name   string
		change func(*Options)
		want   string
	}{
		{"unknown operation", func(o *Options) { o.Operations = []string{"gemmm"} }, `unknown operation "gemmm": expected a suite (gemm`},
		{"unknown precision", func(o *Options) { o.Precisions = []record.DType{"fp31"} }, `unknown precision "fp31"`},
		{"unknown mode", func(o *Options) { o.Mode = "tepid" }, `mode "tepid": expected hot or cold`},
		{"no threads", func(o *Options) { o.Threads = 0 }, "0 threads"},
		{"an op that is not registered", func(o *Options) { o.Ops = op.NewRegistry(op.GemmSpec()); o.Operations = nil }, "is not registered"},
		{"a peak that does not exist", func(o *Options) { o.Peaks = []Peak{{ISA: "avx2", DType: record.FP16}} }, "isa=avx2 has no probe at fp16"},
	} {
		if _, err := Build(host(tc.change)); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: error %v, want %q", tc.name, err, tc.want)
		}
	}
}

func TestPrecisionsThatNoCPUHasAreRowsWithTheirReason(t *testing.T) {
	reasons := map[record.DType]string{}
	for _, c := range build(t, nil).Cases {
		if c.Unsupported {
			reasons[c.Program.DType] = c.SkipReason
		}
	}
	for d, want := range map[record.DType]string{record.TF32: "tensor-core", record.FP8E4M3: "no CPU instruction", record.FP8E5M2: "no CPU instruction", record.INT4: "unpacked to int8"} {
		if !strings.Contains(reasons[d], want) {
			t.Errorf("%s: reason %q, want %q", d, reasons[d], want)
		}
	}
	for d := range reasons {
		if d == record.FP32 || d == record.BF16 || d == record.INT8 {
			t.Errorf("%s is listed as unsupported: %s", d, reasons[d])
		}
	}
}

// Short sums in fp16 are measured where an instruction set has them, and not as a second row of the same kernel elsewhere.
func TestShortSumsAreMeasuredWhereTheirInstructionsAre(t *testing.T) {
	for _, isa := range []string{"avx2", "avx512fp16"} {
		n, d := 0, record.FP32
		if isa == "avx512fp16" {
			d = record.FP16
		}
		for _, c := range build(t, func(o *Options) { o.Peaks = []Peak{{ISA: isa, DType: d}} }).Cases {
			if c.Program.Params["acc"] == "fp16" {
				n++
			}
		}
		if want := map[string]int{"avx2": 0, "avx512fp16": 2}[isa]; n != want {
			t.Errorf("%s: %d cases with acc=fp16, want %d", isa, n, want)
		}
	}
}

// What a GPU lacks has no reason of a CPU.
func TestPrecisionsThatAreMissingOnAGPUSayNothingOfCPUs(t *testing.T) {
	n := 0
	for _, c := range build(t, func(o *Options) { o.Device = "cuda:0" }).Cases {
		if c.Unsupported {
			if n++; c.SkipReason != "ridge has no "+string(c.Program.DType)+" form of this op" {
				t.Errorf("%s: %q", c.ID, c.SkipReason)
			}
		}
	}
	if n == 0 {
		t.Error("no precision is missing: fp8_e5m2 and int4 have no kernels")
	}
}

func TestCasesBeyondTheMemoryAreSkippedWithTheirNeed(t *testing.T) {
	skipped := 0
	for _, c := range build(t, func(o *Options) { o.Memory = 1 << 30 }).Cases {
		if c.Unsupported {
			continue
		}
		o, err := op.Builtin().New(c.Program.Op, c.Program.Params, c.Program.DType)
		if err != nil {
			t.Fatal(err)
		}
		need := op.Single(o).StorageBytes()
		if over := need > (1<<30)/10*8; over != (c.SkipReason != "") || over && !strings.Contains(c.SkipReason, strconv.FormatInt(need, 10)) {
			t.Errorf("%s needs %d bytes: %q", c.ID, need, c.SkipReason)
		}
		if c.SkipReason != "" {
			skipped++
		}
	}
	if skipped == 0 {
		t.Error("no case needs more than 800 MB")
	}
}

func TestProbesLoadEveryThread(t *testing.T) {
	for _, p := range build(t, nil).Probes {
		if p.Case.Program.Op != "peak" {
			continue
		}
		o, err := op.Builtin().New("peak", p.Case.Program.Params, p.Case.Program.DType)
		if err != nil {
			t.Fatal(err)
		}
		if got := o.(*op.Peak).Chunks(); got != int64(p.Case.Threads) {
			t.Errorf("%s has %d chunks of work for %d threads", p.Case.ID, got, p.Case.Threads)
		}
	}
}

func TestDRAMIsProbedFromFourTimesTheLastLevelCache(t *testing.T) {
	for _, llc := range []int64{32 << 20, 256 << 20, 384<<20 + 12345} {
		p := build(t, func(o *Options) { o.LLC = llc; o.Memory = 64 << 30 })
		found := 0
		for _, x := range p.Probes {
			if x.Ceiling.Level != "DRAM" {
				continue
			}
			found++
			o, err := op.Builtin().New(x.Case.Program.Op, x.Case.Program.Params, x.Case.Program.DType)
			if err != nil {
				t.Fatal(err)
			}
			if ws := op.Single(o).WorkingSet(); ws < 4*llc {
				t.Errorf("%s: working set %d is less than four times %d", x.Case.ID, ws, llc)
			}
			// What a launch touches: what launches touch again and again would stay in the caches however large the buffer is. Those of a
			// chase go on where the last one ended.
			if o.Bytes() < 4*llc && o.Name() != "chase" {
				t.Errorf("%s: a launch touches %d bytes, less than four times %d", x.Case.ID, o.Bytes(), llc)
			}
		}
		if found < 2*len(Accesses)+1 {
			t.Errorf("LLC %d: %d DRAM probes", llc, found)
		}
	}
}

func TestDRAMFiguresThatCannotBeMeasuredSayWhy(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(*Options)
		want   string
	}{
		{"no cache size", func(o *Options) { o.LLC = 0; o.Levels, o.Levels1 = o.Levels[3:], o.Levels1[3:] }, "size of the last-level cache is unknown"},
		{"short memory", func(o *Options) { o.Memory = 300 << 20 }, "80 % of the free memory is 2516582"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			p := build(t, tc.change)
			ceilings, rows := map[string]bool{}, 0
			for _, x := range p.Probes {
				if x.Ceiling.Level == ceiling.DRAM {
					ceilings[fmt.Sprint(x.Ceiling.Kind, x.Ceiling.Access, x.Ceiling.Threads)] = true
				}
			}
			for _, c := range all(p) {
				if c.Level != ceiling.DRAM && !strings.HasPrefix(c.UseCase, "from DRAM") {
					continue
				}
				rows++
				if !strings.Contains(c.SkipReason, tc.want) {
					t.Errorf("%s: skip reason %q, want %q", c.ID, c.SkipReason, tc.want)
				}
			}
			if want := 2*(len(Accesses)+2) + 1; len(ceilings) != want || rows <= want {
				t.Errorf("%d DRAM ceilings of %d, %d cases", len(ceilings), want, rows)
			}
		})
	}
	if p := build(t, func(o *Options) { o.Memory = 300 << 20 }); len(p.Warnings) != 1 || !strings.Contains(p.Warnings[0], "ends at 2516582") {
		t.Errorf("a shortened sweep is not told: %q", p.Warnings)
	}
	if p := build(t, nil); len(p.Warnings) != 0 {
		t.Errorf("warnings without a cause: %q", p.Warnings)
	}
}

// Where the inner caches together hold what a probe could use of the outer one, its figure
// would be theirs.
func TestALevelBehindLargerInnerCachesIsNotProbed(t *testing.T) {
	for _, tc := range []struct {
		name    string
		threads int64
		l2, l3  int64
		skipped bool
	}{
		{"Zen 3, 8 cores", 8, 512 << 10, 32 << 20, false},
		{"56 cores with 2 MiB each beside 105 MiB", 56, 2 << 20, 105 << 20, true},
		{"28 cores with 1 MiB each beside 38.5 MiB", 28, 1 << 20, 77 << 19, true},
		{"one core of these", 1, 2 << 20, 105 << 20, false},
	} {
		p := build(t, func(o *Options) {
			o.Threads, o.LLC, o.Memory = int(tc.threads), tc.l3, 64<<30
			o.Levels = []ceiling.Level{{Name: "L1", Capacity: tc.threads * 48 << 10}, {Name: "L2", Capacity: tc.threads * tc.l2}, {Name: "L3", Capacity: tc.l3}, {Name: "DRAM"}}
			o.Levels1 = []ceiling.Level{{Name: "L1", Capacity: 48 << 10}, {Name: "L2", Capacity: tc.l2}, {Name: "L3", Capacity: tc.l3}, {Name: "DRAM"}}
		})
		seen := 0
		for _, x := range p.Probes {
			if x.Ceiling.Level != "L3" || x.Sweep || x.Ceiling.Threads != int(tc.threads) {
				continue
			}
			seen++
			if got := strings.Contains(x.Case.SkipReason, "inner caches"); got != tc.skipped {
				t.Errorf("%s: %s: skip reason %q", tc.name, x.Case.ID, x.Case.SkipReason)
			}
		}
		if seen < len(Accesses) {
			t.Errorf("%s: %d L3 ceilings", tc.name, seen)
		}
	}
}

// The buffers of the latency launches over sets beyond the last-level cache take long to fill: a quick run has few of them.
func TestTheQuickSweepWalksFewLargeBuffers(t *testing.T) {
	for _, quick := range []bool{true, false} {
		p := build(t, func(o *Options) { o.Quick = quick })
		large := 0
		for _, x := range p.Probes {
			if n, _ := strconv.ParseInt(x.Case.Program.Params["bytes"], 10, 64); x.Case.Program.Op == "chase" && n > 32<<20 {
				large++
			}
		}
		if quick && large != 2 || !quick && large < 6 {
			t.Errorf("quick %v: %d latency points beyond the last-level cache", quick, large)
		}
	}
}

func TestALongWalkHasTheBudgetForSeveralLaunches(t *testing.T) {
	for _, x := range build(t, func(o *Options) { o.Quick = true }).Probes {
		if x.Ceiling.Kind != record.CeilingLatency || x.Ceiling.Level != ceiling.DRAM {
			continue
		}
		steps, err := strconv.ParseInt(x.Case.Program.Params["steps"], 10, 64)
		if err != nil || steps < 1<<19 || x.Case.BudgetNS < 7*steps*100 {
			t.Errorf("%s: %d ns for launches of %d loads, %v", x.Case.ID, x.Case.BudgetNS, steps, err)
		}
	}
}

func TestTheDRAMTriadIsAskedAtOneThreadToo(t *testing.T) {
	for _, quick := range []bool{true, false} {
		threads := map[string][]int{}
		for _, c := range build(t, func(o *Options) { o.Quick = quick }).Cases {
			if c.Program.Op == "stream_triad" && strings.HasPrefix(c.UseCase, "from DRAM") {
				key := fmt.Sprint(c.Program.DType, c.Program.Params["n"])
				threads[key] = append(threads[key], c.Threads)
			}
		}
		if len(threads) != 2 {
			t.Errorf("quick %v: triads %v, want fp32 and fp64", quick, threads)
		}
		for k, n := range threads {
			if !slices.Equal(n, []int{2, 1}) {
				t.Errorf("quick %v: %s at %v threads", quick, k, n)
			}
		}
	}
}

func TestEveryPrecisionsPeakAndTheDRAMTrafficAreMainProbes(t *testing.T) {
	want := map[string]bool{"read": true, "triad": true, "nt_triad": true}
	for _, x := range build(t, nil).Probes {
		main := x.Ceiling.Kind == record.CeilingCompute || x.Ceiling.Level == ceiling.DRAM && want[x.Ceiling.Access]
		if x.Main != main {
			t.Errorf("%s: main %v, want %v", x.Case.ID, x.Main, main)
		}
	}
}

func TestProbesKeepTheirOwnEffort(t *testing.T) {
	for _, p := range build(t, func(o *Options) { o.Mode, o.Trials, o.Warmup, o.Kernel = record.Cold, 1, 1, "gemm_fp32_portable" }).Probes {
		if c := p.Case; c.Mode != record.Hot || c.Trials != 0 || c.Program.Kernel != "" || !strings.HasSuffix(c.ID, "/hot") {
			t.Errorf("%s: mode %s, %d trials, kernel %q", c.ID, c.Mode, c.Trials, c.Program.Kernel)
		}
	}
}

func TestSVEWithoutItsVectorLengthIsSkippedWithTheReason(t *testing.T) {
	for bits, want := range map[int]string{0: "length of the SVE vectors", 256: ""} {
		p := build(t, func(o *Options) { o.Peaks = []Peak{{ISA: "sve", DType: record.FP32, VL: bits}} })
		c := p.Probes[slices.IndexFunc(p.Probes, func(p Probe) bool { return p.Ceiling.ISA == "sve" })].Case
		if !strings.Contains(c.SkipReason, want) || (want == "") != (c.SkipReason == "") {
			t.Errorf("%d bits: skip reason %q", bits, c.SkipReason)
		}
	}
}
