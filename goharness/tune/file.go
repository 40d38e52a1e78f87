// Package tune searches the parameters of kernels on this machine, such as the block sizes of a
// matrix product, and keeps what it finds with the machine's fingerprint.
package tune

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"ridge/goharness/backend"
	"ridge/goharness/record"
)

// Schema is the version of the file's format.
const Schema = "ridge.tuning/1"

// File is what is stored for a machine.
type File struct {
	Schema  string  `json:"schema"`
	Machine Machine `json:"machine"`
	Entries []Entry `json:"entries"`
}

// Machine is what the entries depend on. Two machines are the same when all of it is equal.
type Machine struct {
	CPU      string   `json:"cpu"`      // brand string with family, model and stepping
	Threads  int      `json:"threads"`  // logical CPUs online; 0 where unknown
	Caches   []string `json:"caches"`   // level, kind, size and sharing
	Features []string `json:"features"` // usable instruction sets
}

// Entry is one finding with what it was measured on.
type Entry struct {
	backend.Tuned
	Shape map[string]string `json:"shape"` // the op's parameters in the search
	// Gain is the time with the kernel's defaults over the time with this entry: a comparison of
	// its own after the search, whose interval lies above 1.
	Gain     float64    `json:"gain"`
	GainCI95 [2]float64 `json:"gain_ci95"`
	Quartets int        `json:"quartets"`
	Date     string     `json:"date"`     // RFC 3339
	Revision string     `json:"revision"` // of ridge
}

// Identify reads the fingerprint off a host.
func Identify(h record.Host) Machine {
	m := Machine{CPU: fmt.Sprintf("%s (family %d, model %d, stepping %d)", h.CPU.Model, h.CPU.Family, h.CPU.ModelNumber, h.CPU.Stepping),
		Features: slices.Sorted(slices.Values(h.CPU.Features))}
	if n := h.CPU.Threads.Value; n != nil {
		m.Threads = *n
	}
	for _, c := range h.CPU.Caches {
		if c.Type != "instruction" {
			m.Caches = append(m.Caches, fmt.Sprintf("L%d %s %d bytes x %d, each for %d CPUs", c.Level, c.Type, c.SizeBytes, c.Instances, c.SharedByCPUs))
		}
	}
	slices.Sort(m.Caches)
	return m
}

// difference names the first thing in which machines differ; "" when they are the same.
func (m Machine) difference(now Machine) string {
	list := func(s []string) string { return strings.Join(s, ", ") }
	for _, d := range []struct{ what, was, is string }{
		{"CPU", m.CPU, now.CPU}, {"number of CPUs", fmt.Sprint(m.Threads), fmt.Sprint(now.Threads)},
		{"caches", list(m.Caches), list(now.Caches)}, {"instruction sets", list(m.Features), list(now.Features)},
	} {
		if d.was != d.is {
			return fmt.Sprintf("%s: then %s, now %s", d.what, d.was, d.is)
		}
	}
	return ""
}

// ForeignError is a file that was made on another machine, or by a version of ridge whose format
// this one does not read. Its entries must not be used.
type ForeignError struct{ Path, Why string }

func (e *ForeignError) Error() string {
	return fmt.Sprintf("the tuning of %s is ignored: %s; ridge tune makes it anew", e.Path, e.Why)
}

// most bounds the file: a finding has about 400 bytes, and there are some of each op, precision and thread count.
const most = 4 << 20

// Path is where the file lies in a data directory.
func Path(dataDir string) string { return filepath.Join(dataDir, "tuning.json") }

// Load reads the file for this machine. Without a file there are no entries; one of another
// machine or format is a *ForeignError.
func Load(path string, now Machine) (File, error) {
	empty := File{Schema: Schema, Machine: now}
	data, err := record.ReadRegular(path, most)
	if errors.Is(err, fs.ErrNotExist) {
		return empty, nil
	}
	if err != nil {
		return empty, fmt.Errorf("read the tuning: %w; remove the file", err)
	}
	var head struct {
		Schema string `json:"schema"`
	}
	if err := json.Unmarshal(data, &head); err != nil {
		return empty, fmt.Errorf("read the tuning %s: %w; remove the file or run ridge tune --force", path, err)
	}
	if head.Schema != Schema {
		return empty, &ForeignError{path, fmt.Sprintf("its schema is %q, this ridge reads %q", head.Schema, Schema)}
	}
	var f File
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields() // a misspelt field would silently tune nothing
	if err := dec.Decode(&f); err != nil {
		return empty, fmt.Errorf("read the tuning %s: %w; remove the file or run ridge tune --force", path, err)
	}
	if why := f.Machine.difference(now); why != "" {
		return empty, &ForeignError{path, "it was made on another machine (" + why + ")"}
	}
	return f, nil
}

// Save writes the file.
func (f File) Save(path string) error {
	if f.Entries == nil {
		f.Entries = []Entry{} // a list, not null
	}
	data, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the tuning: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("store the tuning: %w", err)
	}
	if err := record.WriteFile(path, append(data, '\n')); err != nil {
		return fmt.Errorf("store the tuning: %w", err)
	}
	return nil
}

// Tuning is the table for backend.OpenOptions.
func (f File) Tuning() backend.Tuning {
	var t backend.Tuning
	for _, e := range f.Entries {
		t = append(t, e.Tuned)
	}
	return t
}

// Put replaces what is known for the place of an outcome: by its entry, or by nothing where the
// search found nothing better than the default.
func (f *File) Put(o Outcome) {
	f.Entries = slices.DeleteFunc(f.Entries, func(e Entry) bool {
		return e.Op == o.Target.Op && e.DType == o.Target.DType && e.Class == o.Class && e.Threads == o.Threads
	})
	if o.Found != nil {
		f.Entries = append(f.Entries, *o.Found)
	}
}
