package power

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sort"
	"strconv"
	"strings"
)

// tree is the file system below a root; fixtures stand in for /sys in tests.
type tree struct {
	root     string
	readFile func(string) ([]byte, error)
}

func (e Env) tree() tree {
	t := tree{root: e.Root, readFile: e.ReadFile}
	if t.readFile == nil {
		t.readFile = readSmall
	}
	return t
}

func (t tree) path(p string) string { return filepath.Join(t.root, filepath.FromSlash(p)) }

// smallBytes bounds what a file of a few digits or words may hold; the kernel's own hold a page at most.
const smallBytes = 64 << 10

// readSmall reads a file of the kernel. A pipe or a device in its place might never end, or never begin.
func readSmall(name string) ([]byte, error) {
	st, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, errors.New("it is not a file")
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, smallBytes+1))
	if err == nil && len(b) > smallBytes {
		err = fmt.Errorf("it holds more than %d bytes", smallBytes)
	}
	return b, err
}

// read returns a small file with surrounding white space removed.
func (t tree) read(p string) (string, error) {
	b, err := t.readFile(t.path(p))
	if err != nil {
		return "", t.explain(p, err)
	}
	return strings.TrimSpace(string(b)), nil
}

func (t tree) readUint(p string) (uint64, error) {
	s, err := t.read(p)
	if err != nil {
		return 0, err
	}
	v, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		return 0, noData("%s holds %q, not a count", p, clip(s))
	}
	return v, nil
}

// explain names the file as the machine knows it, without the root of a fixture.
func (t tree) explain(p string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return &missingError{p}
	case errors.Is(err, fs.ErrPermission):
		return &permissionError{p}
	}
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	return &NoData{Reason: fmt.Sprintf("%s: %v", p, err)}
}

// missingError is a file that is not there.
type missingError struct{ path string }

func (e *missingError) Error() string        { return e.path + " does not exist" }
func (e *missingError) Is(target error) bool { return target == ErrNoData }

// failedReading tells a file that vanished during a run from one that holds garbage or may no longer be read.
func failedReading(what string, err error) error {
	var gone *missingError
	if errors.As(err, &gone) {
		return noData("the %s vanished during the run: %v", what, err)
	}
	return noData("reading the %s failed during the run: %v", what, err)
}

// permissionError is a file that this user may not read.
type permissionError struct{ path string }

func (e *permissionError) Error() string        { return e.path + " is not readable by this user" }
func (e *permissionError) Is(target error) bool { return target == ErrNoData }

// glob lists matching paths without the root, sorted, numbers by value.
func (t tree) glob(pattern string) []string {
	m, _ := filepath.Glob(t.path(pattern))
	for i := range m {
		if t.root != "" {
			m[i] = filepath.ToSlash(strings.TrimPrefix(m[i], filepath.Clean(t.root)))
		}
	}
	sort.Slice(m, func(i, j int) bool {
		if len(m[i]) != len(m[j]) {
			return len(m[i]) < len(m[j])
		}
		return m[i] < m[j]
	})
	return m
}

func clip(s string) string {
	if len(s) > 40 {
		return s[:40] + "…"
	}
	return s
}
