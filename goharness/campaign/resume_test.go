package campaign

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"ridge/goharness/history"
	"ridge/goharness/op"
	"ridge/goharness/record"
	"ridge/internal/fakebackend"
)

// The test binary re-executes itself as a campaign's parent process, which is killed or
// meets a full disk.
func TestMain(m *testing.M) {
	if dir := os.Getenv("RIDGE_TEST_CAMPAIGN"); dir != "" {
		os.Exit(child(dir, os.Getenv("RIDGE_TEST_LIMIT") != ""))
	}
	os.Exit(m.Run())
}

const killedCases = 25

// child runs the campaign of dir, resuming where there is a journal. Each measurement waits
// a little, so that there is something to kill.
func child(dir string, limited bool) int {
	b := &fakebackend.Backend{Before: func(op.Program) { time.Sleep(time.Millisecond) }}
	cfg, _ := toy(nil, b, dir, copies(killedCases)...)
	if found, _ := filepath.Glob(filepath.Join(dir, "runs", "*.jsonl")); len(found) == 1 {
		cfg.Resume = found[0]
	}
	if limited { // the limit on a file's size is a disk of that size
		signal.Ignore(unix.SIGXFSZ)
		lim := unix.Rlimit{Cur: 60_000, Max: 60_000}
		if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &lim); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 2
		}
	}
	doc, err := Run(context.Background(), cfg)
	var full *record.WriteError
	if limited && errors.As(err, &full) && full.Full() && Interrupted(err) && !doc.Summary.Complete {
		fmt.Println(len(doc.Results))
		return 0
	}
	if err != nil || limited {
		fmt.Fprintln(os.Stderr, "campaign:", err)
		return 1
	}
	return 0
}

func childCommand(dir string, env ...string) *exec.Cmd {
	c := exec.Command(os.Args[0])
	c.Env = append(append(os.Environ(), "RIDGE_TEST_CAMPAIGN="+dir), env...)
	return c
}

func journalOf(t *testing.T, dir string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "runs", "*.jsonl"))
	if err != nil || len(found) > 1 {
		t.Fatalf("journals %v %v", found, err)
	}
	if len(found) == 0 {
		return ""
	}
	return found[0]
}

func TestAKilledCampaignLosesAtMostTheCaseInFlight(t *testing.T) {
	rng := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 1))
	kills, runs := 0, 0
	for kills < 15 {
		dir := t.TempDir()
		var kept []record.Result
		for done := false; !done; {
			cmd := childCommand(dir)
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			if kills < 15 {
				time.Sleep(time.Duration(20+rng.IntN(250)) * time.Millisecond)
				_ = cmd.Process.Kill()
			}
			err := cmd.Wait()
			var exit *exec.ExitError
			switch {
			case err == nil:
				done = true
			case errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signaled():
				kills++
			default:
				t.Fatalf("after %d kills: %v: %s", kills, err, stderr.String())
			}
			if journalOf(t, dir) == "" {
				continue // killed before the journal existed
			}
			log, err := record.Open(journalOf(t, dir))
			if err != nil {
				if !done && len(kept) == 0 && strings.Contains(err.Error(), "no complete header line") {
					dir = t.TempDir() // killed while the first line was written: start anew, as the message says
					continue
				}
				t.Fatal(err) // a case measured twice is such an error too
			}
			now := log.Results()
			if len(now) < len(kept) {
				t.Fatalf("%d results were journalled, %d are left", len(kept), len(now))
			}
			for i, r := range kept {
				if now[i].ID != r.ID || now[i].Started != r.Started {
					t.Fatalf("result %d was %s of %s, now %s of %s", i, r.ID, r.Started, now[i].ID, now[i].Started)
				}
			}
			kept = now
		}
		runs++
		if end := kept[len(kept)-killedCases:]; len(end) == killedCases {
			for i, id := range copies(killedCases) {
				if end[i].ID != id || end[i].Status != record.OK {
					t.Errorf("case %d is %s (%s), the plan has %s", i, end[i].ID, end[i].Status, id)
				}
			}
		}
	}
	t.Logf("%d kills over %d runs", kills, runs)
}

