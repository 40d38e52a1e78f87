package campaign

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"ridge/goharness/backend"
	"ridge/goharness/record"
	"ridge/goharness/runner"
)

// side is a vendor library of this run, with a worker of its own: what it does to that process
// costs its candidates and nothing else.
type side struct {
	backend.LibraryWays
	runner *runner.Runner
	found  record.VendorLibrary
}

// libraries looks the vendor libraries up, once in a run; the host's description tells what was found.
func (c *campaign) libraries(ctx context.Context) error {
	if c.lookedUp {
		return nil
	}
	c.lookedUp = true
	c.doc.Host.VendorLibraries = nil
	for _, ways := range c.cfg.Libraries {
		s := &side{LibraryWays: ways, runner: &runner.Runner{Launch: c.cfg.Launch}}
		var err error
		if s.found, err = s.runner.Library(ctx, ways.Name, c.cfg.Plan.Device, c.cfg.Plan.Threads); err != nil {
			s.runner.Close()
			if ctx.Err() != nil {
				return fmt.Errorf("%w: the library %s was being looked up", ErrInterrupted, ways.Name)
			}
			return fmt.Errorf("look the library %s up: %w", ways.Name, err)
		}
		c.doc.Host.VendorLibraries = append(c.doc.Host.VendorLibraries, s.found)
		if s.found.Unavailable != "" {
			s.runner.Close()
			continue
		}
		c.sides = append(c.sides, s)
	}
	return nil
}

// closeSides ends the libraries' workers.
func (c *campaign) closeSides() {
	for _, s := range c.sides {
		s.runner.Close()
	}
}

// worker is the runner of a case: the library's own where one of the arms is a library's.
func (c *campaign) worker(k record.Case) *runner.Runner {
	for _, a := range k.Arms {
		name, _, _ := strings.Cut(a.Library, " ")
		for _, s := range c.sides {
			if a.Library != "" && s.Name == name {
				return s.runner
			}
		}
	}
	return c.runner
}

// leave takes a library out of the run after a crash or a hang: what it did may come from any of its code.
func (c *campaign) leave(s *side, r record.Result) bool {
	if r.Status != record.Crashed && r.Status != record.TimedOut {
		return false
	}
	c.cfg.View.Warn("the library %s is set aside for this run: %s in %s: %s", s.Name, r.Status, r.ID, r.Reason)
	s.runner.Close()
	c.sides = slices.DeleteFunc(c.sides, func(x *side) bool { return x == s })
	c.aside[s.Name] = fmt.Sprintf("set aside in this run: %s: %s", r.Status, r.Reason)
	for i := range c.doc.Host.VendorLibraries {
		if v := &c.doc.Host.VendorLibraries[i]; v.Name == s.Name {
			v.Unavailable = c.aside[s.Name]
		}
	}
	return true
}

// vendors tries every library against own, the best of ridge's own candidates, each in the
// library's worker, and gives the one that beat it by most: own where none was shown to. What an earlier
// comparison has shown of the stages that the libraries compute is not tried again.
func (c *campaign) vendors(ctx context.Context, k record.Case, own record.ProgramRef) (record.ProgramRef, []record.BaselineCandidate, error) {
	best, gain := own, 1.0
	var tried []record.BaselineCandidate
	this := c.piloting(k, own)
	if d, ok := c.decided(this); ok {
		best, tried = d.again(own)
		return best, tried, nil
	}
	for _, s := range slices.Clone(c.sides) {
		ran, lost := map[string]record.Result{}, map[string]string{}
		for _, way := range s.Unfused {
			why, known := lost[s.Instead[way]]
			if known {
				why = s.Instead[way] + " does less in a launch, and " + why
			} else {
				why = c.loses(k, own, way)
			}
			if why != "" {
				lost[way] = why
				tried = append(tried, record.BaselineCandidate{Name: way, Status: record.Skipped, Reason: why})
				continue
			}
			if r, ok := ran[s.Instead[way]]; ok {
				tried = append(tried, record.BaselineCandidate{Name: way, Status: record.Skipped, Reason: s.Instead[way] + " does less in a launch, and ran"})
				c.tried.learn(way, this.steps, r)
				continue
			}
			other := byLibrary(own, way)
			trial := k
			trial.Arms, trial.VerifyIfFaster = []record.ProgramRef{own, other}, true
			r, err := c.run(ctx, c.shorten(trial))
			if err != nil {
				return best, tried, err
			}
			if r.Status.Counts() {
				ran[way] = r
			}
			x := candidateOf(way, r, 1)
			if x.Status == record.OK && !r.Ratio.Faster() {
				x.Reason = "not shown to be faster, which is why its results were not verified"
			}
			tried = append(tried, x)
			c.tried.learn(way, this.steps, r)
			c.shows(k, own, way, r)
			if c.leave(s, r) {
				break
			}
			if r.Status == record.Wrong {
				c.cfg.View.Warn("%s by %s is wrong and no baseline: %s", k.ID, way, r.Reason)
			}
			// By the median alone two runs would choose differently where the two are even.
			if r.Status.Counts() && r.Ratio.Faster() && r.Ratio.Value > gain {
				best, gain = other, r.Ratio.Value
			}
		}
	}
	c.decide(this, decision{k.ID, best.Library, tried})
	return best, tried, nil
}

// candidateOf is what a pilot's result says of an arm; its times are not kept.
func candidateOf(name string, r record.Result, arm int) record.BaselineCandidate {
	b := record.BaselineCandidate{Name: name, Status: r.Status, Reason: r.Reason}
	if r.Status.Counts() {
		b.Status, b.Reason = record.OK, "" // of five quartets no interval is asked for
	}
	if arm < len(r.Arms) {
		b.Kernels, b.Libraries = r.Arms[arm].Kernels, r.Arms[arm].Libraries
	}
	return b
}

// otherLibrary says why a library's way cannot be measured on as it was before; "" where it can, or is ridge's own.
func (c *campaign) otherLibrary(ref record.ProgramRef, before record.Arm) string {
	if ref.Library == "" {
		return ""
	}
	name, _, _ := strings.Cut(ref.Library, " ")
	s, why := c.side(name)
	switch {
	case s != nil && !slices.Contains(s.Unfused, ref.Library):
		return "this build knows no such way to use a library"
	case s != nil:
		for _, text := range before.Libraries {
			if now := s.Name + " " + s.found.Version; !strings.HasPrefix(text+" ", now+" ") {
				return fmt.Sprintf("it was %s, there is %s now", text, now)
			}
		}
		return ""
	case why != "":
		return why
	}
	for _, v := range c.doc.Host.VendorLibraries {
		if v.Name == name {
			return v.Unavailable
		}
	}
	return "this run looks no library of that name up"
}

// side is a library in use, or nil and, where it was set aside in this run, why.
func (c *campaign) side(name string) (*side, string) {
	for _, s := range c.sides {
		if s.Name == name {
			return s, ""
		}
	}
	return nil, c.aside[name]
}
