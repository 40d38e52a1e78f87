//go:build cgo && linux

package vendor_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ridge/goharness/backend"
	"ridge/goharness/campaign"
	"ridge/goharness/ceiling"
	"ridge/goharness/fusion"
	"ridge/goharness/op"
	"ridge/goharness/plan"
	"ridge/goharness/record"
	"ridge/goharness/runner"
	"ridge/native"
	"ridge/native/vendor"
)

// TestMain lets the test binary be a worker: a library is opened in a process of its own.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "worker" {
		native.PrepareWorker()
		err := runner.ServeProcess(&runner.Server{Backends: []backend.Backend{native.New()}, Ops: op.Builtin(), Affinity: "none", Host: anywhere{},
			Patterns: func(ref record.ProgramRef) (op.Program, error) { return fusion.Program(fusion.Builtin(), ref) }})
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// anywhere is a host whose threads are pinned nowhere, so that tests need no second CPU.
type anywhere struct{}

func (anywhere) CPUs(n int, _ string) ([]int, error) {
	out := make([]int, max(1, n))
	for i := range out {
		out[i] = -1
	}
	return out, nil
}
func (anywhere) FreeMemory() (int64, string, error) { return 1 << 40, "nothing", nil }
func (anywhere) LLCBytes() int64                    { return 0 }
func (anywhere) LLCReached([]int) int64             { return 0 }
func (anywhere) StealNS() (int64, error)            { return 0, nil }
func (anywhere) Fill(*record.Conditions)            {}

// built compiles a stand-in of testdata under the name of a library.
func built(t *testing.T, source, name string, macros ...string) string {
	t.Helper()
	dir := t.TempDir()
	cc := os.Getenv("CC")
	if cc == "" {
		cc = "cc"
	}
	args := []string{"-O1", "-shared", "-fPIC", "-o", filepath.Join(dir, name), filepath.Join("testdata", source), "-lm", "-lpthread"}
	for _, m := range macros {
		args = append(args, "-D"+m)
	}
	if out, err := exec.Command(cc, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s", cc, err, out)
	}
	return dir
}

// launch starts this binary as a worker that finds libraries in dir first. Under an emulator that
// stands in for the processor a binary cannot start itself.
func launch(t *testing.T, dir string) runner.Launcher {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := exec.Command(self, "-test.run=^$").Run(); err != nil {
		t.Skipf("this test binary cannot start itself: %v", err)
	}
	return runner.Process([]string{self, "worker"}, []string{backend.LibraryPathVariable + "=" + dir})
}

