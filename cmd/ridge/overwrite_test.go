package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWhatACommandReadsOrKeepsIsNotWrittenOver(t *testing.T) {
	dir := t.TempDir()
	data := filepath.Join(dir, "data")
	runs := filepath.Join(data, "runs")
	if err := os.MkdirAll(runs, 0o755); err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(sampleFile(t))
	must(err)
	must(os.WriteFile(at("a.json"), text, 0o644))
	must(os.WriteFile(at("b.json"), text, 0o644))
	must(os.WriteFile(at("build"), []byte("#!/bin/sh\n"), 0o755))
	journal := filepath.Join(runs, "r1.jsonl")
	must(os.WriteFile(journal, []byte("no journal\n"), 0o644))
	must(os.WriteFile(filepath.Join(data, "cpu.lock"), nil, 0o644))
	must(os.Symlink(at("a.json"), at("link.json")))
	must(os.Link(at("a.json"), at("hard.json")))
	must(os.Link(journal, at("hard.jsonl")))
	must(os.Symlink(filepath.Join(data, "tuning.json"), at("dangling.json")))
	must(os.Symlink(data, at("folder")))
	gemm := []string{"bench", "gemm", "--m", "8", "--n", "8", "--k", "8", "--no-ceilings"}
	to := func(args []string, more ...string) []string { return append(append([]string{}, args...), more...) }
	report := []string{"report", at("a.json"), at("b.json"), "--output"}
	for _, tc := range []struct {
		args []string
		want string
	}{
		{to(report, at("a.json")), at("a.json") + ", which is read"}, {to(report, at("b.json")), at("b.json") + ", which is read"},
		{to(report, at("link.json")), at("a.json")}, {to(report, at("hard.json")), at("a.json")}, {to(report, dir+"/./x/../a.json"), at("a.json")},
		{[]string{"profile", "--from", at("a.json"), "--output", at("a.json")}, "--from " + at("a.json")},
		{[]string{"profile", "--diff", at("a.json"), at("b.json"), "--output", at("b.json")}, at("b.json") + ", which is read"},
		{[]string{"compare", at("a.json"), at("b.json"), "--output", at("link.json")}, at("a.json") + ", which is read"},
		{[]string{"compare", "--interleave", at("build"), at("build"), "gemm", "--output", at("build")}, "the build " + at("build")},
		{to(gemm, "--resume", journal, "--output", journal), "the journal of --resume " + journal},
		{to(gemm, "--resume", "r1", "--output", journal), "the journal of --resume r1"},
		{to(gemm, "--output", at("new.csv"), "--energy", "--power-trace", at("new.csv")), "the same file as --power-trace"},
		{to(gemm, "--output", filepath.Join(data, "history.db")), "history.db"}, {to(gemm, "--output", filepath.Join(data, "history.db-wal")), "history.db-wal"},
		{to(gemm, "--output", filepath.Join(data, "tuning.json")), "tuning.json"}, {to(gemm, "--output", at("dangling.json")), "tuning.json"},
		{to(gemm, "--output", filepath.Join(at("folder"), "tuning.json")), "tuning.json"}, {to(gemm, "--output", filepath.Join(data, "cpu.lock")), "cpu.lock"},
		{to(gemm, "--output", filepath.Join(data, "cuda-0.lock")), "cuda-0.lock"}, {to(gemm, "--output", filepath.Join(runs, "r2.jsonl")), "r2.jsonl"}, {to(gemm, "--output", at("hard.jsonl")), "r1.jsonl"},
		{to(report, filepath.Join(data, "history.db")), "history.db"}, {[]string{"history", "export", "--output", filepath.Join(data, "history.db")}, "history.db"},
		{[]string{"history", "trend", "x", "--plot", filepath.Join(data, "history.db")}, "history.db"},
		{to(gemm, "--energy", "--power-trace", filepath.Join(data, "history.db")), "history.db"},
	} {
		code, _, stderr := ridge(t, append(tc.args, "--data-dir", data)...)
		if got := lines(stderr); code != exitUsage || len(got) == 0 || !strings.Contains(got[len(got)-1], "name another") || !strings.Contains(got[len(got)-1], tc.want) {
			t.Errorf("%v: exit code %d: %s, expected %q", tc.args, code, stderr, tc.want)
		}
	}
	for name, want := range map[string]string{at("a.json"): string(text), at("b.json"): string(text), journal: "no journal\n", filepath.Join(data, "cpu.lock"): ""} {
		if got, err := os.ReadFile(name); err != nil || string(got) != want {
			t.Errorf("%s was changed (%v)", name, err)
		}
	}
	for _, name := range []string{"tuning.json", "cuda-0.lock", "runs/r2.jsonl"} {
		if _, err := os.Stat(filepath.Join(data, name)); err == nil {
			t.Errorf("%s was made", name)
		}
	}
}

func TestOtherFilesAreWrittenAsBefore(t *testing.T) {
	dir := t.TempDir()
	document := sampleFile(t)
	for _, name := range []string{"/dev/null", filepath.Join(dir, "new.txt"), filepath.Join(dir, "new.txt"), filepath.Join(dir, "x", "y", "tuning.json"), filepath.Join(dir, "data", "runs", "r.json")} {
		if code, _, stderr := ridge(t, "report", document, "--output", name, "--data-dir", filepath.Join(dir, "data")); code != exitOK {
			t.Errorf("%s: exit code %d: %s", name, code, stderr)
		}
	}
}
