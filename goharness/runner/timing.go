package runner

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"ridge/goharness/backend"
	"ridge/goharness/measure"
	"ridge/goharness/record"
)

// leastSample is the least duration of a sample on a device.
func leastSample(device string) time.Duration {
	if platform, _, _ := strings.Cut(device, ":"); platform != "cpu" {
		return time.Millisecond
	}
	return 200 * time.Microsecond
}

// quiet ends a collection and keeps the collector off until its answer is called: no Go
// runs inside a window.
func quiet() (loud func()) {
	runtime.GC()
	old := debug.SetGCPercent(-1)
	return func() { debug.SetGCPercent(old) }
}

// warmArm bounds the warm-up of each arm of a comparison, warmAgain that of a visit after the first: two windows that might agree.
const (
	warmArm   = 40 * time.Millisecond
	warmAgain = 20 * time.Millisecond
)

func (s *Server) measure(ctx context.Context, q Request) (*Measured, error) {
	if s.cur == nil {
		return nil, usage("measure: no case is prepared")
	}
	c := s.cur.c
	out := &Measured{}
	var clockBefore, barrierBefore, together record.Fact[float64]
	if !c.Pilot {
		clockBefore, barrierBefore, together = s.clock(), s.barrier(), s.together()
	}
	stopSampling := s.sample(q.SampleHz)
	defer stopSampling() // where the measurement fails
	traffic := s.moved(q.SampleHz)
	defer traffic.close()
	steal0, stealErr := s.steal()
	loud := quiet()
	defer loud()
	least := leastSample(c.Device)
	warm, window := warmup(c, s.cur.arms)
	var samples []backend.Sample
	var arms [][]backend.Sample
	if len(s.cur.arms) == 2 {
		warm = min(warm, warmArm) // quartets cancel the rest of a drift
		if c.Verified && onHost(c.Device) {
			warm = min(warm, warmAgain)
		}
		r, err := measure.Compare(ctx, traffic.watch(s.cur.arms[0].e), traffic.watch(s.cur.arms[1].e), measure.CompareOptions{
			MinSample: least, WarmupMax: warm, Quick: c.Quick, Budget: time.Duration(c.BudgetNS), LeastQuartets: c.LeastQuartets, Cold: c.Mode == record.Cold || s.leavesNothing(),
			Refill: s.refill(), Refills: refills(c), Quartets: c.Trials, Warmup: c.Warmup, Launches: c.Launches, Cuts: c.Cuts, Clear: c.Clear})
		if err != nil {
			return nil, err
		}
		out.Ratio, out.Times, out.Converged = &r.Ratio, r.Times[:], r.Converged
		arms = r.Samples[:]
		samples = slices.Concat(arms...)
	} else {
		o := measure.Options{MinSample: least, Quick: c.Quick, WarmupMax: warm, WarmupWindow: window, Budget: time.Duration(c.BudgetNS), Trials: c.Trials, Warmup: c.Warmup}
		if c.UseCase == record.UseCaseVerification {
			o.Launches = 1 // no figure: under a tool that watches every access a sample's launches would take its time
		}
		t, tr, err := measure.Run(ctx, traffic.watch(s.cur.arms[0].e), o)
		if err != nil {
			return nil, err
		}
		out.Times, out.Converged = []record.Time{t}, tr.Converged
		samples, arms = tr.Samples, [][]backend.Sample{tr.Samples}
	}
	out.Code = stopSampling(arms...)
	traffic.tell(out.Code, arms)
	for i := range s.cur.arms {
		s.cur.arms[i].launches = out.Times[i].Launches
	}
	if c.Pilot { // nobody reads its conditions, and to read them takes longer than its samples
		return out, nil
	}
	var switches, delay int64
	for _, x := range samples {
		switches, delay = sumKnown(switches, x.Switches), sumKnown(delay, x.RunDelayNS)
	}
	out.Conditions = s.conditions(clockBefore, steal0, stealErr, switches, delay)
	out.Warnings = s.launching(&out.Conditions, least)
	out.Conditions.BarrierBeforeNS, out.Conditions.BarrierAfterNS = barrierBefore, barrierBefore
	out.Conditions.TogetherOverAlone = together
	if before, known := barrierBefore.Get(); known {
		out.Conditions.BarrierAfterNS = s.barrier()
		if after, known := out.Conditions.BarrierAfterNS.Get(); known {
			if after < before {
				out.Conditions.TogetherOverAlone = s.together()
			}
			if out.Ratio != nil {
				out.Ratio.BarrierNS = []float64{max(before, after)}
			}
		}
	}
	return out, nil
}