func TestAnUnusableLibraryIsRefusedWithItsReason(t *testing.T) {
	for name, c := range map[string]struct {
		library, file, source string
		macros                []string
		threads               int
		want                  string
	}{
		"no file":                 {"onednn", "", "", nil, 1, "RIDGE_VENDOR_PATH may name its directory"},
		"not a library":           {"onednn", "libdnnl.so.3", "text", nil, 1, "invalid ELF header"},
		"another library":         {"onednn", "libdnnl.so.3", "fake_mkl.c", nil, 1, "lacks dnnl_version"},
		"the version before":      {"onednn", "libdnnl.so.2", "fake_dnnl.c", []string{"MAJOR=2"}, 1, "it is oneDNN 2.7.1; ridge speaks the interface of version 3"},
		"a version to come":       {"onednn", "libdnnl.so.3", "fake_dnnl.c", []string{"MAJOR=4"}, 1, "it is oneDNN 4.7.1"},
		"a missing function":      {"onednn", "libdnnl.so.3", "fake_dnnl.c", []string{"NO_SYMBOL"}, 1, "lacks dnnl_stream_wait"},
		"another threading":       {"onednn", "libdnnl.so.3", "fake_dnnl.c", []string{"RUNTIME=4"}, 2, "threading runtime 4"},
		"no threads for two":      {"onednn", "libdnnl.so.3", "fake_dnnl.c", []string{"RUNTIME=1"}, 2, "threading runtime 1"},
		"a status":                {"onednn", "libdnnl.so.3", "fake_dnnl.c", []string{"ENGINE_STATUS=1"}, 1, "out_of_memory (status 1)"},
		"a status nobody knows":   {"onednn", "libdnnl.so.3", "fake_dnnl.c", []string{"ENGINE_STATUS=77"}, 1, "unknown (status 77)"},
		"a crash":                 {"onednn", "libdnnl.so.3", "fake_dnnl.c", []string{"OPEN_CRASH"}, 1, "opening it failed: the worker was ended by SIGSEGV"},
		"a hang":                  {"onednn", "libdnnl.so.3", "fake_dnnl.c", []string{"OPEN_HANG"}, 1, "opening it failed: library did not end within"},
		"an old MKL":              {"mkl", "libmkl_rt.so.2", "fake_mkl.c", []string{"MAJOR=2019"}, 1, "it is MKL 2019.1.2; ridge knows the interface of 2021 to 2026"},
		"an MKL to come":          {"mkl", "libmkl_rt.so.3", "fake_mkl.c", []string{"MAJOR=2031"}, 1, "it is MKL 2031.1.2"},
		"an MKL without a symbol": {"mkl", "libmkl_rt.so.2", "fake_mkl.c", []string{"NO_SYMBOL"}, 1, "lacks MKL_Set_Num_Threads"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if c.source == "text" {
				if err := os.WriteFile(filepath.Join(dir, c.file), []byte(strings.Repeat("this is a text and no library at all\n", 99)), 0o755); err != nil {
					t.Fatal(err)
				}
			} else if c.source != "" {
				dir = built(t, c.source, c.file, c.macros...)
			}
			within := time.Minute
			if name == "a hang" {
				within = 3 * time.Second
			}
			r := &runner.Runner{Launch: launch(t, dir), Deadline: func(runner.Request, record.Case, *runner.Prepared) time.Duration { return within }}
			defer r.Close()
			v, err := r.Library(t.Context(), c.library, "cpu", c.threads)
			if err != nil {
				t.Fatal(err)
			}
			if c.source == "" && v.Unavailable == "" {
				t.Skip("this machine has a oneDNN where the loader looks")
			}
			if v.Version != "" || !strings.Contains(v.Unavailable, c.want) {
				t.Errorf("version %q, reason %q: want %q", v.Version, v.Unavailable, c.want)
			}
		})
	}
}

// kernelOf makes a case of one op with a forced kernel.
func kernelOf(t *testing.T, id string) record.Case {
	t.Helper()
	c, err := plan.FromID(op.Builtin(), id)
	if err != nil {
		t.Fatal(err)
	}
	c.Warmup, c.Trials = 1, 3
	return c
}

func TestEveryKernelOfALibraryIsVerifiedAndTimed(t *testing.T) {
	dirs := map[string]string{"onednn": built(t, "fake_dnnl.c", "libdnnl.so.3"), "mkl": built(t, "fake_mkl.c", "libmkl_rt.so.2")}
	for _, threads := range []int{1, 2} {
		for _, c := range []string{
			"gemm/fp32/m=5,n=7,k=9#onednn_matmul_fp32", "gemm/bf16/m=5,n=7,k=9#onednn_matmul_bf16", "gemm/fp32/m=5,n=7,k=9,tb=1#onednn_matmul_fp32",
			"linear/fp32/m=5,n=7,k=9,bias=0#onednn_matmul_packed_fp32", "linear/bf16/m=5,n=7,k=9,bias=0#onednn_matmul_packed_bf16",
			"linear/fp32/m=5,n=7,k=9,act=relu#onednn_matmul_post_fp32", "linear/bf16/m=3,n=4,k=5,act=gelu#onednn_matmul_post_bf16",
			"conv2d/fp32/n=2,c=3,h=9,w=8,k=5,r=3,s=3,pad=1#onednn_conv2d_packed_fp32", "conv2d/fp32/n=2,c=4,h=9,w=8,k=6,r=3,s=3,stride=2,groups=2#onednn_conv2d_packed_fp32",
			"conv2d/fp32/n=2,c=3,h=9,w=8,k=5,r=3,s=3,layout=nhwc#onednn_conv2d_blocked_fp32", "conv2d/bf16/n=1,c=3,h=6,w=6,k=5,r=3,s=3,pad=1#onednn_conv2d_blocked_bf16",
			"conv2d/fp32/n=2,c=3,h=9,w=8,k=5,r=3,s=3,bias=1,act=relu#onednn_conv2d_post_fp32",
			"conv2d/bf16/n=2,c=3,h=9,w=8,k=5,r=3,s=3,bias=1#onednn_conv2d_postblocked_bf16",
			"softmax/fp32/rows=5,cols=33#onednn_softmax_fp32", "layer_norm/fp32/rows=5,cols=33#onednn_layer_norm_fp32",
			"gemm/fp32/m=5,n=7,k=9#mkl_sgemm_fp32", "linear/fp32/m=5,n=7,k=9,bias=0#mkl_sgemm_packed_fp32",
		} {
			what, name, _ := strings.Cut(c, "#")
			library, _, _ := strings.Cut(name, "_")
			if library == "mkl" && threads > 1 { // the stand-in has no threads
				continue
			}
			k := kernelOf(t, fmt.Sprintf("cpu/%s/threads=%d/hot@%s", what, threads, name))
			r := &runner.Runner{Launch: launch(t, dirs[library])}
			res, err := r.Run(t.Context(), k)
			r.Close()
			if err != nil || !res.Status.Counts() || res.Kernel != name || !res.Verification.Passed || !res.Verification.Repeatable {
				t.Errorf("%s: %s %s, kernel %q, %v", k.ID, res.Status, res.Reason, res.Kernel, err)
			}
		}
	}
}

