package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/urfave/cli/v2"

	"ridge/goharness/backend"
	"ridge/goharness/campaign"
	"ridge/goharness/machine"
	"ridge/goharness/op"
	"ridge/goharness/record"
	"ridge/goharness/runner"
	"ridge/goharness/tune"
)

func tuneCommand() *cli.Command {
	return &cli.Command{
		Name: "tune", Usage: "search block sizes and kernels for this machine and keep what is proven faster", ArgsUsage: "[OP…]",
		Description: "Compares candidates with the defaults in interleaved quartets and stores those whose gain has an interval above 1,\nwith the machine's fingerprint, in DATA-DIR/tuning.json. calibrate and bench use it unless --no-tuning is given.\nOps: " + strings.Join(tune.Ops, ", ") + " (default gemm).",
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "device", Value: "cpu", Usage: "device to tune for; several, comma-separated, or cuda:all: the first of each kind"},
			&cli.StringFlag{Name: "precision", Value: "fp32", Usage: "precisions, comma-separated (fp64,fp32,fp16,bf16,int8,...)"},
			&cli.DurationFlag{Name: "budget", Value: 3 * time.Minute, Usage: "time for the whole search, on all devices, such as 90s or 3m"},
			&cli.IntFlag{Name: "threads", Usage: "threads (default: what affinity, cpuset and quota allow)"},
			&cli.StringFlag{Name: "affinity", Value: "scatter", Usage: "compact, scatter, none or a CPU list such as 0,2-3"},
			&cli.BoolFlag{Name: "dry-run", Usage: "list what would be tried; measure and store nothing"},
			&cli.BoolFlag{Name: "force", Usage: "replace a stored file that cannot be read"},
		},
		Action: tuneAction,
	}
}

// tuning is the search of the command line on a device.
type tuning struct {
	c       *cli.Context
	o       tune.Options
	targets []tune.Target
	path    string
	file    *tune.File // of all devices
	outs    []tune.Outcome
}

func tuneAction(c *cli.Context) error {
	kinds, err := tuneDevices(c)
	if err != nil {
		return err
	}
	several := len(kinds) > 1 || len(kinds[0]) > 1
	var lost error
	var all []*tuning
	// lose notes a device that is lost, since the others may be well; any other error comes back.
	lose := func(err error) error {
		var gone *campaign.DeviceError
		switch {
		case c.Context.Err() != nil:
			return tuneInterrupted(all)
		case !errors.As(err, &gone):
			return err
		case !several:
			return gone.Err
		}
		warn(c, "%v", err)
		lost = errors.Join(lost, err)
		return nil
	}
	var file *tune.File
	// next prepares the next device of a kind that can be opened; nil: there is none.
	next := func(kind *[]string) (*tuning, error) {
		for len(*kind) > 0 {
			t, err := newTuning(c, (*kind)[0], len(kinds))
			*kind = (*kind)[1:]
			if err == nil {
				if file != nil {
					t.file = file
				}
				file = t.file
				return t, nil
			}
			if err := lose(err); err != nil {
				return nil, err
			}
		}
		return nil, nil
	}
	first := make([]*tuning, len(kinds)) // all that is asked for is looked at before anything is searched
	for i := range kinds {
		if first[i], err = next(&kinds[i]); err != nil {
			return err
		}
	}
	var planned []plannedSearch
	for i, t := range first {
		for t != nil {
			if several && !c.Bool("quiet") {
				fmt.Fprintf(c.App.ErrWriter, "device %s:\n", t.o.Device)
			}
			if c.Bool("dry-run") {
				plans, err := t.dryRun()
				if err != nil {
					return err
				}
				planned = append(planned, plans...)
				break
			}
			all = append(all, t)
			if err = t.run(c.Context); err == nil {
				break
			}
			if err := lose(err); err != nil {
				return err
			}
			if t, err = next(&kinds[i]); err != nil {
				return err
			}
		}
	}
	switch {
	case !c.Bool("dry-run"):
		err = showTunings(c, all)
	case c.Bool("json"):
		err = writeJSON(c, planned)
	}
	if err != nil {
		return err
	}
	if lost == nil {
		return nil
	}
	return fault("%s", oneLine(lost.Error()))
}

// tuneDevices are those that --device names, by kinds: what is found on one of a kind holds for all of them.
func tuneDevices(c *cli.Context) ([][]string, error) {
	ids, err := deviceIDs(c)
	if err != nil {
		return nil, err
	}
	var out [][]string
	at := map[string]int{}
	for _, id := range ids {
		kind := id
		if d := accelerator(id); d != nil {
			kind = d.Platform + " " + d.Name + " " + d.Facts["multiprocessors"] // as the classes of what is stored
		}
		if i, there := at[kind]; there {
			warn(c, "device %s is not searched: what is found on %s, of the same kind, holds for it", id, out[i][0])
			out[i] = append(out[i], id)
			continue
		}
		at[kind] = len(out)
		out = append(out, []string{id})
	}
	return out, nil
}

