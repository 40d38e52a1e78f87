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
	"time"

	"golang.org/x/sys/unix"

	"ridge/goharness/ceiling"
	"ridge/goharness/record"
)

// TakeIn stores the runs whose journals lie in the data directory and that the history does not
// have: those that crashed, and those that could not be stored when they ended. Journals that are being
// written are left alone. Warnings name journals that cannot be read, each once.
func (s *Store) TakeIn(ctx context.Context, dataDir string) (taken int, warnings []string, err error) {
	files, err := journals(dataDir)
	if err != nil || len(files) == 0 {
		return 0, nil, err
	}
	have, err := s.known(ctx)
	if err != nil {
		return 0, nil, err
	}
	for _, file := range files {
		st, err := os.Stat(file)
		if err != nil || have.has(file, st) || beingWritten(file) {
			continue
		}
		d, err := FromFiles(file)
		if err == nil {
			var a Added
			if a, err = s.Add(ctx, d, FromRun); err == nil { // FromJournal where there was no document
				if a != Known {
					taken++
				}
				continue
			}
			var ours *Error
			if errors.As(err, &ours) || ctx.Err() != nil {
				return taken, warnings, err
			}
		}
		warnings = append(warnings, fmt.Sprintf("%v (the journal stays where it is)", err))
		if werr := s.write(ctx, func(tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, "INSERT OR REPLACE INTO unreadable (journal, size, reason) VALUES (?, ?, ?)", file, st.Size(), err.Error())
			return err
		}); werr != nil {
			return taken, warnings, werr
		}
	}
	return taken, warnings, nil
}

// journals of a data directory.
func journals(dataDir string) ([]string, error) {
	return filepath.Glob(filepath.Join(globSafe(filepath.Join(dataDir, "runs")), "*"+journalEnd))
}

const journalEnd = ".jsonl"

// runOf a journal, by its name.
func runOf(journal string) string { return strings.TrimSuffix(filepath.Base(journal), journalEnd) }

// globSafe escapes what Glob would read as a pattern.
func globSafe(dir string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(dir)
}

// known is what the history knows of journals.
type known struct {
	complete   map[string]bool      // by run id
	incomplete map[string]time.Time // when they were stored
	unreadable map[string]int64     // by file: the size at which it was no journal
}

// has reports whether a journal has nothing new for the history. A run that ended early may have been gone on with.
func (k known) has(file string, st os.FileInfo) bool {
	size, bad := k.unreadable[file]
	stored, part := k.incomplete[runOf(file)]
	return k.complete[runOf(file)] || bad && size == st.Size() || part && st.ModTime().Sub(stored) <= freshJournal
}

func (s *Store) known(ctx context.Context) (known, error) {
	out := known{map[string]bool{}, map[string]time.Time{}, map[string]int64{}}
	// Without results there is but a profile that was imported: the journal has more.
	rows, err := s.db.QueryContext(ctx, "SELECT run_id, complete, imported, '', 0 FROM runs WHERE results > 0 OR source <> '"+FromDocument+"' UNION ALL SELECT '', 0, '', journal, size FROM unreadable")
	if err != nil {
		return out, s.wrap(err)
	}
	defer rows.Close()
	for rows.Next() {
		var id, imported, journal string
		var complete bool
		var size int64
		if err := rows.Scan(&id, &complete, &imported, &journal, &size); err != nil {
			return out, s.wrap(err)
		}
		switch {
		case journal != "":
			out.unreadable[journal] = size
		case complete:
			out.complete[id] = true
		default:
			out.incomplete[id], _ = time.Parse(time.RFC3339, imported)
		}
	}
	return out, s.wrap(rows.Err())
}

// freshJournal is how young a journal is not asked for its lock: asking takes the lock for a moment,
// in which the run that just made the file would fail to get it.
const freshJournal = 2 * time.Second