func TestAColdCasePacksTheWeightsOfEverySet(t *testing.T) {
	t.Setenv(backend.LibraryPathVariable, built(t, "fake_dnnl.c", "libdnnl.so.3"))
	p, err := fusion.Program(fusion.Builtin(), record.ProgramRef{Pattern: "Linear_Bias_ReLU", Op: "Linear_Bias_ReLU", DType: record.FP32, Library: "onednn packed",
		Name: "unfused:onednn packed", Params: map[string]string{"m": "3", "k": "8", "n": "5"}})
	if err != nil {
		t.Fatal(err)
	}
	dev, err := native.New().Open("cpu", backend.OpenOptions{CPUs: []int{-1, -1}, Affinity: "none"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = dev.Close() }()
	e, err := dev.Prepare(p, backend.PrepareOptions{Library: "onednn packed", Sets: 3, Seed: 1})
	if backend.IsUnsupported(err) && !strings.Contains(err.Error(), "fake") && os.Getenv("LD_LIBRARY_PATH") != "" {
		t.Skip(err) // another test of this process opened a library first
	} else if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = e.Release() }()
	if v, err := runner.Verify(t.Context(), e, p, 1, runner.DefaultEffort); err != nil || !v.Passed {
		t.Fatalf("%+v, %v", v.Mismatch, err)
	}
	kernels := e.Kernels()
	if kernels[0].Name != "onednn_matmul_packed_fp32" || kernels[0].Library == "" || kernels[1].Library != "" {
		t.Errorf("kernels %+v", kernels)
	}
	if s, err := e.Measure(context.Background(), 6, 2); err != nil || len(s) != 2 || s[0].NS() <= 0 {
		t.Errorf("%v, %v", s, err)
	}
	if _, err := dev.Prepare(p, backend.PrepareOptions{Library: "onednn blocked", Sets: 1}); !backend.IsUnsupported(err) {
		t.Errorf("a way that serves no step: %v, want it refused", err)
	}
}

