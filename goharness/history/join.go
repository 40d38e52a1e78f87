package history

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"

	"ridge/goharness/record"
)

// storedRun is what the list says of a run that is there.
type storedRun struct {
	complete bool
	results  int
	source   string
}

// joined is what takes the place of a run that is there when r comes; nil: r has nothing new.
func (s *Store) joined(ctx context.Context, tx *sql.Tx, id int64, had storedRun, r *row) (*row, error) {
	alone := profileAlone(&r.d)
	if !alone && had.results > 0 && !better(&r.d, r.source, had) {
		return nil, nil
	}
	var packed []byte
	if err := tx.QueryRowContext(ctx, "SELECT gzip FROM documents WHERE run = ?", id).Scan(&packed); err != nil {
		return nil, err
	}
	var old record.Calibration
	text, err := unpack(packed)
	if err == nil {
		err = json.Unmarshal(text, &old)
	}
	switch {
	case err != nil && alone:
		return nil, &Error{s.path, s.damaged(), fmt.Errorf("the document of run %s is damaged: %w", r.d.RunID, err)}
	case err != nil: // what comes is whole
		return r, nil
	}
	switch wasAlone := profileAlone(&old); {
	case alone: // the run, or another of its profiles, is there
		changed, err := addProfiles(&old, &r.d)
		if !changed || err != nil {
			return nil, err
		}
		if wasAlone {
			old.Summary.Complete, err = allComplete(&old)
		}
		if err != nil {
			return nil, err
		}
		return rowOf(old, had.source)
	case !wasAlone && !better(&r.d, r.source, had):
		return nil, nil
	}
	d := r.d
	changed, err := addProfiles(&d, &old)
	if !changed || err != nil {
		return r, err
	}
	return rowOf(d, r.source)
}

// profileAlone: the document holds fusion profiles and nothing else of their run.
func profileAlone(d *record.Calibration) bool {
	return len(d.Results) == 0 && len(d.Ceilings) == 0 && len(d.FusionProfiles) > 0
}

// addProfiles gives a run the fusion profiles of from that it lacks: those of other devices, and a complete one for one that is not.
func addProfiles(to, from *record.Calibration) (changed bool, err error) {
	have, err := record.FusionProfiles(to)
	if err != nil {
		return false, err
	}
	more, err := record.FusionProfiles(from)
	if err != nil {
		return false, err
	}
	to.FusionProfiles = slices.Clone(to.FusionProfiles)
	for i, p := range more {
		at := slices.IndexFunc(have, func(f record.Fusion) bool { return f.Device.ID == p.Device.ID })
		switch {
		case at < 0:
			have, to.FusionProfiles = append(have, p), append(to.FusionProfiles, from.FusionProfiles[i])
		case p.Complete && !have[at].Complete:
			have[at], to.FusionProfiles[at] = p, from.FusionProfiles[i]
		default:
			continue
		}
		changed = true
		if !slices.ContainsFunc(to.Devices, func(d record.Device) bool { return d.ID == p.Device.ID }) {
			to.Devices = append(slices.Clone(to.Devices), p.Device)
		}
	}
	return changed, nil
}

// better: d, of source, has what the stored run lacks.
func better(d *record.Calibration, source string, had storedRun) bool {
	whole := had.source == FromJournal && source != FromJournal // with preflight, diagnosis and fusion profiles
	switch {
	case had.complete:
		return whole && d.Summary.Complete && len(d.Results) >= had.results
	case d.Summary.Complete:
		return true
	}
	return len(d.Results) > had.results || whole && len(d.Results) == had.results
}

// allComplete: every fusion profile of a document is.
func allComplete(d *record.Calibration) (bool, error) {
	profiles, err := record.FusionProfiles(d)
	return !slices.ContainsFunc(profiles, func(f record.Fusion) bool { return !f.Complete }), err
}
