package record

import (
	"bytes"
	"errors"
	"math"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func header() JournalHeader {
	return JournalHeader{RunID: "r1", Created: "2026-01-02T03:04:05Z", Command: []string{"ridge", "calibrate"}, PlanFingerprint: "abc"}
}

func result(id string) Entry {
	return Entry{Kind: EntryResult, Result: &Result{ID: id, Op: "gemm", DType: FP32, Device: "cpu", Status: OK}}
}

// journalFile makes a journal with results a, b and c and returns its path and bytes.
func journalFile(t *testing.T) (string, []byte) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "run.jsonl")
	j, err := Create(path, header())
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"a", "b", "c"} {
		if err := j.Append(result(id)); err != nil {
			t.Fatal(err)
		}
	}
	if err := j.Close(); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return path, data
}

func ids(l *Log) string {
	var out []string
	for _, r := range l.Results() {
		out = append(out, r.ID)
	}
	return strings.Join(out, " ")
}

func TestJournalKeepsEveryKindOfEntry(t *testing.T) {
	path := filepath.Join(t.TempDir(), "run.jsonl")
	j, err := Create(path, header())
	if err != nil {
		t.Fatal(err)
	}
	key := CeilingKey{Device: "cpu", Kind: CeilingCompute, DType: FP32, ISA: "avx2", Threads: 2}
	entries := []Entry{
		{Kind: EntryCeiling, Ceiling: &Ceiling{Device: "cpu", Kind: CeilingCompute, DType: FP32, ISA: "avx2", Threads: 2, Unit: "GFLOPS"}},
		{Kind: EntryProbe, Probe: &ProbeEntry{key, Probe{Value: 100, Why: "periodic"}}},
		result("a"),
		{Kind: EntryQuarantine, Quarantine: &Quarantine{"cpu", "k", "a", "crashed"}},
		{Kind: EntryEnd, End: &End{Complete: true, WallSeconds: 1}},
	}
	for _, e := range entries {
		if err := j.Append(e); err != nil {
			t.Fatal(err)
		}
	}
	j.Close()
	log, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(entries, log.Entries); d != "" {
		t.Error(d)
	}
	if log.Header.RunID != "r1" || log.Header.Schema != SchemaJournal || log.End() == nil || len(log.Quarantined()) != 1 {
		t.Errorf("header %+v, end %v", log.Header, log.End())
	}
}

func TestJournalTellsHowLongItsRunTook(t *testing.T) {
	at := func(id, started, end string) Entry {
		return Entry{Kind: EntryResult, Time: end, Result: &Result{ID: id, Started: started}}
	}
	again := at("a", "2026-01-02T03:00:05Z", "2026-01-02T05:00:30Z")
	again.Remeasure = "visit"
	end := func(seconds float64) Entry { return Entry{Kind: EntryEnd, End: &End{WallSeconds: seconds}} }
	first := at("a", "2026-01-02T03:00:05Z", "2026-01-02T03:00:20.5Z")
	later := at("b", "2026-01-02T05:00:00Z", "2026-01-02T05:00:40Z")
	for name, c := range map[string]struct {
		created string
		entries []Entry
		want    float64
	}{
		"nothing yet":                        {"2026-01-02T03:00:00Z", nil, 0},
		"cut short":                          {"2026-01-02T03:00:00Z", []Entry{first}, 20.5},
		"ended":                              {"2026-01-02T03:00:00Z", []Entry{first, end(21)}, 21},
		"gone on with and ended":             {"2026-01-02T03:00:00Z", []Entry{first, end(21), later, end(65)}, 65},
		"gone on with and cut short":         {"2026-01-02T03:00:00Z", []Entry{first, end(21), later}, 61},
		"gone on with what was begun before": {"2026-01-02T03:00:00Z", []Entry{first, end(21), again, later}, 31},
		"created at no time":                 {"yesterday", []Entry{first}, 15.5},
		"no times at all":                    {"", []Entry{at("a", "", "")}, 0},
		"results that end before they began": {"2026-01-02T04:00:00Z", []Entry{first}, 0},
		"a result that was begun at no time": {"2026-01-02T03:00:00Z", []Entry{end(1), at("a", "", "2026-01-02T03:00:20Z")}, 1},
	} {
		log := Log{Header: JournalHeader{Created: c.created}, Entries: c.entries}
		if got := log.Took(); got != c.want {
			t.Errorf("%s: %v s, want %v", name, got, c.want)
		}
	}
}

