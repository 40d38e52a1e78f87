package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ridge/goharness/history"
	"ridge/goharness/record"
	"ridge/goharness/record/recordtest"
)

// kept is a data directory with runs r0, r1, … whose times grow by 1 % of the first each.
func kept(t *testing.T, runs int) (dir string, id string) {
	t.Helper()
	dir = t.TempDir()
	s, err := history.Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for i := range runs {
		d := recordtest.Sample()
		d.RunID = "r" + string(rune('0'+i))
		d.Created = time.Date(2026, 3, 1+i, 0, 0, 0, 0, time.UTC).Format(time.RFC3339)
		for _, r := range d.Results {
			if r.Status == record.OK && r.Time != nil && len(r.Arms) == 0 {
				id = r.ID
			}
		}
		if _, err := s.Add(t.Context(), d, history.FromRun); err != nil {
			t.Fatal(err)
		}
	}
	return dir, id
}

func TestHistoryCommands(t *testing.T) {
	dir, id := kept(t, 3)
	out := filepath.Join(t.TempDir(), "x", "all.jsonl")
	svg := filepath.Join(t.TempDir(), "trend.svg")
	other := t.TempDir()
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"list"}, "r2"},
		{[]string{"list", "--limit", "1"}, "1 of 3 runs"},
		{[]string{"list", "--json"}, `"run_id": "r0"`},
		{[]string{"show", "r1"}, "run r1"},
		{[]string{"show", "latest", "--json"}, `"run_id": "r2"`},
		{[]string{"show", "r1", "--format", "md"}, "r1"},
		{[]string{"trend", id, "--plot", svg}, "3 runs"},
		{[]string{"trend", id, "--json"}, `"points"`},
		{[]string{"export", "--output", out}, ""},
		{[]string{"import", out}, "0 runs stored, 3 were there"},
		{[]string{"baseline", "set", "r0"}, "run r0"},
		{[]string{"baseline"}, "run r0"},
		{[]string{"list"}, "baseline"},
		{[]string{"baseline", "clear"}, "1 baselines cleared"},
		{[]string{"--data-dir", other, "import", out}, "3 runs stored"},
	} {
		code, stdout, stderr := ridge(t, inData(dir, c.args)...)
		if code != exitOK || !strings.Contains(stdout, c.says) {
			t.Errorf("%v: exit code %d, error %q, expected %q in\n%s", c.args, code, stderr, c.says, stdout)
		}
	}
	shown := filepath.Join(t.TempDir(), "run.json")
	if code, stdout, stderr := ridge(t, "history", "--data-dir", dir, "show", "r1", "--json", "--output", shown); code != exitOK || stdout != "" {
		t.Errorf("show --json --output: %d %q %s", code, stdout, stderr)
	}
	if data, err := os.ReadFile(shown); err != nil || !strings.Contains(string(data), `"run_id": "r1"`) {
		t.Error("show --json --output:", err)
	}
	none := t.TempDir()
	if code, _, stderr := ridge(t, "history", "--data-dir", none, "baseline"); code != exitUsage || !strings.Contains(stderr, "no history yet") {
		t.Errorf("baseline without a history: %d %s", code, stderr)
	}
	if files, _ := os.ReadDir(none); len(files) > 0 {
		t.Error("asking for the baselines made a history")
	}
	if data, err := os.ReadFile(svg); err != nil || !strings.Contains(string(data), "<svg") {
		t.Error("the plot:", err)
	}
}

func TestHistoryRefusesBadInput(t *testing.T) {
	dir, id := kept(t, 1)
	broken := t.TempDir()
	if err := os.WriteFile(history.Path(broken), []byte(strings.Repeat("garbage ", 999)), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{}, "expected one of list"},
		{[]string{"burn"}, "burn"},
		{[]string{"show"}, "history show: got nothing, expected one RUN"},
		{[]string{"show", "r0", "r1"}, `got "r0 r1", expected one RUN`},
		{[]string{"list", "r0"}, `got "r0", expected no words`},
		{[]string{"list", "--kind", "burn"}, `--kind "burn": expected one of calibrate`},
		{[]string{"show", "nothing"}, `"nothing" is not in the history`},
		{[]string{"show", "r0", "--format", "pdf"}, "--format"},
		{[]string{"show", "r0", "--format", "plots"}, "ridge report - --format plots --output DIR"},
		{[]string{"trend", "no such case"}, "no such case"},
		{[]string{"trend", "gemm"}, "is in cpu/gemm"},
		{[]string{"trend", id, "--metric", "speed"}, "--metric"},
		{[]string{"trend", id, "--plot", "-"}, "--plot -"},
		{[]string{"trend", id, "--host", "zzz"}, "zzz"},
		{[]string{"list", "--limit", "0"}, "--limit"},
		{[]string{"import", "/nowhere"}, "/nowhere"},
		{[]string{"import", "history.go"}, "history.go"},
		{[]string{"baseline", "set"}, "baseline"},
		{[]string{"baseline", "set", "nothing"}, "nothing"},
		{[]string{"--data-dir", t.TempDir(), "list"}, "no history yet"},
		{[]string{"--data-dir", broken, "list"}, "damaged"},
	} {
		code, _, stderr := ridge(t, inData(dir, c.args)...)
		if code != exitUsage || !strings.Contains(stderr, c.says) || strings.Count(strings.TrimSpace(stderr), "\n") != 0 {
			t.Errorf("%v: exit code %d, error %q, expected %q in one line", c.args, code, stderr, c.says)
		}
	}
}

