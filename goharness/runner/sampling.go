package runner

import (
	"context"
	"slices"

	"ridge/goharness/backend"
	"ridge/goharness/measure"
	"ridge/goharness/record"
)

// sample asks the device's threads hz times a second which instruction they execute, until stop,
// which gives what fell into the windows of the timed samples of each arm. Where that cannot be had, the answers
// say why; the measurement goes on.
func (s *Server) sample(hz int) (stop func(arms ...[]backend.Sample) []backend.CodeSamples) {
	if hz == 0 {
		return func(...[]backend.Sample) []backend.CodeSamples { return nil }
	}
	none := func(why string) func(...[]backend.Sample) []backend.CodeSamples {
		return func(arms ...[]backend.Sample) []backend.CodeSamples {
			return slices.Repeat([]backend.CodeSamples{{Unavailable: why}}, len(arms))
		}
	}
	d, can := s.dev.(backend.CodeSampler)
	if !can {
		return none("device " + s.cur.c.Device + " cannot tell which instructions it executes; CPUs can, on linux/amd64 and linux/arm64")
	}
	if err := d.StartSampling(hz); err != nil {
		return none(err.Error())
	}
	stopped := false
	return func(arms ...[]backend.Sample) []backend.CodeSamples {
		if stopped {
			return nil
		}
		stopped = true
		got, err := d.StopSampling(arms...)
		if err != nil {
			return none(err.Error())(arms...)
		}
		return got
	}
}

// windows keeps the samples that a sampler took.
type windows struct {
	measure.Sampler
	samples []backend.Sample
}

func (w *windows) Measure(ctx context.Context, launches, samples int) ([]backend.Sample, error) {
	got, err := w.Sampler.Measure(ctx, launches, samples)
	w.samples = append(w.samples, got...)
	return got, err
}

// Taker gets what was found of each arm of a case, and which kernels were at work; where a case is measured again, once more.
type Taker func(c record.Case, p Prepared, code []backend.CodeSamples)

// Sampled makes workers whose measurements of the wanted cases are sampled hz times a second.
func Sampled(launch Launcher, hz int, wanted func(record.Case) bool, take Taker) Launcher {
	return sampledBy(launch, sampled{hz: hz, wanted: wanted, take: take})
}

// SampledAfter makes workers that run each arm of the wanted cases on for so many seconds after its measurement, and sample that:
// the measurement itself is not disturbed.
func SampledAfter(launch Launcher, hz int, seconds float64, wanted func(record.Case) bool, take Taker) Launcher {
	return sampledBy(launch, sampled{hz: hz, after: seconds, wanted: wanted, take: take})
}

func sampledBy(launch Launcher, by sampled) Launcher {
	return func(ctx context.Context) (Worker, error) {
		w, err := launch(ctx)
		if err != nil {
			return nil, err
		}
		out := by
		out.Worker = w
		return &out, nil
	}
}

type sampled struct {
	Worker
	hz     int
	after  float64 // seconds that are sampled after a measurement; 0: the measurement itself is
	wanted func(record.Case) bool
	take   Taker
	c      record.Case
	p      Prepared
}

// Do adds the rate to the requests that measure a wanted case, or has its arms run on once more.
func (w *sampled) Do(ctx context.Context, q Request) (Reply, error) {
	wanted := q.Verb == VerbMeasure && w.wanted(w.c)
	if wanted && w.after == 0 {
		q.SampleHz = w.hz
	}
	r, err := w.Worker.Do(ctx, q)
	switch {
	case err != nil:
	case q.Verb == VerbPrepare && q.Case != nil && r.Prepared != nil:
		w.c, w.p = *q.Case, *r.Prepared
	case r.Measured == nil || !wanted:
	case w.after > 0:
		code, err := w.runOn(ctx)
		if err != nil {
			return Reply{}, err
		}
		w.take(w.c, w.p, code)
	case len(r.Measured.Code) > 0 && len(r.Measured.Code) == len(w.p.Arms):
		w.take(w.c, w.p, r.Measured.Code)
		r.Measured.Code = nil
	}
	return r, err
}

// runOn samples each arm by itself. The error is that of a worker which died: its kernel is to blame as in the measurement.
func (w *sampled) runOn(ctx context.Context) ([]backend.CodeSamples, error) {
	code := make([]backend.CodeSamples, len(w.p.Arms))
	for i := range code {
		r, err := w.Worker.Do(ctx, Request{Verb: VerbSoak, Arm: i, Seconds: w.after, SampleHz: w.hz})
		switch {
		case err != nil:
			return nil, err
		case r.Err != nil:
			code[i].Unavailable = "running it on: " + r.Err.Message
		case r.Soaked == nil || len(r.Soaked.Code) != 1:
			code[i].Unavailable = "the worker sampled nothing"
		default:
			code[i] = r.Soaked.Code[0]
		}
	}
	return code, nil
}
