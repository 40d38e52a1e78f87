package compare

import (
	"fmt"
	"math"
	"slices"

	"ridge/goharness/measure"
	"ridge/goharness/record"
)

// Drift is how much the level of a case changes from one run to the next of the same build on
// the same machine.
//
// From two documents it is taken from their probes, which no build changes: the ratio of the same
// probe in both, and of its repetitions within one. Its scale is the 90 % quantile of |ln ratio|
// over 1.645 (so that one disturbed probe in ten does not decide), about no change and not about
// their mean, because a shift that all share is drift too. What the probes' own samples explain of it is
// taken off: that is noise within the runs, which the cases have a term of their own for. Arithmetic probes and those of memory
// are looked at apart and the larger counts. It is never below LeastDrift.
type Drift struct {
	PerRun  float64 `json:"per_run" jsonschema:"description=relative standard deviation"`
	DoF     int     `json:"degrees_of_freedom"`
	Source  string  `json:"source"`
	Assumed bool    `json:"assumed,omitempty"`
}

// Shift is the median change of the probes.
type Shift struct {
	Ratio  float64 `json:"time_ratio" jsonschema:"description=time in NEW over time in OLD"`
	Probes int     `json:"probes"`
}

const (
	LeastDrift   = 0.002 // no machine is taken for steadier
	assumedDrift = 0.05  // no probe and no history: the upper end of what machines show
	leastProbes  = 5     // of a kind, to stand alone
)

// SpreadOf is the scale of differences of two levels: their 90 % quantile over that of the
// normal distribution.
func SpreadOf(differences []float64) float64 {
	d := make([]float64, len(differences))
	for i, x := range differences {
		d[i] = math.Abs(x)
	}
	slices.Sort(d)
	if len(d) == 0 {
		return 0
	}
	return measure.Quantile(d, 0.9) / 1.645
}

// probeDrift of two documents, in time and in cycles, and the shift that the probes share.
func probeDrift(old, new *record.Calibration) (inTime, inCycles Drift, shift *Shift) {
	before := map[record.CeilingKey]*record.Ceiling{}
	for i := range old.Ceilings {
		before[old.Ceilings[i].Key()] = &old.Ceilings[i]
	}
	kinds := map[bool][]float64{} // by whether it is arithmetic
	var all, within, noise []float64
	noiseA, noiseB := probeNoise(old), probeNoise(new)
	for i := range new.Ceilings {
		b := &new.Ceilings[i]
		within = append(within, repeats(b)...)
		a := before[b.Key()]
		if a == nil {
			continue
		}
		within = append(within, repeats(a)...)
		x, okA := level(a)
		y, okB := level(b)
		if okA && okB && a.Unit == b.Unit && sameProbe(a, b) {
			kinds[a.Kind == record.CeilingCompute] = append(kinds[a.Kind == record.CeilingCompute], y-x)
			all = append(all, y-x)
			noise = append(noise, levelNoise(a, noiseA)+levelNoise(b, noiseB))
		}
	}
	if len(all) < 3 {
		d := Drift{PerRun: assumedDrift, DoF: 4, Assumed: true, Source: fmt.Sprintf("%d probes are in both documents, at least 3 are needed", len(all))}
		return d, d, nil
	}
	shift = &Shift{Ratio: ratioOf(measure.Median(all)), Probes: len(all)}
	own := measure.Median(noise)
	inTime = scaleOf(kinds, all, within, own, 0)
	inCycles = inTime
	if a, b := hostClock(old), hostClock(new); a > 0 && b > 0 {
		if d := scaleOf(kinds, all, within, own, math.Log(b/a)); d.PerRun < inTime.PerRun {
			inCycles = d
		}
	}
	return inTime, inCycles, shift
}

