package fusion

import (
	"fmt"
	"math"
	"slices"

	"ridge/goharness/op"
	"ridge/goharness/record"
)

// Limits are the ceilings of the device that explain and predict a speed-up.
type Limits struct {
	// DispatchNS is what one launch costs, GraphNS what one in a graph does; 0 when it was not measured.
	DispatchNS, GraphNS float64
	// Step is the least time of a step in a case at the measured ceilings; nil: none were measured.
	Step func(s Step, r *record.Result) *record.ResultCeiling
}

// Step is one op of a program, as the ceilings have to know it.
type Step struct {
	Op       op.Op
	Executed int64 // FLOP; 0: all
	InPlace  bool  // its output is one of its inputs
	// NewRead and NewWritten are the bytes of tensors that no earlier step of the program has touched: where buffer sets rotate, they come from
	// memory, else from where the last launch of the program left them, and the others from where the step before did.
	NewRead, NewWritten int64
	Program             int64 // bytes of the program's working set
}

// misfit is the factor between measured and predicted speed-up that is called large.
const misfit = 1.25

// beyondLimit: a program above so much of its limits found its data nearer than the model has them.
const beyondLimit = 1.05

// launch is what a launch costs on the way that the samples of a comparison took.
func (l Limits) launch(r *record.Result) float64 {
	if r.Conditions == nil || len(r.Conditions.Launching) == 0 || l.GraphNS == 0 {
		return l.DispatchNS
	}
	for _, x := range r.Conditions.Launching {
		if x.Path != record.LaunchGraph {
			return l.DispatchNS
		}
	}
	return l.GraphNS
}

// program is what the ceilings say of a program: its steps one after another, each at its limit. It took ns.
func (l Limits) program(p op.Program, a record.Arm, r *record.Result, ns float64) *record.FusionLimit {
	if l.Step == nil {
		return nil
	}
	out := &record.FusionLimit{DispatchNS: l.launch(r) * float64(len(p.Steps))}
	longest := out.DispatchNS
	of := *r
	of.Computes = a.Computes // the result's is the first arm's
	out.Bound = "dispatch"
	least, share := int64(0), 1.0 // of what every algorithm must do: one may need fewer (Winograd) or more (3×TF32)
	for _, s := range p.Steps {
		least += op.LeastFLOPs(s.Op)
	}
	if a.ExecutedFLOPs > 0 && least > 0 {
		share = float64(a.ExecutedFLOPs) / float64(least)
	}
	touched := map[string]bool{}
	bound := map[[2]string]float64{{out.Bound}: out.DispatchNS} // time by what the steps wait for
	for _, s := range p.Steps {
		step := Step{Op: s.Op, Executed: int64(share * float64(op.LeastFLOPs(s.Op))), InPlace: inPlace(s), Program: p.WorkingSet()}
		for i, t := range s.Op.Tensors() {
			if touched[s.Bind[i]] || t.Role == op.Latent {
				continue
			}
			touched[s.Bind[i]] = true
			if b := t.Bytes(); t.Role == op.Out {
				step.NewWritten += b
			} else if t.Role.Input() {
				step.NewRead += b
			}
		}
		c := l.Step(step, &of)
		if c == nil || c.Bound == "unknown" {
			return nil
		}
		floor := c.FloorNS
		out.FloorNS += floor
		level := ""
		if c.Bound == "memory" {
			level = c.MemoryLevel
		}
		bound[[2]string{c.Bound, level}] += floor
		if floor > longest {
			longest, out.Bound, out.Level = floor, c.Bound, level
		}
	}
	if all := out.TimeNS(); all > 0 {
		out.BoundShare = bound[[2]string{out.Bound, out.Level}] / all
	}
	if ns > 0 {
		out.Fraction = out.TimeNS() / ns
	}
	return out
}

// InPlace is the shortest time that the ceilings allow a program, in a run's threads and mode, and how much of it its steps in place take; 0 where
// they do not tell.
func (l Limits) InPlace(p op.Program, threads int, mode string) (least, inPlaceNS float64) {
	r := &record.Result{Threads: threads, Mode: mode}
	out := l.program(p, record.Arm{}, r, 0)
	if out == nil {
		return 0, 0
	}
	for _, s := range p.Steps {
		if inPlace(s) {
			inPlaceNS += l.Step(Step{Op: s.Op, Executed: op.LeastFLOPs(s.Op), InPlace: true, Program: p.WorkingSet()}, r).FloorNS
		}
	}
	return out.TimeNS(), inPlaceNS
}

// inPlace: a tensor is both an input and an output of a step.
func inPlace(s op.Step) bool {
	for i, t := range s.Op.Tensors() {
		if t.Role == op.Out && slices.Contains(s.Bind[:i], s.Bind[i]) {
			return true
		}
	}
	return false
}

// limits fills the bounds of both programs and the speed-up that they predict: two numbers, the cost of a
// launch and the bandwidth of the level that a step's data come from, beside the arithmetic that
// both programs share.
func (l Limits) apply(s *record.FusionShape, unfused, fused op.Program, r *record.Result) {
	// The times that the document has beside them: medians of all samples hold what a neighbour slowed, and the two then differ by a fifth.
	s.UnfusedLimit, s.FusedLimit = l.program(unfused, r.Arms[0], r, s.UnfusedMS*1e6), l.program(fused, r.Arms[1], r, s.FusedMS*1e6)
	if s.UnfusedLimit == nil || s.FusedLimit == nil || s.FusedLimit.TimeNS() <= 0 {
		s.UnfusedLimit, s.FusedLimit = nil, nil
		return
	}
	s.Predicted = s.UnfusedLimit.TimeNS() / s.FusedLimit.TimeNS()
	if off := s.Speedup / s.Predicted; off > misfit || off < 1/misfit {
		ahead, behind, most := "unfused", "fused", s.UnfusedLimit.Fraction // nearer to its limits, or beyond them by more
		if off > 1 {
			ahead, behind, most = behind, ahead, s.FusedLimit.Fraction
		}
		why := fmt.Sprintf("the %s program stays further behind its limits", behind)
		if most > beyondLimit {
			why = fmt.Sprintf("the %s program is faster than its modelled limits", ahead)
		}
		s.Misfit = fmt.Sprintf("measured %.2f, predicted %.2f: %s (%.2f against %.2f of them)", s.Speedup, s.Predicted, why,
			math.Min(s.UnfusedLimit.Fraction, s.FusedLimit.Fraction), math.Max(s.UnfusedLimit.Fraction, s.FusedLimit.Fraction))
	}
}

// oneBound: from this share of a program's limits on the rest does not change what the fraction is of.
const oneBound = 0.9

// limited names what bounds a program: "bandwidth-bound at 0.94 of L2". The fraction is of the limits of all steps: where they
// wait for different things it is neither of the peak nor of a level.
func limited(l *record.FusionLimit) string {
	if l.BoundShare < oneBound {
		longest := l.Bound
		if l.Bound == "memory" {
			longest = l.Level
		}
		return fmt.Sprintf("at %.2f of its steps' limits (%s %.0f %% of them)", l.Fraction, longest, 100*l.BoundShare)
	}
	switch l.Bound {
	case "memory":
		return fmt.Sprintf("bandwidth-bound at %.2f of %s", l.Fraction, l.Level)
	case "compute":
		return fmt.Sprintf("compute-bound at %.2f of the peak", l.Fraction)
	}
	return fmt.Sprintf("launch-bound at %.2f of its limits", l.Fraction)
}
