package campaign

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"ridge/goharness/fusion"
	"ridge/goharness/op"
	"ridge/goharness/record"
)

// Quartets of a pilot, the launches before them, and the times from which it takes fewer: candidates whose
// launches are long differ by a pass over memory beside much arithmetic. Those of short launches cost little and have the
// most: by five quartets a chain of 11 µs was taken in five of six runs that is 5 % slower than the other, by twenty in none.
// Of one quartet nothing is known of the spread, and its interval reaches from half to twice: a library at 1.5 times the speed was no baseline.
const (
	pilotQuartetsLeast = 2
	pilotQuartets      = 5
	pilotQuartetsMost  = 20
	pilotQuartetsQuick = 3
	pilotWarmup        = 3
	pilotTime          = 500 * time.Millisecond
	pilotShort         = 60 * time.Millisecond
	pilotClear         = 1.15                  // whose whole interval is further from even is decided, and needs no more quartets
	pilotAlone         = 20 * time.Millisecond // of launches that cannot take less a sample is one: to find that out took four of seventeen
)

// shorten makes a case a pilot: few quartets, fewer where the ceilings say that they take long.
func (c *campaign) shorten(k record.Case) record.Case {
	k.Pilot, k.Cuts, k.Clear = true, nil, pilotClear
	ns := c.launchNS(k)
	k.Trials, k.Warmup = pilotLength(ns, k.Quick)
	if ns >= float64(pilotAlone) {
		k.Launches = 1
	}
	return k
}

// pilotLength is how many quartets a pilot has, and launches before them, of candidates that take launchNS each by the ceilings (0: not known).
func pilotLength(launchNS float64, quick bool) (quartets, warmup int) {
	least, most := pilotQuartets, pilotQuartetsMost
	if quick {
		least, most = pilotQuartetsQuick, pilotQuartets
	}
	quartet := 6 * launchNS
	switch {
	case launchNS <= 0:
		return least, pilotWarmup
	case quartet*pilotQuartets > float64(pilotTime):
		return min(least, max(pilotQuartetsLeast, int(float64(pilotTime)/quartet))), 1
	default:
		return int(min(float64(most), max(float64(least), float64(pilotShort)/quartet))), pilotWarmup
	}
}

// launchNS is the shortest time that the ceilings allow the first arm of a comparison; 0 where none were measured.
func (c *campaign) launchNS(k record.Case) (sum float64) {
	p, err := fusion.Program(c.cfg.Plan.Fusion, k.Arms[0])
	if err != nil {
		return 0 // the run says what is wrong with it
	}
	for _, s := range p.Steps {
		sum += c.stepLimit(fusion.Step{Op: s.Op}, &record.Result{Threads: k.Threads, Mode: k.Mode}).FloorNS
	}
	return sum
}

// tooLong says why a comparison is skipped that the plan measures only where its launches are short; "" where it is not.
func (c *campaign) tooLong(k record.Case) string {
	if k.MostLaunchNS == 0 || len(k.Arms) != 2 {
		return ""
	}
	ns := c.launchNS(k)
	if ns <= float64(k.MostLaunchNS) {
		return ""
	}
	return fmt.Sprintf("a launch of the unfused program takes %.2g s by the measured ceilings, and a shape beyond the last-level cache may take %.2g s", ns/1e9, float64(k.MostLaunchNS)/1e9)
}

