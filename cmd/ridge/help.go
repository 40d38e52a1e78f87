package main

import (
	"fmt"
	"io"
	"slices"

	"github.com/urfave/cli/v2"
)

// firstFault remembers the first error of writing.
type firstFault struct {
	io.Writer
	err error
}

func (f *firstFault) Write(b []byte) (int, error) {
	n, err := f.Writer.Write(b)
	if f.err == nil {
		f.err = err
	}
	return n, err
}

// tellHelp makes help and the version an output as any other: the library forgets that it could not be written. told gives the
// error, after the run. Other outputs keep the plain file, which tells whether it is a terminal.
func tellHelp(app *cli.App, ordered []string) (told func() error) {
	at, cmd := findCommand(app.Flags, app.Commands, ordered)
	if cmd != nil && !slices.ContainsFunc(ordered[1:min(at+2, len(ordered))], func(a string) bool {
		return slices.Contains([]string{"--help", "-help", "-h", "--h", "--version", "-version", "-v", "--v"}, a)
	}) {
		return func() error { return nil }
	}
	w := &firstFault{Writer: app.Writer}
	app.Writer = w
	return func() error {
		if w.err != nil {
			return fmt.Errorf("write to standard output: %w", w.err)
		}
		return nil
	}
}
