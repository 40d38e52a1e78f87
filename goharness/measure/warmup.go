package measure

import (
	"math"
	"time"

	"ridge/goharness/backend"
)

const (
	// maxLaunches bounds the launches of one sample, against kernels that take no time.
	maxLaunches = 1 << 24
	// windowSamples is the least number of samples in a warm-up window, so that one
	// disturbed sample does not move its median; slow kernels get by with one.
	windowSamples = 5
)

// warmth is what ran before the first sample that counts.
type warmth struct {
	launches  int
	ns        int64         // time of those launches
	converged bool          // two windows agreed, or the launches asked for were run
	sample    time.Duration // last known duration of one sample
}

// prepare calibrates the launches per sample and warms up.
func (r *run) prepare() error {
	r.launches = r.o.Launches
	begin := r.now()
	if r.launches == 0 {
		if err := r.calibrate(1); err != nil {
			return err
		}
	}
	if r.o.Warmup > 0 || r.o.Trials > 0 {
		return r.warmExactly(r.o.Warmup - r.warm.launches)
	}
	if r.o.Launches > 0 {
		if _, err := r.window(r.launches, 1); err != nil {
			return err
		}
	}
	return r.warmUntilSteady(begin)
}

// calibrate raises the launches per sample from `from` until a sample lasts MinSample. The
// first launch is often slow (cold caches, lazy set-up), so a pair of samples decides by its
// faster one. A first launch far beyond the limit decides alone only where the windows of the
// warm-up rule follow, which calibrate again: fixed counts would stay with what a single
// preempted launch said.
func (r *run) calibrate(from int) error {
	want := float64(r.o.MinSample)
	for l := from; ; {
		r.launches = l
		got, err := r.window(l, 1)
		if err != nil {
			return err
		}
		d := sampleNS(got[0])
		if l == 1 && d >= 10*want && r.o.Trials == 0 && r.o.Warmup == 0 {
			return nil
		}
		if got, err = r.window(l, 1); err != nil {
			return err
		}
		if d = math.Min(d, sampleNS(got[0])); d >= want || l == maxLaunches {
			return nil
		}
		// A tenth more than needed, so that noise does not leave the sample short; at most a
		// hundredfold, because a very short time is known badly.
		next := math.Ceil(float64(l) * math.Min(1.1*want/math.Max(d, 1), 100))
		l = int(math.Min(math.Max(next, float64(l+1)), maxLaunches))
	}
}

// warmUntilSteady runs windows until two consecutive ones agree. When the kernel has become
// so fast that samples are short, the launches are calibrated again.
func (r *run) warmUntilSteady(begin time.Duration) error {
	last := math.NaN()
	for {
		n := 1
		if r.warm.sample < r.o.WarmupWindow {
			n = max(windowSamples, int(math.Ceil(float64(r.o.WarmupWindow)/float64(max(r.warm.sample, 1)))))
			n = min(n, 4096)
		}
		spent := r.now() - begin
		if spent+time.Duration(n)*r.warm.sample > r.o.WarmupMax {
			return nil
		}
		got, err := r.window(r.launches, n)
		if err != nil {
			return err
		}
		m := Median(launchTimes(got))
		r.trace.Windows = append(r.trace.Windows, m)
		if short := m * float64(r.launches); r.o.Launches == 0 && short < 0.9*float64(r.o.MinSample) && r.launches < maxLaunches {
			if err := r.calibrate(r.launches + 1); err != nil {
				return err
			}
			last = math.NaN()
			continue
		}
		if math.Abs(m-last) <= r.o.WarmupAgree*math.Min(m, last) {
			r.warm.converged = true
			return nil
		}
		last = m
	}
}

// warmExactly runs n launches in samples of the usual size.
func (r *run) warmExactly(n int) error {
	for n > 0 {
		l, k := r.launches, n/r.launches
		if k == 0 {
			l, k = n, 1
		}
		got, err := r.window(l, min(k, 4096))
		if err != nil {
			return err
		}
		for _, s := range got {
			n -= s.Launches
		}
	}
	r.warm.converged = true
	return nil
}

// window takes samples that count as warm-up.
func (r *run) window(launches, samples int) ([]backend.Sample, error) {
	got, err := r.take(launches, samples)
	for _, s := range got {
		r.warm.launches += s.Launches
		r.warm.ns += s.EndNS - s.StartNS
		r.warm.sample = time.Duration(sampleNS(s) * float64(r.launches) / float64(s.Launches))
	}
	return got, err
}

func sampleNS(s backend.Sample) float64 { return float64(s.EndNS - s.StartNS) }
