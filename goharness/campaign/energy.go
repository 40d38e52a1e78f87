package campaign

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"ridge/goharness/machine"
	"ridge/goharness/measure"
	"ridge/goharness/plan"
	"ridge/goharness/power"
	"ridge/goharness/record"
)

// EnergyOptions say how energy is measured; the zero value chooses by device and effort.
type EnergyOptions struct {
	// Cases to measure: ids, or "all"; empty: the best and worst of each op and precision.
	Cases []string
	// Meters to look for; nil: power.Builtin.
	Meters []power.Source
	// Traffic opens the counters of the host's memory controllers; nil: power.OpenTraffic.
	Traffic func(power.Env) (*power.Traffic, error)
	// Trace receives the readings of the whole run as CSV; nil: nowhere.
	Trace io.Writer
	// Follow is the time between readings outside of the windows, for the trace; 0: 100 ms.
	Follow time.Duration
	// Effort in place of the default one (tests).
	Effort EnergyEffort
	// Clock of the readings and of the worker's edges in place of the host's (tests).
	Clock power.Clock
}

// EnergyEffort is the time that energies are given.
type EnergyEffort struct {
	Idle   time.Duration // each baseline
	Plan   power.Plan    // the windows of a program
	Most   int           // cases, when none are named
	Within time.Duration // for all cases, when none are named
}

// energyEffort: a counter that is updated every 100 ms and a sensor that averages need longer windows than
// a CPU's, which is updated every millisecond.
func energyEffort(device string, quick bool) EnergyEffort {
	cpu := device == "cpu"
	switch {
	case quick && cpu:
		return EnergyEffort{2 * time.Second, power.Plan{Windows: 3, Length: 500 * time.Millisecond}, 8, time.Minute}
	case quick:
		return EnergyEffort{2 * time.Second, power.Plan{Windows: 2, Length: 2 * time.Second}, 8, time.Minute}
	case cpu:
		return EnergyEffort{10 * time.Second, power.Plan{Windows: 3, Length: time.Second}, 40, 10 * time.Minute}
	}
	return EnergyEffort{10 * time.Second, power.Plan{Windows: 2, Length: 5 * time.Second}, 40, 10 * time.Minute}
}

// energy is the observer of a run; none is nil.
type energy struct {
	observer *power.Observer
	trace    *power.Trace
	stop     func() // of the readings between windows
	gone     string // why there is no meter
	report   *record.EnergyReport
	effort   EnergyEffort
	random   *rand.Rand
}

// openEnergy looks for the device's meter before anything is measured. A missing one is a reason.
func (c *campaign) openEnergy(ctx context.Context) {
	if !c.cfg.Energy {
		return
	}
	o := c.cfg.EnergyOf
	e := &energy{report: &record.EnergyReport{Device: c.cfg.Plan.Device}, effort: o.Effort, random: rand.New(rand.NewPCG(uint64(c.started.UnixNano()), 1))}
	if e.effort.Plan.Windows == 0 {
		e.effort = energyEffort(c.cfg.Plan.Device, c.cfg.Plan.Quick)
	}
	c.energy = e
	e.report.Windows, e.report.WindowS = e.effort.Plan.Windows, e.effort.Plan.Length.Seconds()
	for _, id := range o.Cases { // before the run, which may take minutes
		device, _, _ := strings.Cut(id, "/")
		if id != "all" && !c.plans(id) && !slices.Contains(c.cfg.beside, device) { // whose turn it is then
			c.cfg.View.Warn("--energy %s: this run has no such case", id)
		}
	}
	d := c.doc.Devices[0]
	m, err := power.Find(ctx, sourcesOr(o.Meters), MeterEnv(c.cfg.Source, c.doc.Host), MeterDevice(d))
	if err != nil {
		e.gone = "no energy meter: " + err.Error()
		e.report.Unavailable = e.gone
		if o.Trace != nil {
			c.cfg.View.Warn("power trace: there is nothing to write: %s", e.gone)
		}
		return
	}
	clock := o.Clock
	if clock.Now == nil {
		clock = power.Clock{Now: measure.MonotonicNow, Sleep: power.Sleep}
	}
	var listen func(power.Reading)
	if o.Trace != nil {
		e.trace = power.NewTrace(o.Trace, m.Domains(), clock.Now())
		listen = e.trace.Add
	}
	e.observer = power.NewObserver(m, clock, listen)
	if d.Platform == "cpu" {
		e.observer.Beside(hostSensors(c.cfg.Source))
		open := o.Traffic
		if open == nil {
			open = power.OpenTraffic
		}
		e.observer.Controllers(open(MeterEnv(c.cfg.Source, c.doc.Host)))
	}
	f := m.Facts()
	e.report.Meter, e.report.Facts, e.report.LimitWatts = m.Name(), f.Notes, f.LimitWatts
	e.follow(o)
}

// plans reports whether the run will measure a case.
func (c *campaign) plans(id string) bool {
	return slices.ContainsFunc(c.plan.Cases, func(k record.Case) bool { return k.ID == id }) ||
		slices.ContainsFunc(c.plan.Probes, func(p plan.Probe) bool { return p.Case.ID == id })
}

