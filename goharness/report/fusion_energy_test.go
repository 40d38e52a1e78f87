package report

import (
	"testing"

	"ridge/goharness/record"
)

// Behind a causal mask the fused program does half of the chain's FLOP: its GFLOPS per watt are of those.
func TestTheFusedProgramsEfficiencyIsOfItsOwnFLOP(t *testing.T) {
	energy := func(joules float64) *record.Energy {
		return &record.Energy{Joules: joules, Launches: 10, WindowNS: 1e9}
	}
	for _, c := range []struct {
		name         string
		flops, fused int64
		want         float64 // GFLOPS per watt, of 0.2 J a launch
	}{
		{"half of the work", 8e9, 4e9, 20}, {"all of it", 8e9, 8e9, 40}, {"an older document", 8e9, 0, 40},
	} {
		s := record.FusionShape{CaseID: "cpu/CausalAttention_SDPA/fp32/b=1,s=64,d=64/threads=2/hot", Status: record.OK, Trials: 8, Speedup: 2, SpeedupCI95: [2]float64{1.9, 2.1},
			UnfusedMS: 2, FusedMS: 1, FLOPs: c.flops, FusedFLOPs: c.fused, Energy: energy(4), FusedEnergy: energy(2)}
		p := record.FusionPattern{Pattern: "CausalAttention_SDPA", DType: record.FP32, Mode: record.Hot, Shapes: []record.FusionShape{s}}
		r := shapeResult(&record.Fusion{Device: record.Device{ID: "cpu"}, Patterns: []record.FusionPattern{p}}, p, s)
		if got := energyShown(&r).perWatt; got != c.want {
			t.Errorf("%s: %v GFLOPS per watt, want %v", c.name, got, c.want)
		}
	}
}
