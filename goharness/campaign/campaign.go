// Package campaign runs a measurement campaign from plan to document: it reads the host,
// checks it, plans, asks the runner, holds every result at the gate, journals it and
// assembles the document. It is the only package that imports all others.
package campaign

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"ridge/goharness/backend"
	"ridge/goharness/ceiling"
	"ridge/goharness/machine"
	"ridge/goharness/plan"
	"ridge/goharness/power"
	"ridge/goharness/record"
	"ridge/goharness/runner"
)

// Config of a campaign.
type Config struct {
	Plan          plan.Options // Levels, LLC, Memory and Threads are filled where empty
	Source        machine.Source
	Launch        runner.Launcher
	Deadline      func(q runner.Request, c record.Case, p *runner.Prepared) time.Duration // of a request; nil: runner.DefaultDeadline
	Affinity      string
	Graphs        string // backend.OpenOptions.Graphs, as Launch gives it to the worker
	Tool          record.Tool
	Command       []string
	DataDir       string
	Resume        string   // run id or journal file to go on with
	Force         bool     // go on although a preflight check failed
	SkipPreflight bool     // bench of a single case: the checks are not asked for
	Metrics       []string // selected groups; nil: all
	Energy        bool     // energy is asked for: results have it or say why not
	EnergyOf      EnergyOptions
	User          record.UserPeaks
	Hardware      string        // name given by the user
	Cases         []record.Case // measured instead of the plan's suites when set
	// ProbesFor restricts the probes to what the gate needs for these cases.
	ProbesFor []record.Case
	// Libraries are the vendor libraries that are tried as baselines of fusion patterns, where they are installed.
	Libraries []backend.LibraryWays
	NoProbes  bool // measure no ceilings: results are then held against nothing
	// Accelerator describes the device where it is not the host's CPU.
	Accelerator *record.Device
	View        View // nil: nobody listens
	Now         func() time.Time
	Sleep       func(context.Context, time.Duration) error // nil: in real time
	// Beside is what each program of a case takes in Launch's workers beside its measurement (sampling it, say): the run may
	// last so much longer before cases get less time.
	Beside time.Duration
	// Target is the time that the run should take; 0: what its kind of plan has. The first visit to every case is made in any case.
	Target time.Duration
	// Concurrent, of several devices: they are measured at the same time (RunEach).
	Concurrent bool
	beside     []string // the other devices of the run
}

// View hears what happens, outside of the timed windows.
type View interface {
	Plan(probes, cases int)
	// Round begins another round of visits to so many comparisons.
	Round(n, cases int)
	Started(c record.Case)
	Result(r record.Result)
	Warn(format string, a ...any)
}

// silent is the view of callers that want none.
type silent struct{}

func (silent) Plan(int, int)        {}
func (silent) Round(int, int)       {}
func (silent) Started(record.Case)  {}
func (silent) Result(record.Result) {}
func (silent) Warn(string, ...any)  {}

// ErrInterrupted ends a run that can be resumed.
var ErrInterrupted = errors.New("interrupted")

// PreflightError is a failed preflight check without --force.
type PreflightError struct{ Preflight record.Preflight }

func (e *PreflightError) Error() string {
	for _, c := range e.Preflight.Checks {
		if c.Status == "failed" {
			return fmt.Sprintf("preflight check %s failed: %s; fix: %s (or --force to measure anyway)", c.Name, c.Message, c.Fix)
		}
	}
	return "preflight failed"
}

