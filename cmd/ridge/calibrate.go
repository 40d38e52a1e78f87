package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"ridge/goharness/campaign"
	"ridge/goharness/op"
	"ridge/goharness/plan"
	"ridge/goharness/record"
	"ridge/goharness/report"
)

func calibrateCommand() *cli.Command {
	return &cli.Command{
		Name: "calibrate", Usage: "measure this machine's peaks and kernels into a calibration document",
		Description: "Runs the preflight checks, probes the ceilings, verifies and times every selected kernel, and prints a\ntable. The full run takes up to 15 minutes, --quick less than 90 seconds, or some two\nminutes where a last-level cache of hundreds of MiB asks for buffers of gigabytes.",
		Flags: append(measureFlags(),
			&cli.StringFlag{Name: "operations", Usage: "suites or ops, comma-separated (" + strings.Join(plan.SuiteNames(), ",") + ", or see: ridge list ops)"},
			&cli.StringFlag{Name: "fusion-patterns", Value: "none", Usage: "fusion patterns to measure: all, none, groups or names, comma-separated (ridge list patterns)"},
			concurrentFlag(),
			&cli.StringFlag{Name: "batch", Usage: "batch sizes in place of the suites' own, comma-separated"},
		),
		Action: calibrate,
	}
}

func calibrate(c *cli.Context) error {
	if err := noArguments(c); err != nil {
		return err
	}
	cfgs, err := configs(c)
	if err != nil {
		return err
	}
	for i := range cfgs {
		p := &cfgs[i].Plan
		if p.Operations, err = list(c, "operations"); err != nil {
			return err
		}
		if err := checkOperations("--operations", p.Ops, p.Operations); err != nil {
			return err
		}
		if p.Batches, err = batches(c); err != nil {
			return err
		}
		if p.Fusion, err = patterns(c, "fusion-patterns", p.Precisions); err != nil {
			return err
		}
		if err := p.CheckSelection(); err != nil {
			return err
		}
		if cfgs[i].Concurrent && len(p.Fusion) > 0 {
			return fmt.Errorf("--concurrent --fusion-patterns %s: %s", c.String("fusion-patterns"), campaign.NoConcurrentFusion)
		}
	}
	doc, err := runCampaign(c, cfgs...)
	if err != nil {
		return err
	}
	if c.Bool("quick") && !c.Bool("json") {
		fmt.Fprintln(c.App.Writer, "\nThis was the quick calibration. The full one takes up to 15 minutes: ridge calibrate (or: make calibrate-full)")
	}
	return judge(doc)
}

// runCampaign runs a campaign on each device with its views and writes the document.
func runCampaign(c *cli.Context, cfgs ...campaign.Config) (record.Calibration, error) {
	return runThen(c, cfgs, func(doc record.Calibration) error { return deliver(c, cfgs[0], doc) })
}

// runThen runs a campaign on each device with its views and delivers the document, a part of it when interrupted.
func runThen(c *cli.Context, cfgs []campaign.Config, deliver func(record.Calibration) error) (record.Calibration, error) {
	v, dir := newView(c), cfgs[0].DataDir
	v.several = cfgs[0].Concurrent
	takeIn(c, dir)
	for i := range cfgs {
		cfgs[i].View, cfgs[i].Accelerator = v, accelerator(cfgs[i].Plan.Device)
	}
	doc, err := campaign.RunEach(c.Context, cfgs)
	v.finish()
	var pre *campaign.PreflightError
	if errors.As(err, &pre) {
		return doc, &exitError{exitFault, err}
	}
	var lost *campaign.DeviceError
	if err != nil && !campaign.Interrupted(err) && !errors.As(err, &lost) {
		return doc, err
	}
	werr := deliver(doc)
	keep(c, dir, doc)
	if lost != nil {
		return doc, errors.Join(&exitError{exitFault, err}, werr)
	}
	if err != nil {
		if werr != nil {
			err = fmt.Errorf("%w (and %w)", err, werr)
		}
		again := "go on with the same options and --resume " + doc.RunID
		if c.Bool("native") { // samples are in no journal
			again = "a native profile cannot be resumed: repeat the command, or sample less"
		}
		return doc, &exitError{exitInterrupted, fmt.Errorf("%w; %s", err, again)}
	}
	for _, cfg := range cfgs {
		t, ok := cfg.EnergyOf.Trace.(*lateFile)
		if !ok || t.err == nil || werr != nil {
			continue
		}
		werr = fmt.Errorf("--power-trace %w; the results are kept: ridge history show %s", t.err, doc.RunID)
	}
	return doc, werr
}

// accelerator describes a device that is not the host's CPU; nil for the CPU.
func accelerator(id string) *record.Device {
	for _, b := range backends() {
		if b.Name() == "cpu" {
			continue
		}
		ds, _ := b.Devices() // the device was checked before: checkDevice says what is wrong with it
		for _, d := range ds {
			if d.ID == id {
				return &d
			}
		}
	}
	return nil
}

