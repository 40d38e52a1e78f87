package compare

import (
	"fmt"
	"math"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"

	"ridge/goharness/measure"
	"ridge/goharness/record"
)

// Metric is what is compared.
type Metric string

// The metrics.
const (
	Time    Metric = "time"    // median time of one launch
	GFLOPS  Metric = "gflops"  // of cases that compute
	GBps    Metric = "gbps"    // modelled bytes over the median time
	Joules  Metric = "joules"  // energy of one launch
	Latency Metric = "latency" // time of one dependent load or dispatch
)

// Metrics in display order.
var Metrics = []Metric{Time, GFLOPS, GBps, Joules, Latency}

// MetricNames lists them for messages.
func MetricNames() string {
	var s []string
	for _, m := range Metrics {
		s = append(s, string(m))
	}
	return strings.Join(s, ", ")
}

func (m Metric) unit() string {
	return map[Metric]string{Time: "ns", GFLOPS: "GFLOPS", GBps: "GB/s", Joules: "J", Latency: "ns"}[m]
}

// timed: the metric is the clock's time, or made of it alone.
func (m Metric) timed() bool { return m != Joules }

// rate: more is better.
func (m Metric) rate() bool { return m == GFLOPS || m == GBps }

// spread is a standard error with its degrees of freedom.
type spread struct{ se, dof float64 }

// item is one number of a document that can be compared.
type item struct {
	id       string
	value    float64 // in the metric's unit
	cost     float64 // ln of a number that is lower when better
	within   spread  // of cost
	clock    float64 // GHz; 0: not known
	chip     string
	silicon  string // of a CPU, whose name virtual machines share; "": not known
	key      string // the id without what makes two measurements of a shape incomparable
	parts    record.CaseID
	unusable string // why there is no value
	broken   bool   // it should have had one
	r        *record.Result
	kernels  string
}

// silicon tells CPUs of one name apart.
func silicon(c *record.CPU) string {
	if c.Family == 0 {
		return ""
	}
	return fmt.Sprintf("family %d model %d", c.Family, c.ModelNumber)
}

// otherChip says that two are of different chips; "" when they are not, or nobody knows.
func otherChip(a, b, siliconA, siliconB string) string {
	switch {
	case a == "" || b == "":
		return ""
	case a == b && siliconA != siliconB && siliconA != "" && siliconB != "":
		a, b = a+" ("+siliconA+")", b+" ("+siliconB+")"
	case a == b:
		return ""
	}
	return fmt.Sprintf("chip: %s → %s", a, b)
}

// items lists what a document can be compared by. The ceilings' probes are left out: they tell the drift.
func items(d *record.Calibration, m Metric) ([]*item, error) {
	chips := map[string]string{}
	for _, dev := range d.Devices {
		chips[dev.ID] = dev.Name
	}
	if chips["cpu"] == "" {
		chips["cpu"] = d.Host.CPU.Model
	}
	var out []*item
	seen := map[string]bool{}
	add := func(it *item) error {
		if seen[it.id] {
			return fmt.Errorf("case %q is there twice", it.id)
		}
		seen[it.id] = true
		if device, _, ok := strings.Cut(it.id, "/"); ok {
			if it.chip = chips[device]; device == "cpu" {
				it.silicon = silicon(&d.Host.CPU)
			}
		}
		if id, err := record.ParseCaseID(it.r.ID); err == nil {
			it.parts = id
			id.DType, id.Threads, id.Mode = "x", 0, "hot"
			it.key = id.String() + strings.TrimPrefix(it.id, it.r.ID)
		}
		out = append(out, it)
		return nil
	}
	for _, of := range itemsOfResults(d.Results, m) {
		for _, it := range of {
			if err := add(it); err != nil {
				return nil, err
			}
		}
	}
	if m != Time {
		return out, nil
	}
	return addShapes(d, out, seen, add)
}

