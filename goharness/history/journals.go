package history

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"ridge/goharness/record"
)

// TakeIn stores the runs whose journals lie in the data directory and that the history does not
// have: those that crashed, and those that could not be stored when they ended. Journals that are being
// written are left alone. Warnings name journals that cannot be read, each once.
func (s *Store) TakeIn(ctx context.Context, dataDir string) (taken int, warnings []string, err error) {
	files, err := filepath.Glob(filepath.Join(globSafe(filepath.Join(dataDir, "runs")), "*.jsonl"))
	if err != nil || len(files) == 0 {
		return 0, nil, err
	}
	have, err := s.known(ctx)
	if err != nil {
		return 0, nil, err
	}
	for _, file := range files {
		if have[strings.TrimSuffix(filepath.Base(file), ".jsonl")] {
			continue
		}
		st, err := os.Stat(file)
		if err != nil || have[unreadableKey(file, st.Size())] {
			continue
		}
		if beingWritten(file) {
			continue
		}
		d, err := FromJournalFile(file)
		if err == nil {
			var a Added
			if a, err = s.Add(ctx, d, FromJournal); err == nil {
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

// globSafe escapes what Glob would read as a pattern.
func globSafe(dir string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(dir)
}

func unreadableKey(file string, size int64) string { return fmt.Sprintf("\x00%s\x00%d", file, size) }

// known are the run ids that are stored, and the journals that could not be read.
func (s *Store) known(ctx context.Context) (map[string]bool, error) {
	out := map[string]bool{}
	rows, err := s.db.QueryContext(ctx, "SELECT run_id, '', 0 FROM runs UNION ALL SELECT '', journal, size FROM unreadable")
	if err != nil {
		return nil, s.wrap(err)
	}
	defer rows.Close()
	for rows.Next() {
		var id, journal string
		var size int64
		if err := rows.Scan(&id, &journal, &size); err != nil {
			return nil, s.wrap(err)
		}
		if journal != "" {
			id = unreadableKey(journal, size)
		}
		out[id] = true
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
	f, err := os.Open(path)
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
	Counts   map[record.Status]int `json:"counts"`
	LastCase string                `json:"last_case,omitempty"`
	LastTime string                `json:"last_time,omitempty"`
	Document record.Calibration    `json:"-"`
}

// Running reads the newest journal of a data directory if a run is writing it; false: none is.
func Running(dataDir string) (Live, bool, error) {
	files, err := filepath.Glob(filepath.Join(globSafe(filepath.Join(dataDir, "runs")), "*.jsonl"))
	if err != nil {
		return Live{}, false, err
	}
	newest, at := "", time.Time{}
	for _, f := range files {
		if st, err := os.Stat(f); err == nil && st.ModTime().After(at) {
			newest, at = f, st.ModTime()
		}
	}
	if newest == "" || !beingWritten(newest) {
		return Live{}, false, nil
	}
	log, err := record.Open(newest)
	if err != nil {
		return Live{}, false, err
	}
	if log.End() != nil {
		return Live{}, false, nil
	}
	d := fromLog(log)
	l := Live{RunID: d.RunID, Started: d.Created, Command: d.Command, Results: len(d.Results), Counts: map[record.Status]int{}, Document: d}
	for i := range d.Results {
		l.Counts[d.Results[i].Status]++
	}
	for _, e := range log.Entries {
		if e.Result != nil {
			l.LastCase, l.LastTime = e.Result.ID, e.Time
		}
	}
	return l, true, nil
}

// FromJournalFile makes a document of a journal: its results, and of the ceilings the probes. What
// a journal does not hold (preflight, diagnosis, profiles) is absent, and the document says so.
func FromJournalFile(path string) (record.Calibration, error) {
	log, err := record.Open(path)
	if err != nil {
		return record.Calibration{}, err
	}
	return fromLog(log), nil
}

func fromLog(log *record.Log) record.Calibration {
	h := log.Header
	d := record.Calibration{Schema: record.SchemaCalibration, RunID: h.RunID, Created: h.Created, Command: h.Command, Results: log.Results()}
	d.Preflight = record.Preflight{Timestamp: h.Created, Checks: []record.Check{{Name: "preflight", Status: "skipped", Message: "not in the journal"}}}
	if h.Tool != nil {
		d.Tool = *h.Tool
	}
	if h.Host != nil {
		d.Host = *h.Host
	}
	seen := map[string]bool{}
	for _, r := range d.Results {
		if !seen[r.Device] && r.Device != "" {
			seen[r.Device] = true
			dev := record.Device{ID: r.Device, Platform: r.Device, Name: r.Device, Threads: r.Threads}
			if r.Device == "cpu" {
				dev.Name, dev.ISA = d.Host.CPU.Model, d.Host.CPU.Features
			}
			d.Devices = append(d.Devices, dev)
		}
	}
	d.Summary = record.Summarize(d.Results)
	d.Summary.Warnings = append(d.Summary.Warnings, "taken from the run's journal: preflight, ceilings and fusion profiles are not in it")
	for _, w := range log.Warnings {
		d.Summary.Warnings = append(d.Summary.Warnings, "journal: "+w)
	}
	if end := log.End(); end != nil {
		d.Summary.Complete, d.Summary.WallSeconds = end.Complete, end.WallSeconds
	}
	for _, w := range h.Command {
		d.Summary.Quick = d.Summary.Quick || w == "--quick"
	}
	return d
}

// HasWork reports whether a data directory holds journals at all.
func HasWork(dataDir string) bool {
	files, err := filepath.Glob(filepath.Join(globSafe(filepath.Join(dataDir, "runs")), "*.jsonl"))
	return err == nil && len(files) > 0
}
