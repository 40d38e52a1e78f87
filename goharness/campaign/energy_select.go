package campaign

import (
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

// pickEnergy picks the best and the worst of each op and precision, at most most: the suites take turns, so
// that each is represented. A run of few cases is measured whole.
func pickEnergy(results []record.Result, most int) []int {
	type pair struct{ best, worst int }
	type key struct {
		op    string
		dtype record.DType
	}
	pairs := map[key]*pair{}
	suites := map[string][]key{}
	var order []string
	var all []int
	for i := range results {
		r := &results[i]
		if !r.Status.Counts() || r.Probe() || r.Time == nil {
			continue
		}
		all = append(all, i)
		k := key{r.Op, r.DType}
		p := pairs[k]
		if p == nil {
			p = &pair{i, i}
			pairs[k] = p
			if suites[r.Suite] == nil {
				order = append(order, r.Suite)
			}
			suites[r.Suite] = append(suites[r.Suite], k)
		}
		if speed(r) > speed(&results[p.best]) {
			p.best = i
		}
		if speed(r) < speed(&results[p.worst]) {
			p.worst = i
		}
	}
	if len(all) <= most {
		return all
	}
	var out []int
	for turn := 0; len(out) < most; turn++ {
		any := false
		for _, s := range order {
			if turn >= len(suites[s]) {
				continue
			}
			any = true
			p := pairs[suites[s][turn]]
			for _, i := range []int{p.best, p.worst} {
				if len(out) < most && !slices.Contains(out, i) {
					out = append(out, i)
				}
			}
		}
		if !any {
			break
		}
	}
	slices.Sort(out)
	return out
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

// energyRooflines fits the cost of FLOP and bytes for each precision with energies, from cases whose modelled traffic
// is with DRAM: cold ones, and hot ones that DRAM must serve.
func energyRooflines(results []record.Result) []record.EnergyRoofline {
	by := map[record.DType][]power.Launch{}
	for i := range results {
		r := &results[i]
		if !r.Energy.Known() || len(r.Arms) > 0 || !r.Status.Counts() {
			continue
		}
		dram := r.Mode == record.Cold || r.Ceiling != nil && r.Ceiling.MemoryLevel == "DRAM"
		if !dram {
			continue
		}
		j, _ := r.Energy.PerLaunch()
		by[r.ComputedIn()] = append(by[r.ComputedIn()], power.Launch{FLOPs: float64(r.Executed()), Bytes: float64(r.Bytes), Joules: j,
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
