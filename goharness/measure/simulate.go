package measure

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"ridge/goharness/backend"
)

// Noise describes what disturbs a simulated or spun kernel. A sample's time is the kernel's
// time × (1 + fast + step + burst); all amplitudes are relative to the kernel's time.
type Noise struct {
	Name  string
	Sigma float64 // standard deviation of the Gaussian part
	Rho   float64 // its lag-1 autocorrelation, 0 ≤ Rho < 1: 0 is independent noise
	// Steps between two levels, like a clock that changes: StepHeight above the lower one
	// for StepShare of the time, StepDwell samples on end on average.
	StepHeight, StepShare, StepDwell float64
	// Bursts of stolen time: for BurstShare of the samples, BurstDwell on end on average, at
	// least BurstHeight is added, with a Pareto tail of infinite variance (index 1/burstTail).
	BurstHeight, BurstShare, BurstDwell float64
}

// burstTail makes the burst's excess BurstHeight·U^(−burstTail): index 5/3, so no variance.
const burstTail = 0.6

// SelfTestNoises are the kinds that the self-test judges. Steps and bursts last for a few
// samples: noise slower than the whole measurement is beyond any rule, see SlowSteps.
func SelfTestNoises() []Noise {
	return []Noise{
		{Name: "iid", Sigma: 0.01},
		{Name: "iid, small", Sigma: 0.002},
		{Name: "AR(1) 0.5", Sigma: 0.01, Rho: 0.5},
		{Name: "AR(1) 0.9", Sigma: 0.01, Rho: 0.9},
		{Name: "steps", Sigma: 0.01, StepHeight: 0.03, StepShare: 0.25, StepDwell: 8},
		{Name: "steal bursts", Sigma: 0.01, BurstHeight: 0.15, BurstShare: 0.1, BurstDwell: 3},
		{Name: "AR(1) 0.9 + bursts", Sigma: 0.01, Rho: 0.9, BurstHeight: 0.15, BurstShare: 0.05, BurstDwell: 2},
	}
}

// SlowSteps hold each level for longer than a measurement that stops early: Run's interval
// cannot cover the truth, which the self-test shows without judging it; quartets cancel it.
func SlowSteps() Noise {
	return Noise{Name: "slow steps", Sigma: 0.01, StepHeight: 0.03, StepShare: 0.25, StepDwell: 300}
}

// validate refuses parameters without a stationary median that Median can state.
func (n Noise) validate() error {
	share := func(x float64) bool { return x >= 0 && x < 1 }
	switch {
	case !(n.Sigma >= 0 && n.Sigma < 0.1):
		return fmt.Errorf("noise %q: Sigma is %v: expected 0 to 0.1, so that times stay positive", n.Name, n.Sigma)
	case !share(n.Rho) || !share(n.StepShare) || !share(n.BurstShare):
		return fmt.Errorf("noise %q: Rho %v, StepShare %v, BurstShare %v: expected 0 or more and below 1", n.Name, n.Rho, n.StepShare, n.BurstShare)
	case n.StepShare > 0 && !(n.StepHeight >= 0 && n.StepDwell >= 1 && n.StepDwell*(1-n.StepShare)/n.StepShare >= 1):
		return fmt.Errorf("noise %q: steps of height %v and dwell %v: expected 0 or more, and at least 1 sample at either level", n.Name, n.StepHeight, n.StepDwell)
	case n.BurstShare > 0 && !(n.BurstHeight >= 8*n.Sigma+n.StepHeight && n.BurstDwell >= 1 && n.BurstShare < 0.4 && n.BurstDwell*(1-n.BurstShare)/n.BurstShare >= 1):
		return fmt.Errorf("noise %q: bursts of height %v, share %v and dwell %v: expected at least 8 Sigma + StepHeight, below 0.4 and at least 1 sample", n.Name, n.BurstHeight, n.BurstShare, n.BurstDwell)
	}
	return nil
}