// itemsOfResults gives those of each result. What the samples of one tell takes tens of microseconds, so every CPU takes a share.
func itemsOfResults(results []record.Result, m Metric) [][]*item {
	const share = 64
	out := make([][]*item, len(results))
	var next atomic.Int64
	var all sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		all.Go(func() {
			for {
				end := int(next.Add(share))
				for i := end - share; i < min(end, len(results)); i++ {
					out[i] = itemsOf(&results[i], m)
				}
				if end >= len(results) {
					return
				}
			}
		})
	}
	all.Wait()
	return out
}

func itemsOf(r *record.Result, m Metric) (out []*item) {
	if r.UseCase == record.UseCaseCeiling {
		return nil
	}
	if len(r.Arms) == 0 {
		if it := newItem(r, r.ID, r.Time, r.GFLOPS, r.BandwidthGBps, m); !it.skip(m) {
			it.kernels = r.Kernel
			out = append(out, it)
		}
		return out
	}
	times, compared := measure.ArmTimes(r)
	for i, a := range r.Arms {
		t, gflops, gbps := a.Time, a.GFLOPS, a.BandwidthGBps
		if compared { // as in a fusion profile of the same run
			own := *t
			own.MedianNS = times[i]
			t, gflops, gbps = &own, float64(a.FLOPs)/times[i], float64(a.Bytes)/times[i]
		}
		if it := newItem(r, r.ID+" "+a.Name, t, gflops, gbps, m); !it.skip(m) {
			it.kernels = strings.Join(a.Kernels, "+")
			out = append(out, it)
		}
	}
	return out
}

// addShapes adds the programs of fusion profiles, each by its median; the spread is that of their ratio.
func addShapes(d *record.Calibration, out []*item, seen map[string]bool, add func(*item) error) ([]*item, error) {
	profiles, err := record.FusionProfiles(d)
	if err != nil {
		return nil, err
	}
	var made []*item
	for _, p := range profiles {
		for _, q := range p.Patterns {
			for _, s := range q.Shapes {
				for _, arm := range []struct {
					name    string
					ms      float64
					kernels []string
				}{{"unfused", s.UnfusedMS, s.UnfusedKernels}, {"fused", s.FusedMS, s.FusedKernels}} {
					id := s.CaseID + " " + arm.name
					if seen[id] || s.CaseID == "" {
						continue
					}
					it := &item{id: id, r: &record.Result{ID: s.CaseID, Status: s.Status, Reason: s.Reason, DType: q.DType}, kernels: strings.Join(arm.kernels, "+")}
					half := s.SpeedupCI95[1]/s.Speedup/2 - s.SpeedupCI95[0]/s.Speedup/2
					switch {
					case !s.Status.Counts():
						it.unusable, it.broken = statusText(it.r), broken(s.Status)
					case !(arm.ms > 0) || math.IsInf(arm.ms*1e6, 0) || !(half >= 0) || half > mostWithin:
						it.unusable = "no time with an interval is stored"
					default:
						it.value, it.cost = arm.ms*1e6, math.Log(arm.ms*1e6)
						it.within = spread{math.Max(half/1.96, leastWithin), math.Max(float64(s.Trials-1), 1)}
					}
					if err := add(it); err != nil {
						return nil, err
					}
					made = append(made, it)
				}
			}
		}
	}
	return append(out, made...), nil
}

// skip: the metric does not apply to the case.
func (it *item) skip(m Metric) bool {
	switch m {
	case GFLOPS:
		return it.r.FLOPs == 0 || it.unusable == "" && !(it.value > 0)
	case GBps:
		return it.r.Bytes == 0 || it.unusable == "" && !(it.value > 0)
	case Latency:
		return it.r.Op != "chase" && !strings.HasPrefix(it.r.Op, "dispatch")
	}
	return false
}

