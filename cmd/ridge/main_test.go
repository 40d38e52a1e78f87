package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// fakeCountersEnv lets a worker count hardware events by counters of known answers (fakeCounters).
const fakeCountersEnv = "RIDGE_TEST_COUNTERS"

// TestMain lets the test binary be ridge: as the worker, because run starts os.Executable()
// with "worker", and as a whole process for the tests that need one.
func TestMain(m *testing.M) {
	if toys := toyPlatform(); toys != nil {
		extraBackends = append(extraBackends, toys)
	}
	if os.Getenv(fakeCountersEnv) != "" {
		fakeCounters()
	}
	if os.Getenv("RIDGE_TEST_MAIN") == "1" || len(os.Args) > 1 && os.Args[1] == "worker" {
		main()
	}
	dir, err := os.MkdirTemp("", "ridge-test-")
	if err != nil {
		panic(err)
	}
	os.Setenv("RIDGE_DATA_DIR", filepath.Join(dir, "data"))
	code := m.Run()
	os.RemoveAll(dir)
	os.Exit(code)
}

// ridge runs one command line in this process.
func ridge(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(t.Context(), append([]string{"ridge"}, args...), &out, &errs)
	return code, out.String(), errs.String()
}

func lines(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return r == '\n' })
}

func TestNonsenseIsRefusedInOneLineThatNamesIt(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("x"), 0o644); err != nil {
		t.Fatal(err)
	}
	gemm := func(more ...string) []string {
		return append([]string{"bench", "gemm", "--m", "8", "--n", "8", "--k", "8", "--no-ceilings"}, more...)
	}
	for _, tc := range []struct {
		args []string
		want []string // parts of the line
	}{
		{[]string{"frobnicate"}, []string{"frobnicate", "--help"}},
		{[]string{"--frobnicate"}, []string{"--frobnicate"}},
		{[]string{"info", "--frobnicate"}, []string{"--frobnicate", "ridge info --help"}},
		{[]string{"info", "extra"}, []string{"info", "extra"}},
		{[]string{"doctor", "extra"}, []string{"doctor", "extra"}},
		{[]string{"info", "--json=perhaps"}, []string{"--json", "perhaps", "true or false"}},
		{[]string{"--data-dir"}, []string{"--data-dir", "expected"}},
		{[]string{"list"}, []string{"kernels, ops, cases, devices, patterns"}},
		{[]string{"list", "everything"}, []string{"everything", "kernels, ops, cases, devices, patterns"}},
		{[]string{"list", "kernels", "ops"}, []string{"kernels, ops, cases, devices, patterns"}},
		{[]string{"selftest", "--trials", "0"}, []string{"--trials", "1 to"}},
		{[]string{"selftest", "--trials", "-5"}, []string{"--trials", "1 to"}},
		{[]string{"selftest", "--trials", "many"}, []string{"--trials", "many", "whole number"}},
		{[]string{"worker"}, []string{"worker", "started by ridge"}},

		{[]string{"verify", "extra"}, []string{"verify", "extra"}},
		{[]string{"verify", "--device", "tpu:0"}, []string{"--device", "tpu:0", "no platform"}},
		{[]string{"verify", "--kernel", "gemm_of_nobody"}, []string{"gemm_of_nobody", "ridge list kernels"}},
		{[]string{"verify", "--kernel", "chase_int64_portable", "--precision", "bf16"}, []string{"no kernel that was selected", "ridge list kernels"}},
		{[]string{"calibrate", "extra"}, []string{"calibrate", "extra"}},
		{[]string{"calibrate", "--threads", "many"}, []string{"--threads", "many", "whole number"}},
		{[]string{"calibrate", "--threads", "0"}, []string{"--threads", "1 to"}},
		{[]string{"calibrate", "--threads", "-2"}, []string{"--threads", "1 to"}},
		{[]string{"calibrate", "--threads", "1000000000000"}, []string{"--threads", "1 to"}},
		{[]string{"calibrate", "--threads", "99999999999999999999"}, []string{"--threads", "whole number"}},
		{[]string{"calibrate", "--threads", "4096"}, []string{"--threads", "4096", "CPUs"}},
		{[]string{"calibrate", "--threads"}, []string{"--threads", "whole number"}},
		{[]string{"calibrate", "--cuda-graphs", ""}, []string{"--cuda-graphs", "on or off"}},
		{[]string{"calibrate", "--cuda-graphs", "maybe"}, []string{"--cuda-graphs", "maybe", "on or off"}},
		{[]string{"bench", "gemm", "--cuda-graphs", "off"}, []string{"--cuda-graphs off", "cpu", "leave it out"}},
		{[]string{"calibrate", "--affinity", "sideways"}, []string{"--affinity", "sideways", "compact, scatter, none"}},
		{[]string{"calibrate", "--affinity", "0-"}, []string{"--affinity", "0-"}},
		{[]string{"calibrate", "--affinity", "4095"}, []string{"--affinity", "4095"}},
		{[]string{"calibrate", "--affinity", "0-999999999999"}, []string{"--affinity"}},
		{[]string{"calibrate", "--affinity", ""}, []string{"--affinity", "empty"}},
		{[]string{"calibrate", "--device", "cuda:0"}, []string{"--device", "cuda:0", "cpu"}},
		{[]string{"calibrate", "--device", "toaster"}, []string{"--device", "toaster", "cpu"}},
		{[]string{"calibrate", "--device", ""}, []string{"--device", "empty"}},
		{[]string{"calibrate", "--device", "cpu,cpu"}, []string{"--device cpu,cpu", "twice"}},
		{[]string{"calibrate", "--device", "cpu,tpu:0"}, []string{"tpu:0", "no platform"}},
		{[]string{"bench", "gemm", "--device", "tpu:all"}, []string{"tpu:0", "no platform"}},
		{[]string{"calibrate", "--concurrent"}, []string{"--concurrent", "--device cpu is one device", "cuda:0,cuda:1"}},
		{[]string{"bench", "gemm", "--concurrent", "--device", "tpu:all"}, []string{"--concurrent", "--device tpu:all is one device"}},
		{[]string{"calibrate", "--concurrent", "--device", "cpu,tpu:0"}, []string{"--concurrent --device cpu,tpu:0", "the cpu launches"}},
		{[]string{"calibrate", "--concurrent", "--energy", "--device", "cpu,tpu:0"}, []string{"--concurrent", "the cpu launches"}},
		{[]string{"fusion", "--concurrent"}, []string{"--concurrent", "ridge fusion --help"}},
		{[]string{"bench", "--case", "cpu/gemm/fp32/m=8,n=8,k=8/threads=1/hot", "--concurrent"}, []string{"--concurrent", "one device"}},
		{[]string{"fusion", "--device", "cpu,tpu:0"}, []string{"--device", "tpu:0", "no platform"}},
		{[]string{"fusion", "--device", "cpu,cpu"}, []string{"--device cpu,cpu", "cpu is there twice"}},
		{[]string{"verify", "--device", "cpu,tpu:0"}, []string{"--device", "tpu:0", "no platform"}},
		{[]string{"tune", "--device", "cpu,tpu:0"}, []string{"--device", "tpu:0", "no platform"}},
		{[]string{"profile", "gemm", "--device", "cpu,tpu:0"}, []string{"--device", "tpu:0", "no platform"}},
		{[]string{"calibrate", "--precision", "fp33"}, []string{"--precision", "fp33", "fp32"}},
		{[]string{"calibrate", "--precision", ",,"}, []string{"--precision", "commas"}},
		{[]string{"calibrate", "--operations", "knitting"}, []string{"--operations", "knitting", "gemm"}},
		{[]string{"calibrate", "--operations", "stream", "--precision", "bf16"}, []string{"stream", "bf16", "fp32", "fp64"}},
		{[]string{"calibrate", "--operations", "peak"}, []string{"peak", "no suite"}},
		{[]string{"bench", "gemm", "--resume", ""}, []string{"--resume", "empty"}},
		{[]string{"calibrate", "--operations", " "}, []string{"--operations"}},
		{[]string{"calibrate", "--metrics", "vibes"}, []string{"--metrics", "vibes", "latency"}},
		{[]string{"calibrate", "--fusion-patterns", "linear,nothing"}, []string{"--fusion-patterns", `"nothing"`, "Linear_Bias_ReLU", "attention"}},
		{[]string{"fusion", "--patterns", "linear_bias"}, []string{"--patterns", `"linear_bias"`, "Linear_Bias,"}},
		{[]string{"fusion", "--patterns", ""}, []string{"--patterns"}},
		{[]string{"fusion", "--patterns", "none"}, []string{"--patterns none"}},
		{[]string{"fusion", "--precision", "fp64"}, []string{"--precision fp64", "--patterns all"}},
		{[]string{"calibrate", "--fusion-patterns", "attention", "--precision", "fp16"}, []string{"--precision fp16", "--fusion-patterns attention"}},
		{[]string{"fusion", "--budget", "5s"}, []string{"--budget 5s", "at least 20s"}},
		{[]string{"fusion", "--budget", "-1m"}, []string{"--budget -1m0s", "at least 20s"}},
		{[]string{"fusion", "--budget", "long"}, []string{"--budget", "a duration"}},
		{[]string{"fusion", "--mode", "warm"}, []string{"--mode", "hot or cold"}},
		{[]string{"fusion", "--device", "cuda:7"}, []string{"--device"}},
		{[]string{"fusion", "all"}, []string{"fusion", "all"}},
		{[]string{"bench", "Linear_Bias", "--param", "m=9223372036854775807", "--param", "k=8", "--param", "n=8"}, []string{"Linear_Bias", "m=9223372036854775807"}},
		{[]string{"bench", "FullAttention_SDPA", "--param", "b=4294967296", "--param", "s=4294967296", "--param", "d=64"}, []string{"FullAttention_SDPA", "overflow"}},
		{[]string{"calibrate", "--batch", "0"}, []string{"--batch", "from 1 to"}},
		{[]string{"calibrate", "--batch", "8,x"}, []string{"--batch", "x", "from 1 to"}},
		{[]string{"calibrate", "--batch", "99999999999999999999"}, []string{"--batch", "from 1 to"}},
		{[]string{"calibrate", "--warmup", "3"}, []string{"--warmup", "--trials"}},
		{[]string{"calibrate", "--warmup", "-1", "--trials", "3"}, []string{"--warmup", "-1"}},
		{[]string{"calibrate", "--trials", "1000000000"}, []string{"--trials", "1000000"}},
		{[]string{"calibrate", "--peak-gflops", "NaN"}, []string{"--peak-gflops", "above 0"}},
		{[]string{"calibrate", "--peak-gflops", "fast"}, []string{"--peak-gflops", "fast", "a number"}},
		{[]string{"calibrate", "--peak-bandwidth", "-1"}, []string{"--peak-bandwidth", "above 0"}},
		{[]string{"calibrate", "--peak-bandwidth", "Inf"}, []string{"--peak-bandwidth", "above 0"}},
		{[]string{"calibrate", "--output", filepath.Join(file, "x.json")}, []string{"--output", "written to"}},
		{[]string{"calibrate", "--output", t.TempDir()}, []string{"--output", "is a directory"}},
		{[]string{"calibrate", "--data-dir", file}, []string{"--data-dir", file}},
		{[]string{"calibrate", "--resume", ""}, []string{"--resume", "empty"}},
		{[]string{"calibrate", "--resume", "20200101-000000-0000", "--operations", "stream", "--quick", "--force"}, []string{"resume", "20200101"}},

		{[]string{"bench"}, []string{"one op"}},
		{[]string{"bench", "gemm", "conv2d"}, []string{"one op", "2 arguments"}},
		{[]string{"bench", "knitting"}, []string{"knitting", "ridge list ops"}},
		{[]string{"bench", "gemm", "--m", "8"}, []string{"gemm", "parameter"}},
		{[]string{"bench", "gemm", "--m", "-1", "--n", "8", "--k", "8"}, []string{"m=-1", "0 to"}},
		{[]string{"bench", "gemm", "--m", "8.5", "--n", "8", "--k", "8"}, []string{"8.5", "whole number"}},
		{[]string{"bench", "gemm", "--m", "", "--n", "8", "--k", "8"}, []string{"--m", "empty"}},
		{[]string{"bench", "gemm", "--m", "99999999999999999999", "--n", "8", "--k", "8"}, []string{"whole number"}},
		{[]string{"bench", "gemm", "--m", "1099511627776", "--n", "1099511627776", "--k", "1"}, []string{"overflow"}},
		{gemm("--param", "zz=1"), []string{"zz", "gemm"}},
		{gemm("--param", "m"), []string{"--param", "NAME=VALUE"}},
		{gemm("--param", "m=1", "--param", "m=2"), []string{"m"}},
		{gemm("--mode", "lukewarm"), []string{"--mode", "hot or cold"}},
		{gemm("--kernel", "gemm_fp32_wishful"), []string{"--kernel", "ridge list kernels"}},
		{gemm("--precision", "int4"), []string{"int4", "fp32"}},
		{gemm("--threads", "x"), []string{"--threads", "x", "whole number"}},
		{[]string{"bench", "--case", "garbage"}, []string{"garbage", "device/op/dtype"}},
		{[]string{"bench", "--case", ""}, []string{"--case", "empty"}},
		{[]string{"bench", "--case", strings.Repeat("a/", 9000)}, []string{"case id", "4096"}},
		{[]string{"bench", "--case", "cpu/gemm/fp32/m=64,n=64/threads=1/hot"}, []string{"case id", "parameter k"}},
		{[]string{"bench", "--case", "cpu/gemm/fp32/m=64,n=64,k=64/threads=-1/hot"}, []string{"case id", "threads"}},
		{[]string{"bench", "--case", "cpu/gemm/fp32/m=64,n=64,k=64/threads=4000/hot"}, []string{"threads=4000", "CPUs"}},
		{[]string{"bench", "--case", "cpu/gemm/fp32/m=64,n=64,k=64/threads=1/warm"}, []string{"warm", "hot or cold"}},
		{[]string{"bench", "--case", "cuda:0/gemm/fp32/m=64,n=64,k=64/threads=1/hot"}, []string{"cuda:0", "cpu"}},
		{[]string{"bench", "--case", "cpu/gemm/fp32/m=64,n=64,k=64/threads=1/hot", "--threads", "1"}, []string{"--threads", "--case"}},
		{[]string{"bench", "gemm", "--case", "cpu/gemm/fp32/m=64,n=64,k=64/threads=1/hot"}, []string{"--case", "gemm"}},
		{[]string{"bench", "gemm", "--case"}, []string{"--case", "expected"}},

		{[]string{"report"}, []string{"report", "document"}},
		{[]string{"report", "--format", "interpretive-dance", file}, []string{"--format", "table"}},
		{[]string{"report", file + ".missing"}, []string{"no such file"}},
		{[]string{"report", "-", "-"}, []string{"given twice"}},
		{[]string{"info", "--data-dir", ""}, []string{"--data-dir", "empty"}},
		{[]string{"--data-dir", "", "calibrate"}, []string{"--data-dir", "empty"}},
		{[]string{"report", filepath.Dir(file)}, []string{"directory"}},
		{[]string{"report", file, "--output", filepath.Join(file, "x")}, []string{"--output"}},
	} {
		name := strings.Join(tc.args, " ")
		t.Run(name[:min(len(name), 60)], func(t *testing.T) {
			code, stdout, stderr := ridge(t, tc.args...)
			got := lines(stderr)
			if code != exitUsage || len(got) != 1 || stdout != "" {
				t.Fatalf("exit code %d, standard output %q, standard error %q: want code 2, nothing, one line", code, stdout, stderr)
			}
			for _, part := range tc.want {
				if !strings.Contains(got[0], part) {
					t.Errorf("%q does not say %q", got[0], part)
				}
			}
		})
	}
}

