package fusion

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"ridge/goharness/measure"
	"ridge/goharness/op"
	"ridge/goharness/record"
)

// A machine of 100 GFLOP/s and 10 GB/s whose launches cost 1 µs.
func limitsOf(dispatch float64, peak float64) Limits {
	return Limits{DispatchNS: dispatch, Step: func(s Step, r *record.Result) *record.ResultCeiling {
		o, executed := s.Op, s.Executed
		c := &record.ResultCeiling{Bound: "memory", MemoryLevel: "L2", FloorNS: float64(o.Bytes()) / 10}
		if t := float64(executed) / peak; t > c.FloorNS {
			c.FloorNS, c.Bound = t, "compute"
		}
		return c
	}}
}

// shapeOf is a shape of programs that took so many ns.
func shapeOf(ns [2]float64) record.FusionShape {
	return record.FusionShape{Speedup: ns[0] / ns[1], UnfusedMS: ns[0] / 1e6, FusedMS: ns[1] / 1e6}
}

func TestLimitsPredictTheSpeedup(t *testing.T) {
	pair := build(t, "Linear_Bias_ReLU", record.FP32, map[string]string{"m": "64", "k": "32", "n": "128"})
	product := pair.Unfused[0].Steps[0].Op
	passes := float64(pair.Unfused[0].Bytes()-product.Bytes()) / 10
	for _, c := range []struct {
		name           string
		dispatch, peak float64
		measured       float64 // of the prediction
		unfused, fused string
		misfit         bool
	}{
		{"bound by memory", 0, 1e6, 1, "bandwidth-bound at 1.00 of L2", "bandwidth-bound at 1.00 of L2", false},
		{"bound by arithmetic", 0, 1, 1, "compute-bound at 1.00 of the peak", "compute-bound at 1.00 of the peak", false},
		{"bound by launches", 1e6, 1e6, 1, "launch-bound at 1.00 of its limits", "launch-bound at 1.00 of its limits", false},
		{"an unfused program behind its limits", 0, 1e6, 1.3, "bandwidth-bound at 0.77 of L2", "bandwidth-bound at 1.00 of L2", true},
		{"a fused program behind its limits", 0, 1e6, 0.7, "bandwidth-bound at 1.00 of L2", "bandwidth-bound at 0.70 of L2", true},
	} {
		l := limitsOf(c.dispatch, c.peak)
		r := record.Result{Arms: []record.Arm{{}, {}}}
		unfused, fused := l.program(pair.Unfused[0], r.Arms[0], &r, 0), l.program(pair.Fused, r.Arms[1], &r, 0)
		predicted := unfused.TimeNS() / fused.TimeNS()
		times := [2]float64{unfused.TimeNS(), fused.TimeNS()}
		if c.measured > 1 {
			times[0] *= c.measured
		} else {
			times[1] /= c.measured
		}
		for i := range r.Arms { // neighbours slowed most of the samples
			r.Arms[i].Time = &record.Time{MedianNS: 1.5 * times[i]}
		}
		s := shapeOf(times)
		l.apply(&s, pair.Unfused[0], pair.Fused, &r)
		if math.Abs(s.Predicted-predicted) > 1e-9 || (s.Misfit != "") != c.misfit {
			t.Errorf("%s: predicted %v, want %v; misfit %q", c.name, s.Predicted, predicted, s.Misfit)
		}
		if got := limited(s.UnfusedLimit) + "; " + limited(s.FusedLimit); got != c.unfused+"; "+c.fused {
			t.Errorf("%s: %s, want %s; %s", c.name, got, c.unfused, c.fused)
		}
		if c.peak > 1 && c.dispatch == 0 && math.Abs(s.UnfusedLimit.FloorNS-s.FusedLimit.FloorNS-passes+float64(128*4)/10) > 1e-6 {
			t.Errorf("%s: the floors differ by %v ns, want the bytes of the passes at 10 GB/s, %v", c.name, s.UnfusedLimit.FloorNS-s.FusedLimit.FloorNS, passes)
		}
		text := explain(s, 2, c.dispatch)
		if !strings.Contains(text, c.unfused) || !strings.Contains(text, "launches spared: 2") {
			t.Errorf("%s: explained as %q", c.name, text)
		}
	}
}

