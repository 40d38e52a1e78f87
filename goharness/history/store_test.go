package history

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"ridge/goharness/record"
	"ridge/goharness/record/recordtest"
)

// sample is a run of an id; its times are factor × those of others.
func sample(id, created string, factor float64) record.Calibration {
	d := recordtest.Sample()
	d.RunID, d.Created = id, created
	for i := range d.Results {
		if t := d.Results[i].Time; t != nil {
			scaled := *t
			scaled.MedianNS *= factor
			d.Results[i].Time = &scaled
		}
	}
	return d
}

func opened(t testing.TB, dir string) *Store {
	t.Helper()
	s, err := Open(context.Background(), dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func must[T any](t testing.TB) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func TestARunComesBackAsItWasStored(t *testing.T) {
	ctx := t.Context()
	s := opened(t, t.TempDir())
	d := sample("run-1", "2026-03-01T10:00:00+02:00", 1)
	if a := must[Added](t)(s.Add(ctx, d, FromRun)); a != Stored {
		t.Errorf("added: %v", a)
	}
	if a := must[Added](t)(s.Add(ctx, d, FromRun)); a != Known {
		t.Errorf("added again: %v", a)
	}
	runs := must[[]Run](t)(s.List(ctx, Filter{}))
	if len(runs) != 1 || runs[0].RunID != "run-1" || runs[0].Created != "2026-03-01T08:00:00Z" || runs[0].Kind != "calibrate" || runs[0].Results != len(d.Results) || !runs[0].Complete {
		t.Errorf("%+v", runs)
	}
	text := must[[]byte](t)(s.Text(ctx, "run-1"))
	want, err := record.EncodeCalibration(d)
	if err != nil || !bytes.Equal(text, want) {
		t.Errorf("the document changed: %v", err)
	}
	if got := must[record.Calibration](t)(s.Document(ctx, "run")); got.RunID != "run-1" {
		t.Errorf("by the start of its id: %+v", got.RunID)
	}
}

func TestAnInterruptedRunIsReplacedByItselfOnly(t *testing.T) {
	ctx := t.Context()
	s := opened(t, t.TempDir())
	part := sample("r", "2026-03-01T10:00:00Z", 1)
	part.Results, part.Summary.Complete, part.FusionProfiles = part.Results[:2], false, nil
	full := sample("r", "2026-03-01T10:00:00Z", 1)
	for _, c := range []struct {
		d    record.Calibration
		want Added
	}{{part, Stored}, {part, Known}, {full, Replaced}, {part, Known}, {full, Known}} {
		if a := must[Added](t)(s.Add(ctx, c.d, FromRun)); a != c.want {
			t.Errorf("%d results, complete %v: %v, expected %v", len(c.d.Results), c.d.Summary.Complete, a, c.want)
		}
	}
	if r := must[Run](t)(s.Show(ctx, "r")); r.Results != len(full.Results) || !r.Complete {
		t.Errorf("%+v", r)
	}
}

func TestListIsNewestFirstAndFilters(t *testing.T) {
	ctx := t.Context()
	s := opened(t, t.TempDir())
	for i, created := range []string{"2026-03-02T00:00:00Z", "2026-03-01T00:00:00Z", "2026-03-03T00:00:00Z"} {
		d := sample(fmt.Sprint("r", i), created, 1)
		if i == 1 {
			d.Host.CPU.Model = "other"
			d.Command = []string{"ridge", "--quiet", "bench", "gemm"}
		}
		must[Added](t)(s.Add(ctx, d, FromRun))
	}
	ids := func(f Filter) string {
		var out []string
		for _, r := range must[[]Run](t)(s.List(ctx, f)) {
			out = append(out, r.RunID)
		}
		return strings.Join(out, " ")
	}
	other := must[Run](t)(s.Show(ctx, "r1"))
	for _, c := range []struct {
		f    Filter
		want string
	}{{Filter{}, "r2 r0 r1"}, {Filter{Limit: 2}, "r2 r0"}, {Filter{Kind: "bench"}, "r1"}, {Filter{Host: other.HostPrint}, "r1"}, {Filter{Host: other.HostPrint[:5]}, "r1"}, {Filter{Host: "zz"}, ""}} {
		if got := ids(c.f); got != c.want {
			t.Errorf("%+v: %s, expected %s", c.f, got, c.want)
		}
	}
	var none *NoRunError
	for id, several := range map[string]bool{"r": true, "x": false, "": true, "r9": false} {
		if _, err := s.Show(ctx, id); !errors.As(err, &none) || none.Several != several {
			t.Errorf("%q: %v", id, err)
		}
	}
	if r := must[Run](t)(s.Show(ctx, "latest")); r.RunID != "r2" {
		t.Errorf("latest: %s", r.RunID)
	}
}

func TestBaselinesAreOneAMachine(t *testing.T) {
	ctx := t.Context()
	s := opened(t, t.TempDir())
	for i := range 2 {
		must[Added](t)(s.Add(ctx, sample(fmt.Sprint("r", i), "2026-03-01T00:00:00Z", 1), FromRun))
	}
	host := must[Run](t)(s.SetBaseline(ctx, "r0")).HostPrint
	if r := must[Run](t)(s.SetBaseline(ctx, "r1")); !r.Baseline {
		t.Errorf("%+v", r)
	}
	if id, ok, err := s.Baseline(ctx, host); id != "r1" || !ok || err != nil {
		t.Error(id, ok, err)
	}
	if n, err := s.ClearBaseline(ctx, ""); n != 1 || err != nil {
		t.Error(n, err)
	}
	if _, ok, err := s.Baseline(ctx, host); ok || err != nil {
		t.Error("after clear:", ok, err)
	}
	if n := must[int](t)(s.Count(ctx)); n != 2 {
		t.Errorf("%d runs after clear", n)
	}
}

func TestTwoWritersAtOnceLoseNothing(t *testing.T) {
	dir := t.TempDir()
	var wg sync.WaitGroup
	errs := make(chan error, 100)
	for w := range 2 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			s, err := Open(context.Background(), dir) // both lay it out
			if err != nil {
				errs <- err
				return
			}
			defer s.Close()
			for i := range 10 {
				if _, err := s.Add(context.Background(), sample(fmt.Sprintf("w%d-%d", w, i), "2026-03-01T00:00:00Z", 1), FromRun); err != nil {
					errs <- err
				}
			}
		}()
	}
	wg.Wait()
	close(errs)
	for err := range errs {
		t.Error(err)
	}
	if n := must[int](t)(opened(t, dir).Count(t.Context())); n != 20 {
		t.Errorf("%d runs, expected 20", n)
	}
}