// pilot decides which candidate is the baseline of a comparison, by comparing each with the best
// so far. Its samples are thrown away: a candidate that won by luck gets no credit for it. A candidate
// that cannot run or is wrong loses; its verdict is not lost where it is the only one. Ridge's own
// candidates come first, then the vendor libraries, each against the best of those.
func (c *campaign) pilot(ctx context.Context, k record.Case) (piloted, error) {
	p := piloted{Case: k}
	if len(k.Baselines) == 0 || len(k.Arms) != 2 || k.SkipReason != "" {
		return p, nil
	}
	best := k.Arms[0]
	best.Name = fusion.Unfused + ":" + k.Baselines[0]
	p.tried = []record.BaselineCandidate{{Name: k.Baselines[0], Status: record.OK}}
	for _, name := range k.Baselines[1:] {
		other := best
		other.Name = fusion.Unfused + ":" + name
		if why := c.alike(k, other); why != "" {
			for i := range p.tried {
				if x := &p.tried[i]; fusion.Unfused+":"+x.Name == best.Name {
					x.Status, x.Reason = record.Skipped, why
				}
			}
			p.tried = append(p.tried, record.BaselineCandidate{Name: name, Status: record.OK})
			best = other
			continue
		}
		trial := k
		trial.Arms = []record.ProgramRef{best, other}
		r, err := c.run(ctx, c.shorten(trial))
		if err != nil {
			return p, err
		}
		p.tried[0] = candidateOf(k.Baselines[0], r, 0)
		p.tried = append(p.tried, candidateOf(name, r, 1))
		if r.Status.Counts() && r.Ratio != nil && takesOver(r.Ratio) {
			best = other
		}
	}
	// The fused program first, in which nothing else is timed: where the chain has the same layer, that holds for it.
	fused, tried, err := c.packing(ctx, k, k.Arms[1])
	if p.fused = tried; err != nil {
		return p, err
	}
	best, tried, err = c.packing(ctx, k, best)
	if p.tried = append(p.tried, tried...); err != nil {
		return p, err
	}
	if err := c.libraries(ctx); err != nil {
		return p, err
	}
	p.own = best
	best, tried, err = c.vendors(ctx, k, best)
	p.tried = append(p.tried, tried...)
	p.Arms = []record.ProgramRef{best, fused}
	return p, err
}

// alikeShare: candidates differ in how steps of less than this part of the least time keep their output, which the few quartets that long launches
// have do not tell. Of 98 comparisons of 20 ms and more in two full runs on Emerald Rapids seven had the first candidate as their baseline: Add_ReLU,
// depthwise and 1×1 convolutions, whose steps in place are a large part, and one product.
const alikeShare = 0.05

// alike says why a later candidate, which keeps fewer buffers, stands in for the best so far without a pilot; "" where one is to decide.
func (c *campaign) alike(k record.Case, other record.ProgramRef) string {
	p, err := fusion.Program(c.cfg.Plan.Fusion, other)
	if err != nil {
		return "" // the run says what is wrong with it
	}
	least, passes := c.limits().InPlace(p, k.Threads, k.Mode)
	if least < float64(pilotAlone) || passes <= 0 || passes > alikeShare*least {
		return ""
	}
	_, name, _ := strings.Cut(other.Name, ":")
	return fmt.Sprintf("%s keeps fewer buffers, and its steps in place take %.1f %% of %.0f ms by the ceilings", name, 100*passes/least, least/1e6)
}

// takesOver: a pattern's later candidate, which keeps fewer buffers, stands in for the best so far unless the pilot shows it slower. By the
// median alone runs of one machine chose differently for 51 of 358 shapes, and gave a fifth of those another verdict (a twelfth of the others).
func takesOver(r *record.Ratio) bool { return r.CI95[1] >= 1 }

// piloted is a case whose baseline has been decided.
type piloted struct {
	record.Case
	own   record.ProgramRef // the best of ridge's own candidates
	tried []record.BaselineCandidate
	fused []record.BaselineCandidate // forms of the fused program
	most  int64                      // ns that a visit may sample for
}

// compare measures a case against its baseline. A vendor library that won the pilot and then fails
// costs its place: ridge's own best candidate takes it.
func (c *campaign) compare(ctx context.Context, p *piloted) (record.Result, error) {
	r, err := c.run(ctx, p.Case)
	if err != nil || len(p.tried) == 0 {
		return r, err
	}
	if lib := p.Arms[0].Library; lib != "" && !r.Status.Counts() {
		for _, s := range c.sides {
			if name, _, _ := strings.Cut(lib, " "); s.Name == name && c.leave(s, r) {
				break
			}
		}
		for i := range p.tried {
			if p.tried[i].Name == lib {
				p.tried[i].Status, p.tried[i].Reason = r.Status, r.Reason
			}
		}
		p.Arms = []record.ProgramRef{p.own, p.Arms[1]}
		if r, err = c.run(ctx, p.Case); err != nil {
			return r, err
		}
	}
	if r.Status.Counts() && !c.fusedLater(p.Case, r) {
		r.VendorFused, r.VendorTried, err = c.vendorFused(ctx, p.Case)
	}
	return r, err
}

