package report

import "ridge/goharness/record"

// energyFigures of a result; 0 stands for what is not known.
type energyFigures struct {
	joules  float64 // of one launch
	watts   float64
	perWatt float64 // GFLOPS per watt; GOPS of integers
	half    float64 // 95 % uncertainty of the energy relative to it
}

func energyOf(r *record.Result) energyFigures { return energyFiguresOf(r, r.Energy, r.FLOPs) }

// energyShown is that of the kernels that a row names: of a comparison the second arm's, whereas the result's own is the first's; and so are the
// FLOP, for behind a causal mask the fused program does half of the chain's.
func energyShown(r *record.Result) energyFigures {
	if len(r.Arms) == 2 {
		return energyFiguresOf(r, r.Arms[1].Energy, r.Arms[1].FLOPs)
	}
	return energyOf(r)
}

func energyFiguresOf(r *record.Result, of *record.Energy, flops int64) energyFigures {
	var e energyFigures
	if !of.Known() || !r.Status.Counts() {
		return e
	}
	e.joules, _ = of.PerLaunch()
	e.watts, e.half = of.MeanWatts(), of.Uncertainty/of.Joules
	e.perWatt = float64(flops) / e.joules / 1e9
	return e
}

// fusionEnergy: a shape of the document's profiles has energy. Profiles that cannot be read have none; the page's data says why.
func fusionEnergy(d *record.Calibration) bool {
	profiles, err := record.FusionProfiles(d)
	if err != nil {
		return false
	}
	for i := range profiles {
		for _, p := range profiles[i].Patterns {
			for _, s := range p.Shapes {
				if s.Status.Counts() && (s.FusedEnergy.Known() || s.Energy.Known()) {
					return true
				}
			}
		}
	}
	return false
}
