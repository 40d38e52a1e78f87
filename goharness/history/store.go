// Package history keeps every run in an SQLite database of the data directory. Runs are only
// ever added; a run that was interrupted is replaced by itself when it was gone on with. Documents are stored
// whole; the figures of their cases stand beside them, so that a trend reads no document.
package history

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"modernc.org/sqlite"
)

// FileName of the database in the data directory.
const FileName = "history.db"

// Path of the database.
func Path(dataDir string) string { return filepath.Join(dataDir, FileName) }

const (
	// version of the layout, in SQLite's user_version.
	version = 1
	// applicationID marks the file as ours ("rdge").
	applicationID = 0x72646765
)

// layout: points are found by case (trends) and by run (drift). Documents are apart, so that listing runs
// reads none of their pages.
const layout = `
CREATE TABLE runs (
  id INTEGER PRIMARY KEY, run_id TEXT NOT NULL UNIQUE, created TEXT NOT NULL, imported TEXT NOT NULL,
  kind TEXT NOT NULL, command TEXT NOT NULL, host TEXT NOT NULL, host_fingerprint TEXT NOT NULL,
  software_fingerprint TEXT NOT NULL, chip TEXT NOT NULL, version TEXT NOT NULL, revision TEXT NOT NULL,
  quick INTEGER NOT NULL, complete INTEGER NOT NULL, results INTEGER NOT NULL, source TEXT NOT NULL);
CREATE INDEX runs_by_time ON runs (created, id);
CREATE INDEX runs_by_host ON runs (host_fingerprint, created, id);
CREATE TABLE documents (run INTEGER PRIMARY KEY REFERENCES runs (id), gzip BLOB NOT NULL);
CREATE TABLE cases (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE points (
  case_id INTEGER NOT NULL, run INTEGER NOT NULL, status TEXT NOT NULL, median_ns REAL, lo_ns REAL, hi_ns REAL,
  gflops REAL, gbps REAL, joules REAL, PRIMARY KEY (case_id, run)) WITHOUT ROWID;
CREATE INDEX points_by_run ON points (run);
CREATE TABLE baselines (host_fingerprint TEXT PRIMARY KEY, run INTEGER NOT NULL REFERENCES runs (id), set_at TEXT NOT NULL);
CREATE TABLE unreadable (journal TEXT PRIMARY KEY, size INTEGER NOT NULL, reason TEXT NOT NULL);
`

// Store is an open history. Its methods may be called from several goroutines.
type Store struct {
	db       *sql.DB
	path     string
	readOnly bool
}

// ErrNone is a data directory without a history.
var ErrNone = errors.New("there is no history yet: calibrate, bench, fusion, profile and verify keep their runs in it")

// ErrBusy is a database that another ridge writes to for too long.
var ErrBusy = errors.New("the database is locked")

// Error is a database that cannot be used as it should; Advice says what to do.
type Error struct {
	Path, Advice string
	Err          error
}

func (e *Error) Error() string { return fmt.Sprintf("history %s: %v; %s", e.Path, e.Err, e.Advice) }
func (e *Error) Unwrap() error { return e.Err }

// Open opens the history of a data directory for writing, and makes it where there is none.
func Open(ctx context.Context, dataDir string) (*Store, error) {
	return open(ctx, Path(dataDir), false, 0)
}

// OpenReadOnly opens the history of a data directory. ErrNone when there is none.
func OpenReadOnly(ctx context.Context, dataDir string) (*Store, error) {
	path := Path(dataDir)
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w", dataDir, ErrNone)
	}
	s, err := open(ctx, path, true, 0)
	var lite *sqlite.Error
	if !errors.As(err, &lite) || lite.Code() != codeReadOnlyRollback {
		return s, err
	}
	// A writer was killed in the middle: who may write undoes what it had begun.
	if w, werr := open(ctx, path, false, 0); werr == nil {
		_ = w.Close()
	}
	return open(ctx, path, true, 0)
}

// open with at most maxPages of 4 KiB (0: no limit).
func open(ctx context.Context, path string, readOnly bool, maxPages int) (*Store, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("history %s: %w", path, err)
	}
	s := &Store{path: path, readOnly: readOnly}
	for _, ending := range []string{"", "-wal", "-shm", "-journal"} { // opening a pipe would wait for ever
		if st, err := os.Stat(abs + ending); err == nil && !st.Mode().IsRegular() && !st.IsDir() {
			return nil, &Error{s.path, "move it away, or give another --data-dir; nothing was changed", fmt.Errorf("%s is a pipe, a socket or a device: expected a regular file", path+ending)}
		}
	}
	if !readOnly {
		if err := os.MkdirAll(filepath.Dir(abs), 0o755); err != nil {
			return nil, s.wrap(err)
		}
	}
	q := url.Values{"_pragma": {"busy_timeout(10000)", "synchronous(FULL)"}, "_txlock": {"immediate"}}
	if readOnly {
		q.Set("mode", "ro")
	}
	if maxPages > 0 {
		q.Add("_pragma", fmt.Sprintf("max_page_count(%d)", maxPages))
	}
	u := url.URL{Scheme: "file", Path: abs, RawQuery: q.Encode()}
	if s.db, err = sql.Open("sqlite", u.String()); err != nil {
		return nil, s.wrap(err)
	}
	if err := s.check(ctx); err != nil {
		_ = s.db.Close()
		return nil, err
	}
	return s, nil
}