// fusionProfile makes the profile of the results that are patterns; nil without any.
func (c *campaign) fusionProfile(complete bool) (*record.Fusion, error) {
	if len(c.cfg.Plan.Fusion) == 0 {
		return nil, nil
	}
	patterns, err := fusion.Profiles(c.cfg.Plan.Fusion, c.doc.Results, c.cfg.Plan.Quick, c.limits())
	if err != nil {
		return nil, err
	}
	for i := range patterns {
		for j := range patterns[i].Shapes {
			s := &patterns[i].Shapes[j]
			if r, ok := c.done[s.CaseID]; ok {
				s.Candidates, s.FusedCandidates, s.VendorFused, s.VendorTried = r.Candidates, r.FusedCandidates, r.VendorFused, r.VendorTried
			}
		}
	}
	f := &record.Fusion{Schema: record.SchemaFusion, RunID: c.doc.RunID, Created: c.doc.Created, Tool: c.doc.Tool, Host: c.doc.Host,
		Quick: c.cfg.Plan.Quick, Complete: complete, Patterns: patterns}
	if len(c.doc.Devices) > 0 {
		f.Device = c.doc.Devices[0]
	}
	return f, nil
}

// limits are the run's ceilings, for programs.
func (c *campaign) limits() fusion.Limits {
	return fusion.Limits{DispatchNS: c.dispatchNS(""), GraphNS: c.dispatchNS(record.LaunchGraph), Step: c.stepLimit}
}

// dispatchNS is the measured cost of one launch with all threads, on a stream ("") or in a graph; 0 when it was not measured.
func (c *campaign) dispatchNS(access string) float64 {
	for _, x := range c.doc.Ceilings {
		if x.Kind == record.CeilingLaunch && x.Access == access && x.Threads == c.cfg.Plan.Threads {
			return x.Measured.Value
		}
	}
	return 0
}

// stepLimit is the least time of one step of a comparison. One in place touches its output once, as the probe of an update does, and not a
// tensor beside it. What no step of a launch has touched yet comes from further away: of buffer sets in turn from memory, else from where the whole
// program left it a launch ago. A chain whose steps fit a cache that it does not fit itself would have limits that nothing reaches.
func (c *campaign) stepLimit(s fusion.Step, r *record.Result) *record.ResultCeiling {
	o := s.Op
	t := op.TrafficOf(o)
	step := record.Result{DType: o.DType(), Computes: r.Computes, Threads: r.Threads, Mode: record.Hot, FLOPs: o.FLOPs(), ExecutedFLOPs: s.Executed, Bytes: o.Bytes(), WorkingSetBytes: op.Single(o).WorkingSet(),
		ReadBytes: t.ReadBytes, WriteBytes: t.WriteBytes, InputStreams: t.Inputs}
	if s.InPlace {
		step.Op, step.Params = "bandwidth", map[string]string{"access": "update"}
		step.WorkingSetBytes -= t.WriteBytes
	}
	limit := c.model.Floor(&step)
	first := record.Result{DType: o.DType(), Threads: r.Threads, Mode: r.Mode, Bytes: s.NewRead + s.NewWritten, ReadBytes: s.NewRead, WriteBytes: s.NewWritten,
		InputStreams: t.Inputs, WorkingSetBytes: r.WorkingSetBytes, Conditions: r.Conditions}
	if r.Mode != record.Cold {
		first.WorkingSetBytes = max(s.Program, step.WorkingSetBytes)
	}
	if limit.Bound == "unknown" {
		return limit
	}
	if x := c.model.Floor(&first); x.FloorNS > limit.FloorNS {
		return x
	}
	return limit
}

// addFusion puts the profile into the calibration document.
func (c *campaign) addFusion(complete bool) {
	f, err := c.fusionProfile(complete)
	if err == nil && f != nil {
		var text []byte
		if text, err = record.EncodeFusion(*f); err == nil {
			c.doc.FusionProfiles = []json.RawMessage{text}
		}
	}
	if err != nil {
		c.cfg.View.Warn("%v", fmt.Errorf("fusion profile: %w", err))
	}
}
