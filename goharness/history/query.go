package history

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"ridge/goharness/record"
)

// Run is a line of the list.
type Run struct {
	RunID     string   `json:"run_id"`
	Created   string   `json:"created"`
	Imported  string   `json:"imported"`
	Kind      string   `json:"kind"`
	Command   []string `json:"command"`
	Host      string   `json:"host"`
	HostPrint string   `json:"host_fingerprint"`
	SoftPrint string   `json:"software_fingerprint"`
	Chip      string   `json:"chip"`
	Version   string   `json:"version"`
	Revision  string   `json:"revision"`
	Quick     bool     `json:"quick"`
	Complete  bool     `json:"complete"`
	Results   int      `json:"results"`
	Source    string   `json:"source"`
	Baseline  bool     `json:"baseline"`
}

// Filter selects runs; empty fields select all.
type Filter struct {
	Host  string // fingerprint, or the start of one
	Kind  string
	Limit int // the newest; 0: all
}

const runColumns = `r.run_id, r.created, r.imported, r.kind, r.command, r.host, r.host_fingerprint, r.software_fingerprint, r.chip, r.version,
	r.revision, r.quick, r.complete, r.results, r.source, EXISTS (SELECT 1 FROM baselines b WHERE b.run = r.id)`

// List gives the runs, the newest first.
func (s *Store) List(ctx context.Context, f Filter) ([]Run, error) {
	q, args := "SELECT "+runColumns+" FROM runs r WHERE 1", []any{}
	if f.Host != "" {
		q, args = q+" AND r.host_fingerprint >= ? AND r.host_fingerprint < ?", append(args, f.Host, f.Host+"~")
	}
	if f.Kind != "" {
		q, args = q+" AND r.kind = ?", append(args, f.Kind)
	}
	q += " ORDER BY r.created DESC, r.id DESC"
	if f.Limit > 0 {
		q, args = q+" LIMIT ?", append(args, f.Limit)
	}
	rows, err := s.db.QueryContext(ctx, q, args...)
	if err != nil {
		return nil, s.wrap(err)
	}
	defer rows.Close()
	out := []Run{}
	for rows.Next() {
		r, err := scanRun(rows)
		if err != nil {
			return nil, s.wrap(err)
		}
		out = append(out, r)
	}
	return out, s.wrap(rows.Err())
}

func scanRun(row interface{ Scan(...any) error }) (Run, error) {
	var r Run
	var command string
	if err := row.Scan(&r.RunID, &r.Created, &r.Imported, &r.Kind, &command, &r.Host, &r.HostPrint, &r.SoftPrint, &r.Chip, &r.Version,
		&r.Revision, &r.Quick, &r.Complete, &r.Results, &r.Source, &r.Baseline); err != nil {
		return r, err
	}
	return r, json.Unmarshal([]byte(command), &r.Command)
}

// Count of all runs.
func (s *Store) Count(ctx context.Context) (n int, err error) {
	return n, s.wrap(s.db.QueryRowContext(ctx, "SELECT count(*) FROM runs").Scan(&n))
}

// NoRunError is a run that the history does not have, or a start of an id that several have.
type NoRunError struct {
	ID      string
	Several bool
}

func (e *NoRunError) Error() string {
	if e.ID == latest {
		return "run latest: no run of the history has measured (verify measures nothing): ridge history list shows the runs"
	}
	if e.Several {
		return fmt.Sprintf("run %q: several runs start so: give more of the id", e.ID)
	}
	return fmt.Sprintf("run %q is not in the history: ridge history list shows the runs", e.ID)
}

// latest names the newest run that measured.
const latest = "latest"

// checkRunID refuses an id by which no command could ask for the run: a word that stands for another one, a flag, a path.
func checkRunID(id string) error {
	if id == "" {
		return errors.New("history: the document has no run_id: expected one made by ridge")
	}
	if id == latest {
		return fmt.Errorf("history: run_id %q names the newest run: expected an id of the document's own", id)
	}
	if !runIDs.MatchString(id) {
		return fmt.Errorf("history: run_id: got %.60q, expected at most 128 letters (a-z, A-Z), digits and . _ + -, a letter or digit first", id)
	}
	return nil
}

