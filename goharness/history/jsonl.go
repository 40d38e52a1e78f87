package history

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"ridge/goharness/record"
)

// SchemaLine names the schema of an exported line.
const SchemaLine = "ridge.history-run/1"

// exported is a line of an export.
type exported struct {
	Schema   string          `json:"schema"`
	Imported string          `json:"imported"`
	Source   string          `json:"source"`
	Document json.RawMessage `json:"document"`
}

// maxLine bounds a line of an export.
const maxLine = 256 << 20

// LeftOutError names the runs whose documents are damaged in the database; Err is the last one's.
type LeftOutError struct {
	Runs []string
	Err  error
}

func (e *LeftOutError) Error() string {
	return fmt.Sprintf("%d left out (%.200s): %v", len(e.Runs), strings.Join(e.Runs, ", "), e.Err)
}

func (e *LeftOutError) Unwrap() error { return e.Err }

// Export writes runs as JSON lines, one document a line; without ids all, the oldest first. Damaged ones are left out, which a *LeftOutError
// says when the others are written.
func (s *Store) Export(ctx context.Context, w io.Writer, ids ...string) (n int, err error) {
	rows, err := s.rows(ctx, ids)
	if err != nil {
		return 0, err
	}
	left := &LeftOutError{}
	for _, row := range rows {
		run, line, err := s.line(ctx, row)
		var e *Error
		if errors.As(err, &e) && e.Advice == s.damaged() && run.RunID != "" {
			left.Runs, left.Err = append(left.Runs, run.RunID), err
			continue
		}
		if err != nil {
			return n, err
		}
		if _, err := w.Write(append(line, '\n')); err != nil {
			return n, fmt.Errorf("writing the export: %w", err)
		}
		n++
	}
	if len(left.Runs) > 0 {
		return n, left
	}
	return n, nil
}

// rows of the runs that are asked for; without ids of all, the oldest first, whatever their ids are.
func (s *Store) rows(ctx context.Context, ids []string) (out []int64, err error) {
	for _, id := range ids {
		row, err := s.find(ctx, id)
		if err != nil {
			return nil, err
		}
		out = append(out, row)
	}
	if len(ids) > 0 {
		return out, nil
	}
	rows, err := s.db.QueryContext(ctx, "SELECT id FROM runs ORDER BY created, id")
	if err != nil {
		return nil, s.wrap(err)
	}
	defer rows.Close()
	for rows.Next() {
		var row int64
		if err := rows.Scan(&row); err != nil {
			return nil, s.wrap(err)
		}
		out = append(out, row)
	}
	return out, s.wrap(rows.Err())
}

// line is a run as Export writes it.
func (s *Store) line(ctx context.Context, row int64) (Run, []byte, error) {
	run, err := s.showRow(ctx, row)
	if err != nil {
		return run, nil, err
	}
	text, err := s.textOf(ctx, row, run.RunID)
	if err != nil {
		return run, nil, err
	}
	line, err := json.Marshal(exported{SchemaLine, run.Imported, run.Source, text})
	if err != nil {
		return run, nil, fmt.Errorf("run %s: %w", run.RunID, err)
	}
	return run, line, nil
}

// Import stores what a file holds: an export, a journal, or a document. It counts what was stored
// and what was there.
func (s *Store) Import(ctx context.Context, name string, r io.Reader) (stored, known int, err error) {
	br := bufio.NewReaderSize(r, 1<<16)
	head, _ := br.Peek(64)
	add := func(d record.Calibration, source string) error {
		a, err := s.Add(ctx, d, source)
		if err != nil {
			return err
		}
		if a == Known {
			known++
		} else {
			stored++
		}
		return nil
	}
	switch {
	case bytes.HasPrefix(head, []byte(`{"crc32c":"`)):
		log, err := record.ReadJournal(br)
		if err != nil {
			return 0, 0, fmt.Errorf("%s: %w", name, err)
		}
		err = add(fromLog(log), FromJournal)
		return stored, known, err
	case bytes.HasPrefix(head, []byte(`{"schema":"`+SchemaLine)):
		for at := 1; ; at++ {
			line, err := readLine(br)
			if errors.Is(err, io.EOF) && len(line) == 0 {
				return stored, known, nil
			}
			if err != nil && !errors.Is(err, io.EOF) {
				return stored, known, fmt.Errorf("%s: line %d: %w", name, at, err)
			}
			if len(bytes.TrimSpace(line)) == 0 {
				continue
			}
			var e exported
			if err := json.Unmarshal(line, &e); err != nil {
				return stored, known, fmt.Errorf("%s: line %d: not a JSON line: %w (the lines before it are stored)", name, at, err)
			}
			if e.Schema != SchemaLine {
				return stored, known, fmt.Errorf("%s: line %d: schema %q, expected %q", name, at, e.Schema, SchemaLine)
			}
			d, err := record.ReadCalibration(bytes.NewReader(e.Document))
			if err != nil {
				return stored, known, fmt.Errorf("%s: line %d: document: %w (the lines before it are stored)", name, at, err)
			}
			if err := add(d, FromDocument); err != nil {
				return stored, known, fmt.Errorf("%s: line %d: %w", name, at, err)
			}
		}
	}
	doc, err := record.ReadDocument(br)
	if err != nil {
		return 0, 0, fmt.Errorf("%s: %w", name, err)
	}
	doc.Name = name
	joined, err := record.JoinFusion([]record.Document{doc})
	if err != nil {
		return 0, 0, err
	}
	for _, d := range joined {
		if err := add(d, FromDocument); err != nil {
			return stored, known, fmt.Errorf("%s: %w", name, err)
		}
	}
	return stored, known, nil
}

func readLine(r *bufio.Reader) ([]byte, error) {
	var out []byte
	for {
		part, err := r.ReadSlice('\n')
		out = append(out, part...)
		if len(out) > maxLine {
			return nil, fmt.Errorf("longer than %d bytes", maxLine)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return bytes.TrimSuffix(out, []byte("\n")), err
		}
	}
}
