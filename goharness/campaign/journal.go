package campaign

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

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

// lockDevice keeps two runs of one data directory from measuring side by side on a device:
// each would be the other's noise. The lock ends with the process. --force goes on without.
func (c *campaign) lockDevice() error {
	if c.cfg.DataDir == "" {
		return nil
	}
	device := c.cfg.Plan.Device
	f, err := LockDevice(c.cfg.DataDir, device)
	var busy *BusyError
	if errors.As(err, &busy) && c.cfg.Force {
		c.cfg.View.Warn("another run is measuring %s at the same time: both are disturbed", device)
		return nil
	}
	c.lock = f
	return err
}

// BusyError is a device that another run measures on.
type BusyError struct{ Device, Path string }

func (e *BusyError) Error() string {
	return fmt.Sprintf("another run is measuring %s (%s is locked): wait for it (calibrate and bench: or --force to measure side by side)", e.Device, e.Path)
}

// LockDevice takes the lock of a device in a data directory until the file is closed; a
// *BusyError when another process has it.
func LockDevice(dataDir, device string) (*os.File, error) {
	if err := os.MkdirAll(dataDir, 0o755); err != nil {
		return nil, fmt.Errorf("data directory: %w", err)
	}
	path := filepath.Join(dataDir, strings.ReplaceAll(device, ":", "-")+".lock")
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("lock of device %s: %w", device, err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		_ = f.Close()
		if errors.Is(err, unix.EWOULDBLOCK) {
			return nil, &BusyError{device, path}
		}
		return nil, fmt.Errorf("lock of device %s (%s): %w", device, path, err)
	}
	return f, nil
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
	t.keepIn(j)
	for _, w := range log.Warnings {
		first.cfg.View.Warn("journal %s: %s", path, w)
	}
	for _, c := range t.stops {
		c.doc.RunID, c.doc.Created = h.RunID, h.Created
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
