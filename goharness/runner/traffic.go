package runner

import (
	"context"
	"time"

	"ridge/goharness/backend"
	"ridge/goharness/measure"
)

// Traffic are the counters of a host's memory controllers (power.Traffic). They are of whole sockets and join no thread's events.
type Traffic interface {
	// Read gives the counts so far.
	Read() ([]uint64, error)
	// Rate is the bytes per second between two readings dt apart.
	Rate(from, to []uint64, dt time.Duration) (float64, error)
	Close() error
}

// moved keeps what the memory controllers moved during the calls that take samples. They are read between the calls: nothing is added to a
// sample. nil: nobody asked.
type moved struct {
	from  Traffic
	why   error // why it is not known
	calls []movedCall
}

type movedCall struct {
	startNS int64 // of the call's first sample
	bytes   float64
}

// moved opens the counters where a CPU's threads are sampled hz times a second.
func (s *Server) moved(hz int) *moved {
	if hz == 0 || s.Traffic == nil || !onHost(s.cur.c.Device) {
		return nil
	}
	from, err := s.Traffic()
	if err != nil {
		return &moved{why: err}
	}
	return &moved{from: from}
}

// watch has the counters read before and after each call of a sampler.
func (m *moved) watch(s measure.Sampler) measure.Sampler {
	if m == nil || m.from == nil {
		return s
	}
	return movedSampler{s, m}
}

type movedSampler struct {
	measure.Sampler
	m *moved
}

func (s movedSampler) Measure(ctx context.Context, launches, samples int) ([]backend.Sample, error) {
	before, err := s.m.from.Read()
	began := measure.MonotonicNow()
	got, measureErr := s.Sampler.Measure(ctx, launches, samples)
	took := measure.MonotonicNow() - began
	var after []uint64
	var rate float64
	if err == nil {
		after, err = s.m.from.Read()
	}
	if err == nil {
		rate, err = s.m.from.Rate(before, after, took)
	}
	if err != nil && s.m.why == nil {
		s.m.why = err
	}
	if len(got) > 0 {
		s.m.calls = append(s.m.calls, movedCall{got[0].StartNS, rate * took.Seconds()})
	}
	return got, measureErr
}

// tell writes the bytes of each arm's calls, or why they are not known, to what was sampled of it.
func (m *moved) tell(code []backend.CodeSamples, arms [][]backend.Sample) {
	if m == nil {
		return
	}
	for i := range code {
		if m.why != nil {
			code[i].Refused = append(code[i].Refused, backend.RefusedEvent{Event: backend.DRAMBytes, Reason: m.why.Error()})
			continue
		}
		began := map[int64]bool{}
		for _, x := range arms[i] {
			began[x.StartNS] = true
		}
		sum := 0.0
		for _, c := range m.calls {
			if began[c.startNS] {
				sum += c.bytes
			}
		}
		code[i].DRAMBytes = int64(sum)
	}
}

func (m *moved) close() {
	if m != nil && m.from != nil {
		_ = m.from.Close()
	}
}