// follow reads now and then where a trace is asked for; without one nothing is read while cases are timed.
func (e *energy) follow(o EnergyOptions) {
	if e.trace != nil {
		every := o.Follow
		if every == 0 {
			every = 100 * time.Millisecond
		}
		e.stop = e.observer.Follow(every)
	}
}

// running tells the trace what runs.
func (c *campaign) running(phase, id, kernel string) {
	if c.energy != nil && c.energy.trace != nil {
		c.energy.trace.Running(phase, id, kernel)
	}
}

// closeEnergy ends the meter and the trace.
func (c *campaign) closeEnergy() {
	e := c.energy
	if e == nil || e.observer == nil {
		return
	}
	if e.stop != nil {
		e.stop()
	}
	e.observer.Close()
	if e.trace != nil {
		err := e.trace.Flush()
		if f, ok := c.cfg.EnergyOf.Trace.(io.Closer); ok {
			err = errors.Join(err, f.Close())
		}
		if err != nil {
			c.cfg.View.Warn("%v", err)
		}
	}
}

func sourcesOr(s []power.Source) []power.Source {
	if s == nil {
		return power.Builtin()
	}
	return s
}

// MeterEnv is where the meters of a host are looked for.
func MeterEnv(src machine.Source, h record.Host) power.Env {
	env := power.Env{Root: src.Root}
	if v, ok := h.Hypervisor.Get(); ok {
		env.Virtual = v
	}
	return env
}

// hostSensors are the host's temperature and clock, for meters of its CPU.
func hostSensors(src machine.Source) func() power.Sensors {
	return func() power.Sensors {
		var s power.Sensors
		if c, ok := machine.Temperature(src).Get(); ok {
			s.TemperatureC = c
		}
		s.ClockMHz = machine.ClockNowMHz(src)
		return s
	}
}

// MeterDevice names a device to the meters.
func MeterDevice(d record.Device) power.Device {
	out := power.Device{ID: d.ID, Platform: d.Platform, PCI: d.Facts["pci"]}
	if _, n, ok := cut(d.ID); ok {
		out.Index = n
	}
	return out
}

func cut(id string) (platform string, n int, ok bool) {
	for i := range id {
		if id[i] == ':' {
			n, err := strconv.Atoi(id[i+1:])
			return id[:i], n, err == nil
		}
	}
	return id, 0, false
}

// noEnergy says why a result has no energy figure although it was asked for.
func (c *campaign) noEnergy(r *record.Result) string {
	switch {
	case r.Time == nil:
		return "the case was not timed: " + string(r.Status)
	case c.energy == nil:
		return "not asked for"
	case c.energy.gone != "":
		return c.energy.gone
	case !r.Status.Counts():
		return "the result does not count: " + string(r.Status)
	}
	return notTaken
}

// Why there is no energy until cases are selected, and of those that are not.
const (
	notTaken    = "no energy was taken before the run ended"
	notSelected = "not selected"
)

// taken is an arm's energy that waits for the idle baselines.
type taken struct {
	r       *record.Result
	arm     int
	total   power.Total
	earlier bool // of the run that was interrupted
}

// total names the domains that the meter's total is the sum of.
func (e *energy) total() []string {
	var out []string
	left := e.observer.LeftOut()
	for _, d := range e.observer.Meter().Domains() {
		if !d.Apart && left[d.Name] == "" {
			out = append(out, d.Name)
		}
	}
	return out
}

// otherTotal says how an energy of an interrupted run is not what this run's idle baselines are of; "" when it is.
func (e *energy) otherTotal(x *record.Energy) string {
	var names []string
	for _, d := range x.Domains {
		if d.InTotal {
			names = append(names, d.Name)
		}
	}
	if x.Meter == e.report.Meter && slices.Equal(names, e.total()) {
		return ""
	}
	return fmt.Sprintf("no net energy: it was measured by %s (%s) and the idle baseline, after the run was resumed, by %s (%s)",
		x.Meter, strings.Join(names, ", "), e.report.Meter, strings.Join(e.total(), ", "))
}