// Median of the process, as a factor of the kernel's time. Bursts lie above it altogether, so
// it solves (1−b)·((1−s)·Φ(x/σ) + s·Φ((x−h)/σ)) = ½.
func (n Noise) Median() float64 {
	if n.Sigma == 0 {
		if (1-n.BurstShare)*(1-n.StepShare) >= 0.5 {
			return 1
		}
		return 1 + n.StepHeight
	}
	phi := func(x float64) float64 { return math.Erfc(-x/n.Sigma/math.Sqrt2) / 2 }
	lo, hi := -10*n.Sigma, n.StepHeight+10*n.Sigma
	for range 100 {
		x := (lo + hi) / 2
		if (1-n.BurstShare)*((1-n.StepShare)*phi(x)+n.StepShare*phi(x-n.StepHeight)) < 0.5 {
			lo = x
		} else {
			hi = x
		}
	}
	return 1 + (lo+hi)/2
}

// NoiseSource draws a noise, sample by sample, from its stationary state on. Two kernels that share a
// source are disturbed by the same machine.
type NoiseSource struct {
	n         Noise
	r         *rand.Rand
	z         float64 // Gaussian part in units of Sigma
	up, burst bool
}

// NewNoiseSource starts a source; equal seeds give equal noise.
func NewNoiseSource(n Noise, seed uint64) (*NoiseSource, error) {
	if err := n.validate(); err != nil {
		return nil, err
	}
	r := rand.New(rand.NewPCG(seed, 0))
	return &NoiseSource{n: n, r: r, z: r.NormFloat64(), up: r.Float64() < n.StepShare, burst: r.Float64() < n.BurstShare}, nil
}

// next returns the factor of the next sample and how much of it was stolen.
func (s *NoiseSource) next() (factor, stolen float64) {
	s.z = s.n.Rho*s.z + math.Sqrt(1-s.n.Rho*s.n.Rho)*s.r.NormFloat64()
	s.up = s.flip(s.up, s.n.StepShare, s.n.StepDwell)
	s.burst = s.flip(s.burst, s.n.BurstShare, s.n.BurstDwell)
	factor = 1 + s.n.Sigma*s.z
	if s.up {
		factor += s.n.StepHeight
	}
	if s.burst {
		stolen = s.n.BurstHeight * math.Pow(1-s.r.Float64(), -burstTail)
	}
	return math.Max(factor, 0.01) + stolen, stolen
}

// flip moves a two-state chain that is on for share of the time, dwell samples on end.
func (s *NoiseSource) flip(on bool, share, dwell float64) bool {
	if share == 0 {
		return false
	}
	if on {
		return s.r.Float64() >= 1/dwell
	}
	return s.r.Float64() < share/(1-share)/dwell
}

// VirtualClock is a time that only simulated work moves.
type VirtualClock struct{ t time.Duration }

// Now is the virtual time.
func (c *VirtualClock) Now() time.Duration { return c.t }

// Simulated is a Sampler of known truth that spends virtual time only.
type Simulated struct {
	Clock  *VirtualClock
	Launch time.Duration // time of one launch without noise
	Source *NoiseSource
}

// Measure draws one noise value per sample.
func (s *Simulated) Measure(ctx context.Context, launches, samples int) ([]backend.Sample, error) {
	if launches < 1 || samples < 1 {
		return nil, fmt.Errorf("simulating %d samples of %d launches: expected at least 1 of each", samples, launches)
	}
	out := make([]backend.Sample, 0, samples)
	for range samples {
		if err := ctx.Err(); err != nil {
			return out, err
		}
		factor, stolen := s.Source.next()
		quiet := float64(s.Launch) * float64(launches)
		start := s.Clock.t
		s.Clock.t += time.Duration(math.Round(quiet * factor))
		out = append(out, backend.Sample{
			StartNS: int64(start), EndNS: int64(s.Clock.t), Launches: launches, StealNS: int64(quiet * stolen),
		})
	}
	return out, nil
}
