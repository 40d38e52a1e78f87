package compare

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"ridge/goharness/measure"
	"ridge/goharness/record"
)

// world is a simulated machine on which runs are made.
type world struct {
	name   string
	drift  float64 // standard deviation of a level from run to run: half of the variance is shared by all cases of a run
	noise  measure.Noise
	probes int // of each of two kinds; 0: a run has none
}

// worlds have 0 to 5 % of drift between runs, with independent, correlated and stepping samples.
func worlds() []world {
	var out []world
	for _, n := range []measure.Noise{
		{Name: "iid", Sigma: 0.01},
		{Name: "AR(1) 0.9", Sigma: 0.01, Rho: 0.9},
		{Name: "steps", Sigma: 0.01, StepHeight: 0.03, StepShare: 0.25, StepDwell: 8},
		measure.SlowSteps(),
	} {
		for _, d := range []float64{0, 0.01, 0.02, 0.05} {
			out = append(out, world{fmt.Sprintf("drift %.0f %%, %s", 100*d, n.Name), d, n, 30})
		}
	}
	return out
}

const simulatedCases, simulatedSamples = 150, 14

// run simulates one run; change gives each case's true factor.
func (w world) run(seed uint64, change func(i int) float64) *record.Calibration {
	rng := rand.New(rand.NewPCG(seed, 1))
	src, err := measure.NewNoiseSource(w.noise, seed)
	if err != nil {
		panic(err)
	}
	var clock measure.VirtualClock
	part := w.drift / math.Sqrt2
	shared := part * rng.NormFloat64()
	take := func(ns float64, n int) []float64 {
		s := &measure.Simulated{Clock: &clock, Launch: time.Duration(ns), Source: src}
		got, err := s.Measure(context.Background(), 1, n)
		if err != nil {
			panic(err)
		}
		out := make([]float64, n)
		for i, x := range got {
			out[i] = x.NS()
		}
		return out
	}
	factor := func() float64 { return math.Exp(shared + part*rng.NormFloat64()) }
	d := &record.Calibration{RunID: fmt.Sprint(seed), Devices: []record.Device{{ID: "cpu", Name: "simulated"}}}
	var own []record.Result // of the probes
	probe := func(c *record.Ceiling, level float64) {
		ns := take(1e6*level, 7)
		if len(c.Probes) == 0 {
			own = append(own, record.Result{ID: c.Level, UseCase: record.UseCaseCeiling, Status: record.OK, Time: &record.Time{MedianNS: measure.Median(ns), SamplesNS: ns}})
		}
		c.Probes = append(c.Probes, record.Probe{Value: 1e9 / measure.Median(ns), Case: c.Level})
	}
	levels := make([]float64, 2*w.probes)
	for i := range levels {
		levels[i] = factor()
		kind := record.CeilingCompute
		if i >= w.probes {
			kind = record.CeilingBandwidth
		}
		d.Ceilings = append(d.Ceilings, record.Ceiling{Device: "cpu", Kind: kind, Level: fmt.Sprint(i), Unit: "GB/s", Threads: 1})
		probe(&d.Ceilings[i], levels[i])
	}
	for i := range simulatedCases {
		ns := take(1e6*factor()*change(i), simulatedSamples)
		d.Results = append(d.Results, simulatedResult(i, ns))
		if w.probes > 0 && i%10 == 9 {
			at := (i / 10) % len(levels)
			probe(&d.Ceilings[at], levels[at])
		}
	}
	d.Results = append(d.Results, own...)
	return d
}

func simulatedResult(i int, ns []float64) record.Result {
	id := record.CaseID{Device: "cpu", Op: "gemm", DType: record.FP32, Params: []record.Param{{Name: "m", Value: fmt.Sprint(i + 1)}}, Threads: 1, Mode: record.Hot}
	return record.Result{ID: id.String(), Op: "gemm", DType: record.FP32, Device: "cpu", Threads: 1, Mode: record.Hot, Status: record.OK,
		FLOPs: 1e6, GFLOPS: 1e6 / measure.Median(ns), Time: &record.Time{MedianNS: measure.Median(ns), SamplesNS: ns}}
}

// rates of a world: shares of cases and of whole comparisons with a false alarm, and of changed
// cases that were called, by the size of the change.
type rates struct {
	cases, comparisons, same float64
	found                    map[float64]float64
}

