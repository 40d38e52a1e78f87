package report

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ridge/goharness/record"
)

// benchstat runs the program at the version that go.mod pins, as a user does.
func benchstat(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.Command("go", append([]string{"run", "golang.org/x/perf/cmd/benchstat"}, args...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}

// runsOf are two runs of one machine of which the second is 10 % slower.
func runsOf(t *testing.T) (old, slower record.Calibration) {
	t.Helper()
	run := func(id, version string, factor float64) record.Calibration {
		doc := sample(t)
		doc.RunID, doc.Tool.Version, doc.Created = id, version, "2026-01-02T03:04:05Z "+id
		doc.Results = doc.Results[:1]
		tm := *doc.Results[0].Time
		tm.SamplesNS = nil
		for i := range 12 {
			tm.SamplesNS = append(tm.SamplesNS, factor*(10e6+float64(i*37%11)*1e3))
		}
		doc.Results[0].Time = &tm
		return doc
	}
	return run("first", "1.0", 1), run("second", "1.1", 1.1)
}

// checkSlowdown looks for a slowdown of 10 % of the one case.
func checkSlowdown(t *testing.T, out string) {
	t.Helper()
	for _, want := range []string{"sec/op", "GFLOPS", "p=0.000 n=12", "Gemm/device=cpu/dtype=fp32/m=1024/n=1024/k=1024/threads=2/mode=hot"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if !strings.Contains(out, "+10.") && !strings.Contains(out, "+9.9") {
		t.Errorf("no slowdown of 10 %% in\n%s", out)
	}
}

func TestBenchstatComparesTwoRuns(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: benchstat is built first")
	}
	dir := t.TempDir()
	old, slower := runsOf(t)
	write := func(name string, docs ...record.Calibration) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(show(t, "benchfmt", docs...)), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	t.Run("of two files", func(t *testing.T) {
		checkSlowdown(t, benchstat(t, write("old.txt", old), write("new.txt", slower)))
	})
	t.Run("merged into one, which keeps them apart", func(t *testing.T) {
		both := write("both.txt", old, slower)
		checkSlowdown(t, benchstat(t, "-col", "run", both))
		if out := benchstat(t, both); strings.Contains(out, "n=24") {
			t.Errorf("samples of two runs are one:\n%s", out)
		}
	})
}