// A launch in a graph costs less than one on a stream: what counts is the way that the samples of both programs took.
func TestLaunchesCostWhatTheirPathDoes(t *testing.T) {
	pair := build(t, "Add_ReLU", record.FP32, map[string]string{"rows": "4", "cols": "4096"})
	of := func(paths ...string) *record.Result {
		r := &record.Result{Arms: []record.Arm{{}, {}}, Conditions: &record.Conditions{}}
		for _, p := range paths {
			r.Conditions.Launching = append(r.Conditions.Launching, record.Launching{Path: p})
		}
		return r
	}
	for _, c := range []struct {
		name   string
		graph  float64
		result *record.Result
		want   float64
	}{
		{"of the host", 900, &record.Result{Arms: []record.Arm{{}, {}}}, 4000},
		{"on a stream", 900, of(record.LaunchStream, record.LaunchStream), 4000},
		{"in a graph", 900, of(record.LaunchGraph, record.LaunchGraph), 900},
		{"one arm in a graph", 900, of(record.LaunchStream, record.LaunchGraph), 4000},
		{"in a graph that was not probed", 0, of(record.LaunchGraph, record.LaunchGraph), 4000},
	} {
		l := limitsOf(4000, 1e6)
		l.GraphNS = c.graph
		if got := l.program(pair.Unfused[0], c.result.Arms[0], c.result, 0).DispatchNS; got != 2*c.want {
			t.Errorf("%s: two launches cost %v ns, want %v", c.name, got, 2*c.want)
		}
	}
}

func TestAProgramWithAnUnknownLimitHasNoPrediction(t *testing.T) {
	pair := build(t, "Linear_Bias_ReLU", record.FP32, map[string]string{"m": "64", "k": "32", "n": "128"})
	r := record.Result{Arms: []record.Arm{{}, {}}}
	for name, l := range map[string]Limits{
		"no ceilings": {}, "an unknown one": {Step: func(Step, *record.Result) *record.ResultCeiling {
			return &record.ResultCeiling{Bound: "unknown"}
		}},
	} {
		s := record.FusionShape{Speedup: 2}
		l.apply(&s, pair.Unfused[0], pair.Fused, &r)
		if s.Predicted != 0 || s.UnfusedLimit != nil || s.Misfit != "" {
			t.Errorf("%s: predicted %v, %q", name, s.Predicted, s.Misfit)
		}
	}
}

// A step's limit is of what must be executed, and of the algorithm's share of it; where that takes less than moving the data, memory bounds it.
func TestAStepIsLimitedByWhatItMustExecute(t *testing.T) {
	pair := build(t, "Conv2d_ReLU", record.FP32, map[string]string{"n": "1", "c": "64", "k": "64", "hw": "7", "r": "3"})
	product := pair.Fused.Steps[0].Op
	all, least, bytes := product.FLOPs(), op.LeastFLOPs(product), float64(product.Bytes())/10
	if least >= all {
		t.Fatalf("a padded convolution has to execute %d of %d FLOP", least, all)
	}
	for _, c := range []struct {
		name     string
		peak     float64
		executed int64
		floor    float64
		bound    string
	}{
		{"the padding is left out", 1, 0, float64(least), "compute"},
		{"said of the arm", 1, least, float64(least), "compute"},
		{"an algorithm with a quarter", 1, least / 4, float64(least / 4), "compute"},
		{"one with three times as much", 1, 3 * least, float64(3 * least), "compute"},
		{"padding alone would be slower than memory", float64(all) / (1.01 * bytes), 0, bytes, "memory"},
	} {
		r := record.Result{Arms: make([]record.Arm, 2)}
		got := limitsOf(0, c.peak).program(pair.Fused, record.Arm{FLOPs: all, ExecutedFLOPs: c.executed}, &r, 0)
		if math.Abs(got.FloorNS/c.floor-1) > 1e-6 || got.Bound != c.bound {
			t.Errorf("%s: %v ns bound by %s, want %v by %s", c.name, got.FloorNS, got.Bound, c.floor, c.bound)
		}
	}
}