// beingWritten: the journal is young, or another process holds its lock.
func beingWritten(path string) bool {
	st, err := os.Stat(path)
	if err == nil && time.Since(st.ModTime()) < freshJournal {
		return true
	}
	f, err := record.OpenRegular(path, os.O_RDONLY)
	if err != nil {
		return false
	}
	defer f.Close() // which gives the lock back
	return unix.Flock(int(f.Fd()), unix.LOCK_SH|unix.LOCK_NB) != nil
}

// Live is a run that is going on.
type Live struct {
	RunID    string                `json:"run_id"`
	Started  string                `json:"started"`
	Command  []string              `json:"command"`
	Results  int                   `json:"results"`
	Planned  int                   `json:"planned,omitempty"` // results that the run will have at the least; 0: not known
	Counts   map[record.Status]int `json:"counts"`
	LastCase string                `json:"last_case,omitempty"`
	LastTime string                `json:"last_time,omitempty"`
	Document record.Calibration    `json:"-"`
}

// mostRunning bounds how many of the newest journals are looked at for one that is being written: a run in a long case may
// have been silent for longer than another that ended since.
const mostRunning = 16

// Running reads the newest journal of a data directory that a run is writing; false: there is none.
func Running(dataDir string) (Live, bool, error) {
	files, err := journals(dataDir)
	if err != nil {
		return Live{}, false, err
	}
	at := map[string]time.Time{}
	for _, f := range files {
		if st, err := os.Stat(f); err == nil {
			at[f] = st.ModTime()
		}
	}
	slices.SortFunc(files, func(a, b string) int { return at[b].Compare(at[a]) })
	for _, f := range files[:min(len(files), mostRunning)] {
		if !beingWritten(f) {
			continue
		}
		log, err := record.Open(f)
		if err != nil { // its header is not written yet, or it is damaged: TakeIn says so
			continue
		}
		if log.End() == nil {
			return live(log), true, nil
		}
	}
	return Live{}, false, nil
}

func live(log *record.Log) Live {
	d := fromLog(log)
	l := Live{RunID: d.RunID, Started: d.Created, Command: d.Command, Results: len(d.Results), Planned: log.Header.Planned, Counts: map[record.Status]int{}, Document: d}
	for i := range d.Results {
		l.Counts[d.Results[i].Status]++
	}
	for _, e := range log.Entries {
		if e.Result != nil {
			l.LastCase, l.LastTime = e.Result.ID, e.Time
		}
	}
	return l
}

// FromFiles makes a document of what a run left: the document beside its journal, when it was written and holds as much, else
// what the journal has, with the fusion profile where one was written.
func FromFiles(journal string) (record.Calibration, error) {
	d, err := FromJournalFile(journal)
	base := strings.TrimSuffix(journal, journalEnd)
	if f, ferr := record.OpenRegular(base+".json", os.O_RDONLY); ferr == nil {
		defer f.Close()
		whole, werr := record.ReadCalibration(f)
		if werr == nil && whole.RunID == runOf(journal) && (err != nil || len(whole.Results) >= len(d.Results)) {
			return whole, nil
		}
	}
	if err == nil {
		files, _ := filepath.Glob(globSafe(base) + "-fusion.*.json") // of several devices
		for _, file := range append([]string{base + "-fusion.json"}, files...) {
			addProfile(&d, file)
		}
	}
	return d, err
}

// mostProfile bounds the text of a fusion profile: those of all patterns have about a megabyte.
const mostProfile = 64 << 20

// addProfile adds the run's fusion profile to a document that was made of its journal.
func addProfile(d *record.Calibration, file string) {
	text, err := record.ReadRegular(file, mostProfile)
	if err != nil {
		return
	}
	if p, err := record.ReadFusion(bytes.NewReader(text)); err == nil && p.RunID == d.RunID {
		d.FusionProfiles = append(d.FusionProfiles, text)
	}
}