// deliver writes the document where it was asked for and prints the tables. The file comes
// first, so that a full or closed standard output does not cost the document.
func deliver(c *cli.Context, cfg campaign.Config, doc record.Calibration) error {
	data, err := record.EncodeCalibration(doc)
	if err != nil {
		return err
	}
	if printed, err := deliverFile(c, cfg.DataDir, doc.RunID, ".json", data); printed || err != nil {
		return err
	}
	return report.WriteTables(c.App.Writer, []record.Calibration{doc}, report.Detect(c.App.Writer))
}

// deliverFile writes a run's document to --output, or under its name among the runs, and prints it
// where standard output is to be the document.
func deliverFile(c *cli.Context, dataDir, run, ending string, data []byte) (printed bool, err error) {
	return deliverTo(c, c.String("output"), dataDir, run, ending, data)
}

// deliverTo is deliverFile with another name in the place of --output.
func deliverTo(c *cli.Context, out, dataDir, run, ending string, data []byte) (printed bool, err error) {
	file := out
	if out == "" {
		file = filepath.Join(dataDir, "runs", run+ending)
	}
	if file != "-" {
		if err := record.WriteFile(file, data); err != nil {
			return false, fmt.Errorf("write the document: %w; the run is kept: ridge history show %s --json", err, run)
		}
		if !c.Bool("quiet") {
			fmt.Fprintln(c.App.ErrWriter, "document:", file)
		}
	}
	if out == "-" || c.Bool("json") {
		_, err = c.App.Writer.Write(data)
		return true, err
	}
	return false, nil
}

// ofDevice is the name of a file of one of several devices: profiles.cuda-0.json.
func ofDevice(name, device string) string {
	ending := filepath.Ext(name)
	return strings.TrimSuffix(name, ending) + "." + strings.ReplaceAll(device, ":", "-") + ending
}

// judge turns what was found wrong into the exit code.
func judge(doc record.Calibration) error {
	faults := campaign.Faults(doc)
	if len(faults) == 0 {
		return nil
	}
	more := ""
	if len(faults) > 1 {
		more = fmt.Sprintf(" (and %d more)", len(faults)-1)
	}
	return fault("%s%s", faults[0], more)
}

// view prints live lines to standard output and progress to standard error.
type view struct {
	c        *cli.Context
	progress *report.Progress
	live     *report.Live
	silent   bool
	several  bool // results of several devices come in turn: each line names its own
	round    int  // visits of a round that have begun, from 1; 0 before the first round
}

func newView(c *cli.Context) *view {
	return &view{c: c, silent: c.Bool("quiet")}
}

// Plan begins a bar: the first, or that of another device.
func (v *view) Plan(probes, cases int) {
	v.finish()
	v.begin(probes + cases)
	v.round = 0
}

func (v *view) begin(cases int) {
	o := report.Detect(v.c.App.ErrWriter)
	v.progress = report.NewProgress(v.c.App.ErrWriter, cases, float64(cases),
		report.ProgressOptions{Terminal: o.Terminal, Width: o.Width, Quiet: v.silent})
	if !v.silent {
		v.live = report.NewLive(v.c.App.ErrWriter, o, v.progress)
		v.live.Devices = v.several
	}
}

// Round shows a new bar for another round of visits; their results are in the tables at the end.
func (v *view) Round(n, cases int) {
	v.progress.Finish()
	v.begin(cases)
	v.round = 1
	if !v.silent {
		fmt.Fprintf(v.c.App.ErrWriter, "round %d: %d comparisons again, apart from their first quartets\n", n, cases)
	}
}

func (v *view) Started(k record.Case) {
	if v.round > 1 {
		v.progress.Done(1) // the visit before this one
	}
	if v.round > 0 {
		v.round++
	}
	if report.Detect(v.c.App.ErrWriter).Terminal {
		v.progress.Begin(k.ID)
	}
}

func (v *view) Result(r record.Result) {
	v.progress.Done(1)
	if r.UseCase == "ceiling" {
		r.Ceiling = nil // it is being measured here: the ones found so far are no limit yet
	}
	if v.live != nil {
		_ = v.live.Result(r)
	}
}

func (v *view) Warn(format string, a ...any) {
	if v.silent {
		return
	}
	fmt.Fprintf(v.c.App.ErrWriter, "warning: %s\n", oneLine(fmt.Sprintf(format, a...)))
}

func (v *view) finish() {
	if v.progress != nil {
		v.progress.Finish()
	}
}

// checkOperations refuses names, given as what, that are neither a suite nor an op.
func checkOperations(what string, ops *op.Registry, names []string) error {
	for _, name := range names {
		if _, ok := ops.Spec(name); !ok && !slices.Contains(plan.SuiteNames(), name) {
			return fmt.Errorf("%s %q: expected suites (%s) or ops (ridge list ops)", what, name, strings.Join(plan.SuiteNames(), ","))
		}
	}
	return nil
}
