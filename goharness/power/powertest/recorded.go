// Package powertest holds meters for tests: a recorded trace, and a simulated sensor whose true
// energy is known.
package powertest

import (
	"context"
	"time"

	"ridge/goharness/power"
)

// Clock is a virtual time that sleeping moves on.
type Clock struct{ T time.Duration }

// Power is this clock for an observer.
func (c *Clock) Power() power.Clock {
	return power.Clock{Now: func() time.Duration { return c.T }, Sleep: func(ctx context.Context, d time.Duration) error {
		if d > 0 {
			c.T += d
		}
		return ctx.Err()
	}}
}

// Point of a recorded trace: from At on the meter shows Counts, or Err.
type Point struct {
	At     time.Duration
	Counts []uint64
	power.Sensors
	Err error
	// Hang makes Read wait until its context ends; Deaf makes it wait for ever.
	Hang, Deaf bool
}

// Recorded plays a trace: wraps, resets, stalls, late updates and errors are what its points say.
type Recorded struct {
	Title  string
	Of     []power.Domain
	Info   power.Facts
	Points []Point
	Now    func() time.Duration
	Closed int
}

func (m *Recorded) Name() string {
	if m.Title == "" {
		return "recorded"
	}
	return m.Title
}
func (m *Recorded) Domains() []power.Domain { return m.Of }
func (m *Recorded) Facts() power.Facts      { return m.Info }
func (m *Recorded) Close() error            { m.Closed++; return nil }

// Read gives the latest point.
func (m *Recorded) Read(ctx context.Context) (power.Reading, error) {
	at, now := 0, m.Now()
	for i, p := range m.Points {
		if p.At <= now {
			at = i
		}
	}
	p := m.Points[at]
	if p.Deaf {
		select {}
	}
	if p.Hang {
		<-ctx.Done()
		return power.Reading{}, ctx.Err()
	}
	if p.Err != nil {
		return power.Reading{}, p.Err
	}
	return power.Reading{Counts: append([]uint64(nil), p.Counts...), Sensors: p.Sensors}, nil
}

// Counter is a meter that works: each domain draws Watts, counted in its own steps and shown at its own
// updates. Draw, when set, gives the power of the moment in place of Watts.
type Counter struct {
	Title string
	Of    []power.Domain
	Info  power.Facts
	Watts []float64
	Draw  func(domain int, at time.Duration) float64
	Start []uint64 // counts at time 0
	Now   func() time.Duration
	// See gives the sensors of the moment.
	See func(at time.Duration) power.Sensors
	// Fail gives an error, or hangs, when the meter is to fail.
	Fail   func(ctx context.Context, at time.Duration) error
	joules []float64
	until  []time.Duration
}

func (m *Counter) Name() string {
	if m.Title == "" {
		return "toy counter"
	}
	return m.Title
}
func (m *Counter) Domains() []power.Domain { return m.Of }
func (m *Counter) Facts() power.Facts      { return m.Info }
func (m *Counter) Close() error            { return nil }

// Read counts up to the last update.
func (m *Counter) Read(ctx context.Context) (power.Reading, error) {
	now := m.Now()
	if m.Fail != nil {
		if err := m.Fail(ctx, now); err != nil {
			return power.Reading{}, err
		}
	}
	if m.joules == nil {
		m.joules, m.until = make([]float64, len(m.Of)), make([]time.Duration, len(m.Of))
		for i := range m.until {
			m.until[i] = now
		}
	}
	r := power.Reading{Counts: make([]uint64, len(m.Of))}
	if m.See != nil {
		r.Sensors = m.See(now)
	}
	for i, d := range m.Of {
		step := max(d.Interval, time.Microsecond)
		shown := now / step * step
		if d.Unit == power.Watts {
			r.Counts[i] = uint64(m.draw(i, shown)/d.Scale + 0.5)
			continue
		}
		for m.until[i]+step <= shown {
			m.joules[i] += m.draw(i, m.until[i]) * step.Seconds()
			m.until[i] += step
		}
		n := uint64(m.joules[i] / d.Scale)
		if i < len(m.Start) {
			n += m.Start[i]
		}
		if d.Range > 0 {
			n %= d.Range
		}
		r.Counts[i] = n
	}
	return r, nil
}

func (m *Counter) draw(i int, at time.Duration) float64 {
	if m.Draw != nil {
		return m.Draw(i, at)
	}
	return m.Watts[i]
}
