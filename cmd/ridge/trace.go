package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/urfave/cli/v2"

	"ridge/goharness/power"
	"ridge/goharness/report"
)

// splitTraces parts power traces from documents: what a file is, its beginning says.
func splitTraces(names []string) (documents, traces []string, err error) {
	for _, name := range names {
		is := false
		if name != "-" {
			if is, err = beginsTrace(name); err != nil {
				return nil, nil, err
			}
		}
		if is {
			traces = append(traces, name)
		} else {
			documents = append(documents, name)
		}
	}
	return documents, traces, nil
}

func beginsTrace(name string) (bool, error) {
	if s, err := os.Stat(name); err != nil || !s.Mode().IsRegular() {
		return false, err // a pipe can be opened and read once
	}
	f, err := os.Open(name)
	if err != nil {
		return false, err
	}
	defer f.Close()
	start := make([]byte, 256)
	n, err := io.ReadFull(f, start)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		err = nil
	}
	return power.IsTrace(start[:n]), err
}

// drawTraces writes the plots of power traces and names the files.
func drawTraces(c *cli.Context, dir string, names []string) error {
	drawn := map[string]string{}
	for _, name := range names {
		if other, twice := drawn[filepath.Base(name)]; twice {
			return fmt.Errorf("report: %s and %s would have the same plots: rename one", other, name)
		}
		drawn[filepath.Base(name)] = name
	}
	for _, name := range names {
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		files, err := report.WriteTracePlots(dir, name, f)
		f.Close()
		if err != nil {
			return fmt.Errorf("report: %s: %w", name, err)
		}
		for _, file := range files {
			fmt.Fprintln(c.App.Writer, file)
		}
	}
	return nil
}
