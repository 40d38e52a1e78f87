package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/urfave/cli/v2"

	"ridge/goharness/record"
)

// readerWait is how long a program that reads a pipe is waited for.
var readerWait = 10 * time.Second

// held are the pipes and devices that a command will write to at its end: closing one that was tried would tell its reader that
// all was written.
type held []io.Closer

func (h *held) close() {
	for _, f := range *h {
		_ = f.Close()
	}
}

// holdSpecial opens what is no regular file to the end of the command; false: it is one, or nothing is there.
func holdSpecial(c *cli.Context, path string) (bool, error) {
	f, special, err := openSpecial(c.Context, path)
	if err != nil || !special {
		return special, err
	}
	if h, ok := c.App.Metadata["held"].(*held); ok {
		*h = append(*h, f)
	}
	return true, nil
}

// openSpecial waits for who reads a pipe, as who reads one waits for its writer.
func openSpecial(ctx context.Context, path string) (*os.File, bool, error) {
	for end := time.Now().Add(readerWait); ; {
		f, special, err := record.OpenSpecial(path)
		switch {
		case !errors.Is(err, record.ErrNoReader):
			return f, special, err
		case time.Now().After(end):
			return nil, true, fmt.Errorf("no program has opened this pipe to read it for %v: start its reader first", readerWait)
		}
		select {
		case <-ctx.Done():
			return nil, true, ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// lateFile is begun when something is first written to it, and takes the place of an older one when it is closed and whole.
type lateFile struct {
	path string
	f    *record.OutFile
	err  error // the first that kept it from being written
}

func (l *lateFile) Write(b []byte) (n int, err error) {
	if l.err != nil {
		return 0, l.err
	}
	if l.f == nil {
		l.f, l.err = record.NewOutFile(l.path)
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
	err, told := l.f.Finish(l.err), l.err != nil
	if l.f = nil; told || err == nil {
		return nil
	}
	l.err = fmt.Errorf("%s: %w", l.path, pathCause(err))
	return l.err
}
