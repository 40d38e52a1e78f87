package campaign

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"ridge/goharness/fusion"
	"ridge/goharness/op"
	"ridge/goharness/record"
)

// packingLeast: where copying a program's weights takes less of its least time, packing them anew in every launch cannot matter.
const packingLeast = 0.01

// A pilot of packed weights has so many quartets at least where launches are not long, and shows a gain from packingGain on, since the copy takes
// memory. It decides by the median: a verdict in which one program had its weights packed and the other had not would be of packing, and by
// the interval of three quartets a chain was left as it is that packed weights make 1.5 times as fast.
const (
	packingQuartets      = 12
	packingQuartetsQuick = 6
	packingGain          = 1.02
)

// packings is what pilots of packed weights have shown in this run. What packing spares a layer does not depend on what follows it: both programs
// of a pattern and patterns that share a layer, with other activations, ask once.
type packings map[string]packing // by layers, see layerOf

// packing is the outcome of a pilot.
type packing struct {
	id     string // of the comparison
	faster bool
	tried  record.BaselineCandidate
}

// packing decides whether one of ridge's own programs has its weights packed beforehand: where a pilot shows that to be faster, since it
// takes memory for a copy. What was tried has no entry for a program without weights.
func (c *campaign) packing(ctx context.Context, k record.Case, ref record.ProgramRef) (record.ProgramRef, []record.BaselineCandidate, error) {
	form, ok, err := fusion.PackedForm(c.cfg.Plan.Fusion, ref)
	if err != nil || !ok {
		return ref, nil, nil // the run says what is wrong with it
	}
	p, err := fusion.Program(c.cfg.Plan.Fusion, form)
	if err != nil {
		return ref, nil, fmt.Errorf("pilot of packed weights in %s: %w", k.ID, err)
	}
	_, name, _ := strings.Cut(form.Name, ":")
	tried := record.BaselineCandidate{Name: name, Status: record.Skipped}
	var layers []string
	for _, s := range p.Steps {
		if len(op.PackedOperands(s.Op)) > 0 {
			layers = append(layers, layerOf(s.Op))
		}
	}
	if share := c.packingShare(k, p); share < packingLeast {
		tried.Reason = fmt.Sprintf("copying the weights takes %.2g %% of a launch's least time", 100*share)
		return ref, []record.BaselineCandidate{tried}, nil
	}
	key := fmt.Sprint(k.Device, k.Threads, k.Mode, len(c.runner.Quarantined()), layers)
	d, known := c.packs[key]
	if known {
		d.tried.Name, d.tried.Kernels = name, nil
		d.tried.Reason = strings.TrimSuffix("tried in "+d.id+", of the same layers: "+d.tried.Reason, ": ")
	} else {
		trial := k
		trial.Arms = []record.ProgramRef{ref, form}
		trial = c.shorten(trial)
		if least := packingQuartets; trial.Launches != 1 {
			if k.Quick {
				least = packingQuartetsQuick
			}
			trial.Trials = max(trial.Trials, least)
		}
		r, err := c.run(ctx, trial)
		if err != nil {
			return ref, nil, err
		}
		d = packing{id: k.ID, tried: candidateOf(name, r, 1), faster: r.Status.Counts() && r.Ratio != nil && r.Ratio.Value >= packingGain}
		if r.Status.Counts() || r.Status == record.Unsupported {
			c.packs[key] = d
		}
	}
	if d.faster {
		ref = form
	}
	return ref, []record.BaselineCandidate{d.tried}, nil
}

// layerOf names a layer without what follows its product.
func layerOf(o op.Op) string {
	var params []record.Param
	for _, x := range o.Params() {
		if !slices.Contains([]string{"bias", "act", "residual", "requant"}, x.Name) {
			params = append(params, x)
		}
	}
	return fmt.Sprint(o.Name(), params, o.DType())
}

// packingShare is the time that copying a program's weights takes by the ceilings, as part of its least time; 1 where they do not tell.
func (c *campaign) packingShare(k record.Case, p op.Program) float64 {
	least, copying := c.launchNS(k), 0.0
	for _, s := range p.Steps {
		if b := op.PackedOperandBytes(s.Op); b > 0 {
			floor := c.model.Floor(&record.Result{DType: s.Op.DType(), Threads: k.Threads, Mode: k.Mode, Bytes: 2 * b, ReadBytes: b, WriteBytes: b, InputStreams: 1, WorkingSetBytes: 2 * b})
			copying += floor.FloorNS
		}
	}
	if least <= 0 || copying <= 0 {
		return 1
	}
	return copying / least
}
