package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ridge/goharness/machine"
	"ridge/goharness/record"
	"ridge/goharness/tune"
)

func TestTheDryRunListsCandidatesAndStoresNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	code, out, errs := ridge(t, "tune", "--dry-run", "--precision", "fp32,fp64", "--threads", "1", "--data-dir", dir)
	if code != exitOK {
		t.Skipf("no kernel with parameters here: %s", errs)
	}
	for _, want := range []string{"gemm fp32 k=1024,m=1024,n=1024 (class large, 1 threads", "gemm fp64", "kc=", "neighbours of the best"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in:\n%s", want, out)
		}
	}
	if _, err := os.Stat(dir); err == nil {
		t.Error("the dry run made the data directory")
	}
}

func TestNonsenseForTuneIsRefusedInOneLine(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"relu"}, `tune "relu"`}, {[]string{"--precision", "fp7"}, `"fp7"`}, {[]string{"--budget", "1s"}, "--budget 1s: expected at least 5s"},
		{[]string{"--budget", "soon"}, `--budget "soon"`}, {[]string{"--device", "gpu"}, `"gpu"`}, {[]string{"--threads", "0"}, "--threads 0"},
		{[]string{"linear", "--precision", "fp16"}, "no precision"},
	} {
		code, out, errs := ridge(t, append([]string{"tune", "--dry-run"}, c.args...)...)
		if code != exitUsage || out != "" || len(lines(errs)) != 1 || !strings.Contains(errs, c.want) {
			t.Errorf("%v: code %d, %q, %q; want %q", c.args, code, out, errs, c.want)
		}
	}
}

// store writes a tuning that sends small GEMMs to the portable kernel, which no search would.
func store(t *testing.T, change func(*tune.File)) string {
	t.Helper()
	dir := t.TempDir()
	f := tune.File{Schema: tune.Schema, Machine: tune.Identify(machine.Read(machine.Source{}))}
	var e tune.Entry
	e.Op, e.DType, e.Class, e.Threads, e.Kernel, e.Replaces = "gemm", record.FP32, "few_rows", 1, "gemm_fp32_portable", "another"
	e.Params = map[string]int64{"kc": 64}
	f.Entries = []tune.Entry{e}
	change(&f)
	if err := f.Save(tune.Path(dir)); err != nil {
		t.Fatal(err)
	}
	return dir
}

func TestAStoredTuningIsUsedUnlessItIsOfAnotherMachine(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*tune.File)
		more   []string
		used   bool
		warned string
	}{
		{"of this machine", func(*tune.File) {}, nil, true, ""},
		{"switched off", func(*tune.File) {}, []string{"--no-tuning"}, false, ""},
		{"of another machine", func(f *tune.File) { f.Machine.CPU = "another" }, nil, false, "made on another machine (CPU: then another"},
		{"of a later format", func(f *tune.File) { f.Schema = "ridge.tuning/2" }, nil, false, "ridge.tuning/2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := store(t, c.change)
			// K beyond that of the products without blocks, which no tuning touches.
			code, out, errs := ridge(t, append([]string{"bench", "gemm", "--m", "16", "--n", "16", "--k", "4100", "--threads", "1",
				"--no-ceilings", "--warmup", "1", "--trials", "5", "--data-dir", dir, "--json"}, c.more...)...)
			if code != exitOK {
				t.Fatalf("code %d: %s", code, errs)
			}
			doc, err := record.ReadCalibration(strings.NewReader(out))
			if err != nil {
				t.Fatal(err)
			}
			r := doc.Results[len(doc.Results)-1]
			if used := r.Kernel == "gemm_fp32_portable" && r.KernelParams["kc"] == 64; used != c.used {
				t.Errorf("kernel %s with %v; tuning used: expected %v", r.Kernel, r.KernelParams, c.used)
			}
			if warned := strings.Contains(errs, "warning: the tuning of"); warned != (c.warned != "") || !strings.Contains(errs, c.warned) {
				t.Errorf("standard error %q, want %q", errs, c.warned)
			}
		})
	}
}

func TestADamagedTuningIsRefusedWithTheFile(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(tune.Path(dir), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, _, errs := ridge(t, benchTiny("--data-dir", dir)...)
	if code != exitUsage || !strings.Contains(errs, tune.Path(dir)) || len(lines(errs)) != 1 {
		t.Errorf("code %d: %q", code, errs)
	}
}

func TestASearchWritesTheFileOfThisMachine(t *testing.T) {
	if testing.Short() {
		t.Skip("it measures for seconds")
	}
	dir := t.TempDir()
	if code, _, _ := ridge(t, "tune", "--dry-run", "--threads", "1"); code != exitOK {
		t.Skip("no kernel with parameters here")
	}
	code, out, errs := ridge(t, "tune", "--threads", "1", "--budget", "5s", "--data-dir", dir)
	if code != exitOK {
		t.Fatalf("code %d: %s", code, errs)
	}
	if n := len(lines(out)); n != 6 { // the header and five classes
		t.Errorf("%d lines:\n%s", n, out)
	}
	f, err := tune.Load(tune.Path(dir), tune.Identify(machine.Read(machine.Source{})))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range f.Entries {
		if e.GainCI95[0] <= 1 || e.Quartets < 8 || e.Threads != 1 {
			t.Errorf("stored without proof: %+v", e)
		}
		if _, err := time.Parse(time.RFC3339, e.Date); err != nil {
			t.Error(err)
		}
	}
}
