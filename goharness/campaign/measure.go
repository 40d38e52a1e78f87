package campaign

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"ridge/goharness/backend"
	"ridge/goharness/ceiling"
	"ridge/goharness/measure"
	"ridge/goharness/record"
)

// measure asks every probe and case in order.
func (c *campaign) measure(ctx context.Context) error {
	c.runner.OnQuarantine = func(kernel, reason string) {
		c.cfg.View.Warn("kernel %s is set aside for this run: %s", kernel, reason)
		if c.journal != nil {
			err := c.journal.Append(record.Entry{Kind: record.EntryQuarantine, Time: now(c.cfg.Now),
				Quarantine: &record.Quarantine{Device: c.cfg.Plan.Device, CaseID: c.asking, Kernel: kernel, Reason: reason}})
			c.journalErr = errors.Join(c.journalErr, err)
		}
	}
	c.cfg.View.Plan(c.distinct())
	for _, p := range c.plan.Probes {
		r, err := c.ask(ctx, p.Case, p.Ceiling.Kind != "")
		if err != nil {
			return err
		}
		c.model.Observe(&r)
		if p.Ceiling.Kind != "" {
			why := "initial"
			if p.Sweep {
				why = "sweep"
			}
			c.model.Probe(p.Ceiling, r, why)
			if _, now := c.probed[p.Case.ID]; now { // a resumed journal has the others
				if err := c.keepCeiling(p.Ceiling); err != nil {
					return err
				}
			}
		}
	}
	c.levelsFromSweep()
	for _, p := range c.laterProbes {
		c.model.Again(p)
	}
	if err := c.reprobeLow(ctx); err != nil {
		return err
	}
	if len(c.cfg.Plan.Fusion) > 0 {
		if err := c.libraries(ctx); err != nil {
			return err
		}
	}
	c.sinceProbe = c.cfg.Now()
	for i, k := range c.plan.Cases {
		k.BudgetNS = c.budget(k, i)
		if c.visited(k) {
			k.LeastQuartets = measure.LeastQuartetsOfVisit
		}
		if _, done := c.done[k.ID]; !done {
			if err := c.reprobeMain(ctx); err != nil {
				return err
			}
			if why := c.tooLong(k); why != "" {
				k.SkipReason = why
			}
		}
		if _, err := c.ask(ctx, k, false); err != nil {
			return err
		}
	}
	if err := c.revisit(ctx); err != nil {
		return err
	}
	if err := c.fusedPrimitives(ctx); err != nil {
		return err
	}
	if err := c.reprobeLow(ctx); err != nil { // what held two threads back (one core for both, say) may have passed
		return err
	}
	return c.energies(ctx)
}

// Targets for the whole run, unless Config.Target gives one. The budgets of the cases shrink when a run falls behind.
const (
	quickTarget = 75 * time.Second
	quickFusion = 54 * time.Second // of a run of fusion patterns alone
	fullTarget  = 13 * time.Minute
	fullFusion  = 14*time.Minute + 20*time.Second // of a run of fusion patterns alone
)

// target is the time that the run should take: when it is gone on with, what is left of it has as much again, since budgets count from the process's start.
func (c *campaign) target() time.Duration {
	if c.cfg.Target > 0 {
		return c.cfg.Target
	}
	programs := 0
	for _, k := range c.plan.Cases {
		programs += max(1, len(k.Arms))
	}
	beside := time.Duration(programs) * c.cfg.Beside
	switch {
	case !c.cfg.Plan.Quick && c.cfg.Plan.ProbesOnly:
		return fullFusion + beside
	case !c.cfg.Plan.Quick:
		return fullTarget + beside
	case c.cfg.Plan.ProbesOnly:
		return quickFusion + beside
	}
	return quickTarget + beside
}

// leastBudget is the share of its budget that a case has however late the run is: to prepare and verify it takes about as long.
const leastBudget = 0.3

// budget is the sampling time of case i: the plan's, less in proportion when the run is
// behind its target.
func (c *campaign) budget(k record.Case, i int) int64 {
	if c.cfg.Cases != nil || k.Trials > 0 {
		return k.BudgetNS
	}
	if c.visited(k) {
		return c.firstBudget(k, i)
	}
	n := len(c.plan.Cases)
	nominal := c.target() / time.Duration(n+len(c.plan.Probes))
	left := (c.target() - c.cfg.Now().Sub(c.started)) / time.Duration(n-i)
	f := min(1, max(leastBudget, float64(left)/float64(nominal)))
	return int64(f * float64(k.BudgetNS))
}

