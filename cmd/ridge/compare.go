package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/urfave/cli/v2"

	"ridge/goharness/history/compare"
	"ridge/goharness/record"
)

func compareCommand() *cli.Command {
	return &cli.Command{
		Name: "compare", Usage: "tell whether a machine, driver or kernel got slower", ArgsUsage: "OLD NEW | --baseline [NEW] | --interleave BIN_A BIN_B [OP]",
		Description: "Compares two documents (files, or runs of the history) case by case. The drift between runs counts: a case is called slower or faster only when its\n" +
			"interval, which holds for all cases together, lies beyond the threshold. See docs/comparing.md.\n" +
			"With --interleave two builds of ridge run in quartets A B B A on this machine, so that its drift cancels: the trustworthy way.",
		Flags: append(interleaveFlags(), []cli.Flag{
			&cli.StringFlag{Name: "threshold", Value: "3%", Usage: "least change that matters, such as 3%"},
			&cli.StringFlag{Name: "metric", Value: string(compare.Time), Usage: compare.MetricNames()},
			&cli.StringFlag{Name: "fail-on", Value: "slower", Usage: "slower or none: which outcome gives exit code 1"},
			&cli.StringFlag{Name: "format", Value: "table", Usage: strings.Join(compare.Formats, ", ")},
			&cli.StringFlag{Name: "output", Usage: "write to this file"},
			&cli.BoolFlag{Name: "baseline", Usage: "compare a document or run (default: the latest run) with the baseline of its machine (ridge history baseline set RUN)"},
			&cli.BoolFlag{Name: "all", Usage: "list the cases that are the same or ambiguous too"},
		}...),
		Action: compareDocuments,
	}
}

func compareDocuments(c *cli.Context) error {
	o, format, err := compareOptions(c)
	if err != nil {
		return err
	}
	if c.Bool("interleave") {
		return compareBuilds(c, o, format)
	}
	for _, f := range interleaveFlags() {
		if name := f.Names()[0]; c.IsSet(name) {
			return fmt.Errorf("--%s goes with --interleave", name)
		}
	}
	names := c.Args().Slice()
	switch {
	case c.Bool("baseline") && len(names) > 1:
		return fmt.Errorf("compare --baseline: expected one document or run (or none: the latest run), got %d", len(names))
	case !c.Bool("baseline") && len(names) != 2:
		return fmt.Errorf("compare: expected two documents or runs, OLD and NEW, got %d", len(names))
	case len(names) == 2 && names[0] == "-" && names[1] == "-":
		return errors.New("compare: standard input (-) can be read once; it is given twice")
	}
	past := openPast(c, names)
	defer past.close()
	if c.Bool("baseline") && len(names) == 0 {
		names = []string{"latest"}
	}
	docs, err := inOrder(names, func(name string) (record.Calibration, error) { return past.read(c, name) })
	if err != nil {
		return fmt.Errorf("compare: %w", err)
	}
	if c.Bool("baseline") {
		id, old, err := past.baseline(c, &docs[0])
		if err != nil {
			return fmt.Errorf("compare --baseline: %w", err)
		}
		names, docs = []string{"baseline " + id, names[0]}, []record.Calibration{old, docs[0]}
	}
	if o.Drift, err = past.drift(c, &docs[0], &docs[1]); err != nil {
		return fmt.Errorf("compare: %w", err)
	}
	got, err := compare.Documents(&docs[0], &docs[1], o)
	if err != nil {
		return fmt.Errorf("compare: %w", err)
	}
	got.Old.Name, got.New.Name = names[0], names[1]
	return showComparison(c, got, format)
}

// compareOptions reads the flags of both ways to compare.
func compareOptions(c *cli.Context) (o compare.Options, format string, err error) {
	if format, err = formatOf(c); err != nil {
		return o, "", err
	}
	if o.Threshold, err = percentage(c.String("threshold")); err != nil {
		return o, "", fmt.Errorf("--threshold %q: %w", c.String("threshold"), err)
	}
	if o.Metric = compare.Metric(c.String("metric")); !slices.Contains(compare.Metrics, o.Metric) {
		return o, "", fmt.Errorf("--metric %q: expected one of %s", c.String("metric"), compare.MetricNames())
	}
	if !slices.Contains(compare.Formats, format) {
		return o, "", fmt.Errorf("--format %q: expected one of %s", format, strings.Join(compare.Formats, ", "))
	}
	if f := c.String("fail-on"); f != "slower" && f != "none" {
		return o, "", fmt.Errorf("--fail-on %q: expected slower or none", f)
	}
	return o, format, checkOutput(c)
}

// percentage reads "3%" or 0.03.
func percentage(s string) (float64, error) {
	text, percent := strings.CutSuffix(strings.TrimSpace(s), "%")
	v, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if percent {
		v /= 100
	}
	if err != nil || !(v > 0 && v < 1) {
		return 0, errors.New("expected a percentage above 0% and below 100%, such as 3%")
	}
	return v, nil
}

// showComparison prints and judges: only a regression is a fault.
func showComparison(c *cli.Context, got compare.Comparison, format string) error {
	if out := c.String("output"); out != "" && out != "-" {
		var b strings.Builder
		if err := compare.Write(&b, got, format, c.Bool("all")); err != nil {
			return err
		}
		if err := record.WriteFile(out, []byte(b.String())); err != nil {
			return err
		}
	} else if err := compare.Write(c.App.Writer, got, format, c.Bool("all")); err != nil {
		return err
	}
	slower := got.Regressions()
	if len(slower) == 0 || c.String("fail-on") == "none" {
		return nil
	}
	more := ""
	if len(slower) > 1 {
		more = fmt.Sprintf(" (and %d more)", len(slower)-1)
	}
	return fault("compare: slower: %s, %s%s", slower[0].ID, compare.Percent(slower[0].Ratio), more)
}