// campaign is one run in progress.
type campaign struct {
	cfg         Config
	doc         record.Calibration
	plan        plan.Plan
	model       *ceiling.Model
	setting     ceiling.Setting
	runner      *runner.Runner
	journal     *record.Journal
	lock        *os.File   // of the device; nil: none
	busy        *BusyError // the lock is another run's, and this one measures without it
	disturbed   []string   // what other runs did beside this one: warnings
	done        map[string]record.Result
	asked       map[string]record.Case // as they were measured in this run, with their baselines
	energy      *energy                // nil: not asked for
	board       *board                 // nil: the device is the host's CPU
	shown       map[string]bool        // ids that are in the document
	resumed     int
	asking      string // id of the case in flight
	journalErr  error  // of a quarantine entry
	started     time.Time
	earlier     float64                    // seconds that the processes took whose journal is gone on with
	probed      map[string]time.Time       // when each probe case was last measured in this run
	verified    map[string]int             // probe cases that passed their verification in this run: how many kernels were set aside by then
	sinceProbe  time.Time                  // the last periodic repetition
	exceeded    map[record.CeilingKey]bool // ceilings whose probe was repeated because a result went past it
	probing     time.Duration              // spent on periodic repetitions
	sides       []*side                    // vendor libraries in use
	lookedUp    bool                       // whether they have been looked up
	aside       map[string]string          // libraries that crashed or hung in this run: what they did
	sweepLevels bool                       // the levels come from the sweep
	laterProbes []record.ProbeEntry        // of the resumed journal
	pilots      map[string]piloted         // comparisons with their baselines, by id
	tried       pilotsShown                // what pilots of libraries have shown
	packs       packings                   // what pilots of packed weights have shown
	took        map[string]time.Duration   // a visit to each
	around      map[string]time.Duration   // of it, beside its quartets
	reserve     time.Duration              // kept for what follows the visits
	left        map[string]bool            // those that are not visited again
	barrier     float64                    // of the last visit
	common      float64                    // barrier that is common among visits so far
	barriers    []float64                  // around the results so far whose threads had a core each
	shared      int                        // results whose threads shared one
	waited      time.Duration              // for the host to give each of the threads' CPUs a core
	beside      time.Duration              // what the first visits took beside their quartets
	compared    int                        // comparisons in it
	seats       []int                      // CPUs that the threads sit on
	lost        error                      // why the device is left out from here on; nil: it is not
}

// Run measures and returns the document. On interruption the document holds what was
// measured and the error wraps ErrInterrupted.
func Run(ctx context.Context, cfg Config) (record.Calibration, error) {
	return RunEach(ctx, []Config{cfg})
}

func newCampaign(cfg Config) *campaign {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Sleep == nil {
		cfg.Sleep = power.Sleep
	}
	if cfg.View == nil {
		cfg.View = silent{}
	}
	return &campaign{cfg: cfg, started: cfg.Now(), runner: &runner.Runner{Launch: cfg.Launch, Deadline: cfg.Deadline}, done: map[string]record.Result{}, asked: map[string]record.Case{},
		shown: map[string]bool{}, probed: map[string]time.Time{}, exceeded: map[record.CeilingKey]bool{},
		pilots: map[string]piloted{}, took: map[string]time.Duration{}, around: map[string]time.Duration{}, left: map[string]bool{}, aside: map[string]string{}, packs: packings{}}
}

// close ends the workers and frees the device for other runs.
func (c *campaign) close() {
	c.closeSides()
	c.runner.Close()
	if c.lock != nil {
		_ = c.lock.Close()
		c.lock = nil
	}
}

// wall is the time in seconds that the run took so far, in all its processes.
func (c *campaign) wall() float64 { return c.earlier + c.cfg.Now().Sub(c.started).Seconds() }

// measureDevice asks everything of the plan and assembles the document.
func (c *campaign) measureDevice(ctx context.Context) error {
	defer c.close()
	if err := c.leaveMark(); err != nil {
		return err
	}
	c.openEnergy(ctx)
	defer c.closeEnergy()
	c.openBoard(ctx)
	defer c.closeBoard()
	err := c.measure(ctx)
	c.heedMarks()
	c.assemble(err == nil)
	return err
}

// JournalPath is where a run's journal lies.
func JournalPath(dataDir, runID string) string {
	return filepath.Join(dataDir, "runs", runID+".jsonl")
}

// prepare reads the host, plans, and takes the device for this run.
func (c *campaign) prepare() error {
	cfg := &c.cfg
	host := machine.Read(cfg.Source)
	if cfg.Hardware != "" {
		host.Name = cfg.Hardware
	}
	run := c.doc // of several devices: its id
	c.doc = record.Calibration{Schema: record.SchemaCalibration, RunID: newRunID(c.started), Created: c.started.UTC().Format(time.RFC3339),
		Tool: cfg.Tool, Command: cfg.Command, Host: host, FusionProfiles: nil}
	if run.RunID != "" {
		c.doc.RunID, c.doc.Created = run.RunID, run.Created
	}
	wh := &WorkerHost{Source: cfg.Source, host: host}
	wh.cpus, _ = machine.UsableCPUs(cfg.Source)
	cpus, err := wh.CPUs(cfg.Plan.Threads, cfg.Affinity)
	if err != nil {
		return fmt.Errorf("threads and affinity: %w", err)
	}
	o := &cfg.Plan
	o.Threads = len(cpus)
	c.seats = wh.Seats(cpus)
	c.hostPlan(wh, c.seats)
	o.ProbesOnly = o.ProbesOnly || cfg.Cases != nil
	if c.plan, err = plan.Build(*o); err != nil {
		return err
	}
	if cfg.NoProbes {
		c.plan.Probes = nil
	}
	if cfg.ProbesFor == nil && o.ProbesOnly && len(o.Fusion) > 0 {
		cfg.ProbesFor = c.plan.Cases
	}
	c.plan.Probes = neededProbes(c.plan.Probes, cfg.ProbesFor)
	if cfg.Cases != nil {
		c.plan.Cases = cfg.Cases
	}
	c.cfg.User.DType = userDType(cfg)
	c.doc.Devices = []record.Device{{ID: o.Device, Platform: "cpu", Name: host.CPU.Model, ISA: host.CPU.Features, Threads: o.Threads}}
	if v, ok := host.Memory.TotalBytes.Get(); ok {
		c.doc.Devices[0].Memory = v
	}
	if cfg.Accelerator != nil {
		c.doc.Devices[0] = *cfg.Accelerator
	}
	return c.lockDevice()
}