// newTuning reads the flags and the stored file, and asks the device for its kernels.
// Several devices share the time.
func newTuning(c *cli.Context, device string, devices int) (*tuning, error) {
	t := &tuning{c: c}
	fail := func(err error) (*tuning, error) { return nil, err }
	if err := checkDevice(device); err != nil {
		return fail(err)
	}
	dtypes, err := precisions(c)
	if err != nil {
		return fail(err)
	}
	if len(dtypes) == 0 {
		dtypes = []record.DType{record.FP32}
	}
	n, err := threads(c)
	if err != nil {
		return fail(err)
	}
	if err := checkAffinity(c.String("affinity"), n, "--threads"); err != nil {
		return fail(err)
	}
	names := c.Args().Slice()
	if len(names) == 0 {
		names = tune.Ops[:1]
	}
	own := device != "cpu"
	if own && n > 1 {
		return fail(fmt.Errorf("--threads %d: the threads of the host are not what --device %s has; leave it out", n, device))
	}
	if own {
		n = 1 // orders everything
	}
	if t.targets, err = tune.Targets(op.Builtin(), names, dtypes, own); err != nil {
		return fail(err)
	}
	budget, searches := c.Duration("budget"), len(t.targets)*devices
	if least := time.Duration(searches) * time.Second; budget < least {
		return fail(fmt.Errorf("--budget %v: expected at least %v, a second for each of %d shapes", budget, least, searches))
	}
	dir, err := dataDir(c)
	if err != nil {
		return fail(err)
	}
	if !c.Bool("dry-run") {
		if err := checkPlaces(c, dir); err != nil {
			return fail(err)
		}
	}
	host := machine.Read(machine.Source{})
	t.path = tune.Path(dir)
	file, err := tune.Load(t.path, tune.Identify(host))
	t.file = &file
	if err != nil {
		var foreign *tune.ForeignError
		if !errors.As(err, &foreign) && (!c.Bool("force") || errors.Is(err, record.ErrNotRegular)) { // a pipe is not replaced
			return fail(err)
		}
		warn(c, "%v", err)
	}
	wh := campaign.NewWorkerHost(machine.Source{})
	cpus, err := wh.CPUs(n, c.String("affinity"))
	if err != nil {
		return fail(err)
	}
	b, dev, err := openTuner(device, backend.OpenOptions{CPUs: cpus, Affinity: c.String("affinity")})
	if err != nil {
		return fail(err)
	}
	defer func() { _ = dev.Close() }() // the worker opens it for itself
	kernels := map[string][]backend.KernelInfo{}
	for _, x := range t.targets {
		what, err := op.Builtin().New(x.Op, x.Params, x.DType)
		if err != nil {
			return fail(err)
		}
		if kernels[kernelsKey(what)], err = dev.Kernels(what); err != nil {
			return fail(fmt.Errorf("tune %v: %w", x, err))
		}
		if d, ok := dev.(interface {
			Takes(o op.Op, kernel string) bool
		}); ok { // its list does not depend on the shape
			kernels[kernelsKey(what)] = slices.DeleteFunc(kernels[kernelsKey(what)], func(k backend.KernelInfo) bool { return !d.Takes(what, k.Name) })
		}
	}
	t.o = tune.Options{Device: device, Threads: len(cpus), Ops: op.Builtin(), Caches: tune.Caches(host, wh.LLCReached(cpus)), Tuner: b,
		Kernels: func(o op.Op) ([]backend.KernelInfo, error) { return kernels[kernelsKey(o)], nil }, Budget: budget / time.Duration(searches), Now: time.Now, Revision: revision,
		Say: func(format string, a ...any) {
			if !c.Bool("quiet") {
				fmt.Fprintf(c.App.ErrWriter, format+"\n", a...)
			}
		}}
	return t, nil
}

func kernelsKey(o op.Op) string { return fmt.Sprint(o.Name(), o.DType(), o.Params()) }

