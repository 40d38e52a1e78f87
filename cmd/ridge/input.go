package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// readingMemory is a soft limit of commands that read files: the collector works harder before it.
const readingMemory = 700 << 20

// readAtOnce is how many files are read at a time: decoding takes a core for each, and memory.
const readAtOnce = 2

// inOrder reads what has the names, files some at a time, and gives it in their order; of faults the first in that order. Pipes are
// read one after the other: two may be the same.
func inOrder[T any](names []string, read func(name string) (T, error)) ([]T, error) {
	out, errs := make([]T, len(names)), make([]error, len(names))
	slots := make(chan struct{}, readAtOnce)
	for _, name := range names {
		if st, err := os.Stat(name); err != nil || !st.Mode().IsRegular() {
			slots = make(chan struct{}, 1)
		}
	}
	var failed atomic.Bool
	var all sync.WaitGroup
	for i, name := range names {
		slots <- struct{}{}
		if failed.Load() { // no later fault is told
			break
		}
		all.Go(func() {
			defer func() { <-slots }()
			if out[i], errs[i] = read(name); errs[i] != nil {
				failed.Store(true)
			}
		})
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// writerWait is how long a program that writes to a pipe is waited for.
var writerWait = 10 * time.Second

// openInput opens a file that a command reads, or standard input (-). Directories and devices are refused; an interruption ends
// the reading of what may come late or never: a pipe, a terminal.
func openInput(ctx context.Context, name string) (io.ReadCloser, error) {
	if debug.SetMemoryLimit(-1) > readingMemory {
		debug.SetMemoryLimit(readingMemory)
		debug.SetGCPercent(400) // nearly all that is decoded stays until the end
	}
	if name == "-" {
		if st, err := os.Stdin.Stat(); err == nil && st.Mode().IsRegular() {
			return io.NopCloser(os.Stdin), nil
		}
		return interruptible(ctx, io.NopCloser(os.Stdin)), nil
	}
	st, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	switch mode := st.Mode(); {
	case mode.IsRegular():
		return os.Open(name)
	case mode.IsDir():
		return nil, fmt.Errorf("%s is a directory: expected a file", name)
	case mode&os.ModeNamedPipe != 0:
		f, err := openWritten(ctx, name)
		if err != nil {
			return nil, err
		}
		return interruptible(ctx, f), nil
	}
	return nil, fmt.Errorf("%s is a device or a socket: expected a file or a pipe (- is standard input)", name)
}

// openWritten opens a named pipe that a program writes to, or will soon. An opening that blocks would wait for ever where nobody does, and no
// signal would end it.
func openWritten(ctx context.Context, name string) (io.ReadCloser, error) {
	fd, err := unix.Open(name, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: name, Err: err}
	}
	for end := time.Now().Add(writerWait); ; {
		first := make([]byte, 4096)
		n, err := unix.Read(fd, first)
		switch {
		case n > 0:
			return &begun{first[:n], os.NewFile(uintptr(fd), name)}, nil
		case errors.Is(err, unix.EAGAIN): // somebody has it open
			return os.NewFile(uintptr(fd), name), nil
		case err != nil && !errors.Is(err, unix.EINTR):
			_ = unix.Close(fd)
			return nil, &os.PathError{Op: "read", Path: name, Err: err}
		case time.Now().After(end):
			_ = unix.Close(fd)
			return nil, fmt.Errorf("%s: no program has written to this pipe for %v", name, writerWait)
		}
		select {
		case <-ctx.Done():
			_ = unix.Close(fd)
			return nil, ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// begun is a pipe whose first bytes were read.
type begun struct {
	first []byte
	*os.File
}

func (b *begun) Read(p []byte) (int, error) {
	if len(b.first) > 0 {
		n := copy(p, b.first)
		b.first = b.first[n:]
		return n, nil
	}
	return b.File.Read(p)
}

// WriteTo hides that of os.File, which would leave out the first bytes.
func (b *begun) WriteTo(w io.Writer) (int64, error) { return io.Copy(w, struct{ io.Reader }{b}) }

// interruptible reads in a goroutine of its own, and an end of ctx ends the reading with its error.
func interruptible(ctx context.Context, from io.ReadCloser) io.ReadCloser {
	r, w := io.Pipe()
	stop := context.AfterFunc(ctx, func() { _ = w.CloseWithError(ctx.Err()) })
	go func() {
		_, err := io.Copy(w, from)
		_ = w.CloseWithError(err)
	}()
	return &interrupted{r, from, stop}
}

type interrupted struct {
	*io.PipeReader
	from io.Closer
	stop func() bool
}

func (i *interrupted) Close() error {
	i.stop()
	_ = i.PipeReader.Close()
	return i.from.Close()
}
