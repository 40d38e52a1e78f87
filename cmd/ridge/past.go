package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/urfave/cli/v2"

	"ridge/goharness/history"
	"ridge/goharness/history/compare"
	"ridge/goharness/record"
)

// past is the history, where there is one, for commands that read documents.
type past struct {
	s   *history.Store // nil: none
	err error          // why a history that is there cannot be read
}

// openPast opens the history for reading; runs that ended by a crash are taken in first where runs are asked for. One that cannot be
// read is a fault only of what needs it.
func openPast(c *cli.Context, names []string) *past {
	dir, err := dataDir(c)
	if err != nil { // no fault of a comparison of files
		return &past{err: fmt.Errorf("%w (%w)", err, history.ErrNone)}
	}
	if c.Bool("baseline") || slices.ContainsFunc(names, func(n string) bool { return !isFile(n) }) {
		takeIn(c, dir)
	}
	s, err := history.OpenReadOnly(c.Context, dir)
	if err != nil {
		return &past{err: err}
	}
	return &past{s: s}
}

func (p *past) close() {
	if p.s != nil {
		_ = p.s.Close()
	}
}

// isFile: a name is that of a file or standard input and not of a run.
func isFile(name string) bool {
	_, err := os.Stat(name)
	return name == "-" || err == nil || !errors.Is(err, fs.ErrNotExist)
}

// read a document: a file, standard input (-), or a run of the history.
func (p *past) read(c *cli.Context, name string) (record.Calibration, error) {
	if isFile(name) {
		docs, err := readDocuments(c.Context, []string{name}, compare.Unused...)
		if err != nil {
			return record.Calibration{}, err
		}
		return docs[0], nil
	}
	if p.s == nil {
		return record.Calibration{}, fmt.Errorf("%s: no such file, and no run: %w", name, p.err)
	}
	d, err := p.s.Document(c.Context, name)
	var none *history.NoRunError
	if errors.As(err, &none) {
		return d, fmt.Errorf("%s: no such file, and %w", name, err)
	}
	return d, err
}

// baseline of the machine that a document is of.
func (p *past) baseline(c *cli.Context, d *record.Calibration) (string, record.Calibration, error) {
	if p.s == nil {
		return "", record.Calibration{}, p.err
	}
	host := history.HostFingerprint(d)
	id, ok, err := p.s.Baseline(c.Context, host)
	if err != nil {
		return "", record.Calibration{}, err
	}
	if !ok {
		return "", record.Calibration{}, fmt.Errorf("machine %s has no baseline: ridge history baseline set RUN", host)
	}
	old, err := p.s.Document(c.Context, id)
	return id, old, err
}

// drift of the history, when both documents are of one machine and enough runs are stored; nil: the
// probes tell it.
func (p *past) drift(c *cli.Context, old, new *record.Calibration) (*compare.Drift, error) {
	host := history.HostFingerprint(old)
	if p.s == nil || host != history.HostFingerprint(new) {
		if p.err != nil && !errors.Is(p.err, history.ErrNone) {
			warnHistory(c, p.err)
		}
		return nil, nil
	}
	d, ok, err := p.s.Drift(c.Context, host, old.RunID, new.RunID)
	if err != nil || !ok {
		return nil, err
	}
	return &d, nil
}
