package runner

import (
	"context"
	"slices"

	"ridge/goharness/backend"
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

// Sampled makes workers whose measurements of the wanted cases are sampled hz times a second. take
// gets what was found of each arm, and which kernels were at work; where a case is measured again, once more.
func Sampled(launch Launcher, hz int, wanted func(record.Case) bool, take func(c record.Case, p Prepared, code []backend.CodeSamples)) Launcher {
	return func(ctx context.Context) (Worker, error) {
		w, err := launch(ctx)
		if err != nil {
			return nil, err
		}
		return &sampled{Worker: w, hz: hz, wanted: wanted, take: take}, nil
	}
}

type sampled struct {
	Worker
	hz     int
	wanted func(record.Case) bool
	take   func(record.Case, Prepared, []backend.CodeSamples)
	c      record.Case
	p      Prepared
}

// Do adds the rate to the requests that measure a wanted case.
func (w *sampled) Do(ctx context.Context, q Request) (Reply, error) {
	if q.Verb == VerbMeasure && w.wanted(w.c) {
		q.SampleHz = w.hz
	}
	r, err := w.Worker.Do(ctx, q)
	switch {
	case err != nil:
	case q.Verb == VerbPrepare && q.Case != nil && r.Prepared != nil:
		w.c, w.p = *q.Case, *r.Prepared
	case r.Measured != nil && len(r.Measured.Code) > 0 && len(r.Measured.Code) == len(w.p.Arms):
		w.take(w.c, w.p, r.Measured.Code)
		r.Measured.Code = nil
	}
	return r, err
}