// begin reads the device's clocks, runs the preflight checks and sets up the ceilings.
func (c *campaign) begin(ctx context.Context) error {
	cfg, o := &c.cfg, &c.cfg.Plan
	clocks, err := c.readClocks(ctx)
	if err != nil {
		return err
	}
	c.doc.Preflight = notRun(c.doc.Created)
	if !cfg.SkipPreflight {
		src := cfg.Source
		src.Clock = func(load bool) (float64, error) {
			clock := clocks[o.Threads]
			if cfg.Accelerator != nil { // what was read is the device's clock, and the check is of the CPU's
				return 0, errors.New("not measured: the run is not on the CPU")
			}
			if load && clock.LoadedUnavailable != "" {
				return 0, errors.New(clock.LoadedUnavailable)
			} else if load {
				return clock.LoadedGHz, nil
			}
			return clock.IdleGHz, nil
		}
		c.doc.Preflight = machine.Doctor(ctx, src, machine.Options{})
		c.doc.Preflight.Forced = cfg.Force && !c.doc.Preflight.Passed
		if !c.doc.Preflight.Passed && !cfg.Force {
			return &PreflightError{c.doc.Preflight}
		}
	}
	c.model = ceiling.NewModel(o.Device, o.Levels, o.Levels1)
	c.model.LLC = o.LLC
	c.setting = setting(c.doc.Host, c.seats, clocks)
	if cfg.Accelerator == nil {
		return nil
	}
	if c.setting.GPU, err = acceleratorModel(c.model, *cfg.Accelerator); err != nil {
		c.plan.Warnings = append(c.plan.Warnings, "no theoretical peaks of "+o.Device+": "+err.Error())
	}
	if c.simulated() {
		c.plan.Warnings = append(c.plan.Warnings, o.Device+" is simulated ("+cfg.Accelerator.Facts[record.FactSimulated]+"): its times say nothing about any hardware, and the gate refuses none")
	}
	c.doc.Devices[0] = withClock(*cfg.Accelerator, clocks[o.Threads])
	return nil
}

// PlanCases are the cases that a campaign would measure, without those that its plan skips. Nothing is
// measured.
func PlanCases(cfg Config) ([]record.Case, error) {
	wh := NewWorkerHost(cfg.Source)
	cpus, err := wh.CPUs(cfg.Plan.Threads, cfg.Affinity)
	if err != nil {
		return nil, fmt.Errorf("threads and affinity: %w", err)
	}
	c := &campaign{cfg: cfg}
	c.cfg.Plan.Threads = len(cpus)
	c.hostPlan(wh, wh.Seats(cpus))
	p, err := plan.Build(c.cfg.Plan)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(p.Cases, func(k record.Case) bool { return k.SkipReason != "" }), nil
}

// withClock adds the measured clock to the facts of an accelerator.
func withClock(d record.Device, r runner.ClockReading) record.Device {
	d.Facts = maps.Clone(d.Facts)
	if d.Facts == nil {
		d.Facts = map[string]string{}
	}
	d.Facts["measured_clock_mhz"] = fmt.Sprintf("%.0f", 1e3*r.IdleGHz)
	d.Facts["measured_clock_under_load_mhz"] = fmt.Sprintf("%.0f", 1e3*r.LoadedGHz)
	if r.LoadedUnavailable != "" {
		d.Facts["measured_clock_under_load_mhz"] = "unavailable: " + r.LoadedUnavailable
	}
	return d
}

// userDType is the precision that a given arithmetic peak counts for: the one that was
// selected when exactly one was, else fp32.
func userDType(cfg *Config) record.DType {
	if cfg.User.DType != "" {
		return cfg.User.DType
	}
	var of []record.DType
	for _, k := range cfg.Cases {
		if !slices.Contains(of, k.Program.DType) {
			of = append(of, k.Program.DType)
		}
	}
	if cfg.Cases == nil {
		of = cfg.Plan.Precisions
	}
	if len(of) == 1 {
		return of[0]
	}
	return record.FP32
}

