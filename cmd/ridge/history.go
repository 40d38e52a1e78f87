package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"ridge/goharness/history"
	"ridge/goharness/history/compare"
	"ridge/goharness/record"
	"ridge/goharness/report"
)

const historyVerbs = "list|show RUN|trend CASE|export [RUN…]|import FILE…|baseline set RUN|baseline clear|baseline"

func historyCommand() *cli.Command {
	return &cli.Command{
		Name: "history", Usage: "the runs that were kept: list them, show one, follow a case over time", ArgsUsage: historyVerbs,
		Description: "Every run of calibrate, bench, fusion, profile and verify is kept when it ends. RUN is a run id, the start of one, or latest: the newest that measured,\n" +
			"which verify does not. See docs/history.md.",
		Flags: []cli.Flag{
			&cli.IntFlag{Name: "limit", Value: 30, Usage: "list: the newest so many runs"},
			&cli.BoolFlag{Name: "all", Usage: "list: all runs"},
			&cli.StringFlag{Name: "host", Usage: "list, trend, baseline clear: fingerprint of a machine, or the start of one"},
			&cli.StringFlag{Name: "kind", Usage: "list: calibrate, bench, fusion, profile, verify or document"},
			&cli.StringFlag{Name: "metric", Value: string(compare.Time), Usage: "trend: time, gflops, gbps or joules"},
			&cli.StringFlag{Name: "plot", Usage: "trend: draw it into this SVG file"},
			&cli.StringFlag{Name: "format", Value: "table", Usage: "show: a view of ridge report"},
			&cli.StringFlag{Name: "output", Usage: "export, show: write to this file"},
		},
		Action: historyAction,
	}
}

func historyAction(c *cli.Context) error {
	words := c.Args().Slice()
	if len(words) == 0 {
		return fmt.Errorf("history: expected one of %s", historyVerbs)
	}
	verb, words := words[0], words[1:]
	actions := map[string]struct {
		words       string
		least, most int
		do          func(*cli.Context, *history.Store, []string) error
		writes      bool
	}{
		"list": {"no words", 0, 0, historyList, false}, "show": {"one RUN", 1, 1, historyShow, false}, "trend": {"one CASE", 1, 1, historyTrend, false},
		"export": {"RUNs", 0, 1 << 20, historyExport, false}, "import": {"one FILE or more", 1, 1 << 20, historyImport, true},
		"baseline": {"set RUN, clear, or nothing to show them", 0, 2, historyBaseline, len(words) > 0},
	}
	a, ok := actions[verb]
	if !ok {
		return fmt.Errorf("history %q: expected one of %s", verb, historyVerbs)
	}
	if len(words) < a.least || len(words) > a.most {
		return fmt.Errorf("history %s: got %s, expected %s", verb, given(words), a.words)
	}
	if c.IsSet("limit") && (c.Int("limit") < 1 || c.Int("limit") > 1e6) {
		return fmt.Errorf("--limit %d: expected 1 to 1000000", c.Int("limit"))
	}
	if _, err := formatOf(c); err != nil && verb == "show" {
		return err
	}
	if err := checkOutput(c); err != nil {
		return err
	}
	dir, err := dataDir(c)
	if err != nil {
		return err
	}
	takeIn(c, dir)
	open := history.OpenReadOnly
	if a.writes {
		open = history.Open
	}
	s, err := open(c.Context, dir)
	if err != nil {
		return err
	}
	defer s.Close()
	return a.do(c, s, words)
}

// given says what words were given.
func given(words []string) string {
	if len(words) == 0 {
		return "nothing"
	}
	return fmt.Sprintf("%.200q", strings.Join(words, " "))
}

