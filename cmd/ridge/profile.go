package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	pprof "github.com/google/pprof/profile"
	"github.com/urfave/cli/v2"

	"ridge/goharness/campaign"
	"ridge/goharness/fusion"
	"ridge/goharness/machine"
	"ridge/goharness/plan"
	"ridge/goharness/profile"
	"ridge/goharness/record"
)

func profileCommand() *cli.Command {
	flags := append(measureFlags(),
		&cli.StringFlag{Name: "suite", Usage: "measure quick, full, or suites by name (" + strings.Join(plan.SuiteNames(), ",") + ")"},
		&cli.StringFlag{Name: "from", Usage: "a calibration document, in place of measuring (- for standard input)"},
		&cli.BoolFlag{Name: "native", Usage: "sample the instructions that the kernels' threads execute"},
		&cli.BoolFlag{Name: "phases", Value: true, Usage: "sample each program on the CPU for 0.15 s after its measurement, to part its time into packing, computing, …; --phases=false leaves it out"},
		&cli.IntFlag{Name: "rate", DefaultText: fmt.Sprintf("%d; %d in a virtual machine", profile.DefaultHz, profile.VirtualHz), Usage: "samples of each thread per second; with --native"},
		&cli.BoolFlag{Name: "diff", Usage: "two profiles or calibration documents OLD NEW: which kernels changed"},
		&cli.StringFlag{Name: "threshold", Value: "3%", Usage: "a change in time that counts, as 3%; with --diff"},
		&cli.StringFlag{Name: "fail-on", Usage: "slower: exit code 1 when a kernel became slower by more than the threshold; with --diff"},
	)
	flags = append(flags, noCeilingsFlag())
	flags = append(flags, caseFlags()...)
	return &cli.Command{
		Name: "profile", Usage: "write a pprof profile: what the kernels cost, and where in them the time goes", ArgsUsage: "OP… PATTERN… | OLD NEW",
		Description: "Examples: ridge profile gemm --m 1024 --n 1024 --k 1024 --output gemm.pb.gz\n          ridge profile --from calibration.json --output all.pb.gz\n" +
			"          ridge profile --native gemm --m 1024 --n 1024 --k 1024 --precision fp32\n          ridge profile --diff old.pb.gz new.pb.gz\n" +
			"The file is for go tool pprof; docs/profiling.md has the commands.",
		Flags: flags, Action: profileAction,
	}
}

func profileAction(c *cli.Context) error {
	if c.Bool("json") && c.String("output") == "-" {
		return errors.New("--json and --output - both go to standard output: choose one")
	}
	switch {
	case c.Bool("diff"):
		return profileDiff(c)
	case c.IsSet("from"):
		return profileFrom(c)
	}
	for _, name := range []string{"threshold", "fail-on"} {
		if c.IsSet(name) {
			return fmt.Errorf("--%s %v: goes with --diff", name, c.Value(name))
		}
	}
	return profileMeasured(c)
}

// only refuses flags that the chosen way would silently ignore.
func only(c *cli.Context, way string, allowed ...string) error {
	for _, name := range c.LocalFlagNames() {
		if !slices.Contains(append(allowed, "json", "data-dir", "quiet", "output"), name) {
			return fmt.Errorf("--%s %v: does not go with %s", name, c.Value(name), way)
		}
	}
	return checkOutput(c)
}

// profileFrom makes the profile of a document.
func profileFrom(c *cli.Context) error {
	if err := only(c, "--from", "from"); err != nil {
		return err
	}
	doc, err := calibrationFrom(c.Context, c.String("from"))
	if err != nil {
		return err
	}
	if words := c.Args().Slice(); len(words) > 0 {
		if doc, err = selected(doc, words); err != nil {
			return fmt.Errorf("--from %s: %w", c.String("from"), err)
		}
	}
	p, err := profileOf(doc)
	if err != nil {
		return fmt.Errorf("--from %s: %w", c.String("from"), err)
	}
	dir, err := dataDir(c)
	if err != nil {
		return err
	}
	return deliverProfile(c, dir, doc, p)
}

