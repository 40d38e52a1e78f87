package history

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ridge/goharness/record"
	"ridge/goharness/record/recordtest"
)

// ended is the journal of a run that came to its end.
func ended(t *testing.T, dir, id string, results []record.Result) string {
	t.Helper()
	if err := journal(dir, id, results, false); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "runs", id+".jsonl")
	j, _, err := record.Resume(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := j.Append(record.Entry{Kind: record.EntryEnd, End: &record.End{Complete: true, WallSeconds: 1}}); err != nil {
		t.Fatal(err)
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-time.Minute)
	if err := os.Chtimes(path, old, old); err != nil {
		t.Fatal(err)
	}
	return path
}

// Between the end of a journal and the keeping of its run another command may take the journal in, or the machine may fail:
// the document, which has more, comes in its place. It does not go back.
func TestTheDocumentOfARunReplacesWhatWasMadeOfItsJournal(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	s := opened(t, dir)
	d := recordtest.Sample()
	d.RunID, d.Created = "r", "2026-03-01T00:00:00Z"
	ended(t, dir, "r", d.Results)
	if n, warnings, err := s.TakeIn(ctx, dir); n != 1 || len(warnings) > 0 || err != nil {
		t.Fatal(n, warnings, err)
	}
	if r := must[Run](t)(s.Show(ctx, "r")); !r.Complete || r.Source != FromJournal {
		t.Fatalf("%+v", r)
	}
	var exported bytes.Buffer
	must[int](t)(s.Export(ctx, &exported))
	for n, source := range []string{FromRun, FromRun, FromDocument} {
		want := Known
		if n == 0 {
			want = Replaced
		}
		if got := must[Added](t)(s.Add(ctx, d, source)); got != want {
			t.Errorf("%d: %v, expected %v", n, got, want)
		}
	}
	if _, known, err := s.Import(ctx, "export", &exported); known != 1 || err != nil {
		t.Error("what was made of the journal replaced the document:", err)
	}
	if n, _, err := s.TakeIn(ctx, dir); n != 0 || err != nil {
		t.Error("taken in again:", n, err)
	}
	got := must[record.Calibration](t)(s.Document(ctx, "r"))
	if len(got.Preflight.Checks) != len(d.Preflight.Checks) || len(got.FusionProfiles) != len(d.FusionProfiles) || len(got.FusionProfiles) == 0 {
		t.Errorf("%d checks and %d fusion profiles", len(got.Preflight.Checks), len(got.FusionProfiles))
	}
	if r := must[Run](t)(s.Show(ctx, "r")); r.Source != FromRun {
		t.Errorf("source %q", r.Source)
	}
	// A document with less than the journal is none of the run's end.
	less := d
	less.RunID, less.Results = "s", d.Results[:1]
	ended(t, dir, "s", d.Results)
	if n, _, err := s.TakeIn(ctx, dir); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	if a := must[Added](t)(s.Add(ctx, less, FromDocument)); a != Known {
		t.Error("a document of fewer results replaced the journal's:", a)
	}
}

// ridge fusion writes its profile beside the journal: that is what the run was made for.
func TestTheFusionProfileBesideAJournalIsTakenIn(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	s := opened(t, dir)
	d := recordtest.Sample()
	for run, of := range map[string]string{"mine": "mine", "other": "somebody-else"} {
		ended(t, dir, run, d.Results)
		var p record.Fusion
		if err := json.Unmarshal(d.FusionProfiles[0], &p); err != nil {
			t.Fatal(err)
		}
		p.RunID = of
		data, err := record.EncodeFusion(p)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "runs", run+"-fusion.json"), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if n, warnings, err := s.TakeIn(ctx, dir); n != 2 || len(warnings) > 0 || err != nil {
		t.Fatal(n, warnings, err)
	}
	for run, want := range map[string]int{"mine": 1, "other": 0} {
		if got := must[record.Calibration](t)(s.Document(ctx, run)); len(got.FusionProfiles) != want || len(got.Results) != len(d.Results) {
			t.Errorf("%s: %d fusion profiles, expected %d", run, len(got.FusionProfiles), want)
		}
	}
}

// "zzzz" would sort behind every time and be the latest run for ever.
func TestARunWithoutATimeIsRefused(t *testing.T) {
	s := opened(t, t.TempDir())
	for _, created := range []string{"", "zzzz", "2026-13-01T00:00:00Z", "2026-03-01"} {
		if _, err := s.Add(t.Context(), sample("r", created, 1), FromDocument); err == nil || !strings.Contains(err.Error(), "created") {
			t.Errorf("%q: %v", created, err)
		}
	}
}

// A run whose journal has no whole header yet is no fault of who looks for runs, and hides none.
func TestAJournalWithoutAHeaderHidesNoRun(t *testing.T) {
	dir := t.TempDir()
	if err := journal(dir, "on", recordtest.Sample().Results[:2], true); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"empty": "", "begun": `{"crc32c":"0`} {
		if err := os.WriteFile(filepath.Join(dir, "runs", name+".jsonl"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if l, ok, err := Running(dir); !ok || err != nil || l.RunID != "on" {
		t.Errorf("%+v %v %v", l.RunID, ok, err)
	}
}
