//go:build linux && cgo && (amd64 || arm64)

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	pprof "github.com/google/pprof/profile"

	"ridge/goharness/backend"
	"ridge/goharness/record"
	"ridge/goharness/runner"
)

// A pipe can be read once: shells give one for <(zcat old.json.gz).
func TestADocumentIsComparedFromAPipe(t *testing.T) {
	doc := calibrationFile(t, nil)
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skip(err)
	}
	wrote := make(chan error, 1)
	go func() {
		text, err := os.ReadFile(doc)
		if err == nil {
			err = os.WriteFile(pipe, text, 0)
		}
		wrote <- err
	}()
	code, stdout, stderr := ridge(t, "profile", "--diff", pipe, doc)
	if code != exitOK || !strings.Contains(stdout, "within") {
		t.Errorf("exit code %d: %s%s", code, stdout, stderr)
	}
	if err := <-wrote; err != nil {
		t.Error(err)
	}
}

// The exit code is that of --fail-on wherever the difference goes.
func TestTheDifferenceOnStandardOutputIsJudgedToo(t *testing.T) {
	old := calibrationFile(t, nil)
	slower := calibrationFile(t, func(doc *record.Calibration) {
		for i := range doc.Results {
			if r := &doc.Results[i]; r.Time != nil {
				r.Time.MedianNS *= 2
			}
		}
	})
	code, stdout, stderr := ridge(t, "profile", "--diff", "--fail-on", "slower", "--output", "-", old, slower)
	if p, err := pprof.ParseData([]byte(stdout)); code != exitFault || err != nil || p.CheckValid() != nil {
		t.Errorf("exit code %d: %s, %v", code, stderr, err)
	}
	code, stdout, stderr = ridge(t, "profile", "--diff", "--json", old, slower)
	var got struct {
		Changes []struct {
			Kernel string
			OldNS  int64   `json:"old_ns"`
			Ratio  float64 `json:"ratio"`
		}
	}
	if err := json.Unmarshal([]byte(stdout), &got); code != exitOK || err != nil || len(got.Changes) == 0 || got.Changes[0].OldNS == 0 || got.Changes[0].Ratio < 1.9 {
		t.Errorf("exit code %d: %s, %v, %+v", code, stderr, err, got)
	}
}

// What a sampled run keeps: of a comparison every visit of its own arms, not the pilot's or those of another pair.
func TestTheArmsOfAResultGetWhatWasSampledOfThem(t *testing.T) {
	arm := func(name, kernel string) runner.PreparedArm {
		return runner.PreparedArm{Name: name, Kernels: []string{kernel}}
	}
	code := func(n int64) []backend.CodeSamples { return []backend.CodeSamples{{Outside: n}, {Outside: 10 * n}} }
	c := captures{
		"pair":   {{[]runner.PreparedArm{arm("unfused:a", "x"), arm("fused", "y")}, code(1)}, {[]runner.PreparedArm{arm("vendor", "v"), arm("fused", "y")}, code(2)}, {[]runner.PreparedArm{arm("unfused:a", "x"), arm("fused", "y")}, code(3)}},
		"single": {{[]runner.PreparedArm{arm("", "x")}, code(4)[:1]}, {[]runner.PreparedArm{arm("", "z")}, code(5)[:1]}},
	}
	got := c.of([]record.Result{{ID: "pair", Arms: []record.Arm{{Name: "unfused:a", Kernels: []string{"x"}}, {Name: "fused", Kernels: []string{"y"}}}}, {ID: "single"}, {ID: "none"}})
	var text []string
	for _, x := range got {
		text = append(text, fmt.Sprintf("%s %s %s %d", x.Result.ID, x.Arm, x.Kernels[0], x.Code.Outside))
	}
	if s := strings.Join(text, "; "); s != "pair unfused:a x 1; pair unfused:a x 3; pair fused y 10; pair fused y 30; single  z 5" {
		t.Error(s)
	}
}

func TestAPatternIsSampledInBothItsPrograms(t *testing.T) {
	if testing.Short() {
		t.Skip("it measures a pattern")
	}
	out := filepath.Join(t.TempDir(), "f.pb.gz")
	code, _, stderr := ridge(t, "profile", "--native", "Add_ReLU", "--precision", "fp32", "--quick", "--output", out, "--data-dir", t.TempDir())
	if code != exitOK {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	arms := map[string]int64{}
	for _, s := range readPprof(t, out).Sample {
		name, _, _ := strings.Cut(s.Label["arm"][0], ":")
		arms[name] += s.Value[0]
	}
	if len(arms) != 2 || arms["fused"] == 0 || arms["unfused"] == 0 {
		t.Errorf("ticks by arm: %v", arms)
	}
}

// Samples are in no journal: the message must not name a flag that is refused. What was sampled until then is in the file, or there is none.
func TestAnInterruptedNativeProfileSaysToRepeatIt(t *testing.T) {
	out := filepath.Join(t.TempDir(), "f.pb.gz")
	cmd := process(t, "profile", "--native", "gemm", "--m", "64,50000", "--n", "512", "--k", "512", "--precision", "fp32", "--threads", "1",
		"--warmup", "1", "--trials", "400", "--output", out, "--data-dir", t.TempDir())
	stderr, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() }).Stop()
	var said []string
	for sc := bufio.NewScanner(stderr); sc.Scan(); {
		if said = append(said, sc.Text()); len(said) == 1 { // the first of two results; the other takes a minute
			if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
				t.Fatal(err)
			}
		}
	}
	_ = cmd.Wait()
	last := said[len(said)-1]
	if code := cmd.ProcessState.ExitCode(); code != exitInterrupted || strings.Contains(last, "--resume") || !strings.Contains(last, "repeat the command") {
		t.Errorf("exit code %d: %q", code, said)
	}
	if _, err := os.Stat(out); err == nil {
		if err := readPprof(t, out).CheckValid(); err != nil {
			t.Error(err)
		}
	}
}

// A run without a meter has nothing to trace.
func TestATraceOfAnOlderRunStaysWhereNothingIsMeasured(t *testing.T) {
	name := filepath.Join(t.TempDir(), "power.csv")
	if err := os.WriteFile(name, []byte("an older trace"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := (&lateFile{path: name}).Close(); err != nil {
		t.Fatal(err)
	}
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Skip(err)
	}
	for _, place := range []string{"", "-", filepath.Dir(name), filepath.Join(name, "below"), "a\x00b", pipe} {
		code, stdout, stderr := ridge(t, "bench", "gemm", "--m", "64", "--n", "64", "--k", "64", "--energy", "--power-trace", place, "--data-dir", t.TempDir())
		if code != exitUsage || stdout != "" || len(lines(stderr)) != 1 || !strings.Contains(stderr, "--power-trace") {
			t.Errorf("--power-trace %q: exit code %d, %q, %q", place, code, stdout, stderr)
		}
	}
	if text, err := os.ReadFile(name); err != nil || string(text) != "an older trace" {
		t.Errorf("%q, %v", text, err)
	}
	l := &lateFile{path: name}
	if _, err := l.Write([]byte("new")); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(name); err != nil || string(text) != "new" {
		t.Errorf("%q, %v", text, err)
	}
}
