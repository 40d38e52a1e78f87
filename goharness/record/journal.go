package record

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// SchemaJournal names the journal's schema. A journal is a text file of one record per
// line, each line
//
//	{"crc32c":"xxxxxxxx","entry":{"kind":…}}
//
// with the CRC-32C (Castagnoli) of the entry's bytes in hexadecimal. The first entry is the
// header.
const SchemaJournal = "ridge.journal/1"

// Kinds of journal entries.
const (
	EntryHeader     = "header"
	EntryResult     = "result"
	EntryCeiling    = "ceiling"
	EntryProbe      = "probe"
	EntryQuarantine = "quarantine"
	EntryEnd        = "end"
)

// Entry is one record of a journal. The field named by Kind is set.
type Entry struct {
	Kind string `json:"kind"`
	Time string `json:"time,omitempty"` // RFC 3339

	Header     *JournalHeader `json:"header,omitempty"`
	Result     *Result        `json:"result,omitempty"`
	Ceiling    *Ceiling       `json:"ceiling,omitempty"` // a later one of the same key replaces it
	Probe      *ProbeEntry    `json:"probe,omitempty"`
	Quarantine *Quarantine    `json:"quarantine,omitempty"`
	End        *End           `json:"end,omitempty"`

	// Remeasure says why this result replaces an earlier one of the same case id; without
	// it a second result is an error.
	Remeasure string `json:"remeasure,omitempty"`
}

// JournalHeader opens a journal.
type JournalHeader struct {
	Schema          string   `json:"schema"`
	RunID           string   `json:"run_id"`
	Created         string   `json:"created"` // RFC 3339
	Command         []string `json:"command"`
	PlanFingerprint string   `json:"plan_fingerprint"` // a resumed run must plan the same cases
	Tool            *Tool    `json:"tool,omitempty"`
	Host            *Host    `json:"host,omitempty"`
	Devices         []Device `json:"devices,omitempty"`
	Planned         int      `json:"planned,omitempty"` // probes and cases of the plan; a run may measure more
}

// CeilingKey names a ceiling within a run.
type CeilingKey struct {
	Device  string `json:"device"`
	Kind    string `json:"kind"`
	DType   DType  `json:"dtype,omitempty"`
	Level   string `json:"level,omitempty"`
	ISA     string `json:"isa,omitempty"`
	Access  string `json:"access,omitempty"`
	Threads int    `json:"threads"`
}

// Key names the ceiling within a run.
func (c *Ceiling) Key() CeilingKey {
	return CeilingKey{c.Device, c.Kind, c.DType, c.Level, c.ISA, c.Access, c.Threads}
}

// ProbeEntry is one more probe of a ceiling journaled before.
type ProbeEntry struct {
	Ceiling CeilingKey `json:"ceiling"`
	Probe   Probe      `json:"probe"`
}

// Quarantine says that a kernel is set aside for the rest of the run.
type Quarantine struct {
	Device string `json:"device"`
	Kernel string `json:"kernel"`
	CaseID string `json:"case_id"`
	Reason string `json:"reason"`
}

// End closes a journal.
type End struct {
	Complete    bool     `json:"complete"`
	Reason      string   `json:"reason,omitempty"`   // why it is not complete
	WallSeconds float64  `json:"wall_seconds"`       // of all processes so far
	Warnings    []string `json:"warnings,omitempty"` // of the run as a whole
}

// JournalFile is what a journal needs of its file.
type JournalFile interface {
	io.Writer
	Sync() error
	Truncate(size int64) error
	Close() error
}

// Journal is an open journal. Entries may be appended by several goroutines: those of devices that are measured at the same time.
type Journal struct {
	mu   sync.Mutex
	path string
	f    JournalFile
	size int64 // bytes of whole lines
	ids  map[string]bool
	torn bool // a partial line may lie behind size
}

// WriteError says that an entry could not be made durable. Every entry appended before it
// is intact.
type WriteError struct {
	Path string
	Err  error
}

func (e *WriteError) Error() string {
	if e.Full() {
		return fmt.Sprintf("journal %s: no space for the next entry (%v): free space and resume; everything before it is kept", e.Path, e.Err)
	}
	return fmt.Sprintf("journal %s: writing the next entry: %v; everything before it is kept", e.Path, e.Err)
}

func (e *WriteError) Unwrap() error { return e.Err }

// Full reports whether the disk, the quota or the file size limit was exhausted.
func (e *WriteError) Full() bool {
	return errors.Is(e.Err, syscall.ENOSPC) || errors.Is(e.Err, syscall.EDQUOT) || errors.Is(e.Err, syscall.EFBIG)
}

// DuplicateError says that a case id has a result already.
type DuplicateError struct{ ID string }

func (e *DuplicateError) Error() string {
	return fmt.Sprintf("case %q has a result already: a second one must say why it was measured again", clip(e.ID, 200))
}

// Create makes a new journal at path, which must not exist, locks it and writes h.
func Create(path string, h JournalHeader) (*Journal, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o644)
	if err != nil {
		return nil, fmt.Errorf("creating the journal: %w", err)
	}
	if err := lock(f); err != nil {
		f.Close()
		return nil, err
	}
	j, err := NewJournal(path, f, h)
	if err != nil {
		f.Close()
		os.Remove(path)
		return nil, err
	}
	if err := syncDir(filepath.Dir(path)); err != nil {
		f.Close()
		return nil, &WriteError{path, err}
	}
	return j, nil
}

