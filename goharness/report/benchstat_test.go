package report

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// benchstat, as a user runs it, on two runs of which the second is 10 % slower.
func TestBenchstatComparesTwoRuns(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: benchstat is built first")
	}
	dir := t.TempDir()
	var files []string
	for _, slower := range []float64{1, 1.1} {
		doc := sample(t)
		doc.Results = doc.Results[:1]
		tm := *doc.Results[0].Time
		tm.SamplesNS = nil
		for i := range 12 {
			tm.SamplesNS = append(tm.SamplesNS, slower*(10e6+float64(i*37%11)*1e3))
		}
		doc.Results[0].Time = &tm
		name := filepath.Join(dir, map[float64]string{1: "old", 1.1: "new"}[slower]+".txt")
		if err := os.WriteFile(name, []byte(show(t, "benchfmt", doc)), 0o600); err != nil {
			t.Fatal(err)
		}
		files = append(files, name)
	}
	out, err := exec.Command("go", append([]string{"run", "golang.org/x/perf/cmd/benchstat"}, files...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, want := range []string{"sec/op", "GFLOPS", "p=0.000 n=12", "Gemm/device=cpu/dtype=fp32/m=1024/n=1024/k=1024/threads=2/mode=hot"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if !strings.Contains(string(out), "+10.") && !strings.Contains(string(out), "+9.9") {
		t.Errorf("no slowdown of 10 %% in\n%s", out)
	}
}