func (w world) rates(trials int, effects []float64) rates {
	unchanged := func(int) float64 { return 1 }
	var out rates
	var seed uint64
	next := func(change func(int) float64) *record.Calibration { seed++; return w.run(seed, change) }
	for range trials {
		c, err := Documents(next(unchanged), next(unchanged), Options{})
		if err != nil {
			panic(err)
		}
		n := c.Counts[Slower] + c.Counts[Faster]
		out.cases += float64(n) / float64(len(c.Cases)) / float64(trials)
		out.same += float64(c.Counts[Same]) / float64(len(c.Cases)) / float64(trials)
		if n > 0 {
			out.comparisons += 1 / float64(trials)
		}
	}
	out.found = map[float64]float64{}
	for _, e := range effects {
		changed := func(i int) float64 {
			if i%10 == 0 {
				return 1 + e
			}
			return 1
		}
		for range trials / 4 {
			c, err := Documents(next(unchanged), next(changed), Options{})
			if err != nil {
				panic(err)
			}
			out.found[e] += float64(c.Counts[Slower]) / (simulatedCases / 10) / float64(trials/4)
		}
	}
	return out
}

func TestTwoRunsOfOneBuildRaiseFewAlarms(t *testing.T) {
	trials := 100
	if testing.Short() {
		trials = 30
	}
	var cases, comparisons float64
	for _, w := range worlds() {
		r := w.rates(trials, nil)
		if r.cases > 0.01 {
			t.Errorf("%s: %.2f %% of the cases are called, expected at most 1 %%", w.name, 100*r.cases)
		}
		cases, comparisons = cases+r.cases/16, comparisons+r.comparisons/16
		// With 100 trials at 5 %, 12 is 3 standard deviations off.
		if limit := 0.05 + 3*math.Sqrt(0.05*0.95/float64(trials)); r.comparisons > limit {
			t.Errorf("%s: %.1f %% of the comparisons call a case, expected at most %.1f %%", w.name, 100*r.comparisons, 100*limit)
		}
	}
	if comparisons > 0.05 {
		t.Errorf("all worlds: %.1f %% of the comparisons call a case, expected at most 5 %%", 100*comparisons)
	}
}

// Samples alone call many cases that did not change: what the drift is there for.
func TestWithoutDriftTheSamplesCallUnchangedCases(t *testing.T) {
	w := world{"", 0.05, measure.Noise{Name: "iid", Sigma: 0.002}, 30}
	none := &Drift{PerRun: 1e-9, DoF: 100, Source: "test"}
	one := func(int) float64 { return 1 }
	called := 0
	for seed := range uint64(5) {
		c, err := Documents(w.run(2*seed, one), w.run(2*seed+1, one), Options{Drift: none})
		if err != nil {
			t.Fatal(err)
		}
		called += c.Counts[Slower] + c.Counts[Faster]
	}
	if called < 5*simulatedCases/10 {
		t.Errorf("%d of %d cases are called: the simulation has no drift in it", called, 5*simulatedCases)
	}
}

func TestALargeChangeOfSomeCasesIsFound(t *testing.T) {
	w := world{"drift 1 %", 0.01, measure.Noise{Name: "iid", Sigma: 0.01}, 30}
	if r := w.rates(20, []float64{0.3}); r.found[0.3] < 0.9 {
		t.Errorf("a slowdown of 30 %% in a tenth of the cases: %.0f %% found, expected at least 90 %%", 100*r.found[0.3])
	}
}

// BenchmarkAlarmsAndPower prints the figures of docs/comparing.md.
func BenchmarkAlarmsAndPower(b *testing.B) {
	for _, w := range worlds() {
		b.Run(w.name, func(b *testing.B) {
			for range b.N {
				r := w.rates(200, []float64{0.05, 0.10, 0.20, 0.30})
				b.ReportMetric(100*r.cases, "%cases_called")
				b.ReportMetric(100*r.comparisons, "%comparisons_with_a_call")
				b.ReportMetric(100*r.same, "%same")
				for e, f := range r.found {
					b.ReportMetric(100*f, fmt.Sprintf("%%found_of_+%.0f%%", 100*e))
				}
				b.ReportMetric(0, "ns/op")
			}
		})
	}
}

// BenchmarkTenThousandCases prints the time of comparing two documents of 10,000 results.
func BenchmarkTenThousandCases(b *testing.B) {
	doc := func(seed uint64) *record.Calibration {
		rng := rand.New(rand.NewPCG(seed, 0))
		d := &record.Calibration{}
		for i := range 10000 {
			ns := make([]float64, 28)
			for j := range ns {
				ns[j] = 1e6 * (1 + 0.01*rng.NormFloat64())
			}
			d.Results = append(d.Results, simulatedResult(i, ns))
		}
		return d
	}
	old, new := doc(1), doc(2)
	b.ResetTimer()
	for range b.N {
		if _, err := Documents(old, new, Options{}); err != nil {
			b.Fatal(err)
		}
	}
}