func newItem(r *record.Result, id string, t *record.Time, gflops, gbps float64, m Metric) *item {
	it := &item{id: id, r: r, clock: clockOf(r.Conditions)}
	switch {
	case !r.Status.Counts():
		it.unusable, it.broken = statusText(r), broken(r.Status)
		return it
	case r.UseCase == record.UseCaseVerification:
		it.unusable = "it was verified, and launched once for no figure"
		return it
	case m == Joules:
		it.energy(r.Energy)
		return it
	case t == nil || !(t.MedianNS > 0):
		it.unusable = "no time is stored"
		return it
	}
	it.value, it.cost = t.MedianNS, math.Log(t.MedianNS)
	switch m {
	case GFLOPS:
		it.value = gflops
	case GBps:
		it.value = gbps
	case Latency:
		it.value = t.MedianNS / float64(max(r.Items, 1))
	}
	if it.value > 0 {
		if it.cost = math.Log(it.value); m.rate() {
			it.cost = -it.cost
		}
	}
	var ok bool
	if it.within, ok = withinRun(t); !ok {
		it.unusable = "neither samples nor an interval above zero are stored"
	}
	return it
}

// energy takes joules per launch. A meter's uncertainty counts as a standard error of few readings.
func (it *item) energy(e *record.Energy) {
	switch {
	case e == nil:
		it.unusable = "no energy was asked for"
	case e.Unavailable != "" || !(e.Joules > 0) || e.Uncertainty/e.Joules > mostWithin:
		it.unusable = "no energy: " + e.Unavailable
	default:
		j := e.Joules
		if e.Launches > 0 {
			j /= float64(e.Launches)
		}
		it.value, it.cost = j, math.Log(j)
		it.within = spread{math.Max(e.Uncertainty/e.Joules, 0.005), 10}
	}
}

func broken(s record.Status) bool {
	return s == record.Wrong || s == record.Invalid || s == record.Crashed || s == record.TimedOut
}

func statusText(r *record.Result) string {
	if r.Reason == "" {
		return string(r.Status)
	}
	return string(r.Status) + ": " + r.Reason
}

// clockOf a result is the higher of two readings: who else uses a CPU slows a reading and nothing
// makes one too fast.
func clockOf(c *record.Conditions) float64 {
	if c == nil {
		return 0
	}
	a, _ := c.ClockBeforeGHz.Get()
	b, _ := c.ClockAfterGHz.Get()
	if v := math.Max(a, b); v > 0 && v < 100 {
		return v
	}
	return 0
}

const (
	// leastWithin keeps a series of equal samples from being taken for perfect knowledge.
	leastWithin = 1e-4
	// mostWithin is a standard error of ln time beyond which nothing is known: one such case would spoil what the others are lent.
	mostWithin = 100
)

// withinRun is the standard error of ln median from the samples of one run. Where measure's
// order-statistic interval is supported, it is that interval's half width over Student's quantile;
// else that of the sample deviation, as measure widens it. The autocorrelation counts as estimated, as it does for
// quartets: noise that is slower than the samples is in the drift of the probes, which are measured like
// them. False: nothing is known.
func withinRun(t *record.Time) (spread, bool) {
	s, ok := rawWithin(t)
	return s, ok && s.se <= mostWithin // which is false for NaN too
}

func rawWithin(t *record.Time) (spread, bool) {
	level := (1 + measure.Confidence) / 2
	if len(t.SamplesNS) < 2 { // a document of another tool, or a single sample
		n := t.EffectiveN
		lo, hi := t.CI95NS[0], t.CI95NS[1]
		switch {
		case n >= 2 && lo > 0 && hi >= lo:
			dof := math.Floor(min(n, 1e6) - 1)
			return spread{math.Max(math.Log(hi/lo)/2/measure.StudentQuantile(level, int(dof)), leastWithin), dof}, true
		case t.StdNS > 0:
			return spread{math.Max(t.StdNS/t.MedianNS, leastWithin), 2}, true
		}
		return spread{}, false
	}
	s, err := measure.SummarizeRatios(t.SamplesNS, measure.Confidence)
	if err != nil || !(s.Min > 0) {
		return spread{}, false
	}
	dof := math.Max(math.Floor(s.EffectiveN+1e-9)-1, 1)
	if s.Supported {
		return spread{math.Max(math.Log(s.Hi/s.Lo)/2/measure.StudentQuantile(level, int(dof)), leastWithin), dof}, true
	}
	return spread{math.Max(s.Std/s.Median*math.Sqrt(math.Pi/2/dof), leastWithin), dof}, true
}