func TestADamagedDocumentIsRefusedInOneLine(t *testing.T) {
	good, err := os.ReadFile(sampleFile(t))
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{
		"empty":       nil,
		"cut":         good[:len(good)/2],
		"garbage":     []byte("this is not a document"),
		"nul":         make([]byte, 4096),
		"other":       []byte(`{"schema":"something.else/1"}`),
		"list":        []byte(`[1,2,3]`),
		"null":        []byte(`null`),
		"nested":      bytes.Repeat([]byte("["), 1<<20),
		"huge number": []byte(`{"schema":"ridge.calibration/1","run_id":1e999999999}`),
		"wrong type":  bytes.Replace(good, []byte(`"results": [`), []byte(`"results": {}, "r": [`), 1),
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "doc.json")
			if err := os.WriteFile(file, data, 0o644); err != nil {
				t.Fatal(err)
			}
			code, stdout, stderr := ridge(t, "report", file)
			if code != exitUsage || len(lines(stderr)) != 1 || stdout != "" || !strings.Contains(stderr, "doc.json") {
				t.Errorf("exit code %d, output %q, error %.300q: want code 2 and one line with the file's name", code, stdout, stderr)
			}
			if len(stderr) > 1000 {
				t.Errorf("the line has %d bytes", len(stderr))
			}
		})
	}
}