// openTuner finds the platform of a device and opens it.
func openTuner(id string, o backend.OpenOptions) (backend.Tuner, backend.Device, error) {
	platform, _, _ := strings.Cut(id, ":")
	for _, b := range backends() {
		if b.Name() != platform {
			continue
		}
		dev, err := b.Open(id, o)
		if err != nil {
			return nil, nil, &campaign.DeviceError{Device: id, Err: err}
		}
		if tuner, ok := b.(backend.Tuner); ok {
			return tuner, dev, nil
		}
		if tuner, ok := dev.(backend.Tuner); ok { // what can be tried depends on the device
			return tuner, dev, nil
		}
		_ = dev.Close()
		return nil, nil, fmt.Errorf("--device %s: the kernels of platform %s have no parameters to search", id, platform)
	}
	return nil, nil, fmt.Errorf("--device %q: this build has no platform %q", id, platform)
}

// dryRun plans the searches of a device, and prints them where they are not for a document.
func (t *tuning) dryRun() (planned []plannedSearch, err error) {
	for _, target := range t.targets {
		out, candidates, err := tune.Plan(t.o, target)
		if err != nil {
			return nil, err
		}
		if t.c.Bool("json") {
			planned = append(planned, plannedSearch{t.o.Device, target.Op, target.DType, target.Params, out.Class, out.Threads, t.o.Budget.Seconds(), out.Default, append([]string{}, candidates...)})
			continue
		}
		if _, err := fmt.Fprintf(t.c.App.Writer, "%v (class %s, %d threads, %v): %s against\n    %s\n    and the neighbours of the best\n",
			target, out.Class, out.Threads, t.o.Budget.Round(time.Millisecond), out.Default, strings.Join(candidates, "\n    ")); err != nil {
			return nil, err
		}
	}
	return planned, nil
}

// run searches all targets; what is found is stored after each, so that an interruption costs one.
func (t *tuning) run(ctx context.Context) error {
	lock, err := campaign.LockDevice(filepath.Dir(t.path), t.o.Device)
	if err != nil {
		return err
	}
	defer func() { _ = lock.Close() }()
	launch, err := launcher(t.c, "")
	if err != nil {
		return err
	}
	r := &runner.Runner{Launch: launch}
	defer r.Close()
	t.o.Run = r.Run
	for _, target := range t.targets {
		out, err := tune.Search(ctx, t.o, target)
		if err != nil {
			return &campaign.DeviceError{Device: t.o.Device, Err: err}
		}
		t.outs = append(t.outs, out)
		t.file.Put(out)
		if err := t.file.Save(t.path); err != nil {
			return err
		}
	}
	return nil
}

// showTunings prints what was found, a table for each device.
func showTunings(c *cli.Context, all []*tuning) error {
	var faults []string
	for _, t := range all {
		for _, o := range t.outs {
			faults = append(faults, o.Faults...)
		}
		if c.Bool("json") {
			continue
		}
		if len(all) > 1 {
			fmt.Fprintln(c.App.Writer, t.o.Device)
		}
		w := tabwriter.NewWriter(c.App.Writer, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "shape\tclass\ttried\tfound\ttimes as fast")
		for _, o := range t.outs {
			found, gain := "the default "+o.Default, "-"
			if e := o.Found; e != nil {
				found = fmt.Sprintf("%s %v", e.Kernel, e.Params)
				gain = fmt.Sprintf("%.3f [%.3f, %.3f]", e.Gain, e.GainCI95[0], e.GainCI95[1])
			}
			fmt.Fprintf(w, "%v\t%s\t%d\t%s\t%s\n", o.Target, o.Class, o.Tried, found, gain)
		}
		if err := w.Flush(); err != nil {
			return err
		}
	}
	if c.Bool("json") {
		if err := writeJSON(c, *all[0].file); err != nil {
			return err
		}
	}
	if !c.Bool("quiet") {
		fmt.Fprintln(c.App.ErrWriter, "tuning:", all[0].path)
	}
	if len(faults) > 0 {
		return fault("%d candidates failed: %s", len(faults), faults[0])
	}
	return nil
}

// tuningFile gives the stored tuning for the worker's command line; "" for none. One of another
// machine is ignored with a warning.
func tuningFile(c *cli.Context, dir string) (string, error) {
	if c.Bool("no-tuning") {
		return "", nil
	}
	path := tune.Path(dir)
	f, err := tune.Load(path, tune.Identify(machine.Read(machine.Source{})))
	var foreign *tune.ForeignError
	if errors.As(err, &foreign) {
		warn(c, "%v", err)
		return "", nil
	}
	if err != nil || len(f.Entries) == 0 {
		return "", err
	}
	return path, nil
}

func warn(c *cli.Context, format string, a ...any) {
	if !c.Bool("quiet") {
		fmt.Fprintf(c.App.ErrWriter, "warning: %s\n", oneLine(fmt.Sprintf(format, a...)))
	}
}
