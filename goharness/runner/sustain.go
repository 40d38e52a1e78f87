package runner

import (
	"context"
	"errors"
	"fmt"

	"ridge/goharness/record"
)

// Soak runs the arm of a Sustain back to back for so many seconds, in samples of so many launches.
type Soak func(seconds float64, launches int) (Soaked, error)

// Sustain prepares a case that has been measured once more and hands each of its arms to each, to be
// run back to back while the caller watches a meter. The case was verified when it was measured: its inputs are
// filled and only a vendor library's output is checked again. failed is what the worker did wrong; err is
// non-nil only when the campaign cannot go on.
func (r *Runner) Sustain(ctx context.Context, c record.Case, each func(arm int, p PreparedArm, soak Soak) error) (failed, err error) {
	c.Verified = true
	var exclude []string
	for k := range r.quarantine {
		exclude = append(exclude, k)
	}
	var p *Prepared
	ask := func(q Request) (Reply, error) {
		rep, err := r.do(ctx, q, c, p)
		if err != nil {
			r.drop()
			return rep, err
		}
		if rep.Err != nil {
			if rep.Err.Kind == KindLost {
				r.drop()
			}
			return rep, rep.Err
		}
		return rep, nil
	}
	// over parts what ends the campaign from what ends this case.
	over := func(what string, e error) (failed, err error) {
		var launch *launchError
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case errors.As(e, &launch):
			return nil, launch.error
		}
		return fmt.Errorf("%s: %w", what, e), nil
	}
	rep, e := ask(Request{Verb: VerbPrepare, Case: &c, Exclude: exclude})
	if e != nil {
		return over("preparing the case again", e)
	}
	p = rep.Prepared
	for i, a := range p.Arms {
		rep, e := ask(Request{Verb: VerbVerify, Arm: i})
		if e != nil {
			return over("filling its inputs", e)
		}
		if !rep.Verified.Passed {
			return fmt.Errorf("the output is wrong this time: %s", describeMismatch(rep.Verified.Mismatch)), nil
		}
		if e := each(i, a, func(seconds float64, launches int) (Soaked, error) {
			rep, err := ask(Request{Verb: VerbSoak, Arm: i, Seconds: seconds, Launches: launches})
			if err != nil {
				return Soaked{}, err
			}
			return *rep.Soaked, nil
		}); e != nil {
			if ctx.Err() == nil && r.worker != nil {
				_, _ = ask(Request{Verb: VerbRelease})
			}
			return over("its sustain phase", e)
		}
	}
	if _, e := ask(Request{Verb: VerbRelease}); e != nil && ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return nil, nil
}