func calibrationFrom(ctx context.Context, name string) (record.Calibration, error) {
	d, err := readDocument(ctx, name)
	if err != nil {
		return record.Calibration{}, fmt.Errorf("profile: %w", err)
	}
	return calibrationOf(name, d)
}

func calibrationOf(name string, d record.Document) (record.Calibration, error) {
	docs, err := record.JoinFusion([]record.Document{d})
	if err != nil {
		return record.Calibration{}, fmt.Errorf("profile: %s: %w", name, err)
	}
	return docs[0], nil
}

// selected keeps the results of some ops.
func selected(doc record.Calibration, ops []string) (record.Calibration, error) {
	var kept []record.Result
	for _, r := range doc.Results {
		if slices.Contains(ops, r.Op) {
			kept = append(kept, r)
		}
	}
	for _, o := range ops {
		if !slices.ContainsFunc(kept, func(r record.Result) bool { return r.Op == o }) {
			return doc, fmt.Errorf("the document has no result of op %q", o)
		}
	}
	doc.Results = kept
	return doc, nil
}

// profileMeasured measures first.
func profileMeasured(c *cli.Context) error {
	native, hz := c.Bool("native"), c.Int("rate")
	if !c.IsSet("rate") {
		hz = profile.Rate(machine.Read(machine.Source{}))
	}
	switch {
	case c.IsSet("rate") && !native:
		return fmt.Errorf("--rate %d: goes with --native", hz)
	case hz < 10 || hz > 10_000:
		return fmt.Errorf("--rate %d: expected 10 to 10000 samples a second", hz)
	case native && c.IsSet("phases"):
		return errors.New("--phases does not go with --native, whose samples have phases")
	case native && c.IsSet("resume"):
		return errors.New("--resume does not go with --native: what is in the journal was not sampled")
	}
	cfgs, err := configs(c)
	if err != nil {
		return err
	}
	sampled, dir := captures{}, cfgs[0].DataDir
	for i := range cfgs {
		cfg := &cfgs[i]
		if err := profileCases(c, cfg); err != nil {
			return err
		}
		if c.Bool("no-ceilings") && !native && len(cfg.Plan.Fusion) > 0 {
			return fmt.Errorf("--no-ceilings: does not go with a fusion pattern (%s), whose shapes are chosen by the ceilings", cfg.Plan.Fusion[0].Name)
		}
		cfg.SkipPreflight, cfg.NoProbes = true, c.Bool("no-ceilings")
		switch {
		case native:
			cfg.NoProbes = true // ceilings say nothing about instructions
			cfg.Launch = sampled.launcher(cfg.Launch, hz)
		case c.Bool("phases"):
			cfg.Launch, cfg.Beside = sampled.after(cfg.Launch), phaseTime
		}
	}
	doc, err := runThen(c, cfgs, func(doc record.Calibration) error {
		data, err := record.EncodeCalibration(doc)
		if err != nil {
			return err
		}
		if err := record.WriteFile(filepath.Join(dir, "runs", doc.RunID+".json"), data); err != nil {
			return fmt.Errorf("write the document: %w", err)
		}
		var p *pprof.Profile
		captures, resolve := sampled.of(doc.Results), profile.NewSymbols("ridge").Resolve
		if native {
			p, err = profile.Native(doc, captures, locateKernel(), resolve)
		} else {
			p, err = profile.Calibration(doc, profile.Options{Locate: locateKernel(), Ticks: profile.Phases(captures, resolve)})
		}
		if err != nil {
			return &exitError{exitFault, err}
		}
		return deliverProfile(c, dir, doc, p)
	})
	if err != nil {
		return err
	}
	return judge(doc)
}