// ask measures a case unless the resumed journal has it, gates and journals the result. A
// probe passes the gate: it is what results are held against, and while the probes run the
// set of ceilings is not complete.
func (c *campaign) ask(ctx context.Context, k record.Case, probe bool) (record.Result, error) {
	if r, done := c.done[k.ID]; done {
		if c.asked[k.ID].ID == "" {
			c.asked[k.ID] = askedBefore(k, r)
		}
		if !c.shown[k.ID] { // from the journal; a probe may also be a case of its own
			c.resumed++
			c.add(r)
		}
		return r, nil
	}
	c.lockLater()
	c.cfg.View.Started(k)
	began := c.cfg.Now()
	p, err := c.pilot(ctx, k)
	if err != nil {
		return record.Result{}, err
	}
	r, err := c.compare(ctx, &p)
	if err != nil {
		return r, err
	}
	if !c.visited(k) {
		if err := c.ownCores(ctx, p.Case, &r); err != nil {
			return r, err
		}
	} else {
		c.learnBarrier(&r)
	}
	if !probe {
		if err := c.gate(ctx, p.Case, &r); err != nil {
			return r, err
		}
	}
	r.Candidates, r.FusedCandidates = p.tried, p.fused
	if c.visited(k) {
		c.pilots[k.ID] = p
		c.beside, c.compared = c.beside+c.cfg.Now().Sub(began)-sampled(r), c.compared+1
	}
	c.asked[k.ID] = p.Case
	c.finish(&r)
	if !probe && !c.simulated() {
		if err := c.reprobeExceeded(ctx, &r); err != nil {
			return r, err
		}
		c.finish(&r)
	}
	if err := c.keep(r, ""); err != nil {
		return r, err
	}
	c.done[k.ID] = r
	if probe {
		c.probed[k.ID] = c.cfg.Now()
		c.verifiedNow(&r)
	}
	c.add(r)
	return r, nil
}

// add puts a result into the document.
func (c *campaign) add(r record.Result) {
	c.shown[r.ID] = true
	c.doc.Results = append(c.doc.Results, r)
	c.cfg.View.Result(r)
}

func (c *campaign) run(ctx context.Context, k record.Case) (record.Result, error) {
	c.asking = k.ID
	c.running("timing", k.ID, "")
	r, err := c.worker(k).Run(ctx, k)
	if err == nil {
		err = c.journalErr
	}
	if err != nil {
		if ctx.Err() != nil {
			return r, fmt.Errorf("%w: %s was in flight", ErrInterrupted, k.ID)
		}
		return r, fmt.Errorf("case %s: %w", k.ID, err)
	}
	r.Reproduce = "ridge bench --case '" + k.ID + "'"
	if k.Quick {
		r.Reproduce += " --quick"
	}
	if k.Trials > 0 {
		r.Reproduce += fmt.Sprintf(" --warmup %d --trials %d", k.Warmup, k.Trials)
	}
	if a := affinity(c.cfg); a != defaultAffinity {
		r.Reproduce += " --affinity " + a
	}
	if c.cfg.Graphs == backend.GraphsOff {
		r.Reproduce += " --cuda-graphs off"
	}
	if c.cfg.Concurrent {
		r.Reproduce += " --concurrent --device " + strings.Join(append([]string{c.cfg.Plan.Device}, c.cfg.beside...), ",")
	}
	return r, nil
}

// finish relates a result to the ceilings known so far, for the live view.
func (c *campaign) finish(r *record.Result) {
	if c.cfg.Energy && !r.Energy.Known() {
		r.Energy = &record.Energy{Unavailable: c.noEnergy(r)}
	}
	if r.Status.Counts() {
		c.model.Apply(r)
	}
}