var runIDs = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._+-]{0,127}$`)

// find a run by its id, the start of one, or "latest".
func (s *Store) find(ctx context.Context, id string) (row int64, err error) {
	if id == latest {
		err = s.db.QueryRowContext(ctx, "SELECT id FROM runs WHERE kind <> '"+kindVerify+"' ORDER BY created DESC, id DESC LIMIT 1").Scan(&row)
		if !errors.Is(err, sql.ErrNoRows) {
			return row, s.wrap(err)
		}
		n, err := s.Count(ctx)
		switch {
		case err != nil:
			return 0, err
		case n == 0:
			return 0, ErrNone
		}
		return 0, &NoRunError{ID: latest}
	}
	rows, err := s.db.QueryContext(ctx, "SELECT id, run_id = ? FROM runs WHERE run_id >= ? AND run_id < ? ORDER BY run_id LIMIT 2", id, id, id+"\U0010ffff")
	if err != nil {
		return 0, s.wrap(err)
	}
	defer rows.Close()
	n := 0
	for rows.Next() {
		var at int64
		var exact bool
		if err := rows.Scan(&at, &exact); err != nil {
			return 0, s.wrap(err)
		}
		if row, n = at, n+1; exact {
			return at, nil
		}
	}
	if err := rows.Err(); err != nil {
		return 0, s.wrap(err)
	}
	if n != 1 || id == "" {
		return 0, &NoRunError{id, n > 1}
	}
	return row, nil
}

// Show gives a run by its id, the start of one, or "latest": the newest that measured, which verify does not.
func (s *Store) Show(ctx context.Context, id string) (Run, error) {
	row, err := s.find(ctx, id)
	if err != nil {
		return Run{}, err
	}
	return s.showRow(ctx, row)
}

func (s *Store) showRow(ctx context.Context, row int64) (Run, error) {
	r, err := scanRun(s.db.QueryRowContext(ctx, "SELECT "+runColumns+" FROM runs r WHERE r.id = ?", row))
	return r, s.wrap(err)
}

// Text is the stored document of a run, as it was written.
func (s *Store) Text(ctx context.Context, id string) ([]byte, error) {
	row, err := s.find(ctx, id)
	if err != nil {
		return nil, err
	}
	return s.textOf(ctx, row, id)
}

// textOf is the document of a row, which errors call by its id.
func (s *Store) textOf(ctx context.Context, row int64, id string) ([]byte, error) {
	var packed []byte
	if err := s.db.QueryRowContext(ctx, "SELECT gzip FROM documents WHERE run = ?", row).Scan(&packed); err != nil {
		return nil, s.wrap(err)
	}
	text, err := unpack(packed)
	if err != nil {
		return nil, &Error{s.path, s.damaged(), fmt.Errorf("the document of run %s is damaged: %w", id, err)}
	}
	return text, nil
}

// Document reads the stored document of a run.
func (s *Store) Document(ctx context.Context, id string) (record.Calibration, error) {
	text, err := s.Text(ctx, id)
	if err != nil {
		return record.Calibration{}, err
	}
	var d record.Calibration
	if err := json.Unmarshal(text, &d); err != nil {
		return d, fmt.Errorf("the stored document of run %s: %w", id, err)
	}
	return d, nil
}

// SetBaseline makes a run the baseline of its machine.
func (s *Store) SetBaseline(ctx context.Context, id string) (Run, error) {
	row, err := s.find(ctx, id)
	if err != nil {
		return Run{}, err
	}
	err = s.write(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO baselines (host_fingerprint, run, set_at) SELECT host_fingerprint, id, ? FROM runs WHERE id = ?
			ON CONFLICT (host_fingerprint) DO UPDATE SET run = excluded.run, set_at = excluded.set_at`, now(), row)
		return err
	})
	if err != nil {
		return Run{}, err
	}
	return s.Show(ctx, id)
}

// ClearBaseline forgets the baselines, all or that of a machine; the runs stay. It says how many.
func (s *Store) ClearBaseline(ctx context.Context, host string) (n int64, err error) {
	err = s.write(ctx, func(tx *sql.Tx) error {
		res, err := tx.ExecContext(ctx, "DELETE FROM baselines WHERE ? = '' OR host_fingerprint = ?", host, host)
		if err == nil {
			n, err = res.RowsAffected()
		}
		return err
	})
	return n, err
}

// Baseline is the baseline run of a machine; false: none is set.
func (s *Store) Baseline(ctx context.Context, host string) (string, bool, error) {
	var id string
	err := s.db.QueryRowContext(ctx, "SELECT r.run_id FROM baselines b JOIN runs r ON r.id = b.run WHERE b.host_fingerprint = ?", host).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return "", false, nil
	}
	return id, err == nil, s.wrap(err)
}

// Cases lists stored case names that hold a text, at most limit.
func (s *Store) Cases(ctx context.Context, part string, limit int) ([]string, error) {
	part = strings.NewReplacer(`\`, `\\`, "%", `\%`, "_", `\_`).Replace(part)
	rows, err := s.db.QueryContext(ctx, `SELECT name FROM cases WHERE name LIKE ? ESCAPE '\' ORDER BY name LIMIT ?`, "%"+part+"%", limit)
	if err != nil {
		return nil, s.wrap(err)
	}
	defer rows.Close()
	var out []string
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			return nil, s.wrap(err)
		}
		out = append(out, name)
	}
	return out, s.wrap(rows.Err())
}