func historyList(c *cli.Context, s *history.Store, _ []string) error {
	f := history.Filter{Host: c.String("host"), Kind: c.String("kind"), Limit: c.Int("limit")}
	if f.Kind != "" && !slices.Contains(history.Kinds, f.Kind) {
		return fmt.Errorf("--kind %.60q: expected one of %s", f.Kind, strings.Join(history.Kinds, ", "))
	}
	if c.Bool("all") {
		f.Limit = 0
	}
	runs, err := s.List(c.Context, f)
	if err != nil {
		return err
	}
	if c.Bool("json") {
		return writeJSON(c, runs)
	}
	w := tabwriter.NewWriter(c.App.Writer, 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "RUN\tCREATED\tKIND\tRESULTS\tHOST\tCHIP\tMACHINE\tSOFTWARE\tRIDGE\t")
	for _, r := range runs {
		note := ""
		if !r.Complete {
			note = "incomplete"
		}
		if r.Baseline {
			note = "baseline"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%d\t%s\t%s\t%s\t%s\t%s\t%s\n", plain(r.RunID), plain(r.Created), r.Kind, r.Results, plain(r.Host), plain(r.Chip), r.HostPrint, r.SoftPrint, plain(r.Version), note)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if n, err := s.Count(c.Context); err == nil && n > len(runs) {
		fmt.Fprintf(c.App.Writer, "%d of %d runs (--all, --limit)\n", len(runs), n)
	}
	return nil
}

// plain keeps a document's text from steering the terminal.
func plain(s string) string { return report.Plain(s) }

func historyShow(c *cli.Context, s *history.Store, words []string) error {
	var b bytes.Buffer
	if c.Bool("json") {
		text, err := s.Text(c.Context, words[0])
		if err != nil {
			return err
		}
		b.Write(text)
	} else {
		v, ok := report.Find(c.String("format"))
		if !ok {
			return fmt.Errorf("--format %q: expected a view of ridge report", c.String("format"))
		}
		if v.Files != nil {
			return fmt.Errorf("--format %s writes several files: ridge history show %s --json | ridge report - --format %s --output DIR", v.Name, words[0], v.Name)
		}
		d, err := s.Document(c.Context, words[0])
		if err != nil {
			return err
		}
		if out := c.String("output"); out == "" || out == "-" {
			return v.Write(c.App.Writer, []record.Calibration{d})
		}
		if err := v.Write(&b, []record.Calibration{d}); err != nil {
			return err
		}
	}
	if out := c.String("output"); out != "" && out != "-" {
		return record.WriteFile(out, b.Bytes())
	}
	_, err := c.App.Writer.Write(b.Bytes())
	return err
}

func historyTrend(c *cli.Context, s *history.Store, words []string) error {
	if c.String("plot") == "-" {
		return errors.New("--plot -: expected the name of an SVG file")
	}
	if err := checkPlace(c, "plot"); err != nil {
		return err
	}
	m := compare.Metric(c.String("metric"))
	if !slices.Contains(history.TrendMetrics, m) {
		return fmt.Errorf("--metric %q: expected time, gflops, gbps or joules", m)
	}
	t, err := s.TrendOf(c.Context, words[0], c.String("host"), m)
	if err != nil {
		return err
	}
	if len(t.Points) == 0 {
		return noTrend(c, s, words[0], t)
	}
	if out := c.String("plot"); out != "" {
		var b strings.Builder
		if err := t.Plot(&b); err != nil {
			return err
		}
		if err := record.WriteFile(out, []byte(b.String())); err != nil {
			return err
		}
	}
	if c.Bool("json") {
		return writeJSON(c, t)
	}
	return t.Write(c.App.Writer)
}

// noTrend says which cases there are instead.
func noTrend(c *cli.Context, s *history.Store, name string, t history.Trend) error {
	if t.Others > 0 {
		return fmt.Errorf("history trend: no run of machine %q has the case; %d runs of others have (ridge history list shows the machines)", c.String("host"), t.Others)
	}
	near, err := s.Cases(c.Context, name, 6)
	if err != nil {
		return err
	}
	if len(near) == 0 {
		return fmt.Errorf("history trend: no stored run has the case %q", name)
	}
	more := ""
	if len(near) > 5 {
		near, more = near[:5], " and more"
	}
	return fmt.Errorf("history trend: expected one case; %q is in %s%s", name, strings.Join(near, ", "), more)
}

func historyExport(c *cli.Context, s *history.Store, words []string) error {
	out := c.String("output")
	if out == "" || out == "-" {
		_, err := s.Export(c.Context, c.App.Writer, words...)
		return err
	}
	f, err := record.NewOutFile(out)
	if err != nil {
		return fmt.Errorf("--output %s: %w", out, err)
	}
	n, err := s.Export(c.Context, f, words...)
	var left *history.LeftOutError
	if errors.As(err, &left) { // the others are kept
		err = nil
	}
	if err := f.Finish(err); err != nil {
		return fmt.Errorf("--output %s: %w", out, err)
	}
	if !c.Bool("quiet") {
		fmt.Fprintf(c.App.ErrWriter, "%d runs exported\n", n)
	}
	if left != nil {
		return left
	}
	return nil
}

func historyImport(c *cli.Context, s *history.Store, words []string) error {
	stored, known := 0, 0
	for _, name := range words {
		a, b, err := importFile(c.Context, s, name)
		stored, known = stored+a, known+b
		if err != nil {
			return fmt.Errorf("history import: %w", err)
		}
	}
	if c.Bool("json") {
		return writeJSON(c, map[string]int{"stored": stored, "known": known})
	}
	_, err := fmt.Fprintf(c.App.Writer, "%d runs stored, %d were there\n", stored, known)
	return err
}

func importFile(ctx context.Context, s *history.Store, name string) (stored, known int, err error) {
	f, err := openInput(ctx, name)
	if err != nil {
		return 0, 0, err
	}
	defer f.Close()
	return s.Import(ctx, name, f)
}

func historyBaseline(c *cli.Context, s *history.Store, words []string) error {
	switch {
	case len(words) == 2 && words[0] == "set":
		r, err := s.SetBaseline(c.Context, words[1])
		if err != nil {
			return err
		}
		if c.Bool("json") {
			return writeJSON(c, r)
		}
		_, err = fmt.Fprintf(c.App.Writer, "baseline of machine %s: run %s\n", r.HostPrint, plain(r.RunID))
		return err
	case len(words) == 1 && words[0] == "clear":
		n, err := s.ClearBaseline(c.Context, c.String("host"))
		if err != nil {
			return err
		}
		if c.Bool("json") {
			return writeJSON(c, map[string]int{"cleared": int(n)})
		}
		_, err = fmt.Fprintf(c.App.Writer, "%d baselines cleared; the runs stay\n", n)
		return err
	case len(words) == 0:
		runs, err := s.List(c.Context, history.Filter{})
		if err != nil {
			return err
		}
		if runs = slices.DeleteFunc(runs, func(r history.Run) bool { return !r.Baseline }); c.Bool("json") {
			return writeJSON(c, append([]history.Run{}, runs...)) // a list, not null
		}
		for _, r := range runs {
			if _, err := fmt.Fprintf(c.App.Writer, "machine %s: run %s of %s\n", r.HostPrint, plain(r.RunID), plain(r.Created)); err != nil {
				return err
			}
		}
		return nil
	}
	return errors.New("history baseline: expected set RUN, clear, or nothing to show them")
}

// takeIn stores the runs whose journals the history lacks. That it cannot is no fault of what is done now.
func takeIn(c *cli.Context, dir string) {
	if !history.HasWork(dir) {
		return
	}
	s, err := history.Open(c.Context, dir)
	if err != nil {
		warnHistory(c, err)
		return
	}
	defer s.Close()
	n, warnings, err := s.TakeIn(c.Context, dir)
	for _, w := range warnings {
		warnHistory(c, errors.New(w))
	}
	if err != nil {
		warnHistory(c, err)
	}
	if n > 0 && !c.Bool("quiet") {
		fmt.Fprintf(c.App.ErrWriter, "history: %d runs were taken in from their journals\n", n)
	}
}

// keep stores a run that ended. It works after an interruption too, and never spoils the run.
func keep(c *cli.Context, dir string, doc record.Calibration) {
	if dir == "" || len(doc.Results) == 0 {
		return
	}
	ctx := context.WithoutCancel(c.Context)
	s, err := history.Open(ctx, dir)
	if err == nil {
		defer s.Close()
		_, err = s.Add(ctx, doc, history.FromRun)
	}
	if err != nil {
		warnHistory(c, fmt.Errorf("this run is not in the history: %w", err))
	}
}

func warnHistory(c *cli.Context, err error) {
	if !c.Bool("quiet") {
		fmt.Fprintf(c.App.ErrWriter, "warning: %s\n", plain(oneLine(err.Error())))
	}
}