func TestAFullDiskStopsTheRunAndKeepsWhatWasMeasured(t *testing.T) {
	dir := t.TempDir()
	cmd := childCommand(dir, "RIDGE_TEST_LIMIT=1")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, stderr.String())
	}
	log, err := record.Open(journalOf(t, dir))
	if err != nil {
		t.Fatal(err)
	}
	n := len(log.Results())
	if strings.TrimSpace(string(out)) != fmt.Sprint(n) || n == 0 || len(log.Warnings) != 0 || log.End() != nil {
		t.Fatalf("the document has %s results, the journal %d; warnings %q, end %+v", strings.TrimSpace(string(out)), n, log.Warnings, log.End())
	}
	cfg, _ := toy(t, &fakebackend.Backend{}, dir, copies(killedCases)...)
	cfg.Resume = journalOf(t, dir)
	if doc := mustRun(t, cfg); !doc.Summary.Complete || doc.Summary.Resumed != n {
		t.Errorf("resumed %d of %d, complete %v", doc.Summary.Resumed, n, doc.Summary.Complete)
	}
}

func TestNothingIsMeasuredWhenTheJournalCannotBeCreated(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "runs"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	b := &fakebackend.Backend{}
	cfg, _ := toy(t, b, dir, copies(1)...)
	if _, err := Run(context.Background(), cfg); err == nil || Interrupted(err) || b.Launches() != 0 {
		t.Errorf("error %v after %d launches", err, b.Launches())
	}
}

func TestATornLastLineIsDroppedWithAWarning(t *testing.T) {
	dir := t.TempDir()
	ids := copies(4)
	cfg, _ := toy(t, &fakebackend.Backend{}, dir, ids...)
	doc := mustRun(t, cfg)
	path := JournalPath(dir, doc.RunID)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(data, []byte("\n"))
	lines = lines[:len(lines)-2] // without the end entry
	torn := bytes.Join(lines, nil)
	if err := os.WriteFile(path, torn[:len(torn)-37], 0o644); err != nil {
		t.Fatal(err)
	}
	b := &fakebackend.Backend{}
	cfg, v := toy(t, b, dir, ids...)
	cfg.Resume = doc.RunID
	again := mustRun(t, cfg)
	if !v.heard("the case in flight is lost") || again.Summary.Resumed != len(doc.Results)-1 || len(again.Results) != len(doc.Results) {
		t.Errorf("warnings %q, resumed %d of %d", v.warned, again.Summary.Resumed, len(doc.Results))
	}
	measured := 0
	for _, id := range v.started {
		if id == ids[3] {
			measured++
		} else {
			t.Errorf("%s was measured again", id)
		}
	}
	if measured != 1 {
		t.Errorf("the torn case was measured %d times", measured)
	}
}

func TestResumeWithOtherOptionsIsRefused(t *testing.T) {
	dir := t.TempDir()
	cfg, _ := toy(t, &fakebackend.Backend{}, dir, copies(2)...)
	doc := mustRun(t, cfg)
	for _, tc := range []struct {
		name   string
		change func(*Config)
		want   string
	}{
		{"other cases", func(c *Config) { c.Cases = c.Cases[:1] }, "planned with other options or on another machine (started as: ridge calibrate)"},
		{"other order", func(c *Config) { c.Cases[0], c.Cases[1] = c.Cases[1], c.Cases[0] }, "repeat those options"},
		{"other effort", func(c *Config) { c.Cases[0].Trials = 3 }, "repeat those options"},
		{"full for quick", func(c *Config) { c.Plan.Quick = false }, "repeat those options"},
		{"other affinity", func(c *Config) { c.Affinity = "compact" }, "repeat those options"},
		{"no such run", func(c *Config) { c.Resume = "20200101-000000-0000" }, "no such file"},
	} {
		cfg, _ := toy(t, &fakebackend.Backend{}, dir, copies(2)...)
		cfg.Resume = doc.RunID
		tc.change(&cfg)
		if _, err := Run(context.Background(), cfg); err == nil || !strings.Contains(err.Error(), tc.want) || Interrupted(err) {
			t.Errorf("%s: %v, want %q", tc.name, err, tc.want)
		}
	}
	cfg, _ = toy(t, &fakebackend.Backend{}, dir, copies(2)...)
	cfg.Resume, cfg.Affinity = doc.RunID, "scatter" // the default said aloud
	if again := mustRun(t, cfg); again.Summary.Resumed != len(doc.Results) {
		t.Errorf("after the refusals %d of %d resumed", again.Summary.Resumed, len(doc.Results))
	}
}

