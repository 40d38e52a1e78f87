package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"ridge/goharness/campaign"
	"ridge/goharness/history/compare"
	"ridge/goharness/plan"
	"ridge/goharness/record"
	"ridge/goharness/runner"
)

// interleaveFlags say what two builds are compared on; they are bench's.
func interleaveFlags() []cli.Flag {
	flags := []cli.Flag{
		&cli.BoolFlag{Name: "interleave", Usage: "compare two builds of ridge on this machine, in quartets A B B A: BIN_A BIN_B [OP]"},
		&cli.StringFlag{Name: "suite", Usage: "with --interleave: suites or ops of the quick calibration, comma-separated (" + strings.Join(plan.SuiteNames(), ",") + ")"},
		&cli.StringSliceFlag{Name: "case", Usage: "with --interleave: the case of this id; may be repeated"},
		&cli.StringFlag{Name: "kernel", Usage: "with --interleave OP: force a kernel"},
		&cli.StringFlag{Name: "mode", Value: record.Hot, Usage: "with --interleave OP: hot or cold"},
		&cli.StringSliceFlag{Name: "param", Usage: "with --interleave OP: parameter of the op, NAME=VALUE[,VALUE…]"},
		&cli.StringFlag{Name: "device", Value: "cpu", Usage: "with --interleave: device to measure"},
		&cli.StringFlag{Name: "precision", Usage: "with --interleave: precisions, comma-separated"},
		&cli.IntFlag{Name: "threads", Usage: "with --interleave: threads"},
		&cli.StringFlag{Name: "affinity", Value: "scatter", Usage: "with --interleave: compact, scatter, none or a CPU list such as 0,2-3"},
		&cli.IntFlag{Name: "rounds", Value: 192, Usage: "with --interleave: most rounds of new processes (12, 24, 48, … are looked at)"},
		&cli.IntFlag{Name: "quartets", Value: 4, Usage: "with --interleave: quartets of a round"},
		&cli.BoolFlag{Name: "force", Usage: "with --interleave: go on although another run measures"},
	}
	for _, name := range []string{"m", "n", "k"} {
		flags = append(flags, &cli.StringFlag{Name: name, Usage: "with --interleave OP: sizes of parameter " + name + ", comma-separated"})
	}
	return flags
}

func compareBuilds(c *cli.Context, o compare.Options, format string) error {
	words := c.Args().Slice()
	if c.Bool("baseline") {
		return errors.New("--baseline compares documents: it does not go with --interleave")
	}
	if len(words) < 2 || len(words) > 3 {
		return fmt.Errorf("compare --interleave: expected two ridge binaries and at most one op, got %d words", len(words))
	}
	if o.Metric != compare.Time {
		return fmt.Errorf("--metric %s: --interleave compares times", o.Metric)
	}
	var builds [2]compare.Build
	for i, name := range words[:2] {
		path, err := binary(name)
		if err != nil {
			return err
		}
		builds[i] = compare.Build{Name: name, Launch: runner.Process([]string{path, "worker", "--affinity", c.String("affinity")}, nil)}
	}
	if words[0] == words[1] {
		builds[0].Name, builds[1].Name = words[0]+" (A)", words[1]+" (B)"
	}
	cases, dir, err := interleaveCases(c, words[2:])
	if err != nil {
		return err
	}
	lock, err := campaign.LockDevice(dir, c.String("device"))
	var busy *campaign.BusyError
	switch {
	case errors.As(err, &busy) && c.Bool("force"):
		warn(c, "another run is measuring %s at the same time (--force): both are disturbed", busy.Device)
		if err := busy.Mark(time.Now()); err != nil {
			return err
		}
	case err != nil:
		return err
	default:
		defer lock.Close()
	}
	started := time.Now()
	b := compare.Builds{A: builds[0], B: builds[1], Rounds: c.Int("rounds"), Quartets: c.Int("quartets"), Threshold: o.Threshold}
	if !c.Bool("quiet") {
		b.Progress = func(round int, id string) {
			fmt.Fprintf(c.App.ErrWriter, "round %d, %s, after %v\n", round+1, id, time.Since(started).Round(time.Second))
		}
	}
	got, err := compare.Interleave(c.Context, b, cases)
	if err != nil && len(got.Cases) > 0 {
		if werr := showComparison(c, got, format); werr != nil {
			var f *exitError // a regression that was found before the interruption
			if errors.As(werr, &f) {
				return werr
			}
			return fmt.Errorf("compare --interleave: interrupted, and what was found could not be written: %w", werr)
		}
	}
	switch {
	case err != nil && c.Context.Err() != nil && len(got.Cases) > 0:
		return interruptedBySignal("compare --interleave: interrupted; what is shown is as the last look left it, and nothing is stored: repeat the command, with a smaller --rounds where the time is short")
	case err != nil && c.Context.Err() != nil:
		return interruptedBySignal("compare --interleave: interrupted before the first look at the rounds; nothing is kept: repeat the command")
	case err != nil:
		return fmt.Errorf("compare --interleave: %w", err)
	}
	return showComparison(c, got, format)
}

