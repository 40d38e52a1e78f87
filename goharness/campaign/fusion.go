package campaign

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"ridge/goharness/fusion"
	"ridge/goharness/op"
	"ridge/goharness/record"
)

// Quartets of a pilot, the launches before them, and the time after which it takes fewer: candidates whose
// launches are long differ by a pass over memory beside much arithmetic.
const (
	pilotQuartets = 5
	pilotWarmup   = 3
	pilotTime     = 500 * time.Millisecond
)

// shorten makes a case a pilot: few quartets, fewer where the ceilings say that they take long.
func (c *campaign) shorten(k record.Case) record.Case {
	k.Pilot, k.Trials, k.Warmup, k.Cuts = true, pilotQuartets, pilotWarmup, nil
	p, err := fusion.Program(c.cfg.Plan.Fusion, k.Arms[0])
	if err != nil {
		return k // the run says what is wrong with it
	}
	var launch float64
	for _, s := range p.Steps {
		launch += c.stepLimit(s.Op, &record.Result{Threads: k.Threads, Mode: k.Mode}).FloorNS
	}
	if quartet := 8 * launch; quartet*pilotQuartets > float64(pilotTime) {
		k.Trials, k.Warmup = max(1, int(float64(pilotTime)/quartet)), 1
	}
	return k
}

// pilot decides which candidate is the baseline of a comparison, by comparing each with the best
// so far. Its samples are thrown away: a candidate that won by luck gets no credit for it. A candidate
// that cannot run or is wrong loses; its verdict is not lost where it is the only one.
func (c *campaign) pilot(ctx context.Context, k record.Case) (record.Case, error) {
	if len(k.Baselines) < 2 || len(k.Arms) != 2 {
		return k, nil
	}
	best := k.Arms[0]
	best.Name = fusion.Unfused + ":" + k.Baselines[0]
	for _, name := range k.Baselines[1:] {
		other := best
		other.Name = fusion.Unfused + ":" + name
		trial := k
		trial.Arms = []record.ProgramRef{best, other}
		r, err := c.run(ctx, c.shorten(trial))
		if err != nil {
			return k, err
		}
		if r.Status.Counts() && r.Ratio != nil && r.Ratio.Value > 1 {
			best = other
		}
	}
	k.Arms = []record.ProgramRef{best, k.Arms[1]}
	return k, nil
}

// fusionProfile makes the profile of the results that are patterns; nil without any.
func (c *campaign) fusionProfile(complete bool) (*record.Fusion, error) {
	if len(c.cfg.Plan.Fusion) == 0 {
		return nil, nil
	}
	patterns, err := fusion.Profiles(c.cfg.Plan.Fusion, c.doc.Results, c.cfg.Plan.Quick, fusion.Limits{DispatchNS: c.dispatchNS(), Step: c.stepLimit})
	if err != nil {
		return nil, err
	}
	f := &record.Fusion{Schema: record.SchemaFusion, RunID: c.doc.RunID, Created: c.doc.Created, Tool: c.doc.Tool, Host: c.doc.Host,
		Quick: c.cfg.Plan.Quick, Complete: complete, Patterns: patterns}
	if len(c.doc.Devices) > 0 {
		f.Device = c.doc.Devices[0]
	}
	return f, nil
}

// dispatchNS is the measured cost of one launch with all threads; 0 when it was not measured.
func (c *campaign) dispatchNS() float64 {
	for _, x := range c.doc.Ceilings {
		if x.Kind == record.CeilingLaunch && x.Threads == c.cfg.Plan.Threads {
			return x.Measured.Value
		}
	}
	return 0
}

// stepLimit is the least time of one step of a comparison.
func (c *campaign) stepLimit(o op.Op, r *record.Result) *record.ResultCeiling {
	t := op.TrafficOf(o)
	step := record.Result{DType: o.DType(), Threads: r.Threads, Mode: r.Mode, FLOPs: o.FLOPs(), Bytes: o.Bytes(), WorkingSetBytes: op.Single(o).WorkingSet(),
		ReadBytes: t.ReadBytes, WriteBytes: t.WriteBytes, InputStreams: t.Inputs, Conditions: r.Conditions}
	return c.model.Floor(&step)
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