// Trap 9: two runs never measure side by side; --force overrules the device's lock, nothing
// overrules the journal's.
func TestASecondRunOnTheSameDeviceIsRefused(t *testing.T) {
	dir := t.TempDir()
	cfg, v := toy(t, &fakebackend.Backend{}, dir, copies(2)...)
	tried := 0
	v.onStart = func(c record.Case) {
		if c.ID != copies(2)[1] {
			return
		}
		for _, tc := range []struct {
			force  bool
			resume string
			want   string
		}{{false, "", "another run is measuring cpu"}, {true, "", ""}, {true, journalOf(t, dir), "another run is writing it"}} {
			tried++
			second, heard := toy(t, &fakebackend.Backend{}, dir, copies(2)...)
			second.Force, second.Resume = tc.force, tc.resume
			doc, err := Run(context.Background(), second)
			if tc.want == "" {
				if err != nil || !heard.heard(besideEarlier) {
					t.Errorf("forced: %v, warnings %q", err, heard.warned)
				}
				_ = os.Remove(JournalPath(dir, doc.RunID))
			} else if err == nil || !strings.Contains(err.Error(), tc.want) || Interrupted(err) {
				t.Errorf("force %v resume %q: %v, want %q", tc.force, tc.resume, err, tc.want)
			}
		}
	}
	mustRun(t, cfg)
	if tried != 3 {
		t.Errorf("tried %d times", tried)
	}
	cfg, _ = toy(t, &fakebackend.Backend{}, dir, copies(2)...)
	mustRun(t, cfg) // the lock went with the run
}

// The time of a run is that of all its processes and none between them: of one that was killed, until its last entry.
func TestTheTimeOfARunIsThatOfAllItsProcesses(t *testing.T) {
	for name, cut := range map[string]func(t *testing.T, path string){
		"interrupted": func(*testing.T, string) {},
		"killed": func(t *testing.T, path string) {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			lines := bytes.SplitAfter(data, []byte("\n"))
			if err := os.WriteFile(path, bytes.Join(lines[:len(lines)-2], nil), 0o644); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			clock := time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)
			total := 0.0
			run := "" // to go on with
			for process := range 3 {
				ctx, cancel := context.WithCancel(context.Background())
				defer cancel()
				cfg, v := toy(t, &fakebackend.Backend{}, dir, copies(6)...)
				cfg.NoProbes, cfg.Resume, cfg.Now = true, run, func() time.Time { return clock }
				v.onStart = func(c record.Case) {
					if c.ID == copies(6)[2*process+1] && process < 2 {
						cancel()
						return
					}
					clock = clock.Add(10 * time.Second)
					total += 10
				}
				doc, err := Run(ctx, cfg)
				if (err == nil) != (process == 2) || err != nil && !Interrupted(err) {
					t.Fatal(err)
				}
				if run = doc.RunID; doc.Summary.WallSeconds != total {
					t.Errorf("process %d: the run took %v s, want %v", process, doc.Summary.WallSeconds, total)
				}
				log, err := record.Open(JournalPath(dir, run))
				if err != nil || log.End().WallSeconds != total {
					t.Errorf("process %d: the journal ends with %+v, %v", process, log.End(), err)
				}
				ends := 0
				for _, e := range log.Entries {
					if e.End != nil {
						ends++
					}
				}
				if ends != process+1 { // without one of a process, what nobody measured after it would count
					t.Errorf("process %d: %d ends", process, ends)
				}
				if process == 0 {
					cut(t, JournalPath(dir, run))
				}
				clock = clock.Add(time.Hour)
			}
		})
	}
}