// A stage in place touches one tensor, which the ceilings have to know.
func TestStagesInPlaceAreTold(t *testing.T) {
	pair := build(t, "Linear_Bias_ReLU", record.FP32, map[string]string{"m": "64", "k": "32", "n": "128"})
	for _, p := range append(pair.Unfused, pair.Fused) {
		var told []bool
		var read, written []int64
		l := Limits{Step: func(s Step, _ *record.Result) *record.ResultCeiling {
			told, read, written = append(told, s.InPlace), append(read, s.NewRead), append(written, s.NewWritten)
			return &record.ResultCeiling{Bound: "memory", FloorNS: 1}
		}}
		l.program(p, record.Arm{}, &record.Result{}, 0)
		// Whatever the program, the inputs are new once, and so is each buffer.
		out, buffers := int64(4*64*128), int64(1)
		if p.Name == pair.Unfused[0].Name {
			buffers = 3
		}
		if r, w := sum(read), sum(written); r != 4*(64*32+32*128+128) || w != buffers*out || read[0] < 4*(64*32+32*128) {
			t.Errorf("%s: new to a step are %v bytes read and %v written", p.Name, read, written)
		}
		for i, got := range told {
			if want := p.Name == pair.Unfused[1].Name && i > 0; got != want {
				t.Errorf("%s: step %d (%s) in place: %v, want %v", p.Name, i, p.Steps[i].Op.Name(), got, want)
			}
		}
	}
}

func sum(xs []int64) (n int64) {
	for _, x := range xs {
		n += x
	}
	return n
}

// The limits of a program that found its data nearer than they have it are at fault, not the other program.
func TestAProgramFasterThanItsLimitsIsNamed(t *testing.T) {
	pair := build(t, "Linear_Bias_ReLU", record.FP32, map[string]string{"m": "64", "k": "32", "n": "128"})
	l := limitsOf(0, 1e6)
	for _, c := range []struct {
		name string
		of   [2]float64
	}{
		{"the unfused program is faster", [2]float64{1.27, 0.9}}, {"the fused program is faster", [2]float64{0.9, 1.3}}, {"the unfused program stays further behind", [2]float64{0.6, 1}},
		{"the fused program is faster", [2]float64{1.1, 1.5}}, {"the unfused program is faster", [2]float64{1.5, 1.1}},
	} {
		name, of := c.name, c.of
		r := record.Result{Arms: []record.Arm{{}, {}}}
		u, f := l.program(pair.Unfused[0], r.Arms[0], &r, 0), l.program(pair.Fused, r.Arms[1], &r, 0)
		s := shapeOf([2]float64{u.TimeNS() / of[0], f.TimeNS() / of[1]})
		if l.apply(&s, pair.Unfused[0], pair.Fused, &r); !strings.Contains(s.Misfit, name) {
			t.Errorf("%v of the limits: %q, want %q", of, s.Misfit, name)
		}
	}
}

