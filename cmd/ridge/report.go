package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"ridge/goharness/record"
	"ridge/goharness/report"
)

func reportCommand() *cli.Command {
	var names []string
	for _, f := range report.Views() {
		names = append(names, f.Name)
	}
	return &cli.Command{
		Name: "report", Usage: "show documents: " + strings.Join(names, ", "), ArgsUsage: "FILE… (- is standard input)",
		Description: "Documents are calibrations, fusion profiles and calibration files of branes-ai/graphs; what a file is, its content says. A\n" +
			"fusion profile is shown with the calibration of the same device when that is given too. The CSV of --power-trace is drawn by --format plots.",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "format", Value: "table", Usage: strings.Join(names, ", ")},
			&cli.StringFlag{Name: "output", Usage: "write to this file; of plots, to this folder"},
		},
		Action: func(c *cli.Context) error {
			format, err := formatOf(c)
			if err != nil {
				return err
			}
			f, ok := report.Find(format)
			if !ok {
				return fmt.Errorf("--format %q: expected one of %s", c.String("format"), strings.Join(names, ", "))
			}
			if f.Files == nil {
				if err := checkOutput(c); err != nil {
					return err
				}
			}
			if c.NArg() == 0 {
				return errors.New("report: expected at least one document (- for standard input)")
			}
			if first := slices.Index(c.Args().Slice(), "-"); first >= 0 && slices.Contains(c.Args().Slice()[first+1:], "-") {
				return errors.New("report: standard input (-) can be read once; it is given twice")
			}
			names, traces, err := splitTraces(c.Args().Slice())
			if err != nil {
				return fmt.Errorf("report: %w", err)
			}
			if len(traces) > 0 && f.Name != "plots" {
				return fmt.Errorf("report: %s is a power trace: expected --format plots", traces[0])
			}
			docs, err := readDocuments(c.Context, names)
			if err != nil {
				return fmt.Errorf("report: %w", err)
			}
			out := c.String("output")
			if f.Files != nil {
				if out == "" || out == "-" {
					return fmt.Errorf("report: --format %s writes several files: name their folder with --output DIR", f.Name)
				}
				if err := drawTraces(c, out, traces); err != nil || len(names) == 0 {
					return err
				}
				files, err := f.Files(out, docs)
				for _, name := range files {
					fmt.Fprintln(c.App.Writer, name)
				}
				return err
			}
			if out != "" && out != "-" {
				var b strings.Builder
				if err := f.Write(&b, docs); err != nil {
					return err
				}
				return record.WriteFile(out, []byte(b.String()))
			}
			return f.Write(c.App.Writer, docs)
		},
	}
}

// readDocuments reads documents of any kind and joins fusion profiles with the calibrations of
// their devices.
func readDocuments(ctx context.Context, names []string, without ...string) ([]record.Calibration, error) {
	docs, err := inOrder(names, func(name string) (record.Document, error) { return readDocument(ctx, name, without...) })
	if err != nil {
		return nil, err
	}
	return record.JoinFusion(docs)
}

func readDocument(ctx context.Context, name string, without ...string) (record.Document, error) {
	r, err := openInput(ctx, name)
	if err != nil {
		return record.Document{}, err
	}
	defer r.Close()
	d, err := record.ReadDocument(r, without...)
	if err != nil {
		return d, fmt.Errorf("%s: %w", name, err)
	}
	d.Name = name
	return d, nil
}
