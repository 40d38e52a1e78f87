package campaign

import (
	"cmp"
	"slices"

	"ridge/goharness/power"
	"ridge/goharness/record"
)

// selectEnergy gives the indices of the results whose energy is measured. named: the user chose them,
// so that neither number nor time is bounded.
func (c *campaign) selectEnergy() (chosen []int, named bool) {
	if ids := c.cfg.EnergyOf.Cases; len(ids) > 0 {
		for i := range c.doc.Results {
			r := &c.doc.Results[i]
			if r.Status.Counts() && (slices.Contains(ids, r.ID) || slices.Contains(ids, "all") && !r.Probe()) {
				chosen = append(chosen, i)
			}
		}
		return chosen, true
	}
	return pickEnergy(c.doc.Results, c.energy.effort.Most), false
}

// energySuites are the suites by what their energies tell, others after them as the plan has them.
var energySuites = []string{"gemm", "attention", "conv", "stream", "linear", "normalization", "reduction", "elementwise", "memory", "blas"}

// energyTurns are the results that a suite gives in its turn, where it is not one: products have the most precisions, and carry the peaks.
var energyTurns = map[string]int{"gemm": 2}

// kindOfEnergy is an op at a precision, with the indices of its results that tell most: the fastest, the fastest of those that DRAM serves (-1: none, or
// arithmetic bounds the op), and the slowest.
type kindOfEnergy struct{ best, dram, worst int }

// pickEnergy picks what energies of a run tell most, at most most results: the suites take turns, each with its fastest op and precision first, floats before integers (of what
// memory bounds the case from DRAM before the one from a cache), and the slowest case of each when all have had their best. A run of few cases is
// measured whole.
func pickEnergy(results []record.Result, most int) []int {
	suites, order, all := kindsOfEnergy(results)
	if len(all) <= most {
		return all
	}
	rank := func(suite string) int {
		if i := slices.Index(energySuites, suite); i >= 0 {
			return i
		}
		return len(energySuites)
	}
	slices.SortStableFunc(order, func(a, b string) int { return cmp.Compare(rank(a), rank(b)) })
	queues := map[string][]int{}
	for suite, kinds := range suites {
		slices.SortStableFunc(kinds, func(a, b *kindOfEnergy) int {
			x, y := &results[a.best], &results[b.best]
			if x.DType.Float() != y.DType.Float() {
				return map[bool]int{true: -1, false: 1}[x.DType.Float()]
			}
			return cmp.Compare(speed(y), speed(x))
		})
		var first, second, third []int
		for _, k := range kinds {
			if k.dram >= 0 {
				first, second = append(first, k.dram), append(second, k.best)
			} else {
				first = append(first, k.best)
			}
			third = append(third, k.worst)
		}
		queues[suite] = slices.Concat(first, second, third)
	}
	var out []int
	for any := true; any && len(out) < most; {
		any = false
		for _, suite := range order {
			for n := max(1, energyTurns[suite]); n > 0 && len(queues[suite]) > 0 && len(out) < most; {
				i := queues[suite][0]
				queues[suite], any = queues[suite][1:], true
				if !slices.Contains(out, i) {
					out = append(out, i)
					n--
				}
			}
		}
	}
	slices.Sort(out)
	return out
}

// kindsOfEnergy lists the ops and precisions of each suite, the suites as they came, and all results that may be picked.
func kindsOfEnergy(results []record.Result) (suites map[string][]*kindOfEnergy, order []string, all []int) {
	type key struct {
		suite, op string
		dtype     record.DType
	}
	suites = map[string][]*kindOfEnergy{}
	kinds := map[key]*kindOfEnergy{}
	for i := range results {
		r := &results[i]
		if !r.Status.Counts() || r.Probe() || r.Time == nil {
			continue
		}
		all = append(all, i)
		k := kinds[key{r.Suite, r.Op, r.DType}]
		if k == nil {
			k = &kindOfEnergy{i, -1, i}
			kinds[key{r.Suite, r.Op, r.DType}] = k
			if suites[r.Suite] == nil {
				order = append(order, r.Suite)
			}
			suites[r.Suite] = append(suites[r.Suite], k)
		}
		if speed(r) > speed(&results[k.best]) {
			k.best = i
		}
		if speed(r) < speed(&results[k.worst]) {
			k.worst = i
		}
		if fromDRAM(r) && r.Ceiling != nil && r.Ceiling.Bound == "memory" && (k.dram < 0 || speed(r) > speed(&results[k.dram])) {
			k.dram = i
		}
	}
	return suites, order, all
}

// fromDRAM: the modelled traffic is with DRAM, of cold buffers and of a working set that no cache holds.
func fromDRAM(r *record.Result) bool {
	return r.Mode == record.Cold || r.Ceiling != nil && r.Ceiling.MemoryLevel == "DRAM"
}

// speed ranks the results of one op and precision: arithmetic per time, bytes where there is none.
func speed(r *record.Result) float64 {
	switch {
	case r.FLOPs > 0:
		return r.GFLOPS
	case r.Bytes > 0:
		return r.BandwidthGBps
	}
	return -r.Time.MedianNS
}

// energyRooflines fits the cost of FLOP and of DRAM's bytes for each precision with energies, from cases whose modelled traffic is with DRAM, and from
// those that arithmetic bounds while their data stay in a cache, which move no bytes of DRAM.
func energyRooflines(results []record.Result) []record.EnergyRoofline {
	by := map[record.DType][]power.Launch{}
	for i := range results {
		r := &results[i]
		if !r.Energy.Known() || len(r.Arms) > 0 || !r.Status.Counts() {
			continue
		}
		bytes := float64(r.Bytes)
		if !fromDRAM(r) {
			if r.Ceiling == nil || r.Ceiling.Bound != "compute" {
				continue
			}
			bytes = 0
		}
		j, _ := r.Energy.PerLaunch()
		by[r.ComputedIn()] = append(by[r.ComputedIn()], power.Launch{FLOPs: float64(r.Executed()), Bytes: bytes, Joules: j,
			Seconds: float64(r.Energy.WindowNS) / 1e9 / r.Energy.Launches})
	}
	var out []record.EnergyRoofline
	for _, d := range record.Precisions {
		ls := by[d]
		if len(ls) == 0 {
			continue
		}
		e := record.EnergyRoofline{DType: d, Cases: len(ls)}
		fit, err := power.FitRoofline(ls)
		if err != nil {
			e.Unavailable = err.Error()
		} else {
			pico := func(x [2]float64) [2]float64 { return [2]float64{x[0] * 1e12, x[1] * 1e12} }
			e.PJPerFLOP, e.PJPerFLOPCI95 = fit.PerFLOP*1e12, pico(fit.FLOPCI95)
			e.PJPerByte, e.PJPerByteCI95 = fit.PerByte*1e12, pico(fit.ByteCI95)
			e.ConstantWatts, e.ConstantCI95 = fit.Watts, fit.WattsCI95
			e.Error, e.Balance = fit.RelativeError, fit.PerByte/fit.PerFLOP
		}
		out = append(out, e)
	}
	return out
}
