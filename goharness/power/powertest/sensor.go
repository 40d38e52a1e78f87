package powertest

import (
	"context"
	"math/rand/v2"
	"time"

	"ridge/goharness/power"
)

// Sensor is a board's power sensor as NVML has them on recent GPUs: it shows the mean of the last
// Averaging, updated every Interval, taken from the first Sampled of every Every (25 of 100 ms on Hopper).
// The power below it is made up of steps, a ripple and noise; True tells its energy.
type Sensor struct {
	Averaging, Interval, Every, Sampled time.Duration
	Now                                 func() time.Duration
	tick                                time.Duration
	watts, joules                       []float64 // by tick; joules up to it
	offset                              time.Duration
	late                                []time.Duration
	scale                               float64
}

// NewSensor simulates so long. The load begins at from with power level; the noise has a standard
// deviation of sigma and a correlation time of some tens of milliseconds.
func NewSensor(r *rand.Rand, now func() time.Duration, total, from time.Duration, idle, level, sigma, drift, ripple float64, period time.Duration) *Sensor {
	s := &Sensor{Averaging: time.Second, Interval: 100 * time.Millisecond, Every: 100 * time.Millisecond, Sampled: 25 * time.Millisecond,
		Now: now, tick: time.Millisecond, scale: 1e-3}
	s.offset = time.Duration(r.Int64N(int64(s.Every)))
	noise, keep := 0.0, 0.97 // per tick: 33 ms
	phase := time.Duration(r.Int64N(int64(period)))
	for at := time.Duration(0); at < total; at += s.tick {
		noise = keep*noise + sigma*r.NormFloat64()*0.243 // √(1 − 0.97²)
		w := idle
		if at >= from {
			up := float64(at-from) / float64(150*time.Millisecond)
			w = idle + (level-idle)*min(1, up) + drift*(at-from).Seconds()
			if (at+phase)%period < period/2 {
				w += ripple
			} else {
				w -= ripple
			}
		}
		s.watts = append(s.watts, max(1, w+noise))
	}
	s.joules = make([]float64, len(s.watts))
	for i := 1; i < len(s.watts); i++ {
		s.joules[i] = s.joules[i-1] + s.watts[i-1]*s.tick.Seconds()
	}
	for range int(total/s.Interval) + 2 {
		s.late = append(s.late, time.Duration(r.Int64N(int64(s.Interval/5))))
	}
	return s
}

// True is the energy from one time to another in joules.
func (s *Sensor) True(from, to time.Duration) float64 { return s.until(to) - s.until(from) }

func (s *Sensor) until(at time.Duration) float64 {
	i := max(0, min(int(at/s.tick), len(s.watts)-1))
	return s.joules[i] + s.watts[i]*(at-time.Duration(i)*s.tick).Seconds()
}

func (s *Sensor) Name() string { return "simulated sensor" }
func (s *Sensor) Domains() []power.Domain {
	return []power.Domain{{Name: "board", Unit: power.Watts, Scale: s.scale, Interval: s.Interval, Averaging: s.Averaging}}
}
func (s *Sensor) Facts() power.Facts { return power.Facts{} }
func (s *Sensor) Close() error       { return nil }

// Read shows the mean that the last update saw. Updates come late at random.
func (s *Sensor) Read(context.Context) (power.Reading, error) {
	now := s.Now()
	n := int(now / s.Interval)
	if now < time.Duration(n)*s.Interval+s.late[n] {
		n--
	}
	to := time.Duration(max(0, n)) * s.Interval
	sum, k := 0.0, 0
	for at := max(0, to-s.Averaging); at < to; at += s.tick {
		if i := int(at / s.tick); (at+s.offset)%s.Every < s.Sampled && i < len(s.watts) {
			sum, k = sum+s.watts[i], k+1
		}
	}
	if k == 0 {
		sum, k = s.watts[0], 1
	}
	return power.Reading{Counts: []uint64{uint64(sum/float64(k)/s.scale + 0.5)}}, nil
}
