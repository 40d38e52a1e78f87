package history

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ridge/goharness/record"
	"ridge/goharness/record/recordtest"
)

var held []*record.Journal

// journal writes the journal of a run that ended by a crash, or (open) is going on.
func journal(dir, id string, results []record.Result, open bool) error {
	if err := os.MkdirAll(filepath.Join(dir, "runs"), 0o755); err != nil {
		return err
	}
	d := recordtest.Sample()
	j, err := record.Create(filepath.Join(dir, "runs", id+".jsonl"), record.JournalHeader{RunID: id, Created: "2026-03-01T00:00:00Z",
		Command: []string{"ridge", "calibrate", "--quick"}, Tool: &d.Tool, Host: &d.Host})
	if err != nil {
		return err
	}
	for i := range results {
		if err := j.Append(record.Entry{Kind: record.EntryResult, Result: &results[i]}); err != nil {
			return err
		}
	}
	if open {
		held = append(held, j) // the lock ends with the test's process
		return nil
	}
	old := time.Now().Add(-time.Minute)
	if err := j.Close(); err != nil {
		return err
	}
	return os.Chtimes(filepath.Join(dir, "runs", id+".jsonl"), old, old)
}

func TestARunThatIsGoingOnIsSeen(t *testing.T) {
	dir := t.TempDir()
	if _, ok, err := Running(dir); ok || err != nil {
		t.Error(ok, err)
	}
	results := recordtest.Sample().Results
	if err := journal(dir, "over", results, false); err != nil {
		t.Fatal(err)
	}
	if _, ok, err := Running(dir); ok || err != nil {
		t.Error("over:", ok, err)
	}
	if err := journal(dir, "on", results[:2], true); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-30 * time.Second)
	if err := os.Chtimes(filepath.Join(dir, "runs", "on.jsonl"), old, old); err != nil { // a long case: the lock says it
		t.Fatal(err)
	}
	l, ok, err := Running(dir)
	if !ok || err != nil || l.RunID != "on" || l.Results != 2 || l.LastCase != results[1].ID {
		t.Errorf("%+v %v %v", l, ok, err)
	}
}

func TestJournalsOfCrashedRunsAreTakenInOnce(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	s := opened(t, dir)
	results := recordtest.Sample().Results
	for id, open := range map[string]bool{"crashed": false, "going-on": true} {
		if err := journal(dir, id, results, open); err != nil {
			t.Fatal(err)
		}
	}
	bad := filepath.Join(dir, "runs", "bad.jsonl")
	if err := os.WriteFile(bad, []byte("{\"crc32c\":\"00000000\",\"entry\":{}}\nx\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-time.Minute)
	if err := os.Chtimes(bad, old, old); err != nil {
		t.Fatal(err)
	}
	n, warnings, err := s.TakeIn(ctx, dir)
	if n != 1 || len(warnings) != 1 || !strings.Contains(warnings[0], "bad.jsonl") || err != nil {
		t.Error(n, warnings, err)
	}
	if n, warnings, err := s.TakeIn(ctx, dir); n != 0 || len(warnings) != 0 || err != nil {
		t.Error("again:", n, warnings, err)
	}
	if _, err := os.Stat(bad); err != nil {
		t.Error("the damaged journal is gone:", err)
	}
	r := must[Run](t)(s.Show(ctx, "crashed"))
	if r.Kind != "calibrate" || !r.Quick || r.Complete || r.Results != len(results) {
		t.Errorf("%+v", r)
	}
	if _, err := s.Show(ctx, "going-on"); err == nil {
		t.Error("a run that is going on was taken in")
	}
	// What was made of a journal is a valid document.
	var b strings.Builder
	must[int](t)(s.Export(ctx, &b, "crashed"))
	if n, _, err := opened(t, t.TempDir()).Import(ctx, "f", strings.NewReader(b.String())); n != 1 || err != nil {
		t.Error("import of it:", n, err)
	}
}

func TestAReadOnlyFolderIsReadAndSaysWhatToDo(t *testing.T) {
	dir := t.TempDir()
	s := opened(t, dir)
	must[Added](t)(s.Add(t.Context(), sample("r", "2026-03-01T00:00:00Z", 1), FromRun))
	s.Close()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for _, p := range []string{filepath.Dir(dir), filepath.Dir(filepath.Dir(dir))} {
		st, err := os.Stat(p)
		if err != nil || os.Chmod(p, st.Mode().Perm()|0o055) != nil {
			t.Skip("the test's folder cannot be opened to others")
		}
	}
	for p, mode := range map[string]os.FileMode{dir: 0o555, Path(dir): 0o444} {
		if err := os.Chmod(p, mode); err != nil {
			t.Fatal(err)
		}
	}
	defer os.Chmod(dir, 0o755)
	if os.Geteuid() == 0 { // root may write everywhere: the test is somebody else
		if err := unix.Setfsuid(65534); err != nil {
			t.Skip(err)
		}
		defer unix.Setfsuid(0)
	}
	ro, err := OpenReadOnly(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	defer ro.Close()
	if n := must[int](t)(ro.Count(t.Context())); n != 1 {
		t.Errorf("%d runs", n)
	}
	w, err := Open(t.Context(), dir)
	if err == nil {
		_, err = w.Add(t.Context(), sample("r2", "2026-03-01T00:00:00Z", 1), FromRun)
		w.Close()
	}
	advised(t, "read-only", err, "writable")
	_, err = Open(t.Context(), filepath.Join(dir, "deeper"))
	advised(t, "no folder can be made", err, "writable")
}