// FromJournalFile makes a document of a journal: its results, and the ceilings with their probes. What
// a journal does not hold (preflight, theoretical peaks, diagnosis) or what only the end of a run makes (fusion profiles) is absent, and the
// document says so.
func FromJournalFile(path string) (record.Calibration, error) {
	log, err := record.Open(path)
	if err != nil {
		return record.Calibration{}, err
	}
	return fromLog(log), nil
}

// notInJournal marks the documents that were made of journals.
const notInJournal = "not in the journal"

// ofJournal reports whether a document was made of a journal.
func ofJournal(d *record.Calibration) bool {
	return len(d.Preflight.Checks) == 1 && d.Preflight.Checks[0].Message == notInJournal
}

func fromLog(log *record.Log) record.Calibration {
	h := log.Header
	d := record.Calibration{Schema: record.SchemaCalibration, RunID: h.RunID, Created: h.Created, Command: h.Command, Results: log.Results()}
	d.Preflight = record.Preflight{Timestamp: h.Created, Checks: []record.Check{{Name: "preflight", Status: "skipped", Message: notInJournal}}}
	if h.Tool != nil {
		d.Tool = *h.Tool
	}
	if h.Host != nil {
		d.Host = *h.Host
	}
	// Older journals do not tell the devices.
	seen := map[string]bool{}
	for _, dev := range h.Devices {
		seen[dev.ID] = true
		d.Devices = append(d.Devices, dev)
	}
	for _, r := range d.Results {
		if !seen[r.Device] && r.Device != "" {
			seen[r.Device] = true
			platform, _, _ := strings.Cut(r.Device, ":")
			dev := record.Device{ID: r.Device, Platform: platform, Threads: r.Threads}
			if r.Device == "cpu" {
				dev.Name, dev.ISA = d.Host.CPU.Model, d.Host.CPU.Features
			}
			d.Devices = append(d.Devices, dev)
		}
	}
	d.Ceilings = ceilings(log)
	d.Summary = record.Summarize(d.Results)
	d.Summary.Warnings = append(d.Summary.Warnings, "taken from the run's journal: preflight, theoretical peaks and fusion profiles are not in it")
	for _, w := range log.Warnings {
		d.Summary.Warnings = append(d.Summary.Warnings, "journal: "+w)
	}
	if end := log.End(); end != nil {
		d.Summary.Complete, d.Summary.WallSeconds = end.Complete, end.WallSeconds
		d.Summary.Warnings = append(d.Summary.Warnings, end.Warnings...)
	}
	for _, w := range h.Command {
		d.Summary.Quick = d.Summary.Quick || w == "--quick"
	}
	return d
}

// ceilings of a journal, each with all its probes.
func ceilings(log *record.Log) []record.Ceiling {
	models := map[string]*ceiling.Model{}
	var order []string
	for _, e := range log.Entries {
		switch {
		case e.Ceiling != nil:
			m := models[e.Ceiling.Device]
			if m == nil {
				m = ceiling.NewModel(e.Ceiling.Device, nil, nil)
				models[e.Ceiling.Device], order = m, append(order, e.Ceiling.Device)
			}
			if x := *e.Ceiling; m.Find(x) == nil {
				x.Theoretical = record.Theoretical{Unavailable: "not in the run's journal"}
				m.Add(x)
			}
		case e.Probe != nil:
			if m := models[e.Probe.Ceiling.Device]; m != nil {
				m.Again(*e.Probe)
			}
		}
	}
	var out []record.Ceiling
	for _, device := range order {
		out = append(out, models[device].Ceilings()...)
	}
	return out
}

// Newest are the last results of a run that is going on, the newest first.
func (l Live) Newest() []record.Result {
	rs := slices.Clone(l.Document.Results[max(0, len(l.Document.Results)-25):])
	slices.Reverse(rs)
	return rs
}

// HasWork reports whether a data directory holds journals at all.
func HasWork(dataDir string) bool {
	files, err := journals(dataDir)
	return err == nil && len(files) > 0
}