func TestRunsAreComparedByIDAndWithTheBaseline(t *testing.T) {
	dir, _ := kept(t, 2)
	compare := func(args ...string) (int, string, string) {
		return ridge(t, append([]string{"compare", "--data-dir", dir}, args...)...)
	}
	if code, stdout, stderr := compare("r0", "r1"); code != exitOK || !strings.Contains(stdout, "run r1") {
		t.Errorf("by id: %d %s%s", code, stdout, stderr)
	}
	if code, _, stderr := compare("--baseline"); code != exitUsage || !strings.Contains(stderr, "baseline set") {
		t.Errorf("no baseline: %d %s", code, stderr)
	}
	ridge(t, "history", "--data-dir", dir, "baseline", "set", "r0")
	if code, stdout, stderr := compare("--baseline"); code != exitOK || !strings.Contains(stdout, "baseline r0") || !strings.Contains(stdout, "run r1") {
		t.Errorf("the latest: %d %s%s", code, stdout, stderr)
	}
	for _, c := range []struct {
		args []string
		says string
	}{{[]string{"r0", "r7"}, "r7"}, {[]string{"--baseline", "r0", "r1"}, "--baseline"}, {[]string{"r0"}, "expected two"}} {
		if code, _, stderr := compare(c.args...); code != exitUsage || !strings.Contains(stderr, c.says) {
			t.Errorf("%v: %d %s", c.args, code, stderr)
		}
	}
}

// A run is kept when it ends; where it cannot be, a warning says so and the exit code stays.
func TestARunIsKeptAndAHistoryThatFailsSpoilsNothing(t *testing.T) {
	bench := func(dir string) (int, string) {
		code, _, stderr := ridge(t, "bench", "gemm", "--m", "8", "--n", "8", "--k", "8", "--threads", "1", "--no-ceilings", "--warmup", "1", "--trials", "3", "--force", "--data-dir", dir)
		return code, stderr
	}
	dir := t.TempDir()
	if code, stderr := bench(dir); code != exitOK || strings.Contains(stderr, "warning: this run is not in the history") {
		t.Fatalf("%d %s", code, stderr)
	}
	_, stdout, _ := ridge(t, "history", "list", "--json", "--data-dir", dir)
	var runs []history.Run
	if err := json.Unmarshal([]byte(stdout), &runs); err != nil || len(runs) != 1 || runs[0].Kind != "bench" || runs[0].Source != history.FromRun || !runs[0].Complete {
		t.Errorf("%v %s", err, stdout)
	}
	broken := t.TempDir()
	if err := os.WriteFile(history.Path(broken), []byte(strings.Repeat("garbage ", 999)), 0o644); err != nil {
		t.Fatal(err)
	}
	code, stderr := bench(broken)
	if code != exitOK || !strings.Contains(stderr, "not in the history") || !strings.Contains(stderr, "move it away") {
		t.Errorf("with a damaged history: %d %s", code, stderr)
	}
	// Once the damaged file is gone, the next start takes the run in.
	if err := os.Remove(history.Path(broken)); err != nil {
		t.Fatal(err)
	}
	journals, _ := filepath.Glob(filepath.Join(broken, "runs", "*.jsonl"))
	old := time.Now().Add(-time.Minute)
	for _, j := range journals {
		if err := os.Chtimes(j, old, old); err != nil {
			t.Fatal(err)
		}
	}
	if code, stdout, stderr := ridge(t, "history", "list", "--data-dir", broken); code != exitOK || !strings.Contains(stdout, "bench") || !strings.Contains(stderr, "1 runs were taken in") {
		t.Errorf("after it is gone: %d %s%s", code, stdout, stderr)
	}
}

func TestServeRefusesWhatOthersCouldReach(t *testing.T) {
	short := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(short, []byte("short\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("RIDGE_SERVE_TOKEN", "")
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"--address", "0.0.0.0:0"}, "--allow-remote"},
		{[]string{"--address", ":0"}, "--allow-remote"},
		{[]string{"--address", "0.0.0.0:0", "--allow-remote"}, "token"},
		{[]string{"--address", "0.0.0.0:0", "--allow-remote", "--token-file", short}, "5 characters"},
		{[]string{"--address", "0.0.0.0:0", "--allow-remote", "--token-file", "/nowhere"}, "--token-file"},
		{[]string{"--address", "nonsense"}, "--address"},
		{[]string{"--address", "127.0.0.1:99999"}, "--address"},
		{[]string{"extra"}, "extra"},
	} {
		code, _, stderr := ridge(t, append([]string{"serve"}, c.args...)...)
		if code != exitUsage || !strings.Contains(stderr, c.says) || strings.Count(strings.TrimSpace(stderr), "\n") != 0 {
			t.Errorf("%v: exit code %d, error %q, expected %q in one line", c.args, code, stderr, c.says)
		}
	}
}

// inData is a history command on a data directory, unless it names another one.
func inData(dir string, args []string) []string {
	if len(args) > 0 && args[0] == "--data-dir" {
		return append([]string{"history"}, args...)
	}
	return append([]string{"history", "--data-dir", dir}, args...)
}