// A product bound by arithmetic and passes bound by memory are together at no share of the peak.
func TestAFractionOfThePeakIsOfStepsThatWaitForIt(t *testing.T) {
	pair := build(t, "Linear_Bias_ReLU", record.FP32, map[string]string{"m": "64", "k": "32", "n": "128"})
	for _, c := range []struct {
		name           string
		dispatch, peak float64
		want           string // of the unfused program at half of its limits
	}{
		{"all by memory", 0, 1e6, "bandwidth-bound at 0.50 of L2"},
		{"all by arithmetic", 0, 0.01, "compute-bound at 0.50 of the peak"},
		{"a product by arithmetic, passes by memory", 0, 40, "at 0.50 of its steps' limits (compute 50 % of them)"},
		{"launches nearly as long as the passes", 5e3, 1e6, "at 0.50 of its steps' limits (dispatch 44 % of them)"},
		{"launches alone", 1e6, 1e6, "launch-bound at 0.50 of its limits"},
	} {
		l := limitsOf(c.dispatch, c.peak)
		r := record.Result{Arms: []record.Arm{{}, {}}}
		limit := l.program(pair.Unfused[0], r.Arms[0], &r, 0)
		limit = l.program(pair.Unfused[0], r.Arms[0], &r, 2*limit.TimeNS())
		if got := limited(limit); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// A library computes the last candidate: its passes are in place, and its limits are those.
func TestALibrarysLimitsAreThoseOfTheProgramItComputes(t *testing.T) {
	l := Limits{Step: func(s Step, _ *record.Result) *record.ResultCeiling {
		return &record.ResultCeiling{Bound: "memory", MemoryLevel: "L2", FloorNS: map[bool]float64{false: 2, true: 1}[s.InPlace]}
	}}
	for baseline, want := range map[string]float64{"buffers": 6, "in place": 4, "onednn packed": 4, "": 6} {
		arm := func(name string) record.Arm { return record.Arm{Name: name, Time: &record.Time{MedianNS: 8}} }
		r := record.Result{Op: "Linear_Bias_ReLU", DType: record.FP32, Params: map[string]string{"m": "64", "k": "32", "n": "128"}, Status: record.OK,
			Ratio: &record.Ratio{Value: 1, CI95: [2]float64{0.99, 1.01}, Quartets: make([]float64, 8)}, Arms: []record.Arm{arm("unfused:" + baseline), arm(Fused)}}
		if s, err := mustFind(t, r.Op).shape(r, l); err != nil || s.Baseline != baseline || s.UnfusedLimit.FloorNS != want {
			t.Errorf("%q: %+v, %v, want %v ns", baseline, s.UnfusedLimit, err, want)
		}
	}
}

// A shape whose comparison was made once has its verdict and its answer by an interval that speaks of other visits too.
func TestAShapeVisitedOnceNeedsAWiderIntervalClearOfTheCuts(t *testing.T) {
	for _, c := range []struct {
		visits []int
		from   float64
		want   string
	}{
		{nil, 1.58, Strong},
		{nil, 1.53, measure.Inconclusive},
		{[]int{8}, 1.53, measure.Inconclusive},
		{[]int{4, 4}, 1.53, Strong},
	} {
		arm := func(ns float64) record.Arm {
			return record.Arm{Name: Fused, Time: &record.Time{MedianNS: ns}}
		}
		r := record.Result{Op: "Add_ReLU", DType: record.FP32, Params: map[string]string{"rows": "4", "cols": "16"}, Status: record.OK, Arms: []record.Arm{arm(16), arm(10)},
			Ratio: &record.Ratio{Value: 1.6, CI95: [2]float64{c.from, 1.65}, Quartets: make([]float64, 8), Visits: c.visits}}
		s, err := mustFind(t, r.Op).shape(r, Limits{})
		if err != nil || s.Verdict != c.want {
			t.Errorf("visits %v, from %v: %s with the interval %v, %v; want %s", c.visits, c.from, s.Verdict, s.SpeedupCI95, err, c.want)
		}
	}
}

// A journal may be of another's making.
func TestAnArmWithoutATimeMakesNoShape(t *testing.T) {
	for i := range 2 {
		arms := []record.Arm{{Name: "unfused:buffers", Time: &record.Time{MedianNS: 1}}, {Name: Fused, Time: &record.Time{MedianNS: 1}}}
		arms[i].Time = nil
		r := record.Result{ID: "the case", Op: "Add_ReLU", DType: record.FP32, Mode: record.Hot, Params: map[string]string{"rows": "4", "cols": "16"}, Status: record.OK, Ratio: &record.Ratio{Value: 1}, Arms: arms}
		if _, err := Profiles(Builtin(), []record.Result{r}, false, Limits{}); err == nil || !strings.Contains(err.Error(), "the case: it is ok and an arm has no time") {
			t.Errorf("arm %d: %v", i, err)
		}
	}
}

// Of a gain that may be none no launch has a share.
func TestOnlyAGainThatTheIntervalShowsIsApportioned(t *testing.T) {
	for _, c := range []struct {
		ms [2]float64
		lo float64
		in string
	}{
		{[2]float64{1.1, 1}, 1.05, "launches spared: 2 (dispatch 20 % of the gain)"}, {[2]float64{1.001, 1}, 1.0005, "launches spared: 2 (dispatch 100 % of the gain)"},
		{[2]float64{1.001, 1}, 0.98, "launches spared: 2"}, {[2]float64{1, 1.1}, 0.9, "launches spared: 2"},
	} {
		s := record.FusionShape{UnfusedMS: c.ms[0], FusedMS: c.ms[1], Speedup: c.ms[0] / c.ms[1], SpeedupCI95: [2]float64{c.lo, 1.2}, UnfusedBytes: 3e6, FusedBytes: 1e6}
		if got, want := explain(s, 2, 10e3), fmt.Sprintf("%.2f×: moves 2 MB less (modelled), %s", s.Speedup, c.in); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
