package measure

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"time"

	"ridge/goharness/backend"
)

// Spinner keeps a CPU busy for a known time. The self-test judges the loop and the statistics
// with it; the timestamps of a platform's own windows are judged by that platform's tests
// (native/team runs kernels of known duration on the team).
type Spinner interface {
	Spin(d time.Duration)
}

// BusySpin is a Spinner that reads Go's monotonic clock until the time has passed. It
// overshoots by at most one reading (tens of ns).
type BusySpin struct{}

// Spin returns once d has passed.
func (BusySpin) Spin(d time.Duration) {
	for start := time.Now(); time.Since(start) < d; {
	}
}

// Spun is a Sampler of known truth in real time: each launch spins for the programmed time.
type Spun struct {
	Spinner Spinner
	Launch  time.Duration // time of one launch without noise
	Source  *NoiseSource
}

// Measure spins on one operating system thread. Switches, run-queue delay and steal are unknown.
func (s *Spun) Measure(ctx context.Context, launches, samples int) ([]backend.Sample, error) {
	if launches < 1 || samples < 1 {
		return nil, fmt.Errorf("spinning %d samples of %d launches: expected at least 1 of each", samples, launches)
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	out := make([]backend.Sample, 0, samples)
	for range samples {
		if err := ctx.Err(); err != nil {
			return out, err
		}
		factor, _ := s.Source.next()
		d := time.Duration(math.Round(float64(s.Launch) * factor))
		start := MonotonicNow()
		for range launches {
			s.Spinner.Spin(d)
		}
		out = append(out, backend.Sample{
			StartNS: int64(start), EndNS: int64(MonotonicNow()), Launches: launches,
			Switches: -1, RunDelayNS: -1, StealNS: -1,
		})
	}
	return out, nil
}