func TestJournalCutAnywhereInTheLastLineLosesOnlyThatLine(t *testing.T) {
	path, data := journalFile(t)
	last := bytes.LastIndexByte(data[:len(data)-1], '\n') + 1
	for cut := last + 1; cut < len(data); cut++ {
		if err := os.WriteFile(path, data[:cut], 0o644); err != nil {
			t.Fatal(err)
		}
		j, log, err := Resume(path)
		if err != nil {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		if ids(log) != "a b" || len(log.Warnings) != 1 {
			t.Fatalf("cut at %d: results %s, warnings %q", cut, ids(log), log.Warnings)
		}
		if err := j.Append(result("c")); err != nil {
			t.Fatal(err)
		}
		j.Close()
		if got, _ := os.ReadFile(path); !bytes.Equal(got, data) {
			t.Fatalf("cut at %d: after resuming the journal differs from the undisturbed one", cut)
		}
	}
}

func TestJournalWithADamagedLineInTheMiddleIsRefused(t *testing.T) {
	path, data := journalFile(t)
	lines := bytes.SplitAfter(data, []byte("\n"))
	for line := 2; line <= 3; line++ {
		bad := bytes.Clone(data)
		bad[bytes.Index(bad, lines[line-1])+len(framePrefix)+30] ^= 1
		os.WriteFile(path, bad, 0o644)
		_, _, err := Resume(path)
		if err == nil || !strings.Contains(err.Error(), "line "+string(rune('0'+line))+" is damaged") {
			t.Errorf("line %d: error %v", line, err)
		}
		if got, _ := os.ReadFile(path); !bytes.Equal(got, bad) {
			t.Error("a refused journal was changed")
		}
	}
}

func TestJournalOfAnotherKindIsRefusedInOneLine(t *testing.T) {
	_, good := journalFile(t)
	other := frame([]byte(`{"kind":"header","header":{"schema":"ridge.journal/2","run_id":"x"}}`))
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"empty":         {nil, "no complete header"},
		"other schema":  {other, `schema "ridge.journal/2", this ridge reads "ridge.journal/1"`},
		"no journal":    {[]byte("{\"a\":1}\nx\n"), "line 1 is damaged"},
		"no header":     {bytes.Join(bytes.SplitAfter(good, []byte("\n"))[1:], nil), "expected a header"},
		"null bytes":    {append(make([]byte, 100), '\n'), "line 1 is damaged"},
		"twice":         {append(bytes.Clone(good), bytes.SplitAfter(good, []byte("\n"))[1]...), "line 5: case \"a\" has a result already"},
		"wrong type":    {append(bytes.Clone(good), frame([]byte(`{"kind":"result","result":{"id":7}}`))...), "line 5: result.id: got number, expected string"},
		"unknown kind":  {append(bytes.Clone(good), frame([]byte(`{"kind":"x"}`))...), "kind \"x\""},
		"second header": {append(bytes.Clone(good), bytes.SplitAfter(good, []byte("\n"))[0]...), "a second header"},
	} {
		_, err := ReadJournal(bytes.NewReader(c.data))
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: error %v, want one line with %q", name, err, c.want)
		}
	}
}

