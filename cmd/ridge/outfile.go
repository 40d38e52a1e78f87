package main

import (
	"fmt"
	"os"
	"path/filepath"
)

// outFile is written beside its place and moved there when all is in it. As record.WriteFile does, a link keeps pointing where
// it points, and what is no regular file (a device, a pipe) is written to and stays what it is.
type outFile struct {
	*os.File
	path   string
	beside bool
}

func newFile(path string) (*outFile, error) {
	if st, err := os.Stat(path); err == nil && !st.Mode().IsRegular() {
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return nil, err
		}
		return &outFile{File: f, path: path}, nil
	}
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target
	}
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return nil, err
	}
	return &outFile{f, path, true}, nil
}

// finish moves the file to its place, or removes it when err is set.
func (f *outFile) finish(err error) error {
	if !f.beside {
		if cerr := f.Close(); err == nil {
			err = cerr
		}
		return err
	}
	if err == nil {
		err = f.Chmod(0o644)
	}
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(f.Name(), f.path)
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

// lateFile is begun when something is first written to it, and takes the place of an older one when it is closed and whole.
type lateFile struct {
	path string
	f    *outFile
	err  error // the first that kept it from being written
}

func (l *lateFile) Write(b []byte) (n int, err error) {
	if l.err != nil {
		return 0, l.err
	}
	if l.f == nil {
		l.f, l.err = newFile(l.path)
	}
	if l.err == nil {
		n, l.err = l.f.Write(b)
	}
	if l.err != nil {
		l.err = fmt.Errorf("%s: %w", l.path, pathCause(l.err)) // without the name of the file beside it
	}
	return n, l.err
}

// Close has no news of what a Write has told.
func (l *lateFile) Close() error {
	if l.f == nil {
		return nil
	}
	err, told := l.f.finish(l.err), l.err != nil
	if l.f = nil; told || err == nil {
		return nil
	}
	l.err = fmt.Errorf("%s: %w", l.path, pathCause(err))
	return l.err
}
