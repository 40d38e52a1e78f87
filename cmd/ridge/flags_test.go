package main

import (
	"strings"
	"testing"
)

func TestAFlagOfOneValueIsGivenOnce(t *testing.T) {
	for _, tc := range []struct {
		args []string
		flag string
	}{
		{[]string{"bench", "--case", "a", "--case", "b"}, "--case"}, {[]string{"bench", "gemm", "-m", "8", "--m=16"}, "--m"},
		{[]string{"bench", "gemm", "--m", "8", "--m", "8"}, "--m"}, {[]string{"calibrate", "--threads", "1", "--quick", "--threads", "2"}, "--threads"},
		{[]string{"report", "x.json", "--format", "md", "--format", "csv"}, "--format"}, {[]string{"--data-dir", "a", "list", "ops", "--data-dir", "b"}, "--data-dir"},
		{[]string{"tune", "--budget", "1m", "--budget", "2m"}, "--budget"}, {[]string{"calibrate", "--peak-gflops", "1", "--peak-gflops", "2"}, "--peak-gflops"},
		{[]string{"bench", "gemm", "--quick", "--quick=false"}, "--quick"},
	} {
		code, out, errs := ridge(t, tc.args...)
		if code != exitUsage || out != "" || len(lines(errs)) != 1 || !strings.Contains(errs, tc.flag+" is given twice") {
			t.Errorf("%v: exit code %d: %s%s", tc.args, code, out, errs)
		}
	}
	for _, args := range [][]string{
		{"list", "ops", "--json", "--json"}, {"--json", "list", "ops", "--json"}, {"bench", "--m", "8", "--m", "9", "--help"}, {"list", "--", "ops"},
	} {
		if code, _, errs := ridge(t, args...); code != exitOK {
			t.Errorf("%v: exit code %d: %s", args, code, errs)
		}
	}
	// Lists add up, and what stands behind "--" is no flag.
	code, _, errs := ridge(t, "bench", "nothing", "--param", "rows=8", "--param", "cols=8", "--energy=cpu/x", "--", "--threads", "--threads")
	if code != exitUsage || strings.Contains(errs, "twice") {
		t.Errorf("exit code %d: %s", code, errs)
	}
}

func TestTheNameOfAMachineIsShortPlainText(t *testing.T) {
	for name, want := range map[string]string{
		strings.Repeat("x", 201): "201 characters", "a\x1b[31m": "control characters", "a\nb": "control characters", "\xff": "UTF-8", strings.Repeat("é", 200): "", "my host": "",
	} {
		// The thread count is looked at before the name, the case after it.
		code, _, errs := ridge(t, "bench", "gemm_of_nobody", "--hardware", name)
		if refused := strings.Contains(errs, "--hardware"); code != exitUsage || len(lines(errs)) != 1 || refused != (want != "") || !strings.Contains(errs, want) {
			t.Errorf("%.20q: exit code %d: %s, expected %q", name, code, errs, want)
		}
	}
}

func TestAFlagThatACaseNamesIsShownAsItWasGiven(t *testing.T) {
	code, _, errs := ridge(t, "bench", "--case", "cpu/gemm/fp32/m=8,n=8,k=8/threads=1/hot", "--threads", "1")
	if code != exitUsage || !strings.Contains(errs, "--threads 1: --case names it already") {
		t.Errorf("exit code %d: %s", code, errs)
	}
}