// NewJournal starts a journal in an empty file.
func NewJournal(path string, f JournalFile, h JournalHeader) (*Journal, error) {
	h.Schema = SchemaJournal
	if h.Command == nil {
		h.Command = []string{}
	}
	j := &Journal{path: path, f: f, ids: map[string]bool{}}
	if err := j.write(Entry{Kind: EntryHeader, Time: h.Created, Header: &h}); err != nil {
		return nil, err
	}
	return j, nil
}

// Resume opens a journal to go on with it: it locks the file, reads every entry, cuts off
// a torn last line (the log has a warning then) and appends after the last whole one.
func Resume(path string) (*Journal, *Log, error) {
	f, err := OpenRegular(path, os.O_RDWR|os.O_APPEND)
	if err != nil {
		return nil, nil, fmt.Errorf("opening the journal: %w", err)
	}
	j, log, err := resume(path, f)
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return j, log, nil
}

func resume(path string, f *os.File) (*Journal, *Log, error) {
	if err := lock(f); err != nil {
		return nil, nil, err
	}
	log, err := ReadJournal(f)
	if err != nil {
		return nil, nil, fmt.Errorf("journal %s: %w", path, err)
	}
	if log.torn {
		if err := f.Truncate(log.size); err != nil {
			return nil, nil, &WriteError{path, fmt.Errorf("cutting off the torn last line: %w", err)}
		}
	}
	j := &Journal{path: path, f: f, size: log.size, ids: map[string]bool{}}
	for _, e := range log.Entries {
		if e.Result != nil {
			j.ids[e.Result.ID] = true
		}
	}
	return j, log, nil
}

// Open reads a journal without changing it. A torn last line is left out with a warning.
func Open(path string) (*Log, error) {
	f, err := OpenRegular(path, os.O_RDONLY)
	if err != nil {
		return nil, fmt.Errorf("opening the journal: %w", err)
	}
	defer f.Close()
	log, err := ReadJournal(f)
	if err != nil {
		return nil, fmt.Errorf("journal %s: %w", path, err)
	}
	return log, nil
}

// Append writes one entry with a single write and returns when it is on the disk. After a
// WriteError the journal ends with the entry before and a later Append may succeed.
func (j *Journal) Append(e Entry) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if err := e.check(); err != nil {
		return fmt.Errorf("journal %s: %w", j.path, err)
	}
	if e.Kind == EntryHeader {
		return fmt.Errorf("journal %s: it has a header already", j.path)
	}
	if e.Kind == EntryResult && j.ids[e.Result.ID] && e.Remeasure == "" {
		return fmt.Errorf("journal %s: %w", j.path, &DuplicateError{e.Result.ID})
	}
	if err := j.write(e); err != nil {
		return err
	}
	if e.Kind == EntryResult {
		j.ids[e.Result.ID] = true
	}
	return nil
}

// Has reports whether a case has a result.
func (j *Journal) Has(id string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.ids[id]
}

// Path of the file.
func (j *Journal) Path() string { return j.path }

// Close releases the file and its lock.
func (j *Journal) Close() error { return j.f.Close() }

func (j *Journal) write(e Entry) error {
	if err := normalize(reflect.ValueOf(&e), e.Kind); err != nil {
		return fmt.Errorf("journal %s: %w", j.path, err)
	}
	body, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("journal %s: encoding a %s entry: %w", j.path, e.Kind, err)
	}
	line := frame(body)
	if len(line) > maxLine {
		return fmt.Errorf("journal %s: a %s entry of %d bytes: at most %d are allowed", j.path, e.Kind, len(line), maxLine)
	}
	if j.torn {
		if err := j.f.Truncate(j.size); err != nil {
			return &WriteError{j.path, fmt.Errorf("cutting off a partial line: %w", err)}
		}
		j.torn = false
	}
	n, err := j.f.Write(line)
	if err == nil && n < len(line) {
		err = io.ErrShortWrite
	}
	if err == nil {
		err = j.f.Sync()
	}
	if err != nil {
		j.torn = j.f.Truncate(j.size) != nil
		return &WriteError{j.path, err}
	}
	j.size += int64(len(line))
	return nil
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

const (
	framePrefix = `{"crc32c":"`
	frameMiddle = `","entry":`
)

// frame puts an entry's JSON into its line.
func frame(body []byte) []byte {
	return fmt.Appendf(nil, "%s%08x%s%s}\n", framePrefix, crc32.Checksum(body, castagnoli), frameMiddle, body)
}

// lock takes the exclusive lock that keeps two runs from writing one journal.
func lock(f *os.File) error {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	for range 10 { // who asks whether the journal is being written has the lock for a moment
		if !errors.Is(err, unix.EWOULDBLOCK) {
			break
		}
		time.Sleep(10 * time.Millisecond)
		err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	}
	if err != nil {
		if errors.Is(err, unix.EWOULDBLOCK) {
			return fmt.Errorf("journal %s: another run is writing it", f.Name())
		}
		return fmt.Errorf("journal %s: locking: %w", f.Name(), err)
	}
	return nil
}

// syncDir makes a new name in a directory durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}