// warmup is the longest that a case is warmed up and the length of the windows of which two must agree. On a machine where they never
// do it takes half of the case's budget, at least 60 ms and at most 1 s. Tensor cores draw so much power that a device
// lowers its clock under them over seconds: their windows are longer, and 3 s are theirs (quick: a sixth).
func warmup(c record.Case, arms []arm) (longest, window time.Duration) {
	longest = min(time.Second, max(60*time.Millisecond, time.Duration(c.BudgetNS/2)))
	if onHost(c.Device) || !slices.ContainsFunc(arms, usesTensorCores) {
		return longest, 0
	}
	if c.Quick {
		return 500 * time.Millisecond, 50 * time.Millisecond
	}
	return 3 * time.Second, 250 * time.Millisecond
}

func usesTensorCores(a arm) bool {
	return slices.ContainsFunc(a.e.Kernels(), func(k backend.KernelInfo) bool { return record.TensorISA(ISATag(k.ISA)) })
}

// resolutionShare: a sample is at least so many steps of the device's events, or its result warns.
const resolutionShare = 200

// launching adds to the conditions how the samples reached the device and how finely it times them, and returns warnings of both.
func (s *Server) launching(c *record.Conditions, least time.Duration) (warnings []string) {
	for _, a := range s.cur.arms {
		if x, ok := a.e.(backend.LaunchReporter); ok {
			l, w := x.Launching()
			c.Launching = append(c.Launching, l)
			warnings = append(warnings, w...)
		}
	}
	c.EventResolutionNS = record.Unknown[float64]("the device is not timed by events")
	if d, ok := s.dev.(backend.EventClock); ok {
		ns, err := d.EventResolutionNS()
		if err != nil {
			c.EventResolutionNS = record.Unknown[float64](err.Error())
			return warnings
		}
		c.EventResolutionNS = record.Known(ns, "least step of 64 events recorded one after another")
		if ns*resolutionShare > float64(least) {
			warnings = append(warnings, fmt.Sprintf("the device's events differ by %.4g ns at least: a sample of %v is known to %.2g %% only", ns, least, 100*ns/float64(least)))
		}
	}
	return warnings
}

// leavesNothing reports whether a launch of either arm replaces all that the caches hold, so that an
// untimed launch before a sample would change nothing: both touch at least twice the last-level cache.
func (s *Server) leavesNothing() bool {
	if s.Host == nil || s.Host.LLCBytes() == 0 {
		return false
	}
	for _, a := range s.cur.arms {
		if a.p.WorkingSet() < 2*s.Host.LLCBytes() {
			return false
		}
	}
	return true
}

// slowestRefill is the least bandwidth in bytes per second that memory fills caches at.
const slowestRefill = 10e9

// refill is the longest that it takes to bring into the caches what the larger of the arms had there: its working set, or
// all of the last-level cache. 0 when the cache is not known.
func (s *Server) refill() time.Duration {
	if s.Host == nil || s.Host.LLCBytes() == 0 {
		return 0
	}
	var most int64
	for _, a := range s.cur.arms {
		most = max(most, a.p.WorkingSet())
	}
	return time.Duration(float64(min(most, s.Host.LLCBytes())) / slowestRefill * 1e9)
}

// pilotRefills: both arms of a pilot may have a sixth more in each sample; that makes 1.05 no more than 1.04, and the untimed launches would be
// five beside the eight of two quartets.
const pilotRefills = 3

// refills are CompareOptions.Refills of a case.
func refills(c record.Case) int {
	if c.Pilot {
		return pilotRefills
	}
	return 0
}

// sumKnown adds a counter unless it or the sum is unknown (-1).
func sumKnown(sum, x int64) int64 {
	if sum < 0 || x < 0 {
		return -1
	}
	return sum + x
}

// clocks measures the clock of the case's device, idle and under load.
func (s *Server) clocks(q Request) (*ClockReading, error) {
	if q.Case == nil {
		return nil, usage("clock: no case names the device and threads")
	}
	if err := s.open(*q.Case); err != nil {
		return nil, err
	}
	idle, err := s.dev.MeasureClock(false)
	if err != nil {
		return nil, err
	}
	r := &ClockReading{IdleGHz: idle}
	// A CPU for whose vectors there is no load is measured all the same, without that clock.
	var lost *backend.LostError
	if r.LoadedGHz, err = s.dev.MeasureClock(true); errors.As(err, &lost) {
		return nil, err
	} else if err != nil {
		r.LoadedGHz, r.LoadedUnavailable = 0, err.Error()
	}
	return r, nil
}

