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

// A run that was gone on with and crashed again has more to tell than when it was taken in first.
func TestARunThatCrashedTwiceIsTakenInTwice(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	s := opened(t, dir)
	results := recordtest.Sample().Results
	if err := journal(dir, "r", results[:2], false); err != nil {
		t.Fatal(err)
	}
	if n, _, err := s.TakeIn(ctx, dir); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	if n, _, err := s.TakeIn(ctx, dir); n != 0 || err != nil {
		t.Error("unchanged:", n, err)
	}
	path := filepath.Join(dir, "runs", "r.jsonl")
	j, _, err := record.Resume(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range results[2:] {
		if err := j.Append(record.Entry{Kind: record.EntryResult, Result: &results[2+i]}); err != nil {
			t.Fatal(err)
		}
	}
	j.Close()
	if _, err := s.db.Exec("UPDATE runs SET imported = '2026-03-01T00:00:00Z'"); err != nil { // the first crash was long ago
		t.Fatal(err)
	}
	old := time.Now().Add(-time.Minute)
	if err := os.Chtimes(path, old, old); err != nil {
		t.Fatal(err)
	}
	if n, _, err := s.TakeIn(ctx, dir); n != 1 || err != nil {
		t.Error("gone on with:", n, err)
	}
	if r := must[Run](t)(s.Show(ctx, "r")); r.Results != len(results) {
		t.Errorf("%d results, expected %d", r.Results, len(results))
	}
}

// A run that could not be stored when it ended has left its whole document beside the journal.
func TestTheDocumentBesideAJournalIsTakenIn(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	s := opened(t, dir)
	d := recordtest.Sample()
	for id, of := range map[string]string{"whole": "whole", "other": "somebody-else"} {
		if err := journal(dir, id, d.Results, false); err != nil {
			t.Fatal(err)
		}
		d.RunID = of
		data, err := record.EncodeCalibration(d)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "runs", id+".json"), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if n, warnings, err := s.TakeIn(ctx, dir); n != 2 || len(warnings) > 0 || err != nil {
		t.Fatal(n, warnings, err)
	}
	if got := must[record.Calibration](t)(s.Document(ctx, "whole")); len(got.Ceilings) != len(d.Ceilings) || !got.Summary.Complete {
		t.Errorf("%d ceilings, expected %d", len(got.Ceilings), len(d.Ceilings))
	}
	if got := must[record.Calibration](t)(s.Document(ctx, "other")); len(got.Results) != len(d.Results) || got.Summary.Complete {
		t.Error("the document of another run was taken for this one's")
	}
}

// Asking whether a run is going on takes its lock for a moment; a run that is gone on with in that moment waits.
func TestLookingForARunDoesNotKeepItFromGoingOn(t *testing.T) {
	dir := t.TempDir()
	if err := journal(dir, "r", recordtest.Sample().Results[:1], false); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "runs", "r.jsonl")
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_SH); err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(20*time.Millisecond, func() { f.Close() })
	j, _, err := record.Resume(path)
	if err != nil {
		t.Fatal(err)
	}
	j.Close()
}

func TestAJournalsCeilingsKeepEveryProbe(t *testing.T) {
	dir := t.TempDir()
	d := recordtest.Sample()
	c := d.Ceilings[0]
	c.Kind, c.Unit = record.CeilingCompute, "GFLOPS"
	c.Probes = []record.Probe{{Time: "2026-03-01T00:00:00Z", Value: 10, Case: d.Results[0].ID, Why: "initial"}}
	c.Measured = record.Measured{Value: 10, CaseID: d.Results[0].ID}
	j, err := record.Create(filepath.Join(dir, "r.jsonl"), record.JournalHeader{RunID: "r", Created: d.Created, Tool: &d.Tool, Host: &d.Host})
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	for _, e := range []record.Entry{{Kind: record.EntryResult, Result: &d.Results[0]}, {Kind: record.EntryCeiling, Ceiling: &c},
		{Kind: record.EntryProbe, Probe: &record.ProbeEntry{Ceiling: c.Key(), Probe: record.Probe{Time: "2026-03-01T00:01:00Z", Value: 12, Case: d.Results[0].ID, Why: "periodic"}}}} {
		if err := j.Append(e); err != nil {
			t.Fatal(err)
		}
	}
	got := must[record.Calibration](t)(FromJournalFile(filepath.Join(dir, "r.jsonl")))
	if len(got.Ceilings) != 1 || len(got.Ceilings[0].Probes) != 2 || got.Ceilings[0].Measured.Value != 12 || got.Ceilings[0].Theoretical.Unavailable == "" || got.Ceilings[0].Device != c.Device {
		t.Errorf("%+v", got.Ceilings)
	}
	if _, err := record.EncodeCalibration(got); err != nil {
		t.Error(err)
	}
}

// A run in a long case is silent for longer than one that ended since.
func TestARunThatIsGoingOnIsSeenBehindOneThatEnded(t *testing.T) {
	dir := t.TempDir()
	results := recordtest.Sample().Results
	for id, open := range map[string]bool{"on": true, "over": false} {
		if err := journal(dir, id, results[:1], open); err != nil {
			t.Fatal(err)
		}
	}
	for id, ago := range map[string]time.Duration{"on": time.Minute, "over": 10 * time.Second} {
		at := time.Now().Add(-ago)
		if err := os.Chtimes(filepath.Join(dir, "runs", id+".jsonl"), at, at); err != nil {
			t.Fatal(err)
		}
	}
	if l, ok, err := Running(dir); !ok || err != nil || l.RunID != "on" {
		t.Errorf("%+v %v %v", l.RunID, ok, err)
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