func TestJournalHoldsOneResultPerCaseUnlessMeasuredAgain(t *testing.T) {
	path, _ := journalFile(t)
	j, _, err := Resume(path)
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	var dup *DuplicateError
	if err := j.Append(result("b")); !errors.As(err, &dup) || dup.ID != "b" {
		t.Fatalf("second result of b: %v", err)
	}
	again := result("b")
	again.Remeasure, again.Result.Status = "timed out before", Noisy
	if err := j.Append(again); err != nil {
		t.Fatal(err)
	}
	log, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if ids(log) != "a b c" || log.Results()[1].Status != Noisy {
		t.Errorf("results %s, b is %s", ids(log), log.Results()[1].Status)
	}
}

func TestJournalIsWrittenByOneRunAtATime(t *testing.T) {
	path, _ := journalFile(t)
	j, _, err := Resume(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := Resume(path); err == nil || !strings.Contains(err.Error(), "another run") {
		t.Errorf("second run: %v", err)
	}
	if _, err := Create(path, header()); !errors.Is(err, os.ErrExist) {
		t.Errorf("creating over it: %v", err)
	}
	j.Close()
	if j, _, err = Resume(path); err != nil {
		t.Fatalf("after the first run ended: %v", err)
	}
	j.Close()
}

func TestJournalRefusesNumbersThatJSONCannotHold(t *testing.T) {
	path, before := journalFile(t)
	j, _, err := Resume(path)
	if err != nil {
		t.Fatal(err)
	}
	defer j.Close()
	e := result("d")
	e.Result.Time = &Time{MedianNS: math.NaN()}
	if err := j.Append(e); err == nil || !strings.Contains(err.Error(), "result.result.time.median_ns is NaN") {
		t.Errorf("error %v", err)
	}
	if got, _ := os.ReadFile(path); !bytes.Equal(got, before) {
		t.Error("a refused entry changed the journal")
	}
}

// fullFile is a file on a disk with room for so many bytes.
type fullFile struct {
	bytes.Buffer
	room    int
	stuck   bool // Truncate fails too
	syncErr error
}

func (f *fullFile) Write(p []byte) (int, error) {
	if n := f.room - f.Len(); n < len(p) {
		f.Buffer.Write(p[:max(0, n)])
		return max(0, n), syscall.ENOSPC
	}
	return f.Buffer.Write(p)
}
func (f *fullFile) Sync() error { return f.syncErr }
func (f *fullFile) Truncate(n int64) error {
	if f.stuck {
		return syscall.EIO
	}
	f.Buffer.Truncate(int(n))
	return nil
}
func (f *fullFile) Close() error { return nil }

func TestJournalOnAFullDiskKeepsWhatWasWritten(t *testing.T) {
	for _, stuck := range []bool{false, true} {
		f := &fullFile{room: 1 << 20}
		j, err := NewJournal("run.jsonl", f, header())
		if err != nil {
			t.Fatal(err)
		}
		if err := j.Append(result("a")); err != nil {
			t.Fatal(err)
		}
		whole := f.Len()
		f.room, f.stuck = whole+40, stuck
		var we *WriteError
		if err := j.Append(result("b")); !errors.As(err, &we) || !we.Full() || !errors.Is(err, syscall.ENOSPC) {
			t.Fatalf("stuck=%v: error %v", stuck, err)
		}
		if !stuck && f.Len() != whole {
			t.Errorf("%d bytes of a partial line were left", f.Len()-whole)
		}
		log, err := ReadJournal(bytes.NewReader(f.Bytes()))
		if err != nil || ids(log) != "a" {
			t.Fatalf("stuck=%v: results %v, %v", stuck, log, err)
		}
		if stuck {
			if err := j.Append(result("b")); !errors.As(err, &we) {
				t.Fatalf("appending behind a partial line: %v", err)
			}
		}
		f.room, f.stuck = 1<<20, false
		if err := j.Append(result("b")); err != nil {
			t.Fatalf("stuck=%v: after space was freed: %v", stuck, err)
		}
		log, err = ReadJournal(bytes.NewReader(f.Bytes()))
		if err != nil || ids(log) != "a b" {
			t.Fatalf("stuck=%v: results %v, %v", stuck, log, err)
		}
	}
}

func TestJournalEntryThatCouldNotBeSyncedIsTakenBack(t *testing.T) {
	f := &fullFile{room: 1 << 20}
	j, err := NewJournal("run.jsonl", f, header())
	if err != nil {
		t.Fatal(err)
	}
	f.syncErr = syscall.EIO
	if err := j.Append(result("a")); !errors.Is(err, syscall.EIO) {
		t.Fatal(err)
	}
	f.syncErr = nil
	if err := j.Append(result("a")); err != nil {
		t.Fatalf("again: %v", err)
	}
}

// The file size limit of a real process: a child fills its journal up to the limit.
func TestJournalAtTheFileSizeLimit(t *testing.T) {
	const limit = 8192
	if path := os.Getenv("RIDGE_TEST_JOURNAL"); path != "" {
		signal.Ignore(syscall.SIGXFSZ)
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: limit, Max: limit}); err != nil {
			os.Exit(3)
		}
		j, err := Create(path, header())
		for n := 0; err == nil && n < limit; n++ {
			err = j.Append(result(strings.Repeat("x", n+1)))
		}
		var we *WriteError
		if errors.As(err, &we) && we.Full() {
			os.Exit(0)
		}
		os.Exit(4)
	}
	path := filepath.Join(t.TempDir(), "run.jsonl")
	c := exec.Command(os.Args[0], "-test.run=^TestJournalAtTheFileSizeLimit$")
	c.Env = append(os.Environ(), "RIDGE_TEST_JOURNAL="+path)
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	log, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(log.Entries) < 5 || len(log.Warnings) != 0 {
		t.Errorf("%d entries, warnings %q", len(log.Entries), log.Warnings)
	}
}