// profileCases selects what is measured: the cases of ops with the sizes given, as bench does, or
// else those that the suites have for them.
func profileCases(c *cli.Context, cfg *campaign.Config) error {
	ops, suite := c.Args().Slice(), c.String("suite")
	sized := false
	for _, f := range caseFlags() {
		sized = sized || c.IsSet(f.Names()[0])
	}
	switch {
	case len(ops) == 0 && suite == "":
		return errors.New("profile: expected ops (ridge list ops), fusion patterns (ridge list patterns), --suite, --from or --diff")
	case len(ops) > 0 && suite != "":
		return fmt.Errorf("--suite %s: give ops or a suite, not both (op %s)", suite, ops[0])
	case suite != "" && sized:
		return fmt.Errorf("--suite %s: sizes, kernel and mode go with ops", suite)
	}
	names, chosen := splitPatterns(ops)
	if len(chosen) > 0 {
		if sized {
			return fmt.Errorf("%s: a fusion pattern has shapes of its own: sizes, kernel and mode go with ops", chosen[0])
		}
		var err error
		if cfg.Plan.Fusion, err = selectPatterns(c, "profile "+strings.Join(chosen, " "), chosen, cfg.Plan.Precisions); err != nil {
			return err
		}
		cfg.Plan.ProbesOnly = len(names) == 0
	}
	if sized {
		if err := checkMode(c.String("mode")); err != nil {
			return err
		}
		var all []record.Case
		for _, name := range ops {
			refs, err := opRefs(c, cfg, name)
			if err != nil {
				return err
			}
			cases, err := refCases(c, cfg, refs, cfg.Plan.Threads, c.String("mode"), cfg.Plan.Device)
			if err != nil {
				return err
			}
			for _, k := range cases {
				if spec, ok := cfg.Plan.Ops.Spec(k.Program.Op); ok {
					k.Suite = spec.Suite
				}
				all = append(all, k)
			}
		}
		cfg.Cases = all
		cfg.Plan.ProbesOnly, cfg.ProbesFor = true, all
		return nil
	}
	switch suite {
	case "":
		cfg.Plan.Operations = names
	case "quick":
		cfg.Plan.Quick = true
	case "full":
		cfg.Plan.Quick = false
	default:
		if cfg.Plan.Operations = splitList(suite); len(cfg.Plan.Operations) == 0 {
			return fmt.Errorf("--suite %q: expected quick, full or some of %s", suite, strings.Join(plan.SuiteNames(), ","))
		}
		for _, name := range cfg.Plan.Operations {
			if !slices.Contains(plan.SuiteNames(), name) {
				return fmt.Errorf("--suite %q: expected quick, full or some of %s", name, strings.Join(plan.SuiteNames(), ","))
			}
		}
	}
	if c.Bool("native") && suite != "full" {
		cfg.Plan.Quick = true // where in a kernel the time goes needs no narrow interval
	}
	if err := checkOperations("profile", cfg.Plan.Ops, cfg.Plan.Operations); err != nil {
		return err
	}
	return cfg.Plan.CheckSelection()
}

// splitPatterns parts the names of fusion patterns from those of ops.
func splitPatterns(words []string) (ops, patterns []string) {
	all := fusion.Builtin()
	for _, w := range words {
		if slices.ContainsFunc(all, func(p fusion.Pattern) bool { return p.Name == w }) {
			patterns = append(patterns, w)
		} else {
			ops = append(ops, w)
		}
	}
	return ops, patterns
}

func profileOf(doc record.Calibration) (*pprof.Profile, error) {
	return profile.Calibration(doc, profile.Options{Locate: locateKernel()})
}

// locateKernel finds kernels in the embedded sources of the platforms.
func locateKernel() func(string) (profile.Source, bool) {
	var all []*profile.Sources
	for _, root := range slices.Sorted(maps.Keys(sourceTrees)) {
		s, err := profile.NewSources(root, sourceTrees[root])
		if err != nil {
			continue // frames then have no source
		}
		all = append(all, s)
	}
	return func(kernel string) (profile.Source, bool) {
		for _, s := range all {
			if at, ok := s.Locate(kernel); ok {
				return at, true
			}
		}
		return profile.Source{}, false
	}
}

