package campaign

import (
	"strings"
	"testing"

	"ridge/goharness/ceiling"
	"ridge/goharness/fusion"
	"ridge/goharness/op"
	"ridge/goharness/record"
)

// ratedModel has levels of 400, 100, 20 and 5 GB/s and a peak of 100 GFLOP/s in fp32.
func ratedModel() *ceiling.Model {
	levels := []ceiling.Level{{Name: "L1", Capacity: 32 << 10}, {Name: "L2", Capacity: 1 << 20}, {Name: "L3", Capacity: 64 << 20}, {Name: "DRAM"}}
	m := ceiling.NewModel("cpu", levels, levels)
	for level, rate := range map[string]float64{"L1": 400, "L2": 100, "L3": 20, "DRAM": 5} {
		m.Probe(record.Ceiling{Kind: record.CeilingBandwidth, Level: level, Access: "read", Threads: 1, Unit: "GB/s"},
			record.Result{Status: record.OK, Bytes: int64(rate * 1000), Time: &record.Time{MedianNS: 1000, MinNS: 1000, CI95NS: [2]float64{1000, 1000}}}, "initial")
	}
	m.Probe(record.Ceiling{Kind: record.CeilingCompute, DType: record.FP32, Threads: 1, Unit: "GFLOPS"},
		record.Result{Status: record.OK, FLOPs: 100e3, ExecutedFLOPs: 100e3, Time: &record.Time{MedianNS: 1000, MinNS: 1000, CI95NS: [2]float64{1000, 1000}}}, "initial")
	return m
}

// A step whose tensors fit the L2 finds in it what the step before left there, but not what was last touched a launch ago, when the program's fit the L3 alone.
func TestWhatAStepTouchesFirstComesFromWhereTheProgramLeftIt(t *testing.T) {
	c := &campaign{model: ratedModel()}
	o, err := op.Builtin().New("stream_copy", map[string]string{"n": "65536"}, record.FP32) // 256 KiB in, 256 KiB out
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name         string
		fresh        int64 // bytes that no step has touched
		program      int64
		level        string
		bytesPerRate float64
	}{
		{"a program that the cache holds", 512 << 10, 768 << 10, "L2", (512 << 10) / 100.0},
		{"a program beyond it", 512 << 10, 8 << 20, "L3", (512 << 10) / 20.0},
		{"half of it left there by the step before", 256 << 10, 8 << 20, "L3", (256 << 10) / 20.0},
		{"all of it left there", 0, 8 << 20, "L2", (512 << 10) / 100.0},
		{"a little from outside, the most of it left there", 64 << 10, 8 << 20, "L2", (512 << 10) / 100.0},
	} {
		got := c.stepLimit(fusion.Step{Op: o, NewRead: tc.fresh, Program: tc.program}, &record.Result{Threads: 1, Mode: record.Hot})
		if got.MemoryLevel != tc.level || got.FloorNS < 0.99*tc.bytesPerRate || got.FloorNS > 1.01*tc.bytesPerRate {
			t.Errorf("%s: %.0f ns of %s, want %.0f of %s", tc.name, got.FloorNS, got.MemoryLevel, tc.bytesPerRate, tc.level)
		}
	}
}

func TestLongCandidatesWhoseStepsInPlaceTakeLittleHaveNoPilot(t *testing.T) {
	all := fusion.Builtin()
	c := &campaign{model: ratedModel()}
	c.cfg.Plan.Fusion = all
	for _, tc := range []struct {
		name, pattern, then string
		params              map[string]string
		want                string // "": a pilot decides
	}{
		{"a long product", "Linear_Bias_ReLU", "in place", map[string]string{"m": "4096", "k": "4096", "n": "1024"}, "in place keeps fewer buffers"},
		{"a short one", "Linear_Bias_ReLU", "in place", map[string]string{"m": "64", "k": "1024", "n": "1024"}, ""},
		{"one that the sums' passes weigh much in", "Linear_Bias_ReLU", "in place", map[string]string{"m": "65536", "k": "64", "n": "1024"}, ""},
		{"one with nothing in place", "Linear_Bias_ReLU", "buffers", map[string]string{"m": "4096", "k": "4096", "n": "1024"}, ""},
		{"an unknown pattern", "Linear_Bias_ELU", "in place", map[string]string{"m": "4096", "k": "4096", "n": "1024"}, ""},
	} {
		ref := record.ProgramRef{Pattern: tc.pattern, DType: record.FP32, Params: tc.params, Name: fusion.Unfused + ":" + tc.then}
		got := c.alike(record.Case{Threads: 1, Mode: record.Hot}, ref)
		if !strings.HasPrefix(got, tc.want) || (got == "") != (tc.want == "") {
			t.Errorf("%s: %q, want %q", tc.name, got, tc.want)
		}
	}
}