// binary finds a build: a file, or a command on the path.
func binary(name string) (string, error) {
	if st, err := os.Stat(name); err == nil && st.Mode().IsRegular() {
		if st.Mode()&0o111 == 0 {
			return "", fmt.Errorf("compare --interleave: %s is not executable: expected a ridge binary", name)
		}
		if !strings.ContainsRune(name, os.PathSeparator) {
			name = "." + string(os.PathSeparator) + name
		}
		return name, nil
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("compare --interleave: %s: no such ridge binary", name)
	}
	return path, nil
}

// interleaveCases makes the cases of the command line: ids, suites of the quick plan, or an op
// over its parameters. Without any of them the gemm suite is compared.
func interleaveCases(c *cli.Context, ops []string) ([]record.Case, string, error) {
	cfg, err := config(c)
	if err != nil {
		return nil, "", err
	}
	ids := joinIDs(c.StringSlice("case"))
	suites, err := list(c, "suite")
	if err != nil {
		return nil, "", err
	}
	ways := 0
	for _, given := range []bool{len(ids) > 0, len(suites) > 0, len(ops) > 0} {
		if given {
			ways++
		}
	}
	if ways > 1 {
		return nil, "", errors.New("compare --interleave: give an op, --suite or --case, not several of them")
	}
	if err := usedFlags(c, len(ops) > 0, len(ids) > 0); err != nil {
		return nil, "", err
	}
	var out []record.Case
	switch {
	case len(ids) > 0:
		for _, id := range ids {
			k, err := plan.FromID(cfg.Plan.Ops, id)
			if err != nil {
				return nil, "", err
			}
			if err := checkDevice(k.Device); err != nil {
				return nil, "", fmt.Errorf("case %s: %w", id, err)
			}
			if err := checkAffinity(c.String("affinity"), k.Threads, "case "+id); err != nil {
				return nil, "", err
			}
			out = append(out, k)
		}
	case len(ops) > 0:
		mode := c.String("mode")
		if mode != record.Hot && mode != record.Cold {
			return nil, "", fmt.Errorf("--mode %q: expected hot or cold", mode)
		}
		refs, err := opRefs(c, &cfg, ops[0])
		if err != nil {
			return nil, "", err
		}
		if out, err = refCases(c, &cfg, refs, cfg.Plan.Threads, mode, cfg.Plan.Device); err != nil {
			return nil, "", err
		}
	default:
		if len(suites) == 0 {
			suites = []string{"gemm"}
		}
		if err := checkOperations("--suite", cfg.Plan.Ops, suites); err != nil {
			return nil, "", err
		}
		cfg.Plan.Quick, cfg.Plan.Operations = true, suites
		if err := cfg.Plan.CheckSelection(); err != nil {
			return nil, "", err
		}
		if out, err = campaign.PlanCases(cfg); err != nil {
			return nil, "", err
		}
	}
	if len(out) == 0 {
		return nil, "", errors.New("compare --interleave: no case was selected")
	}
	return out, cfg.DataDir, nil
}

// usedFlags refuses flags that the chosen way to name cases would not look at.
func usedFlags(c *cli.Context, op, id bool) error {
	for _, name := range []string{"kernel", "mode", "param", "m", "n", "k"} {
		if !op && c.IsSet(name) {
			return fmt.Errorf("--%s goes with an op: compare --interleave BIN_A BIN_B OP", name)
		}
	}
	for _, name := range []string{"device", "precision", "threads"} {
		if id && c.IsSet(name) {
			return fmt.Errorf("--%s: the id of --case says it", name)
		}
	}
	return nil
}

// joinIDs undoes the flag library's splitting of values at commas: an id has five slashes.
func joinIDs(words []string) []string {
	var out []string
	for i := 0; i < len(words); i++ {
		id := words[i]
		for strings.Count(id, "/") < 5 && i+1 < len(words) {
			i++
			id += "," + words[i]
		}
		out = append(out, id)
	}
	return out
}