func TestQuarantineSurvivesAResume(t *testing.T) {
	dir := t.TempDir()
	ids := copies(4)
	fault := map[string]string{"stream_copy_fast": fakebackend.Wrong}
	ctx, cancel := context.WithCancel(context.Background())
	b := &fakebackend.Backend{Fault: fault, Before: func(p op.Program) {
		if p.Name == "stream_copy" && p.Reference.Items() == 101 {
			cancel()
		}
	}}
	cfg, _ := toy(t, b, dir, ids...)
	doc, err := Run(ctx, cfg)
	if !errors.Is(err, ErrInterrupted) {
		t.Fatal(err)
	}
	log, err := record.Open(JournalPath(dir, doc.RunID))
	if err != nil {
		t.Fatal(err)
	}
	if q := log.Quarantined(); len(q) != 1 || q[0].Kernel != "stream_copy_fast@stream_copy" || q[0].CaseID != ids[0] || q[0].Reason == "" {
		t.Fatalf("quarantine %+v", q)
	}
	cfg, _ = toy(t, &fakebackend.Backend{}, dir, ids...) // the kernel would work now; this run does not try it
	cfg.Resume = doc.RunID
	doc = mustRun(t, cfg)
	for _, id := range ids {
		if r := find(t, doc, id); r.Kernel != "stream_copy_plain" {
			t.Errorf("%s ran on %s", id, r.Kernel)
		}
	}
	if text, _ := json.Marshal(doc.Summary.Warnings); !strings.Contains(string(text), "stream_copy_fast@stream_copy was set aside") {
		t.Errorf("summary warnings %s", text)
	}
}

// A document made of the journal alone has the ceilings that the run had, with every probe.
func TestTheJournalHoldsTheCeilings(t *testing.T) {
	dir := t.TempDir()
	cfg, _ := toy(t, &fakebackend.Backend{}, dir, copies(3)...)
	doc := mustRun(t, cfg)
	path := JournalPath(dir, doc.RunID)
	got, err := history.FromJournalFile(path)
	if err != nil {
		t.Fatal(err)
	}
	have, probed := map[record.CeilingKey]record.Ceiling{}, 0
	for _, c := range got.Ceilings {
		have[c.Key()] = c
	}
	for _, c := range doc.Ceilings {
		if len(c.Probes) == 0 {
			continue
		}
		probed++
		if h := have[c.Key()]; h.Measured.Value != c.Measured.Value || len(h.Probes) != len(c.Probes) || h.Unit != c.Unit {
			t.Errorf("%+v: %d probes, %v; the run had %d, %v", c.Key(), len(h.Probes), h.Measured, len(c.Probes), c.Measured)
		}
	}
	if probed == 0 {
		t.Error("the run probed nothing")
	}
	log, err := record.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if want := len(log.Results()); log.Header.Planned != want {
		t.Errorf("%d results planned, %d in the journal", log.Header.Planned, want)
	}
}

func TestLaterProbesSurviveAResume(t *testing.T) {
	const id = "cpu/transpose/fp32/rows=64,cols=64/threads=1/hot"
	dir := t.TempDir()
	b := &fakebackend.Backend{NS: func(p op.Program, k string) float64 {
		if p.Name == "transpose" {
			return 10
		}
		return toyNS(p, k)
	}}
	cfg, _ := toy(t, b, dir, id)
	first := mustRun(t, cfg)
	cfg, _ = toy(t, &fakebackend.Backend{}, dir, id)
	cfg.Resume = first.RunID
	second := mustRun(t, cfg)
	for i := range first.Ceilings {
		a, b := first.Ceilings[i], second.Ceilings[i]
		if a.Key() != b.Key() || len(a.Probes) != len(b.Probes) || a.Measured != b.Measured {
			t.Errorf("%+v: %d probes, %+v; after the resume %d, %+v", a.Key(), len(a.Probes), a.Measured, len(b.Probes), b.Measured)
		}
	}
	if r := find(t, second, id); r.Status != record.Invalid {
		t.Errorf("after the resume the invalid result is %s", r.Status)
	}
}