func (s *Server) clock() record.Fact[float64] {
	ghz, err := s.dev.MeasureClock(false)
	if err != nil {
		return record.Unknown[float64](err.Error())
	}
	return record.Known(ghz, "dependent-instruction chain")
}

func (s *Server) barrier() record.Fact[float64] {
	return s.ofTeam(backend.Barrier.BarrierNS, "median of 9 x 64 empty steps of the team")
}

func (s *Server) together() record.Fact[float64] {
	return s.ofTeam(backend.Barrier.TogetherOverAlone, "whole-number multiplications on all threads at once and on the first alone, beside the shorter of both barriers")
}

// ofTeam is what is read of a device whose threads wait for each other.
func (s *Server) ofTeam(read func(backend.Barrier) (float64, error), source string) record.Fact[float64] {
	b, ok := s.dev.(backend.Barrier)
	if !ok {
		return record.Unknown[float64]("the device has no barrier between threads")
	}
	value, err := read(b)
	if err != nil {
		return record.Unknown[float64](err.Error())
	}
	return record.Known(value, source)
}

func (s *Server) steal() (int64, error) {
	if s.Host == nil {
		return 0, errors.New("no host readings in this worker")
	}
	return s.Host.StealNS()
}

func (s *Server) conditions(before record.Fact[float64], steal0 int64, stealErr error, switches, delay int64) record.Conditions {
	c := s.dev.Conditions()
	c.ClockBeforeGHz, c.ClockAfterGHz = before, s.clock()
	c.Seed, c.InputDistribution = Seed, "counter-based random, uniform (see measuring.md)"
	c.BufferSets = s.cur.arms[0].sets
	c.Priority = s.Priority
	c.StealNS = record.Unknown[int64]("steal time: not readable")
	if stealErr != nil {
		c.StealNS = record.Unknown[int64](stealErr.Error())
	} else if now, err := s.Host.StealNS(); err == nil {
		c.StealNS = record.Known(now-steal0, "/proc/stat over the block, all CPUs")
	}
	known := func(v int64, source string) record.Fact[int64] {
		if v < 0 {
			return record.Unknown[int64](source + ": not available for this measurement")
		}
		return record.Known(v, source)
	}
	c.InvoluntarySwitches = known(switches, "getrusage of the team's threads, timed samples")
	c.RunDelayNS = known(delay, "schedstat of the team's threads, timed samples")
	c.MajorFaults = record.Unknown[int64]("not counted: pages are touched and verified before timing")
	c.TemperatureC = record.Unknown[float64]("no host readings in this worker")
	c.Throttled = record.Unknown[string]("no host readings in this worker")
	c.QuotaCPUs = record.Unknown[float64]("no host readings in this worker")
	c.NUMA = record.Unknown[string]("no host readings in this worker")
	if s.Host != nil {
		s.Host.Fill(&c)
	}
	c.MemoryBeforeBytes, c.MemoryAfterBytes = s.cur.rss, residentBytes()
	// The kernel sums the mark and the set from counters of each CPU at other moments: the mark may lie pages below the set.
	c.PeakMemoryBytes = max(peakResidentBytes(), c.MemoryBeforeBytes, c.MemoryAfterBytes)
	return c
}

func (s *Server) soak(ctx context.Context, q Request) (*Soaked, error) {
	if s.cur == nil || q.Arm < 0 || q.Arm >= len(s.cur.arms) {
		return nil, usage("soak: arm %d of no prepared case", q.Arm)
	}
	if !(q.Seconds > 0 && q.Seconds <= 3600) {
		return nil, usage("soak: %v seconds: expected more than 0 and at most 3600", q.Seconds)
	}
	a := s.cur.arms[q.Arm]
	launches := q.Launches
	if launches == 0 {
		launches = a.launches
	}
	if launches < 1 {
		return nil, usage("soak: arm %d has not been measured: its launches per sample are not known", q.Arm)
	}
	ran := windows{Sampler: a.e}
	var sampler measure.Sampler = a.e
	if q.SampleHz > 0 {
		sampler = &ran
	}
	stopSampling := s.sample(q.SampleHz)
	defer stopSampling() // where the soak fails
	defer quiet()()
	got, err := measure.Soak(ctx, sampler, launches, time.Duration(q.Seconds*1e9), nil)
	if err != nil {
		return nil, err
	}
	return &Soaked{StartNS: int64(got.Start), EndNS: int64(got.End), Launches: got.Launches, Code: stopSampling(ran.samples)}, nil
}