// probeNoise gives the variance that a document's samples of a probe leave of ln of its time, by case.
func probeNoise(d *record.Calibration) func(id string) float64 {
	probes := map[string]*record.Result{}
	for i := range d.Results {
		if r := &d.Results[i]; r.UseCase == record.UseCaseCeiling && r.Status.Counts() && r.Time != nil {
			probes[r.ID] = r
		}
	}
	return func(id string) float64 {
		if r := probes[id]; r != nil {
			if s, ok := withinRun(r.Time); ok {
				return s.se * s.se
			}
		}
		return 0
	}
}

// levelNoise is the variance of a ceiling's level by its probes' samples; 0 where they are not stored.
func levelNoise(c *record.Ceiling, of func(id string) float64) float64 {
	n := 0
	for _, p := range c.Probes {
		if alike(p, c.Probes[0]) {
			n++
		}
	}
	if n == 0 {
		return 0
	}
	return of(c.Probes[0].Case) / float64(n)
}

// scaleOf the probes' differences, each with the same added to it, without their own noise, a variance. The degrees of
// freedom are Satterthwaite's of the difference of the two.
func scaleOf(kinds map[bool][]float64, all, within []float64, own, add float64) Drift {
	shifted := func(xs []float64) []float64 {
		out := slices.Clone(xs)
		for i := range out {
			out[i] += add
		}
		return out
	}
	scale, n := SpreadOf(shifted(all)), len(all)
	for _, xs := range kinds {
		if s := SpreadOf(shifted(xs)); len(xs) >= leastProbes && s > scale {
			scale, n = s, len(xs)
		}
	}
	source := fmt.Sprintf("%d probes that are in both documents", len(all))
	if s := SpreadOf(within); len(within) >= leastProbes && s > scale {
		scale, n, source = s, len(within), fmt.Sprintf("%d repetitions of probes within the documents", len(within))
	}
	d := Drift{PerRun: LeastDrift, DoF: n - 1, Source: source}
	if v := scale*scale - own; v > 2*LeastDrift*LeastDrift {
		share := v / (scale * scale)
		d.PerRun, d.DoF = math.Sqrt(v/2), max(1, int(share*share*float64(n-1)))
	}
	return d
}

// alike: the same was measured, beside the same devices.
func alike(a, b record.Probe) bool {
	return a.Case == b.Case && slices.Equal(a.Concurrent, b.Concurrent)
}

func sameProbe(a, b *record.Ceiling) bool {
	return len(a.Probes) == 0 || len(b.Probes) == 0 || alike(a.Probes[0], b.Probes[0])
}

// level is ln of a ceiling's time: the median of its probes, which unlike the best knows no luck.
func level(c *record.Ceiling) (float64, bool) {
	var vs []float64
	for _, p := range c.Probes {
		if p.Value > 0 && (len(vs) == 0 || alike(p, c.Probes[0])) {
			vs = append(vs, p.Value)
		}
	}
	if len(vs) == 0 {
		if !(c.Measured.Value > 0) {
			return 0, false
		}
		vs = []float64{c.Measured.Value}
	}
	return sign(c) * math.Log(measure.Median(vs)), true
}

// repeats are the differences of a ceiling's later probes to its first.
func repeats(c *record.Ceiling) []float64 {
	var out []float64
	for _, p := range c.Probes[min(1, len(c.Probes)):] {
		if p.Value > 0 && c.Probes[0].Value > 0 && alike(p, c.Probes[0]) {
			out = append(out, sign(c)*math.Log(p.Value/c.Probes[0].Value))
		}
	}
	return out
}

// sign makes times of rates.
func sign(c *record.Ceiling) float64 {
	if c.Kind == record.CeilingLatency || c.Kind == record.CeilingLaunch {
		return 1
	}
	return -1
}

func hostClock(d *record.Calibration) float64 {
	if v, ok := d.Host.CPU.Clock.LoadedGHz.Get(); ok && v > 0 {
		return v
	}
	v, _ := d.Host.CPU.Clock.IdleGHz.Get()
	return v
}