// advised checks that an error says what to do, and that the file is as it was.
func advised(t *testing.T, what string, err error, says string) {
	t.Helper()
	var ours *Error
	if !errors.As(err, &ours) || !strings.Contains(err.Error(), says) {
		t.Errorf("%s: error %v, expected %q in its advice", what, err, says)
	}
}

func TestAFullDiskLosesNothingAndTheJournalIsTakenInLater(t *testing.T) {
	ctx, dir := t.Context(), t.TempDir()
	first := opened(t, dir)
	must[Added](t)(first.Add(ctx, sample("r0", "2026-03-01T00:00:00Z", 1), FromRun))
	var pages int
	if err := first.db.QueryRow("PRAGMA page_count").Scan(&pages); err != nil {
		t.Fatal(err)
	}
	full, err := open(ctx, Path(dir), false, pages+1)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	next := sample("r1", "2026-03-02T00:00:00Z", 1)
	_, err = full.Add(ctx, next, FromRun)
	advised(t, "full", err, "free space")
	if n := must[int](t)(first.Count(ctx)); n != 1 {
		t.Errorf("%d runs, expected 1", n)
	}
	if err := journal(dir, "r1", next.Results, false); err != nil {
		t.Fatal(err)
	}
	if n, warnings, err := first.TakeIn(ctx, dir); n != 1 || len(warnings) > 0 || err != nil {
		t.Error(n, warnings, err)
	}
	if r := must[Run](t)(first.Show(ctx, "r1")); r.Source != FromJournal || r.Complete || r.Results != len(next.Results) {
		t.Errorf("%+v", r)
	}
	var ok string
	if err := first.db.QueryRow("PRAGMA integrity_check").Scan(&ok); err != nil || ok != "ok" {
		t.Error(ok, err)
	}
}

