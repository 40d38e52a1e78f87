package campaign

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"ridge/goharness/record"
)

// openJournal starts a journal, or goes on with the one to be resumed.
func (t *tour) openJournal() error {
	first := t.stops[0]
	if first.cfg.DataDir == "" {
		return nil // library use without persistence
	}
	if first.cfg.Resume != "" {
		return t.resume()
	}
	path := JournalPath(first.cfg.DataDir, first.doc.RunID)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("data directory: %w", err)
	}
	planned := 0
	var devices []record.Device
	for _, c := range t.stops {
		probes, cases := c.distinct()
		planned += probes + cases
		devices = append(devices, c.doc.Devices...)
	}
	j, err := record.Create(path, record.JournalHeader{Planned: planned, Devices: devices, RunID: first.doc.RunID, Created: first.doc.Created,
		Command: first.cfg.Command, PlanFingerprint: fingerprint(t.stops...), Tool: &first.cfg.Tool, Host: &first.doc.Host})
	if err != nil {
		return fmt.Errorf("start the run: %v", err) // nothing was measured: no interruption to go on from
	}
	t.keepIn(j)
	return nil
}

// keepIn gives all devices one journal.
func (t *tour) keepIn(j *record.Journal) {
	t.journal = j
	for _, c := range t.stops {
		c.journal = j
	}
}

// ResumePath is the journal that Config.Resume stands for: a run's id, or the file.
func ResumePath(dataDir, run string) string {
	if !strings.ContainsAny(run, "/\\") && filepath.Ext(run) != ".jsonl" {
		return JournalPath(dataDir, run)
	}
	return run
}

// resume reads a journal: its results are not measured again, its quarantine holds, each on its device.
func (t *tour) resume() error {
	first := t.stops[0]
	path := ResumePath(first.cfg.DataDir, first.cfg.Resume)
	j, log, err := record.Resume(path)
	if err != nil {
		return fmt.Errorf("resume: %w", err)
	}
	h := log.Header
	if h.PlanFingerprint != fingerprint(t.stops...) {
		_ = j.Close()
		return fmt.Errorf("resume %s: it was planned with other options or on another machine (started as: %s): repeat those options", path, strings.Join(h.Command, " "))
	}
	earlier := log.Took()
	if log.End() == nil { // from here on, when that process was cut short is known, and what nobody measured is not counted
		end := record.End{Reason: "cut short", WallSeconds: earlier, Warnings: log.EndWarnings()}
		if err := j.Append(record.Entry{Kind: record.EntryEnd, End: &end}); err != nil {
			_ = j.Close()
			return fmt.Errorf("resume: %v", err) // nothing was measured: no interruption to go on from
		}
	}
	t.keepIn(j)
	for _, w := range log.Warnings {
		first.cfg.View.Warn("journal %s: %s", path, w)
	}
	for _, c := range t.stops {
		c.doc.RunID, c.doc.Created, c.earlier = h.RunID, h.Created, earlier
		for _, r := range log.Results() {
			if r.Device == c.cfg.Plan.Device {
				c.done[r.ID] = r
			}
		}
		for _, q := range log.Quarantined() {
			if q.Device == c.cfg.Plan.Device {
				c.runner.Quarantine(q.Kernel, q.Reason)
			}
		}
		for _, e := range log.Entries {
			if e.Probe != nil && e.Probe.Ceiling.Device == c.cfg.Plan.Device {
				c.laterProbes = append(c.laterProbes, *e.Probe)
			}
		}
		for _, w := range log.EndWarnings() {
			if strings.HasPrefix(w, c.cfg.Plan.Device+" ") {
				c.disturbed = append(c.disturbed, w)
			}
		}
	}
	return nil
}

// keep journals a result before the next case starts.
func (c *campaign) keep(r record.Result, remeasure string) error {
	if c.journal == nil {
		return nil
	}
	return c.journal.Append(record.Entry{Kind: record.EntryResult, Time: now(c.cfg.Now), Result: &r, Remeasure: remeasure})
}

// keepCeiling journals a ceiling with its first probe, for who makes a document of the journal alone.
func (c *campaign) keepCeiling(of record.Ceiling) error {
	x := c.model.Find(of)
	if c.journal == nil || x == nil {
		return nil
	}
	return c.journal.Append(record.Entry{Kind: record.EntryCeiling, Time: now(c.cfg.Now), Ceiling: x})
}

// keepProbe journals one more probe of a ceiling.
func (c *campaign) keepProbe(x *record.Ceiling) error {
	if c.journal == nil || len(x.Probes) == 0 {
		return nil
	}
	p := record.ProbeEntry{Ceiling: x.Key(), Probe: x.Probes[len(x.Probes)-1]}
	return c.journal.Append(record.Entry{Kind: record.EntryProbe, Time: now(c.cfg.Now), Probe: &p})
}

func now(f func() time.Time) string { return f().UTC().Format(time.RFC3339Nano) }