func TestAFaultOfALibraryCostsItsCandidatesAlone(t *testing.T) {
	for name, c := range map[string]struct {
		macro  string
		status record.Status // of the candidate "onednn packed", which is tried first
		reason string
		slow   bool
	}{
		"none":                       {"", record.OK, "", false},
		"a crash":                    {"CRASH", record.Crashed, "SIGSEGV", false},
		"a status":                   {"STATUS=3", record.Unsupported, "matmul: unimplemented (status 3)", false},
		"a call that fails":          {"EXECUTE=5", record.Crashed, "dnnl_primitive_execute: runtime_error (status 5)", false},
		"a wrong result":             {"WRONG", record.OK, "not verified", false}, // of a chain that is slower; its fused primitive, which is shown, is verified
		"a reference implementation": {"REFERENCE", record.Unsupported, "only its reference implementation", false},
		"threads that never sleep":   {"SPIN", record.Unsupported, "", true},
		"a hang":                     {"HANG", record.TimedOut, "did not end within", true},
	} {
		t.Run(name, func(t *testing.T) {
			if c.slow && testing.Short() {
				t.Skip("it waits for a deadline")
			}
			var macros []string
			if c.macro != "" {
				macros = []string{c.macro}
			}
			doc := fused(t, built(t, "fake_dnnl.c", "libdnnl.so.3", macros...))
			if len(doc.Results) != 2 {
				t.Fatalf("%d results", len(doc.Results))
			}
			r := doc.Results[0]
			if !r.Status.Counts() || len(r.Arms) != 2 || r.Ratio == nil {
				t.Fatalf("%s: %s %s: the case has no answer", r.ID, r.Status, r.Reason)
			}
			var got record.BaselineCandidate
			for _, x := range r.Candidates {
				if x.Name == "onednn packed" {
					got = x
				}
			}
			if c.macro == "SPIN" {
				if got.Status.Counts() || !strings.Contains(got.Reason, "threads still run") {
					t.Errorf("candidate %+v: want it refused for its spinning threads", got)
				}
				return
			}
			caught := c.macro == "WRONG" && got.Status == record.Wrong && strings.Contains(got.Reason, "want") // it was the fastest of a busy pilot, so it was verified
			if !caught && (got.Status != c.status || !strings.Contains(got.Reason, c.reason)) {
				t.Errorf("candidate %+v: want %s, %q", got, c.status, c.reason)
			}
			if c.macro == "" && (r.VendorFused == nil || r.VendorFused.Library != "onednn fused" || r.VendorFused.LatencyMS <= 0 || r.VendorFused.Ratio <= 0 ||
				r.VendorFused.Kernels[0] != "onednn_matmul_post_fp32" || r.VendorFused.CodePath != "fake:slow") {
				t.Errorf("vendor_fused %+v", r.VendorFused)
			}
			if c.macro != "" && r.VendorFused != nil {
				t.Errorf("vendor_fused %+v of a faulty library", r.VendorFused)
			}
			tried := map[record.Status]string{record.OK: "ok", record.Unsupported: "unsupported", record.Crashed: "skipped", record.TimedOut: "skipped"}[c.status]
			if c.macro == "WRONG" {
				tried = "wrong"
			}
			if len(r.VendorTried) == 0 || string(r.VendorTried[0].Status) != tried || (r.VendorTried[0].Reason == "") != (tried == "ok") {
				t.Errorf("fused primitives %+v, want the first %s", r.VendorTried, tried)
			}
			if second := doc.Results[1]; !second.Status.Counts() {
				t.Errorf("the shape after it: %s %s", second.Status, second.Reason)
			}
			if lib := doc.Host.VendorLibraries; len(lib) != 1 || (lib[0].Unavailable != "") != (c.status == record.Crashed || c.status == record.TimedOut) {
				t.Errorf("the host's libraries: %+v", lib)
			}
		})
	}
}

// fused measures two shapes of a pattern with oneDNN's stand-in in dir.
func fused(t *testing.T, dir string) record.Calibration {
	t.Helper()
	patterns, err := fusion.Select(fusion.Builtin(), []string{"Linear_Bias_ReLU"})
	if err != nil {
		t.Fatal(err)
	}
	patterns[0].DTypes = []record.DType{record.FP32}
	patterns[0].Shapes = []fusion.Shape{{Params: map[string]string{"m": "9", "k": "17", "n": "13"}, Quick: true}, {Params: map[string]string{"m": "3", "k": "5", "n": "7"}, Quick: true}}
	levels := []ceiling.Level{{Name: "L1", Capacity: 32 << 10}}
	doc, err := campaign.Run(t.Context(), campaign.Config{SkipPreflight: true, NoProbes: true, DataDir: t.TempDir(), Command: []string{"test"}, Affinity: "none", Launch: launch(t, dir),
		Libraries: vendor.Ways()[:1],
		Plan: plan.Options{Device: "cpu", Threads: 2, Quick: true, Trials: 8, Ops: fusion.WithPatterns(op.Builtin(), fusion.Builtin()), Levels: levels, Levels1: levels,
			ProbesOnly: true, Fusion: patterns}})
	if err != nil {
		t.Fatal(err)
	}
	if len(doc.FusionProfiles) != 1 {
		t.Fatalf("%d fusion profiles", len(doc.FusionProfiles))
	}
	if err := record.ValidateFusion(doc.FusionProfiles[0]); err != nil {
		t.Error(err)
	}
	return doc
}
