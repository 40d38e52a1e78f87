package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ridge/goharness/history/compare"
	"ridge/goharness/record"
	"ridge/goharness/record/recordtest"
)

// twoDocuments are a calibration and the same with times of factor; the second has steady probes.
func twoDocuments(t *testing.T, factor float64) (old, new string) {
	t.Helper()
	dir := t.TempDir()
	write := func(name string, factor float64) string {
		doc := recordtest.Sample()
		doc.FusionProfiles = nil
		for i := range doc.Results {
			if tm := doc.Results[i].Time; tm != nil {
				scaled := *tm
				scaled.SamplesNS = nil
				for j := range 40 {
					scaled.SamplesNS = append(scaled.SamplesNS, factor*tm.MedianNS*(1+0.0001*float64(j%3)))
				}
				scaled.MedianNS *= factor
				doc.Results[i].Time = &scaled
			}
		}
		data, err := record.EncodeCalibration(doc)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	return write("old.json", 1), write("new.json", factor)
}

func TestCompareExitsWithOneForRegressionsOnly(t *testing.T) {
	for _, c := range []struct {
		factor float64
		flags  []string
		code   int
	}{{1, nil, exitOK}, {1.5, nil, exitFault}, {0.5, nil, exitOK}, {1.5, []string{"--fail-on", "none"}, exitOK}, {1.5, []string{"--threshold", "60%"}, exitOK}} {
		old, new := twoDocuments(t, c.factor)
		code, stdout, stderr := ridge(t, append(append([]string{"compare"}, c.flags...), old, new)...)
		if code != c.code || stdout == "" || (code == exitFault) != strings.Contains(stderr, "slower") {
			t.Errorf("factor %v %v: exit code %d, expected %d; error %q\n%s", c.factor, c.flags, code, c.code, stderr, stdout)
		}
	}
}

func TestCompareWritesJSON(t *testing.T) {
	old, new := twoDocuments(t, 0.5)
	out := filepath.Join(t.TempDir(), "deep", "c.json")
	if code, _, stderr := ridge(t, "compare", "--format", "json", "--output", out, old, new); code != exitOK {
		t.Fatal(code, stderr)
	}
	data, err := os.ReadFile(out)
	var c compare.Comparison
	if err != nil || json.Unmarshal(data, &c) != nil || c.Counts[compare.Faster] == 0 || c.Schema != compare.Schema {
		t.Errorf("%v\n%s", err, data)
	}
}

func TestCompareRefusesBadInput(t *testing.T) {
	old, _ := twoDocuments(t, 1)
	notRidge := filepath.Join(t.TempDir(), "x")
	if err := os.WriteFile(notRidge, []byte("#!/bin/sh\nexit 3\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{old}, "expected two documents"},
		{[]string{"-", "-"}, "can be read once"},
		{[]string{old, "/nowhere.json"}, "/nowhere.json"},
		{[]string{old, notRidge}, notRidge},
		{[]string{"--threshold", "3", old, old}, "--threshold"},
		{[]string{"--threshold", "NaN", old, old}, "--threshold"},
		{[]string{"--threshold", "-1%", old, old}, "--threshold"},
		{[]string{"--metric", "speed", old, old}, "--metric"},
		{[]string{"--format", "pdf", old, old}, "--format"},
		{[]string{"--fail-on", "faster", old, old}, "--fail-on"},
		{[]string{"--suite", "gemm", old, old}, "--interleave"},
		{[]string{"--interleave", old}, "two ridge binaries"},
		{[]string{"--interleave", old, old}, "not executable"},
		{[]string{"--interleave", notRidge, "/no/such"}, "no such ridge binary"},
		{[]string{"--interleave", notRidge, notRidge, "gemm", "--m", "64", "--n", "64", "--k", "64"}, "start worker"},
		{[]string{"--interleave", notRidge, notRidge, "nothing"}, "unknown op"},
		{[]string{"--interleave", notRidge, notRidge, "gemm", "--suite", "gemm"}, "not several"},
		{[]string{"--interleave", notRidge, notRidge, "--rounds", "1", "gemm", "--m", "64", "--n", "64", "--k", "64"}, "1 rounds"},
		{[]string{"--interleave", "--baseline", notRidge, notRidge}, "--baseline"},
		{[]string{"--interleave", notRidge, notRidge, "--suite", "gemm", "--m", "64"}, "--m goes with an op"},
		{[]string{"--interleave", notRidge, notRidge, "--kernel", "x"}, "--kernel goes with an op"},
		{[]string{"--interleave", notRidge, notRidge, "--case", "cpu/add/fp32/rows=8,cols=8/threads=1/hot", "--threads", "2"}, "--threads: the id"},
		{[]string{"--interleave", "--metric", "joules", notRidge, notRidge}, "--metric joules"},
	} {
		dir := t.TempDir()
		code, _, stderr := ridge(t, append([]string{"compare", "--data-dir", dir}, c.args...)...)
		if code != exitUsage || !strings.Contains(stderr, c.says) || strings.Count(strings.TrimSpace(stderr), "\n") != 0 {
			t.Errorf("%v: exit code %d, error %q, expected %q in one line", c.args, code, stderr, c.says)
		}
	}
}

func TestCaseIDsAreJoinedAgainAfterTheirCommas(t *testing.T) {
	got := joinIDs([]string{"cpu/gemm/fp32/m=1", "n=2", "k=3/threads=1/hot", "cpu/add/fp32/-/threads=1/hot"})
	if len(got) != 2 || got[0] != "cpu/gemm/fp32/m=1,n=2,k=3/threads=1/hot" {
		t.Errorf("%q", got)
	}
}

func TestFilesAreComparedWithoutAHome(t *testing.T) {
	t.Setenv("HOME", "")
	t.Setenv("XDG_DATA_HOME", "")
	t.Setenv("RIDGE_DATA_DIR", "")
	document := sampleFile(t)
	if code, out, errs := ridge(t, "compare", document, document); code != exitOK || out == "" || errs != "" {
		t.Errorf("exit code %d: %q %s", code, out, errs)
	}
	for _, args := range [][]string{{"compare", "latest", document}, {"compare", "--baseline", document}} {
		if code, _, errs := ridge(t, args...); code != exitUsage || !strings.Contains(errs, "no data directory") || !strings.Contains(errs, "--data-dir") {
			t.Errorf("%v: exit code %d: %s", args, code, errs)
		}
	}
}
