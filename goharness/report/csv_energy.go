package report

import (
	"strconv"

	"ridge/goharness/record"
)

// csvEnergyColumns follow the older ones: power and energy of the result's windows, gross unless they say net. A launch's
// joules stand for each arm of a comparison too.
var csvEnergyColumns = []string{"power_avg_watts", "power_max_watts", "ops_per_watt", "throughput_per_watt", "energy_per_flop_pj", "energy_per_byte_pj",
	"uncertainty_joules", "net_joules", "net_uncertainty_joules", "energy_window_ns", "energy_launches", "energy_per_launch_joules",
	"unfused_energy_per_launch_joules", "fused_energy_per_launch_joules", "energy_meter", "energy_unavailable"}

// csvEnergy leaves a cell empty where there is no figure; why there is none is the last one.
func csvEnergy(r *record.Result) []string {
	cells := make([]string, len(csvEnergyColumns))
	e := r.Energy
	if e == nil {
		return cells
	}
	if !e.Known() {
		cells[len(cells)-1] = csvText(e.Unavailable)
		return cells
	}
	num := csvNumber
	some := func(v float64) string {
		if v == 0 {
			return ""
		}
		return num(v)
	}
	cells[0], cells[1] = num(e.MeanWatts()), some(e.MaxWatts)
	if m := r.Metrics; m != nil && m.Power != nil {
		cells[2], cells[3], cells[4], cells[5] = some(m.Power.OpsPerWatt), some(m.Power.ThroughputPerWatt), some(m.Power.PJPerFLOP), some(m.Power.PJPerByte)
	}
	cells[6] = num(e.Uncertainty)
	if e.NetJoules != nil {
		cells[7], cells[8] = num(*e.NetJoules), num(e.NetUncertainty)
	}
	cells[9], cells[10], cells[11] = strconv.FormatInt(e.WindowNS, 10), num(e.Launches), launchJoules(e)
	for i := range r.Arms {
		if i < 2 {
			cells[12+i] = launchJoules(r.Arms[i].Energy)
		}
	}
	cells[14] = csvText(e.Meter)
	return cells
}

// launchJoules is the energy of one launch; "" where it is not known.
func launchJoules(e *record.Energy) string {
	if !e.Known() {
		return ""
	}
	j, _ := e.PerLaunch()
	return csvNumber(j)
}