func FuzzReadJournal(f *testing.F) {
	var good bytes.Buffer
	j, err := NewJournal("x", &fullFile{room: 1 << 20}, header())
	if err != nil {
		f.Fatal(err)
	}
	j.Append(result("a"))
	good.Write(j.f.(*fullFile).Bytes())
	f.Add(good.Bytes())
	f.Add(good.Bytes()[:good.Len()-3])
	f.Add(frame([]byte(`{"kind":"header","header":{"schema":"ridge.journal/1"}}`)))
	f.Add(append(good.Bytes(), frame([]byte(`{"kind":"result","result":{"id":"b","flops":1e999}}`))...))
	f.Add([]byte("\x00\x00\n\n{}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		log, err := ReadJournal(bytes.NewReader(data))
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Fatalf("error of several lines: %q", err)
			}
			return
		}
		again, err := ReadJournal(bytes.NewReader(data[:log.size]))
		if err != nil || len(again.Warnings) != 0 || len(again.Entries) != len(log.Entries) {
			t.Fatalf("cut to its whole lines the journal reads differently: %v", err)
		}
	})
}

// The checksum keeps mutated lines from the JSON behind it, so entries have a target of
// their own.
func FuzzJournalEntry(f *testing.F) {
	f.Add([]byte(`{"kind":"result","result":{"id":"a","status":"ok","flops":1,"time":{"samples_ns":[1,2]}}}`))
	f.Add([]byte(`{"kind":"probe","probe":{"ceiling":{"device":"cpu","threads":-1},"probe":{"ci95":[1,2,3]}}}`))
	f.Add([]byte(`{"kind":"result","Kind":"end","end":null,"result":{"id":"\u0000\n"}}`))
	f.Add([]byte(`[[[[{"flops":1e999}]]]]`))
	head := frame([]byte(`{"kind":"header","header":{"schema":"ridge.journal/1","command":[]}}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		if bytes.ContainsRune(body, '\n') {
			return // frame is given one line
		}
		log, err := ReadJournal(bytes.NewReader(append(bytes.Clone(head), frame(body)...)))
		if err != nil {
			if strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), "line 2") {
				t.Fatalf("error %q", err)
			}
			return
		}
		var doc Calibration
		if err := MergeJournal(&doc, log); err != nil && log.Entries[0].Probe == nil {
			t.Fatal(err)
		}
	})
}