// fileName is what the name of a run may be to name a file.
var fileName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,199}$`)

// deliverProfile writes the file and prints what costs most.
func deliverProfile(c *cli.Context, dataDir string, doc record.Calibration, p *pprof.Profile) error {
	name := c.String("output")
	if name == "" {
		if !fileName.MatchString(doc.RunID) { // of a document that others wrote
			return fmt.Errorf("run_id %.60q cannot be the name of a file: give --output", doc.RunID)
		}
		name = filepath.Join(dataDir, "runs", doc.RunID+".pb.gz")
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return fmt.Errorf("--data-dir %s: %w", dataDir, err)
		}
	}
	var b bytes.Buffer
	if err := profile.Write(&b, p); err != nil {
		return fmt.Errorf("write the profile: %w", err)
	}
	if !c.Bool("quiet") {
		for _, line := range profile.NotCounted(p) {
			fmt.Fprintln(c.App.ErrWriter, line)
		}
	}
	if name == "-" {
		_, err := c.App.Writer.Write(b.Bytes())
		return err
	}
	if err := record.WriteFile(name, b.Bytes()); err != nil {
		switch {
		case c.Bool("native"):
			err = fmt.Errorf("%w; what was sampled is lost: repeat the command with another --output", err)
		case !c.IsSet("from"):
			err = fmt.Errorf("%w; the run is kept: ridge profile --from %s", err, filepath.Join(dataDir, "runs", doc.RunID+".json"))
		}
		return fmt.Errorf("write the profile: %w", err)
	}
	if !c.Bool("quiet") {
		fmt.Fprintln(c.App.ErrWriter, "profile:", name)
	}
	if c.Bool("json") {
		data, err := record.EncodeCalibration(doc)
		if err != nil {
			return err
		}
		_, err = c.App.Writer.Write(data)
		return err
	}
	return profile.WriteTop(c.App.Writer, p, 20)
}

// profileDiff compares two profiles.
func profileDiff(c *cli.Context) error {
	if err := only(c, "--diff", "diff", "threshold", "fail-on"); err != nil {
		return err
	}
	if c.NArg() != 2 {
		return fmt.Errorf("--diff: expected two profiles or calibration documents, old and new, got %d", c.NArg())
	}
	threshold, err := percent(c.String("threshold"))
	if err != nil {
		return fmt.Errorf("--threshold %q: %w", c.String("threshold"), err)
	}
	if on := c.String("fail-on"); on != "" && on != "slower" {
		return fmt.Errorf("--fail-on %q: expected slower", on)
	}
	if c.Args().Get(0) == "-" && c.Args().Get(1) == "-" {
		return errors.New("--diff: standard input (-) can be read once; it is given twice")
	}
	var two [2]*pprof.Profile
	for i := range two {
		if two[i], err = readProfile(c.Context, c.Args().Get(i)); err != nil {
			return err
		}
	}
	cmp, err := profile.Compare(two[0], two[1])
	if err != nil {
		return fmt.Errorf("--diff %s %s: %w", c.Args().Get(0), c.Args().Get(1), err)
	}
	name := c.String("output")
	if name != "" {
		if err := writeDifference(c, name, two[0], two[1]); err != nil {
			return err
		}
	}
	switch {
	case name == "-": // standard output is the profile
	case c.Bool("json"):
		err = writeJSON(c, cmp)
	default:
		err = cmp.Write(c.App.Writer, threshold)
	}
	if err != nil {
		return err
	}
	if slower := cmp.Slower(threshold); c.String("fail-on") == "slower" && len(slower) > 0 {
		return fault("%s (%d in all)", slower[0], len(slower))
	}
	return nil
}

// writeDifference writes the new profile less the old one.
func writeDifference(c *cli.Context, name string, old, fresh *pprof.Profile) error {
	d, err := profile.Difference(old, fresh)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	if err := profile.Write(&b, d); err != nil {
		return fmt.Errorf("write the difference: %w", err)
	}
	if name == "-" {
		_, err = c.App.Writer.Write(b.Bytes())
		return err
	}
	if err := record.WriteFile(name, b.Bytes()); err != nil {
		return fmt.Errorf("write the difference: %w", err)
	}
	return nil
}

// percent reads "3%" or "3" as 0.03.
func percent(s string) (float64, error) {
	v, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(s), "%"), 64)
	if err != nil || !(v >= 0 && v <= 1000) {
		return 0, errors.New("expected a percentage from 0 to 1000, as 3%")
	}
	return v / 100, nil
}
