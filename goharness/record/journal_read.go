package record

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"strconv"
	"time"
)

// maxLine bounds one journal line, newline included (a result with 10⁶ samples is 20 MB).
const maxLine = 64 << 20

// Log is what a journal holds.
type Log struct {
	Header   JournalHeader
	Entries  []Entry // without the header, in order
	Warnings []string

	size int64 // bytes of whole lines
	torn bool  // something that is no whole line lies behind them
}

// ReadJournal reads a journal. A last line that is incomplete or damaged is what a killed
// run leaves behind: it is left out with a warning. Any other damage is an error that
// names the line.
func ReadJournal(r io.Reader) (*Log, error) {
	br := bufio.NewReaderSize(r, 1<<16)
	log := &Log{}
	seen := map[string]int{}
	for line := 1; ; line++ {
		text, err := readLine(br)
		if errors.Is(err, io.EOF) && len(text) == 0 {
			break
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
		if errors.Is(err, io.EOF) {
			log.tear("line %d is incomplete (%d bytes without an end): the case in flight is lost", line, len(text))
			break
		}
		body, ferr := unframe(text)
		if ferr != nil {
			if _, err := br.Peek(1); errors.Is(err, io.EOF) && line > 1 {
				log.tear("line %d, the last, is damaged (%v): the case in flight is lost", line, ferr)
				break
			}
			return nil, fmt.Errorf("line %d is damaged: %w", line, ferr)
		}
		var e Entry
		if err := json.Unmarshal(body, &e); err != nil {
			return nil, fmt.Errorf("line %d: %w", line, explainJSON(err))
		}
		if err := log.add(e, line, seen); err != nil {
			return nil, fmt.Errorf("line %d: %w", line, err)
		}
		log.size += int64(len(text)) + 1
	}
	if log.Header.Schema == "" {
		return nil, fmt.Errorf("no complete header line: the run ended before it began, start it anew")
	}
	return log, nil
}

func (l *Log) tear(format string, a ...any) {
	l.torn = true
	l.Warnings = append(l.Warnings, fmt.Sprintf(format, a...))
}

func (l *Log) add(e Entry, line int, seen map[string]int) error {
	if err := e.check(); err != nil {
		return err
	}
	if line == 1 {
		if e.Kind != EntryHeader {
			return fmt.Errorf("the first entry is a %s, expected a header", e.Kind)
		}
		if e.Header.Schema != SchemaJournal {
			return fmt.Errorf("schema %q, this ridge reads %q", clip(e.Header.Schema, 60), SchemaJournal)
		}
		l.Header = *e.Header
		return nil
	}
	if e.Kind == EntryHeader {
		return fmt.Errorf("a second header")
	}
	if e.Kind == EntryResult {
		if at := seen[e.Result.ID]; at != 0 && e.Remeasure == "" {
			return fmt.Errorf("%w (first on line %d)", &DuplicateError{e.Result.ID}, at)
		}
		seen[e.Result.ID] = line
	}
	l.Entries = append(l.Entries, e)
	return nil
}

// Results are the results in the order first measured; of a case measured again, the last.
func (l *Log) Results() []Result {
	at := map[string]int{}
	var out []Result
	for _, e := range l.Entries {
		if e.Result == nil {
			continue
		}
		if i, ok := at[e.Result.ID]; ok {
			out[i] = *e.Result
			continue
		}
		at[e.Result.ID] = len(out)
		out = append(out, *e.Result)
	}
	return out
}

// Quarantined lists the kernels set aside so far.
func (l *Log) Quarantined() []Quarantine {
	var out []Quarantine
	for _, e := range l.Entries {
		if e.Quarantine != nil {
			out = append(out, *e.Quarantine)
		}
	}
	return out
}

// End is the last end entry, nil when the run was cut short.
func (l *Log) End() *End {
	if n := len(l.Entries); n > 0 {
		return l.Entries[n-1].End
	}
	return nil
}

// EndWarnings are those of the last end entry: each repeats the ones before.
func (l *Log) EndWarnings() []string {
	for i := len(l.Entries) - 1; i >= 0; i-- {
		if e := l.Entries[i].End; e != nil {
			return e.Warnings
		}
	}
	return nil
}

// Took is the time in seconds that the processes of the run took: what the last end entry says, and of a process that was cut short what its
// entries span.
func (l *Log) Took() float64 {
	took, began, last := 0.0, at(l.Header.Created), time.Time{}
	for _, e := range l.Entries {
		if e.End != nil {
			took, began, last = e.End.WallSeconds, time.Time{}, time.Time{}
			continue
		}
		last = at(e.Time)
		if began.IsZero() {
			if began = last; e.Result != nil && e.Remeasure == "" { // what is measured again keeps the time when it was begun first
				began = at(e.Result.Started)
			}
		}
	}
	if !began.IsZero() {
		took += max(0, last.Sub(began).Seconds())
	}
	return took
}

// at reads a time of a journal; the zero time where there is none.
func at(s string) time.Time {
	t, _ := time.Parse(time.RFC3339Nano, s)
	return t
}

// check reports whether the entry has what its kind says and nothing else.
func (e *Entry) check() error {
	have := map[string]bool{
		EntryHeader: e.Header != nil, EntryResult: e.Result != nil, EntryCeiling: e.Ceiling != nil,
		EntryProbe: e.Probe != nil, EntryQuarantine: e.Quarantine != nil, EntryEnd: e.End != nil,
	}
	present, known := have[e.Kind]
	if !known {
		return fmt.Errorf("an entry of kind %q, expected header, result, ceiling, probe, quarantine or end", clip(e.Kind, 40))
	}
	if !present {
		return fmt.Errorf("a %s entry without its %s", e.Kind, e.Kind)
	}
	for kind, set := range have {
		if set && kind != e.Kind {
			return fmt.Errorf("a %s entry that holds a %s", e.Kind, kind)
		}
	}
	if e.Result != nil && e.Result.ID == "" {
		return fmt.Errorf("a result without a case id")
	}
	return nil
}

// readLine returns a line without its newline; io.EOF with what is left when there is none.
func readLine(br *bufio.Reader) ([]byte, error) {
	var text []byte
	for {
		part, err := br.ReadSlice('\n')
		if len(text)+len(part) > maxLine {
			return nil, fmt.Errorf("longer than %d bytes: no journal of ridge", maxLine)
		}
		text = append(text, part...)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case err != nil:
			return text, err
		default:
			return text[:len(text)-1], nil
		}
	}
}

