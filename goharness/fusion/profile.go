package fusion

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"ridge/goharness/measure"
	"ridge/goharness/op"
	"ridge/goharness/record"
)

// Profiles makes a pattern's entry per precision and mode of the results of its cases, in the order of all.
func Profiles(all []Pattern, results []record.Result, quick bool, limits Limits) ([]record.FusionPattern, error) {
	var out []record.FusionPattern
	for _, p := range all {
		for _, d := range p.DTypes {
			for _, mode := range []string{record.Hot, record.Cold} {
				var shapes []sized
				for _, r := range results {
					if r.Op != p.Name || r.DType != d || r.Mode != mode {
						continue
					}
					s, err := p.shape(r, limits)
					if err != nil {
						return nil, fmt.Errorf("fusion profile of %s: %w", r.ID, err)
					}
					shapes = append(shapes, s)
				}
				if len(shapes) == 0 {
					continue
				}
				slices.SortStableFunc(shapes, func(a, b sized) int { return int(a.size - b.size) })
				f := record.FusionPattern{Pattern: p.Name, Operators: p.Operators, DType: d, Mode: mode, Recommendation: recommend(shapes, quick)}
				for _, s := range shapes {
					f.Shapes = append(f.Shapes, s.FusionShape)
				}
				out = append(out, f)
			}
		}
	}
	return out, nil
}

// shape is one result in the profile's terms.
func (p Pattern) shape(r record.Result, limits Limits) (sized, error) {
	v, pair, err := p.pair(r.Params, r.DType)
	if err != nil {
		return sized{}, err
	}
	s := sized{FusionShape: record.FusionShape{
		Pattern: p.Name, InputShape: p.Input(v), Params: r.Params, Extra: map[string]int64{}, CaseID: r.ID, Status: r.Status, Reason: r.Reason,
		UnfusedBytes: pair.Unfused[0].Bytes(), FusedBytes: pair.Fused.Bytes(), FLOPs: pair.Unfused[0].FLOPs(), FusedFLOPs: pair.Fused.FLOPs(), Verdict: NotMeasured, Energy: r.Energy,
	}}
	for _, x := range v.List() {
		if n, err := strconv.ParseInt(x.Value, 10, 64); err == nil {
			s.Extra[x.Name] = n
		}
	}
	s.name, s.size = p.Size(v)
	s.MemoryReduction = reduction(s.UnfusedBytes, s.FusedBytes)
	if p.GraphsBytes != nil {
		g := reduction(p.GraphsBytes(v, r.DType.Size()))
		s.GraphsReduction = &g
	}
	if r.Ratio == nil || len(r.Arms) != 2 || !r.Status.Counts() {
		return s, nil
	}
	u, f := r.Arms[0], r.Arms[1]
	times, ok := measure.ArmTimes(&r)
	if !ok {
		return sized{}, fmt.Errorf("it is %s and an arm has no time", r.Status)
	}
	_, s.Baseline, _ = strings.Cut(u.Name, ":")
	_, s.FusedForm, _ = strings.Cut(f.Name, ":")
	s.UnfusedWritten, s.FusedWritten = written(u), written(f)
	s.UnfusedKernels, s.FusedKernels = u.Kernels, f.Kernels
	s.UnfusedMS, s.FusedMS = times[0]/1e6, times[1]/1e6
	s.UnfusedGFLOPS, s.FusedGFLOPS = float64(s.FLOPs)/times[0], float64(s.FusedFLOPs)/times[1]
	s.Improvement = s.FusedGFLOPS/s.UnfusedGFLOPS - 1
	ratio := measure.AcrossVisits(*r.Ratio)
	s.Speedup, s.SpeedupCI95, s.Trials = ratio.Value, ratio.CI95, len(ratio.Quartets)
	s.BarrierNS = measure.Barrier(ratio)
	verdict := Decide(ratio)
	s.Verdict = verdict.Class
	if verdict.AtLeast != measure.Inconclusive {
		s.AtLeast = verdict.AtLeast
	}
	unfused, known := pair.arm(u.Name, len(u.Libraries) > 0)
	if !known { // of an older document
		unfused = pair.Unfused[len(pair.Unfused)-1]
	}
	fused, known := pair.arm(f.Name, false)
	if !known {
		fused = pair.Fused
	}
	s.energy(u.Energy, f.Energy)
	limits.apply(&s.FusionShape, unfused, fused, &r)
	s.Explanation = explain(s.FusionShape, len(unfused.Steps)-len(fused.Steps), limits.launch(&r))
	return s, nil
}

// energy of both programs, where a meter told; the uncertainties of the two are independent.
func (s *sized) energy(unfused, fused *record.Energy) {
	if fused != nil {
		s.FusedEnergy = fused
	}
	if !unfused.Known() || !fused.Known() {
		return
	}
	s.Energy = unfused
	a, ua := unfused.PerLaunch()
	b, ub := fused.PerLaunch()
	s.EnergyRatio = a / b
	half := s.EnergyRatio * math.Hypot(ua/a, ub/b)
	s.EnergyRatioCI95 = &[2]float64{max(0, s.EnergyRatio-half), s.EnergyRatio + half}
}

// written is what an arm's verification counted; 0 where it did not.
func written(a record.Arm) int64 {
	if a.Verification == nil {
		return 0
	}
	return a.Verification.WrittenBytes
}

func reduction(unfused, fused int64) float64 {
	if unfused == 0 {
		return 0
	}
	return 1 - float64(fused)/float64(unfused)
}

// explain says in one line what the fused program spares, how that compares with what it gained where the interval shows a gain, and
// what bounds the two.
func explain(s record.FusionShape, launches int, dispatchNS float64) string {
	saved := s.UnfusedBytes - s.FusedBytes
	text := fmt.Sprintf("%.2f×: moves %s less (modelled), launches spared: %d", s.Speedup, size(saved), launches)
	gained := (s.UnfusedMS - s.FusedMS) * 1e6
	if spared := dispatchNS * float64(launches); spared > 0 && gained > 0 && s.SpeedupCI95[0] > 1 {
		text += fmt.Sprintf(" (dispatch %.0f %% of the gain)", min(100, 100*spared/gained))
	}
	if s.FusedForm == Packed {
		text += "; weights packed beforehand"
	}
	if s.UnfusedLimit != nil {
		text += fmt.Sprintf("; unfused %s, fused %s", limited(s.UnfusedLimit), limited(s.FusedLimit))
	}
	return text
}

func size(n int64) string {
	switch {
	case n >= 1e9:
		return fmt.Sprintf("%.3g GB", float64(n)/1e9)
	case n >= 1e6:
		return fmt.Sprintf("%.3g MB", float64(n)/1e6)
	}
	return fmt.Sprintf("%.3g kB", float64(n)/1e3)
}

// WithPatterns is a registry of ops that knows the patterns too, so that their cases have ids.
func WithPatterns(ops *op.Registry, all []Pattern) *op.Registry {
	return ops.With(Specs(all).Specs()...)
}