// check refuses what is not ours or newer, and lays out a new database.
func (s *Store) check(ctx context.Context) error {
	var have, app, tables int
	// One statement sees one state: who lays the file out meanwhile is seen whole or not at all.
	const state = "SELECT (SELECT user_version FROM pragma_user_version), (SELECT application_id FROM pragma_application_id), (SELECT count(*) FROM sqlite_master)"
	read := func(q interface {
		QueryRowContext(context.Context, string, ...any) *sql.Row
	}) error {
		return q.QueryRowContext(ctx, state).Scan(&have, &app, &tables)
	}
	if err := read(s.db); err != nil {
		return s.wrap(err)
	}
	switch {
	case app == applicationID && have == version:
		return nil
	case app == applicationID && have > version:
		return &Error{s.path, "use that ridge, or another --data-dir; nothing was changed", fmt.Errorf("a newer ridge wrote it (layout %d, this one knows %d)", have, version)}
	case tables > 0 || app != 0:
		return &Error{s.path, "move it away, or give another --data-dir; nothing was changed", errors.New("it is a database, but not a history of ridge")}
	case s.readOnly:
		return fmt.Errorf("%s: %w", s.path, ErrNone)
	}
	return s.write(ctx, func(tx *sql.Tx) error {
		if err := read(tx); err != nil || tables > 0 { // somebody else was first
			return err
		}
		_, err := tx.ExecContext(ctx, layout+fmt.Sprintf("PRAGMA user_version = %d; PRAGMA application_id = %d;", version, applicationID))
		return err
	})
}

// write runs f in a transaction that waits for other writers, for ten seconds.
func (s *Store) write(ctx context.Context, f func(tx *sql.Tx) error) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return s.wrap(err)
	}
	if err := f(tx); err != nil {
		_ = tx.Rollback()
		return s.wrap(err)
	}
	return s.wrap(tx.Commit())
}

// Close releases the file.
func (s *Store) Close() error { return s.db.Close() }

// Path of the database.
func (s *Store) Path() string { return s.path }

// SQLite's primary result codes.
const (
	codeLogic    = 1 // our statements are right: the layout is damaged
	codeBusy     = 5
	codeReadOnly = 8
	codeIO       = 10
	codeCorrupt  = 11
	codeFull     = 13
	codeCantOpen = 14
	codeNotADB   = 26

	codeShortRead        = 10 | 2<<8 // the file ends where it should not
	codeReadOnlyRollback = 8 | 3<<8  // what a killed writer left would have to be undone
)

// damaged says what to do about a file that is.
func (s *Store) damaged() string {
	return "the file is damaged: move it away, and the next command makes it anew from the runs in " + filepath.Join(filepath.Dir(s.path), "runs") + " (what was imported must be imported again); nothing was changed"
}

// notOurs: what was read is nothing that was stored: a row is missing, a number is a text, a list is no JSON.
func notOurs(err error) bool {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	return errors.Is(err, sql.ErrNoRows) || errors.As(err, &syntax) || errors.As(err, &kind) || strings.HasPrefix(err.Error(), "sql: Scan error")
}

// wrap adds to an error of the database what to do about it.
func (s *Store) wrap(err error) error {
	var ours *Error
	if err == nil || errors.As(err, &ours) || errors.Is(err, context.Canceled) {
		return err
	}
	advice := "what is stored was not changed"
	var lite *sqlite.Error
	switch {
	case errors.As(err, &lite):
		code := lite.Code() & 0xff
		if lite.Code() == codeShortRead {
			code = codeCorrupt
		}
		switch code {
		case codeBusy:
			err = fmt.Errorf("%w (%w)", ErrBusy, err)
			advice = "another ridge writes to it for more than 10 s: wait for it and try again"
		case codeReadOnly, codeCantOpen:
			advice = "make the file and its folder writable, or give another --data-dir; what is stored was not changed"
		case codeFull, codeIO:
			advice = "free space on that disk; what is stored is kept, and runs that are missing are taken in from their journals at the next start"
		case codeCorrupt, codeNotADB, codeLogic:
			advice = s.damaged()
		}
	case notOurs(err):
		advice = s.damaged()
	case errors.Is(err, fs.ErrPermission):
		advice = "make its folder writable, or give another --data-dir"
	}
	return &Error{s.path, advice, err}
}