// unframe checks a line and returns its entry's JSON.
func unframe(line []byte) ([]byte, error) {
	rest, ok := bytes.CutPrefix(line, []byte(framePrefix))
	if !ok || len(rest) < 8+len(frameMiddle)+1 || !bytes.HasPrefix(rest[8:], []byte(frameMiddle)) || rest[len(rest)-1] != '}' {
		return nil, fmt.Errorf(`expected {"crc32c":"…","entry":{…}}`)
	}
	want, err := strconv.ParseUint(string(rest[:8]), 16, 32)
	if err != nil {
		return nil, fmt.Errorf("checksum %q is not hexadecimal", rest[:8])
	}
	body := rest[8+len(frameMiddle) : len(rest)-1]
	if got := crc32.Checksum(body, castagnoli); got != uint32(want) {
		return nil, fmt.Errorf("checksum %08x, the entry's bytes give %08x", want, got)
	}
	return body, nil
}

// explainJSON turns an error of encoding/json into one line that names the field and
// what was expected.
func explainJSON(err error) error {
	var te *json.UnmarshalTypeError
	var se *json.SyntaxError
	switch {
	case errors.As(err, &te):
		field := te.Field
		if field == "" {
			field = "the document"
		}
		return errors.New(oneLine(fmt.Sprintf("%s: got %s, expected %s", field, clip(te.Value, 60), te.Type)))
	case errors.As(err, &se):
		return errors.New(oneLine(fmt.Sprintf("not JSON: %v at byte %d", se, se.Offset)))
	}
	return err
}
