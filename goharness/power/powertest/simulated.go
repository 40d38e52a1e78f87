package powertest

import (
	"context"
	"math"
	"math/rand/v2"
	"time"

	"ridge/goharness/power"
)

// Load is the true power that a Simulated sensor stands over: Idle until From, then a ramp of 150 ms to Level, with a drift, a square ripple
// and noise that is correlated over some 30 ms. Idle has a tenth of the noise and no ripple.
type Load struct {
	Idle, Level float64       // W
	From, Total time.Duration // when the load begins and how much is simulated
	Sigma       float64       // W, standard deviation of the noise
	Drift       float64       // W per second
	Ripple      float64       // W, half of its height
	Period      time.Duration // of the ripple
}

// Simulated is a sensor of watts whose true energy is known: it shows the mean of the last Averaging at its last update, in steps, and may
// stick. Its energy comes in whole, for a counter beside it.
type Simulated struct {
	Title     string
	Interval  time.Duration // true time between updates
	Stated    time.Duration // what the domain says; 0: unknown
	Averaging time.Duration // true; 0: the power of the moment
	Hidden    bool          // the domain does not say that it averages
	Late      float64       // updates come late at random by up to this share of the interval
	Step      float64       // W
	StuckFrom time.Duration // from here on it shows what it shows then,
	StuckFor  time.Duration // for so long; 0: it never sticks
	Now       func() time.Duration

	random *rand.Rand
	joules []float64       // up to each millisecond
	late   []time.Duration // by update
}

const tick = time.Millisecond

// NewSimulated simulates a load under a good sensor: updates each 100 ms, up to a fifth late, steps of 1 mW.
func NewSimulated(r *rand.Rand, now func() time.Duration, l Load) *Simulated {
	s := &Simulated{Title: "board", Interval: 100 * time.Millisecond, Stated: 100 * time.Millisecond, Late: 0.2, Step: 1e-3, Now: now, random: r}
	noise, keep := 0.0, 0.97
	phase := time.Duration(r.Int64N(int64(max(l.Period, 1))))
	n := int(l.Total / tick)
	s.joules = make([]float64, n+1)
	fresh := math.Sqrt(1 - keep*keep)
	for i := range n {
		at := time.Duration(i) * tick
		noise = keep*noise + fresh*r.NormFloat64()
		w := l.Idle + 0.1*l.Sigma*noise
		if at >= l.From {
			up := min(1, float64(at-l.From)/float64(150*time.Millisecond))
			w = l.Idle + (l.Level-l.Idle)*up + l.Drift*(at-l.From).Seconds() + l.Sigma*noise
			if l.Period > 0 {
				if (at+phase)%l.Period < l.Period/2 {
					w += l.Ripple
				} else {
					w -= l.Ripple
				}
			}
		}
		s.joules[i+1] = s.joules[i] + max(1, w)*tick.Seconds()
	}
	return s
}

// True is the energy from one time to another in joules.
func (s *Simulated) True(from, to time.Duration) float64 { return s.until(to) - s.until(from) }

func (s *Simulated) until(at time.Duration) float64 {
	i := max(0, min(int(at/tick), len(s.joules)-2))
	return s.joules[i] + (s.joules[i+1]-s.joules[i])*float64(at-time.Duration(i)*tick)/float64(tick)
}

func (s *Simulated) Name() string { return "simulated " + s.Title }
func (s *Simulated) Domains() []power.Domain {
	d := power.Domain{Name: s.Title, Unit: power.Watts, Scale: s.Step, Interval: s.Stated, Averaging: s.Averaging}
	if s.Hidden {
		d.Averaging = 0
	}
	return []power.Domain{d}
}
func (s *Simulated) Facts() power.Facts { return power.Facts{} }
func (s *Simulated) Close() error       { return nil }

// Shows is the watts on display at a time.
func (s *Simulated) Shows(at time.Duration) float64 {
	if s.StuckFor > 0 && at > s.StuckFrom && at < s.StuckFrom+s.StuckFor {
		at = s.StuckFrom
	}
	n := max(1, int(at/s.Interval))
	for n >= len(s.late) {
		s.late = append(s.late, time.Duration(s.random.Float64()*s.Late*float64(s.Interval)))
	}
	if n > 1 && at < time.Duration(n)*s.Interval+s.late[n] {
		n--
	}
	to := time.Duration(n) * s.Interval
	mean := max(s.Averaging, tick)
	from := max(0, to-mean)
	return math.Round(s.True(from, to)/(to-from).Seconds()/s.Step) * s.Step
}

// Read shows the last update.
func (s *Simulated) Read(context.Context) (power.Reading, error) {
	return power.Reading{Counts: []uint64{uint64(math.Round(s.Shows(s.Now()) / s.Step))}}, nil
}
