// Package power defines energy meters and the windows they are read over. Platforms'
// meters register here; a build or machine without one says why.
package power

import (
	"context"
	"errors"
	"time"
)

// ErrNoData is the outcome of a meter that is there but gives nothing now (permissions, a
// stalled counter); it wraps the reason.
var ErrNoData = errors.New("no data")

// Domain is one counter of a meter: package, dram, a GPU board.
type Domain struct {
	Name string
	// WrapJoules is the counter's range in joules; 0 when it never wraps.
	WrapJoules float64
	// Interval between the counter's updates; 0 when unknown.
	Interval time.Duration
}

// Reading is the counters of all domains at one moment of the monotonic clock.
type Reading struct {
	AtNS   int64
	Joules []float64 // by domain; wraps are not undone
}

// Meter reads energy counters. The observer (the parent process) polls it; the worker never does.
type Meter interface {
	// Name for documents: "rapl-powercap", "nvml".
	Name() string
	// Domains in the order of Reading.Joules.
	Domains() []Domain
	// Read takes a reading. Errors that wrap ErrNoData carry the reason why there is none.
	Read(ctx context.Context) (Reading, error)
	Close() error
}

// Between gives the joules each domain used from one reading to a later one, undoing at
// most one wrap of each counter.
func Between(m Meter, from, to Reading) ([]float64, error) {
	ds := m.Domains()
	if len(from.Joules) != len(ds) || len(to.Joules) != len(ds) {
		return nil, errors.New("energy between readings: the number of domains changed")
	}
	if to.AtNS <= from.AtNS {
		return nil, errors.New("energy between readings: the second is not later than the first")
	}
	out := make([]float64, len(ds))
	for i, d := range ds {
		j := to.Joules[i] - from.Joules[i]
		if j < 0 {
			if d.WrapJoules == 0 {
				return nil, errors.New("energy between readings: counter " + d.Name + " went backwards")
			}
			j += d.WrapJoules
		}
		out[i] = j
	}
	return out, nil
}