func TestWhatIsNotOurDatabaseIsLeftAlone(t *testing.T) {
	sqlite := func(statements string) func(path string) {
		return func(path string) {
			db, err := sql.Open("sqlite", path)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			if _, err := db.Exec(statements); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, c := range map[string]struct {
		make func(path string)
		says string
	}{
		"newer":        {sqlite(fmt.Sprintf("CREATE TABLE t (x); PRAGMA application_id = %d; PRAGMA user_version = %d", applicationID, version+1)), "use that ridge"},
		"foreign":      {sqlite("CREATE TABLE t (x)"), "move it away"},
		"no database":  {func(path string) { os.WriteFile(path, bytes.Repeat([]byte("garbage "), 1000), 0o644) }, "damaged"},
		"cut short":    {func(path string) { os.WriteFile(path, []byte("SQLite format 3\x00"), 0o644) }, "damaged"},
		"a folder":     {func(path string) { os.Mkdir(path, 0o755) }, "writable"},
		"damaged page": {damaged(t), "damaged"},
	} {
		dir := t.TempDir()
		c.make(Path(dir))
		before, _ := os.ReadFile(Path(dir))
		s, err := Open(t.Context(), dir)
		if err == nil { // damage shows when the page is read
			_, err = s.List(t.Context(), Filter{})
			if err == nil {
				_, err = s.Add(t.Context(), sample("new", "2026-03-01T00:00:00Z", 1), FromRun)
			}
			s.Close()
		}
		advised(t, name, err, c.says)
		if after, _ := os.ReadFile(Path(dir)); !bytes.Equal(before, after) {
			t.Errorf("%s: the file was changed", name)
		}
	}
}

// damaged makes a history whose pages behind the first are overwritten.
func damaged(t *testing.T) func(path string) {
	return func(path string) {
		s, err := Open(t.Context(), filepath.Dir(path))
		if err != nil {
			t.Fatal(err)
		}
		must[Added](t)(s.Add(t.Context(), sample("r", "2026-03-01T00:00:00Z", 1), FromRun))
		s.Close()
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for i := 4096; i < len(data); i++ {
			data[i] = 0x5a
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func TestReadingNeedsNoHistoryAndMakesNone(t *testing.T) {
	dir := t.TempDir()
	if _, err := OpenReadOnly(t.Context(), dir); !errors.Is(err, ErrNone) {
		t.Errorf("error %v", err)
	}
	if files, _ := os.ReadDir(dir); len(files) > 0 {
		t.Error("a file was made")
	}
}

func TestTheDriftComesFromPairsOfOneBuild(t *testing.T) {
	ctx := t.Context()
	s := opened(t, t.TempDir())
	for i := range 8 {
		d := sample(fmt.Sprint("r", i), fmt.Sprintf("2026-03-%02dT00:00:00Z", i+1), 1+0.02*float64(i%2))
		must[Added](t)(s.Add(ctx, d, FromRun))
		if i == 5 {
			host := must[Run](t)(s.Show(ctx, "r0")).HostPrint
			if d, ok, err := s.Drift(ctx, host); !ok || err != nil || d.DoF != 5 {
				t.Errorf("after six runs: %+v %v %v", d, ok, err)
			}
			if _, ok, _ := s.Drift(ctx, "other"); ok {
				t.Error("another machine has a drift")
			}
		}
		if i == 4 {
			if _, ok, err := s.Drift(ctx, must[Run](t)(s.Show(ctx, "r0")).HostPrint); ok || err != nil {
				t.Error("four pairs are enough", err)
			}
		}
	}
	d, _, _ := s.Drift(ctx, must[Run](t)(s.Show(ctx, "r0")).HostPrint)
	if d.PerRun < 0.005 || d.PerRun > 0.012 { // every pair differs by 2 %: 0.0198/1.645/√2
		t.Errorf("drift %v", d.PerRun)
	}
}

// What is asked about does not excuse itself: the runs that are compared are no evidence of drift.
func TestTheRunsThatAreComparedAreNoDrift(t *testing.T) {
	ctx := t.Context()
	s := opened(t, t.TempDir())
	for i := range 9 {
		d := sample(fmt.Sprint("r", i), fmt.Sprintf("2026-03-%02dT00:00:00Z", i+1), 1+0.002*float64(i%2)+float64(i/8))
		must[Added](t)(s.Add(ctx, d, FromRun))
	}
	host := must[Run](t)(s.Show(ctx, "r0")).HostPrint
	with, _, _ := s.Drift(ctx, host)
	without, ok, err := s.Drift(ctx, host, "r7", "r8")
	if with.PerRun < 0.05 || without.PerRun > 0.01 || !ok || err != nil {
		t.Errorf("with them %v, without %v %v %v", with, without, ok, err)
	}
}

// Runs of one kind have cases in common; those of others between them do not part the pairs.
func TestTheDriftPairsRunsOfAKind(t *testing.T) {
	ctx := t.Context()
	s := opened(t, t.TempDir())
	for i := range 14 {
		d := sample(fmt.Sprintf("r%02d", i), fmt.Sprintf("2026-03-%02dT00:00:00Z", i+1), 1+0.002*float64(i%4))
		if i%2 == 1 {
			d.Command = []string{"ridge", "bench", "gemm"}
			d.Results, d.FusionProfiles, d.Ceilings = d.Results[:1], nil, nil
		}
		must[Added](t)(s.Add(ctx, d, FromRun))
	}
	if d, ok, err := s.Drift(ctx, must[Run](t)(s.Show(ctx, "r00")).HostPrint); !ok || err != nil || d.DoF != 6 {
		t.Errorf("%+v %v %v", d, ok, err)
	}
}

// One document whose bytes no disk gives back does not cost the others.
func TestAnExportLeavesDamagedRunsOut(t *testing.T) {
	ctx := t.Context()
	s := opened(t, t.TempDir())
	for i := range 3 {
		must[Added](t)(s.Add(ctx, sample(fmt.Sprint("r", i), fmt.Sprintf("2026-03-%02dT00:00:00Z", i+1), 1), FromRun))
	}
	if _, err := s.db.ExecContext(ctx, "UPDATE documents SET gzip = x'1f8b00' WHERE run = (SELECT run FROM documents ORDER BY run LIMIT 1 OFFSET 1)"); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	n, err := s.Export(ctx, &b)
	var left *LeftOutError
	if n != 2 || !errors.As(err, &left) || !slices.Equal(left.Runs, []string{"r1"}) || !strings.Contains(err.Error(), "1 left out (r1)") || !strings.Contains(err.Error(), "move it away") {
		t.Errorf("%d exported, %v", n, err)
	}
	to := opened(t, t.TempDir())
	if stored, _, err := to.Import(ctx, "f", &b); stored != 2 || err != nil {
		t.Errorf("%d come back, %v", stored, err)
	}
}

// A run is stored only under an id by which it can be asked for.
func TestIDsThatNoCommandCanAskForAreRefused(t *testing.T) {
	ctx := t.Context()
	s := opened(t, t.TempDir())
	for _, c := range []struct {
		id string
		ok bool
	}{
		{"20261127-093902-37ff", true}, {"graphs-20260102T030405Z", true}, {"Build_7.1+dirty", true}, {strings.Repeat("a", 128), true}, {"latest2", true},
		{"", false}, {"latest", false}, {"../../etc/x", false}, {"a/b", false}, {"a b<script>", false}, {"-", false}, {"--all", false}, {".hidden", false}, {"a\x00b", false},
		{"läuft", false}, {strings.Repeat("a", 129), false},
	} {
		text, err := record.EncodeCalibration(sample(c.id, "2026-03-01T00:00:00Z", 1))
		if err != nil {
			t.Fatal(err)
		}
		stored, _, err := s.Import(ctx, "f", bytes.NewReader(text))
		if c.ok != (err == nil) || c.ok != (stored == 1) {
			t.Errorf("%.40q: %d stored, %v", c.id, stored, err)
			continue
		}
		if !c.ok {
			if !strings.Contains(err.Error(), "run_id") || len(err.Error()) > 300 {
				t.Errorf("%.40q: %v", c.id, err)
			}
		} else if r, err := s.Show(ctx, c.id); err != nil || r.RunID != c.id {
			t.Errorf("%.40q: asked for, it is %.40q, %v", c.id, r.RunID, err)
		}
	}
}

// A history of an older ridge may hold a run that no command can ask for: the export of all has it, once.
func TestAnExportOfAllHasEveryRunOnce(t *testing.T) {
	ctx := t.Context()
	s := opened(t, t.TempDir())
	for i := range 3 {
		must[Added](t)(s.Add(ctx, sample(fmt.Sprint("r", i), fmt.Sprintf("2026-03-%02dT00:00:00Z", i+1), float64(i+1)), FromRun))
	}
	if _, err := s.db.ExecContext(ctx, "UPDATE runs SET run_id = 'latest' WHERE run_id = 'r0'"); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	must[int](t)(s.Export(ctx, &b))
	for i := range 3 {
		if n := strings.Count(b.String(), fmt.Sprintf(`"run_id":"r%d"`, i)); n != 1 {
			t.Errorf("r%d is exported %d times", i, n)
		}
	}
}

func TestExportAndImportKeepEveryRun(t *testing.T) {
	ctx := t.Context()
	from, to := opened(t, t.TempDir()), opened(t, t.TempDir())
	for i := range 3 {
		d := sample(fmt.Sprint("r", i), fmt.Sprintf("2026-03-%02dT00:00:00Z", i+1), 1)
		must[Added](t)(from.Add(ctx, d, FromRun))
	}
	var b bytes.Buffer
	if n := must[int](t)(from.Export(ctx, &b)); n != 3 {
		t.Errorf("%d exported", n)
	}
	for again, want := range [][2]int{{3, 0}, {0, 3}} {
		stored, known, err := to.Import(ctx, "f", bytes.NewReader(b.Bytes()))
		if stored != want[0] || known != want[1] || err != nil {
			t.Errorf("import %d: %d stored, %d known, %v", again, stored, known, err)
		}
	}
	if _, known, err := to.Import(ctx, "f", strings.NewReader(strings.ReplaceAll(b.String(), "\n", "\n\n"))); known != 3 || err != nil {
		t.Errorf("with blank lines: %d known, %v", known, err)
	}
	for i := range 3 {
		id := fmt.Sprint("r", i)
		if !bytes.Equal(must[[]byte](t)(from.Text(ctx, id)), must[[]byte](t)(to.Text(ctx, id))) {
			t.Errorf("%s changed", id)
		}
	}
	for name, text := range map[string]string{
		"cut":     b.String()[:b.Len()/2],
		"nested":  `{"schema":"ridge.history-run/1","document":` + strings.Repeat("[", 20000) + strings.Repeat("]", 20000) + "}\n",
		"NaN":     `{"schema":"ridge.history-run/1","document":NaN}` + "\n",
		"no run":  `{"schema":"ridge.history-run/1"}` + "\n",
		"schema":  `{"schema":"ridge.history-run/1","document":{"schema":"x"}}` + "\n",
		"garbage": "hello",
		"journal": `{"crc32c":"00000000","entry":{}}` + "\n",
		"empty":   "",
	} {
		if _, _, err := to.Import(ctx, "f", strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), "f: ") {
			t.Errorf("%s: error %v", name, err)
		}
	}
}
