package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReportDrawsAPowerTrace(t *testing.T) {
	const head = "time_s,power_watts,clock_mhz,temperature_c,throttled,phase,case,kernel\n"
	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return file
	}
	trace := write("power.csv", head+"0.1,50,,,,idle,,\n0.2,90,3000,50,,sustain,cpu/x,kernel_x\n0.3,91,3000,50,,sustain,cpu/x,kernel_x\n")
	calibration, _, _, _ := documents(t)
	plots := filepath.Join(dir, "plots")
	code, stdout, stderr := ridge(t, "report", trace, "--format", "plots", "--output", plots)
	if code != exitOK || stderr != "" || len(lines(stdout)) != 2 || !strings.Contains(stdout, "power-power-trace.svg") {
		t.Fatalf("exit code %d, %q, %q", code, stdout, stderr)
	}
	if code, stdout, stderr = ridge(t, "report", calibration, trace, "--format", "plots", "--output", plots); code != exitOK || !strings.Contains(stdout, "power-power-trace.png") || !strings.Contains(stdout, "roofline.svg") {
		t.Errorf("with a document: exit code %d, %q, %q", code, stdout, stderr)
	}
	for name, tc := range map[string]struct {
		args []string
		want string
	}{
		"another view":   {[]string{trace}, "power trace: expected --format plots"},
		"no folder":      {[]string{trace, "--format", "plots"}, "--output DIR"},
		"a damaged row":  {[]string{write("bad.csv", head+"0.1,x,,,,idle,,\n"), "--format", "plots", "--output", plots}, "bad.csv: power trace: line 2: power_watts"},
		"without rows":   {[]string{write("empty.csv", head), "--format", "plots", "--output", plots}, "no readings"},
		"one name twice": {[]string{trace, write("other/power.csv", head+"0.1,5,,,,idle,,\n"), "--format", "plots", "--output", plots}, "would have the same plots"},
		"a missing file": {[]string{filepath.Join(dir, "none.csv"), "--format", "plots", "--output", plots}, "none.csv"},
	} {
		code, stdout, stderr := ridge(t, append([]string{"report"}, tc.args...)...)
		if code != exitUsage || stdout != "" || len(lines(stderr)) != 1 || !strings.Contains(stderr, tc.want) {
			t.Errorf("%s: exit code %d, %q, %q", name, code, stdout, stderr)
		}
	}
}