// energies measures the energy of the cases that matter, between two idle baselines. Whatever a meter or worker does
// wrong is the reason of the cases it concerns; the error is non-nil only when the run cannot go on.
func (c *campaign) energies(ctx context.Context) error {
	e := c.energy
	if e == nil || e.observer == nil {
		return nil
	}
	chosen, named := c.selectEnergy()
	e.report.Selected = len(chosen)
	for i := range c.doc.Results {
		if x := c.doc.Results[i].Energy; x != nil && x.Unavailable == notTaken && !slices.Contains(chosen, i) {
			x.Unavailable = notSelected
		}
	}
	var all []taken
	missing := 0
	for _, i := range chosen {
		r := &c.doc.Results[i]
		if !r.Energy.Known() {
			missing++
			continue
		}
		e.report.Measured++ // of the resumed journal
		for arm := range max(1, len(r.Arms)) {
			if x := energyOf(r, arm); x.Known() && x.NetJoules == nil {
				all = append(all, taken{r, arm, power.Total{Joules: x.Joules, Uncertainty: x.Uncertainty, Seconds: float64(x.WindowNS) / 1e9}, true})
			}
		}
	}
	if missing+len(all) == 0 {
		return nil
	}
	began := c.cfg.Now()
	var base power.Baseline
	idle, err := c.idle(ctx, &base.Before)
	if err != nil {
		return err
	}
	e.report.Idle = idle
	first := idle.Unavailable == ""
	if first { // an error ends the run in this state
		idle.Unavailable = "the run ended before the second baseline"
	}
	late := time.Duration(0)
	for n, i := range chosen {
		r := &c.doc.Results[i]
		if r.Energy.Known() {
			continue
		}
		// The second baseline is within the time too; late is what cases took beside their windows.
		takes := c.sustains(r)
		if left := e.effort.Within - c.cfg.Now().Sub(began); !named && e.effort.Within > 0 && takes+late+e.effort.Idle > left {
			c.setEnergy(r, nil, fmt.Sprintf(notSelected+": of the %v for energies %v were left after %d of %d cases, and this one takes %v",
				e.effort.Within, max(0, left).Round(time.Millisecond), n, len(chosen), (takes+late+e.effort.Idle).Round(time.Millisecond)))
			continue
		}
		asked := c.cfg.Now()
		totals, reason, err := c.sustainCase(ctx, r)
		if err != nil {
			return err
		}
		late = max(late, c.cfg.Now().Sub(asked)-takes)
		if reason != "" {
			c.setEnergy(r, nil, reason)
			c.cfg.View.Warn("no energy of %s: %s", r.ID, reason)
			continue
		}
		e.report.Measured++
		for arm, t := range totals {
			all = append(all, taken{r, arm, t, false})
		}
		c.done[r.ID] = *r
		if err := c.keep(*r, "with its energy"); err != nil { // an interruption loses the case in flight alone
			return err
		}
	}
	if first {
		after, err := c.idle(ctx, &base.After)
		if err != nil {
			return err
		}
		if e.report.Idle.Unavailable = after.Unavailable; after.Unavailable == "" {
			e.report.Idle.After = base.After.MeanWatts()
			_, e.report.Idle.Uncertainty = base.Watts()
		}
	}
	if left := e.observer.LeftOut(); len(left) > 0 { // what failed since is among them
		e.report.Idle.LeftOut = left
	}
	if e.report.Idle.Unavailable == "" {
		for _, x := range all {
			e.net(x, base)
		}
	}
	for _, x := range all {
		if x.arm == 0 {
			x.r.Energy = energyOf(x.r, 0) // of a resumed journal a copy
			c.done[x.r.ID] = *x.r
			if err := c.keep(*x.r, "with its net energy"); err != nil {
				return err
			}
		}
	}
	return nil
}

// net gives an energy what it is above the idle baselines.
func (e *energy) net(x taken, base power.Baseline) {
	to := energyOf(x.r, x.arm)
	say := func(why string) {
		if !slices.Contains(to.Warnings, why) { // of an earlier attempt
			to.Warnings = append(to.Warnings, why)
		}
	}
	if x.earlier {
		if why := e.otherTotal(to); why != "" {
			say(why)
			return
		}
		say("the idle baseline was taken after the run was resumed")
	}
	joules, u := base.Net(x.total)
	to.NetJoules, to.NetUncertainty = &joules, u
	if joules < -u {
		say("the load drew less than the idle baseline: something else ran meanwhile")
	}
}

// energyOf is the energy of an arm; of a single program, the result's.
func energyOf(r *record.Result, arm int) *record.Energy {
	if len(r.Arms) > 0 {
		return r.Arms[arm].Energy
	}
	return r.Energy
}

// setEnergy of an arm (of a comparison, the first arm's is the result's too), or why there is none.
func (c *campaign) setEnergy(r *record.Result, arms []record.Energy, why string) {
	if arms == nil {
		r.Energy = &record.Energy{Unavailable: why}
		return
	}
	for i := range arms {
		if len(r.Arms) > 0 {
			r.Arms[i].Energy = &arms[i]
		}
		for _, w := range arms[i].Warnings {
			if !slices.Contains(r.Warnings, w) {
				r.Warnings = append(r.Warnings, w)
			}
		}
	}
	r.Energy = &arms[0]
}

// idle takes one baseline. A meter that cannot is the reason why there is no net energy.
func (c *campaign) idle(ctx context.Context, to *power.Window) (*record.IdleBaseline, error) {
	e := c.energy
	out := &record.IdleBaseline{Seconds: e.effort.Idle.Seconds()}
	c.running("idle", "", "")
	w, left, err := e.observer.Idle(ctx, e.effort.Idle)
	if ctx.Err() != nil {
		return out, fmt.Errorf("%w: the idle baseline was in flight", ErrInterrupted)
	}
	if err != nil {
		out.Unavailable = err.Error()
		c.cfg.View.Warn("no idle baseline of the energy meter: %v", err)
		return out, nil
	}
	*to = w
	out.LeftOut, out.Before, out.Uncertainty = left, w.MeanWatts(), w.Uncertainty/w.Seconds()
	if len(left) == 0 {
		out.LeftOut = nil
	}
	return out, nil
}
