package report

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"ridge/goharness/record"
)

// workInsights are bandwidth, bounds and energy of a device's results, as far as the document knows them.
func workInsights(b *strings.Builder, d *record.Calibration, device string) {
	var rs []*record.Result
	for i := range d.Results {
		r := &d.Results[i]
		if r.Device == device && r.Status.Counts() && !r.Probe() && len(r.Arms) == 0 && r.Time != nil {
			rs = append(rs, r)
		}
	}
	if len(rs) == 0 {
		return
	}
	var text strings.Builder
	bandwidthInsight(&text, d, device, rs)
	boundInsight(&text, rs)
	energyInsight(&text, d, device, rs)
	if text.Len() > 0 {
		b.WriteString("Work of " + clean(device) + ":\n" + text.String())
	}
}

// bandwidthInsight is the mean rate of the results that DRAM serves, beside what is possible.
func bandwidthInsight(b *strings.Builder, d *record.Calibration, device string, rs []*record.Result) {
	sum, n, theory, best := 0.0, 0, "", 0.0
	for _, r := range rs {
		if r.Ceiling != nil && r.Ceiling.MemoryLevel == "DRAM" && r.Ceiling.Bound == "memory" && r.BandwidthGBps > 0 {
			sum, n = sum+r.BandwidthGBps, n+1
		}
	}
	if n == 0 {
		return
	}
	mean := sum / float64(n)
	for i := range d.Ceilings {
		c := &d.Ceilings[i]
		if c.Device != device || c.Kind != record.CeilingBandwidth || c.Level != "DRAM" {
			continue
		}
		best = max(best, c.Measured.Value)
		if c.Theoretical.Unavailable == "" && c.Theoretical.Value > 0 {
			theory = fmt.Sprintf(", theoretical %s GB/s, utilisation %s", digits(c.Theoretical.Value), percent(mean/c.Theoretical.Value))
		}
	}
	if theory == "" && best > 0 {
		theory = fmt.Sprintf(", theoretical unknown, %s of the %s GB/s measured", percent(mean/best), digits(best))
	}
	fmt.Fprintf(b, "  bandwidth: %s GB/s on average over %s bound by DRAM%s\n", digits(mean), count(n, "result"), theory)
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// advice is one line for each bound.
var advice = []struct{ bound, text string }{
	{"compute", "a lower precision, a kernel nearer to its limit or more threads make them faster; more bandwidth does not"},
	{"memory", "fused operators, a larger batch for each weight and smaller formats make them faster; more arithmetic units do not"},
}

// boundInsight says what results wait for, with the range of their arithmetic intensities.
func boundInsight(b *strings.Builder, rs []*record.Result) {
	for _, a := range advice {
		lo, hi, n := math.Inf(1), 0.0, 0
		for _, r := range rs {
			if r.Ceiling != nil && r.Ceiling.Bound == a.bound && r.ArithmeticIntensity > 0 {
				lo, hi, n = min(lo, r.ArithmeticIntensity), max(hi, r.ArithmeticIntensity), n+1
			}
		}
		if n > 0 {
			fmt.Fprintf(b, "  %s-bound: %s of %s to %s operations per byte: %s\n", a.bound, count(n, "result"), digits(lo), digits(hi), a.text)
		}
	}
}

// energyInsight is power, efficiency and the sizes at which it is best.
func energyInsight(b *strings.Builder, d *record.Calibration, device string, rs []*record.Result) {
	e := d.EnergyOf(device)
	if e != nil && e.Unavailable != "" {
		fmt.Fprintf(b, "  energy: not measured: %s\n", clean(e.Unavailable))
		return
	}
	var with []*record.Result
	joules, seconds, work, spent := 0.0, 0.0, 0.0, 0.0 // work and what it took: of results with floating-point arithmetic
	for _, r := range rs {
		if r.Energy.Known() && r.Metrics != nil && r.Metrics.Power != nil && r.Metrics.Power.Unavailable == "" {
			with = append(with, r)
			joules, seconds = joules+r.Energy.Joules, seconds+float64(r.Energy.WindowNS)/1e9
			if r.FLOPs > 0 && r.DType.Float() {
				work, spent = work+r.Metrics.Power.GFLOPSPerWatt*r.Energy.Joules, spent+r.Energy.Joules
			}
		}
	}
	if len(with) == 0 {
		return
	}
	fmt.Fprintf(b, "  power: %s W on average over %s with energy", digits(joules/seconds), count(len(with), "result"))
	if spent > 0 {
		fmt.Fprintf(b, ", %s GFLOPS/W over those with floating-point arithmetic", digits(work/spent))
	}
	if e != nil && e.Idle != nil && e.Idle.Before > 0 && e.Idle.After > 0 { // of an interrupted run there is only the first
		fmt.Fprintf(b, ", idle %s W", digits((e.Idle.Before+e.Idle.After)/2))
	}
	if e != nil && e.LimitWatts > 0 {
		fmt.Fprintf(b, ", limit %s W", digits(e.LimitWatts))
	}
	fmt.Fprintf(b, " (%s)\n", clean(with[0].Energy.Meter))
	bestSizes(b, with)
	byBatch(b, with)
	if e != nil {
		for _, x := range e.Roofline {
			if x.Unavailable != "" {
				fmt.Fprintf(b, "  energy roofline %s: none: %s\n", clean(string(x.DType)), clean(x.Unavailable))
				continue
			}
			fmt.Fprintf(b, "  energy roofline %s: %s pJ per FLOP (%s to %s), %s pJ per byte (%s to %s), %s W whatever runs; below %s FLOP per byte the bytes cost more\n", clean(string(x.DType)),
				digits(x.PJPerFLOP), digits(x.PJPerFLOPCI95[0]), digits(x.PJPerFLOPCI95[1]), digits(x.PJPerByte), digits(x.PJPerByteCI95[0]), digits(x.PJPerByteCI95[1]),
				digits(x.ConstantWatts), digits(x.Balance))
		}
	}
}

// bestSizes names the most efficient size of each op and precision with arithmetic.
func bestSizes(b *strings.Builder, rs []*record.Result) {
	type key struct {
		op    string
		dtype record.DType
	}
	best, sizes := map[key]*record.Result{}, map[key]map[string]bool{} // of a size with several thread counts or modes one
	var order []key
	for _, r := range rs {
		if r.FLOPs == 0 {
			continue
		}
		k := key{r.Op, r.DType}
		if best[k] == nil {
			order, sizes[k] = append(order, k), map[string]bool{}
		}
		sizes[k][params(r.ID)] = true
		if best[k] == nil || r.Metrics.Power.GFLOPSPerWatt > best[k].Metrics.Power.GFLOPSPerWatt {
			best[k] = r
		}
	}
	for _, k := range order {
		r := best[k]
		spread := ""
		if u := r.Metrics.Power.UncertaintyPct; u > 0 {
			spread = " ±" + percent(u/100)
		}
		fmt.Fprintf(b, "  efficiency: %s %s: %s%s %s/W at %s, the best of %s, %s W\n", clean(k.op), clean(string(k.dtype)), digits(r.Metrics.Power.GFLOPSPerWatt), spread, rateUnit(k.dtype), params(r.ID), count(len(sizes[k]), "measured size"), digits(r.Metrics.Power.AvgWatts))
	}
}

// byBatch is the efficiency of each op that was measured at several batch sizes.
func byBatch(b *strings.Builder, rs []*record.Result) {
	type key struct {
		op    string
		dtype record.DType
	}
	at, order := map[key]map[int64]float64{}, []key{}
	for _, r := range rs {
		if r.Batch < 1 || r.FLOPs == 0 {
			continue
		}
		k := key{r.Op, r.DType}
		if at[k] == nil {
			at[k], order = map[int64]float64{}, append(order, k)
		}
		at[k][r.Batch] = max(at[k][r.Batch], r.Metrics.Power.GFLOPSPerWatt)
	}
	for _, k := range order {
		if len(at[k]) < 2 {
			continue
		}
		var batches []int64
		for n := range at[k] {
			batches = append(batches, n)
		}
		slices.Sort(batches)
		var parts []string
		for _, n := range batches {
			parts = append(parts, fmt.Sprintf("batch %d: %s", n, digits(at[k][n])))
		}
		fmt.Fprintf(b, "  %s/W of %s %s by batch: %s\n", rateUnit(k.dtype), clean(k.op), clean(string(k.dtype)), strings.Join(parts, ", "))
	}
}

// betweenDevices compares the first device with each other one, over the programs that both ran: geometric means of
// the ratios of time and of joules a launch.
func betweenDevices(b *strings.Builder, docs []record.Calibration) {
	type device struct {
		name string
		by   map[string]*record.Result
	}
	var all []device
	for i := range docs {
		for _, d := range docs[i].Devices {
			x := device{docs[i].Host.Hostname + " " + d.ID, map[string]*record.Result{}}
			for n := range docs[i].Results {
				r := &docs[i].Results[n]
				if r.Device == d.ID && r.Status.Counts() && !r.Probe() && r.Time != nil && len(r.Arms) == 0 {
					k := fmt.Sprint(r.Op, r.DType, params(r.ID), r.Mode)
					if o := x.by[k]; o == nil || r.Time.MedianNS < o.Time.MedianNS { // of several thread counts the best
						x.by[k] = r
					}
				}
			}
			all = append(all, x)
		}
	}
	if len(all) < 2 {
		return
	}
	for _, x := range all[1:] {
		var faster, leaner []float64
		for k, r := range all[0].by {
			o := x.by[k]
			if o == nil || !(o.Time.MedianNS > 0 && r.Time.MedianNS > 0) {
				continue
			}
			faster = append(faster, math.Log(r.Time.MedianNS/o.Time.MedianNS))
			if r.Energy.Known() && o.Energy.Known() {
				mine, _ := r.Energy.PerLaunch()
				its, _ := o.Energy.PerLaunch()
				leaner = append(leaner, math.Log(mine/its))
			}
		}
		if len(faster) == 0 {
			continue
		}
		fmt.Fprintf(b, "%s against %s: ×%s as fast over %s that both ran (geometric mean)", clean(x.name), clean(all[0].name), digits(geomean(faster)), count(len(faster), "program"))
		if len(leaner) > 0 {
			fmt.Fprintf(b, ", ×%s the work per joule over %d", digits(geomean(leaner)), len(leaner))
		}
		b.WriteString("\n")
	}
}

func geomean(logs []float64) float64 {
	slices.Sort(logs) // one sum whatever the map's order
	sum := 0.0
	for _, v := range logs {
		sum += v
	}
	return math.Exp(sum / float64(len(logs)))
}