func TestTheEnvironmentNamesTheDataDirectory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("RIDGE_DATA_DIR", file)
	code, _, stderr := ridge(t, "bench", "gemm", "--m", "8", "--n", "8", "--k", "8", "--no-ceilings")
	if code != exitUsage || len(lines(stderr)) != 1 || !strings.Contains(stderr, file) {
		t.Errorf("exit code %d, %q: want code 2 and the directory named", code, stderr)
	}
	dir := t.TempDir()
	t.Setenv("RIDGE_DATA_DIR", "") // set to nothing is not set
	t.Setenv("XDG_DATA_HOME", dir)
	if code, _, stderr := ridge(t, benchTiny()...); code != exitOK {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	if got, _ := filepath.Glob(filepath.Join(dir, "ridge", "runs", "*.json")); len(got) != 1 {
		t.Errorf("%d documents below XDG_DATA_HOME, want 1", len(got))
	}
}

func TestACancelledContextEndsWithCode3(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var out, errs bytes.Buffer
	code := run(ctx, append([]string{"ridge"}, benchTiny()...), &out, &errs)
	if code != exitInterrupted || len(lines(errs.String())) != 1 {
		t.Errorf("exit code %d, %q: want 3 and one line", code, errs.String())
	}
}

// benchTiny is a bench of a few milliseconds; fixed counts keep it from being noisy.
func benchTiny(more ...string) []string {
	return append([]string{"bench", "gemm", "--m", "16", "--n", "16", "--k", "16", "--threads", "1", "--no-ceilings", "--warmup", "1", "--trials", "5"}, more...)
}

// sampleFile writes a valid document.
func sampleFile(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "sample.json")
	if err := os.WriteFile(file, sampleDocument(t), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}