// gate refuses the impossible. A suspect first has its probes repeated, for a neighbour may
// have slowed them; when that does not explain it, the case itself is measured again next to
// those probes, for the neighbour may have been gone while it ran. What still exceeds the
// limit is invalid.
func (c *campaign) gate(ctx context.Context, k record.Case, r *record.Result) error {
	if c.simulated() {
		return nil
	}
	for range 2 {
		f := c.model.Judge(r)
		if !f.Suspect {
			return nil
		}
		if len(f.Limits) == 0 {
			break
		}
		c.cfg.View.Warn("%s looks too fast (%s): repeating the probes", r.ID, f.Reason)
		for _, limit := range f.Limits {
			if err := c.reprobe(ctx, limit, "reprobe"); err != nil {
				return err
			}
		}
		if f = c.model.Judge(r); !f.Suspect {
			return nil
		}
		again, err := c.run(ctx, k)
		if err != nil {
			return err
		}
		again.VendorFused, again.VendorTried = r.VendorFused, r.VendorTried
		again.Attempts = append(append(r.Attempts, record.Attempt{Kernel: r.Kernel, Status: record.Invalid, Reason: f.Reason}), again.Attempts...)
		*r = again
	}
	if f := c.model.Judge(r); f.Suspect {
		ceiling.Reject(r, f)
	}
	return nil
}

// assemble makes the document of what was measured.
func (c *campaign) assemble(complete bool) {
	c.addUnprobed()
	c.model.Diagnose(c.setting)
	for i := range c.doc.Results {
		r := &c.doc.Results[i]
		if r.Status.Counts() {
			c.model.Apply(r)
		}
	}
	c.model.Review(c.doc.Results)
	c.doc.Ceilings = c.model.Ceilings()
	for i := range c.doc.Results {
		if err := record.FillMetrics(&c.doc.Results[i], c.cfg.Metrics, c.doc.Ceilings, c.cfg.User); err != nil {
			c.cfg.View.Warn("metrics of %s: %v", c.doc.Results[i].ID, err)
		}
	}
	if c.energy != nil {
		c.doc.Energy = c.energy.report
		c.doc.Energy.Roofline = energyRooflines(c.doc.Results)
	}
	c.addFusion(complete)
	c.doc.Summary = record.Summarize(c.doc.Results)
	c.doc.Summary.Quick, c.doc.Summary.Complete, c.doc.Summary.Resumed = c.cfg.Plan.Quick, complete, c.resumed
	c.doc.Summary.WallSeconds = c.wall()
	c.doc.Summary.Plateaus = c.plateaus()
	c.doc.Summary.Warnings = append(c.doc.Summary.Warnings, c.warnings()...)
}

// warnings about the run as a whole.
func (c *campaign) warnings() []string {
	var out []string
	for k, why := range c.runner.Quarantined() {
		out = append(out, "kernel "+k+" was set aside: "+why)
	}
	out = append(out, c.disturbed...)
	out = append(out, c.plan.Warnings...)
	out = append(out, c.singleVisits()...)
	out = append(out, c.plateauWarnings()...)
	out = append(out, placementWarnings(c.doc.Results)...)
	out = append(out, queueWarnings(c.doc.Results)...)
	if !c.simulated() {
		out = append(out, c.model.OddRatios()...)
	}
	return append(out, record.PeaksTooLow(c.doc.Results, c.cfg.User)...)
}

// Faults lists what makes a document's exit code 1: invalid or wrong results, and wrong
// kernels whose case another variant answered.
func Faults(doc record.Calibration) []string {
	var out []string
	for _, r := range doc.Results {
		if r.Status == record.Invalid || r.Status == record.Wrong {
			out = append(out, fmt.Sprintf("%s: %s: %s", r.ID, r.Status, r.Reason))
			continue
		}
		for _, a := range r.Attempts {
			if a.Status == record.Wrong {
				out = append(out, fmt.Sprintf("%s: kernel %s is wrong: %s", r.ID, a.Kernel, a.Reason))
			}
		}
	}
	return out
}

// Interrupted reports whether err is an interruption that --resume can go on from.
func Interrupted(err error) bool {
	var full *record.WriteError
	return errors.Is(err, ErrInterrupted) || errors.As(err, &full)
}

// distinct counts the cases that will be results: some probes are points of the sweep too.
func (c *campaign) distinct() (probes, cases int) {
	seen := map[string]bool{}
	for _, p := range c.plan.Probes {
		seen[p.Case.ID] = true
	}
	probes = len(seen)
	for _, k := range c.plan.Cases {
		seen[k.ID] = true
	}
	return probes, len(seen) - probes
}