// notRun is the preflight of a run that asks for no checks: none is claimed as passed.
func notRun(created string) record.Preflight {
	return record.Preflight{Timestamp: created, Checks: []record.Check{{Name: "preflight", Status: "skipped", Message: "not run by bench"}}}
}

// hostPlan fills what the plan needs to know of the host, or of the accelerator whose memory and cache count in its place.
func (c *campaign) hostPlan(wh *WorkerHost, cpus []int) {
	o := &c.cfg.Plan
	if a := c.cfg.Accelerator; a != nil {
		acceleratorPlan(o, *a)
		return
	}
	if o.Levels == nil {
		o.Levels, o.Levels1 = Levels(wh.host, cpus), Levels(wh.host, cpus[:1])
	}
	if o.LLC == 0 {
		o.LLC = wh.LLCBytes()
	}
	if v, ok := wh.host.Memory.TotalBytes.Get(); ok && o.TotalMemory == 0 {
		o.TotalMemory = v
	}
	if o.Memory == 0 {
		if free, _, err := wh.FreeMemory(); err == nil {
			o.Memory = free
		}
	}
}

// Peaks lists the peak probes among a platform's kernels that can run here.
func Peaks(kernels []backend.KernelInfo) []plan.Peak {
	var out []plan.Peak
	for _, k := range kernels {
		p := plan.Peak{ISA: k.PeakISA, DType: k.DType}
		if p.ISA == "" {
			p.ISA = runner.ISATag(k.ISA)
		}
		if k.Op == "peak" && k.Available == nil && !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	return out
}

func newRunID(t time.Time) string {
	return t.UTC().Format("20060102-150405") + fmt.Sprintf("-%04x", t.Nanosecond()/1000%65536)
}

// neededProbes keeps the ceilings that can judge the cases: their thread counts, their
// precisions (and fp32, in which 16-bit inputs may be computed, and tf32, of which a device's kernels may form fp32), of the sweep the ends of the caches, and the link to the host for
// its copies alone.
func neededProbes(all []plan.Probe, cases []record.Case) []plan.Probe {
	if cases == nil {
		return all
	}
	threads, dtypes, ops := map[int]bool{}, map[record.DType]bool{record.FP32: true, record.TF32: true}, map[string]bool{}
	for _, k := range cases {
		threads[k.Threads], dtypes[k.Program.DType], ops[k.Program.Op] = true, true, true
		if !k.Program.DType.Float() {
			dtypes[record.INT8], dtypes[record.U8S8] = true, true
		}
	}
	var out []plan.Probe
	for _, p := range all {
		c := p.Ceiling
		switch {
		case p.Edge:
			out = append(out, p)
		case p.Sweep, !threads[c.Threads], c.Level == record.LevelHost && !ops[p.Case.Program.Op]:
		case c.Kind == record.CeilingCompute && dtypes[c.DType], c.Kind == record.CeilingBandwidth, c.Kind == record.CeilingLaunch:
			out = append(out, p)
		}
	}
	return out
}

// defaultAffinity is the policy of a run that names none.
const defaultAffinity = "scatter"

func affinity(cfg Config) string {
	if cfg.Affinity == "" {
		return defaultAffinity
	}
	return cfg.Affinity
}

// fingerprint of the plans of all devices: the threads' places, graphs where they are off, and the ids in order with the effort of each.
// A resumed run must ask the same.
func fingerprint(of ...*campaign) string {
	h := sha256.New()
	for _, c := range of {
		fmt.Fprintln(h, affinity(c.cfg))
		if c.cfg.Concurrent {
			fmt.Fprintln(h, "concurrent")
		}
		if c.cfg.Graphs == backend.GraphsOff {
			fmt.Fprintln(h, "graphs", c.cfg.Graphs)
		}
		add := func(k record.Case) { fmt.Fprintln(h, k.ID, k.Quick, k.Warmup, k.Trials, k.BudgetNS) }
		for _, x := range c.plan.Probes {
			add(x.Case)
		}
		for _, x := range c.plan.Cases {
			add(x)
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:12])
}

// ToolInfo fills what the program knows of itself.
func ToolInfo(version, revision, compiler, flags string, backends []string) record.Tool {
	return record.Tool{Name: "ridge", Version: version, GoVersion: runtime.Version(), Compiler: compiler, Flags: flags, Revision: revision, Backends: backends}
}
