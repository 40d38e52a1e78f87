package runner

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"ridge/goharness/record"
)

// maxAttempts bounds the kernels tried for one case.
const maxAttempts = 8

// trial is the way of one case through the runner.
type trial struct {
	r         *Runner
	ctx       context.Context
	c         record.Case
	res       *record.Result
	restarted bool // once, for a worker that died without a kernel's doing
}

// suspect is a kernel that may have caused a failure, with the op of its step.
type suspect struct{ kernel, op string }

// suspects of a failure in any of the arms: all their kernels.
func suspects(arms ...PreparedArm) []suspect {
	var out []suspect
	for _, a := range arms {
		for i, k := range a.Kernels {
			if s := (suspect{k, a.Ops[i]}); !slices.Contains(out, s) {
				out = append(out, s)
			}
		}
	}
	return out
}

// attempt tries the case once; again is true when a kernel was set aside and another
// variant may take its place, or when the worker died for no fault of a kernel's.
func (t *trial) attempt() (again bool, err error) {
	var exclude []string
	for k := range t.r.quarantine {
		exclude = append(exclude, k)
	}
	rep, err := t.do(Request{Verb: VerbPrepare, Case: &t.c, Exclude: exclude}, nil)
	if err != nil {
		return t.failed(nil, err)
	}
	if rep.Err != nil && rep.Err.Kind == KindLost {
		return t.lost(nil, rep.Err)
	}
	if rep.Err != nil {
		return false, t.refused(rep.Err)
	}
	p := rep.Prepared
	describe(t.res, p)
	t.standIn(p)
	later := t.c.Pilot && t.c.VerifyIfFaster && len(p.Arms) == 2
	for i := range p.Arms {
		if again, passed, err := t.verify(p, i, later && i == 1); !passed {
			return again, err
		}
	}
	if again, err = t.measure(p); again || err != nil || !t.res.Status.Counts() {
		return again, err
	}
	if later && t.res.Ratio.Faster() {
		if again, passed, err := t.verify(p, 1, false); !passed {
			return again, err
		}
	}
	if t.r.worker == nil { // it went while it kept the device busy for others
		return false, t.ctx.Err()
	}
	if _, err = t.do(Request{Verb: VerbRelease}, p); err != nil {
		t.r.drop()
		if t.ctx.Err() != nil {
			return false, t.ctx.Err()
		}
		t.res.Warnings = append(t.res.Warnings, "releasing the buffers failed: "+err.Error())
	}
	return false, nil
}

// verify asks for arm i to be verified, or filled alone. Where it did not pass, again and err are attempt's.
func (t *trial) verify(p *Prepared, i int, fillOnly bool) (again, passed bool, err error) {
	a := p.Arms[i]
	rep, err := t.do(Request{Verb: VerbVerify, Arm: i, FillOnly: fillOnly}, p)
	if err != nil {
		again, err = t.failed(suspects(a), err)
		return again, false, err
	}
	if rep.Err != nil {
		again, err = t.faulty(suspects(a), rep.Err)
		return again, false, err
	}
	v := rep.Verified
	t.res.Verification = v
	if len(t.res.Arms) > i {
		t.res.Arms[i].Verification = v
	}
	if !v.Passed {
		again, err = t.setAside(suspects(a), failure{record.Wrong, describeMismatch(v.Mismatch), "", false})
		return again, false, err
	}
	return false, true, nil
}

func (t *trial) measure(p *Prepared) (again bool, err error) {
	if t.r.Together != nil {
		if after := t.r.Together(t.ctx, t.c); after != nil {
			defer func() { // behind the observer's end
				keep := t.keep(p)
				if err != nil || t.res.Time == nil || !t.res.Status.Counts() {
					keep = nil
				}
				after(t.res, keep)
			}()
		}
	}
	if t.r.Observe != nil {
		if done := t.r.Observe(t.c); done != nil {
			defer func() { done(t.res) }()
		}
	}
	rep, err := t.do(Request{Verb: VerbMeasure}, p)
	if err != nil {
		return t.failed(suspects(p.Arms...), err)
	}
	if rep.Err != nil {
		return t.faulty(suspects(p.Arms...), rep.Err)
	}
	timed(t.res, rep.Measured)
	t.res.DeviceMemory = &record.DeviceMemory{StartBytes: p.DeviceBefore, EndBytes: p.DeviceMemory, ReservedBytes: p.DeviceReserved, PeakBytes: p.DevicePeak}
	return false, nil
}

// keepSeconds are those that a program goes on for before others are asked again whether they have ended.
const keepSeconds = 0.05

// keep runs the first arm of a case that was measured for another while.
func (t *trial) keep(p *Prepared) func() error {
	return func() error {
		rep, err := t.do(Request{Verb: VerbSoak, Seconds: keepSeconds}, p)
		if err == nil && rep.Err != nil {
			err = rep.Err
		}
		if err != nil {
			t.r.drop() // who knows what became of the device
		}
		return err
	}
}

func (t *trial) do(q Request, p *Prepared) (Reply, error) { return t.r.do(t.ctx, q, t.c, p) }

// standIn records that the kernel in use is not the one that would have been picked: it
// failed in this case, or in an earlier one of the run.
func (t *trial) standIn(p *Prepared) {
	requested, reason := "", ""
	if len(t.res.Attempts) > 0 {
		first := t.res.Attempts[0]
		requested, reason = first.Kernel, fmt.Sprintf("%s %s: %s", first.Kernel, first.Status, first.Reason)
	} else {
		for _, a := range p.Arms {
			if len(a.PassedOver) > 0 {
				requested = a.PassedOver[0]
				reason = requested + " was set aside: " + t.r.why(requested)
				break
			}
		}
	}
	if t.res.KernelRequested == "" {
		t.res.KernelRequested = requested
	}
	t.res.FallbackReason = reason
}

// why tells for what a kernel was set aside.
func (r *Runner) why(kernel string) string {
	var out []string
	for k, reason := range r.quarantine {
		if k == kernel || strings.HasPrefix(k, kernel+"@") {
			out = append(out, reason)
		}
	}
	slices.Sort(out)
	return strings.Join(out, "; ")
}

// failed handles a worker that died, hung or talked nonsense.
func (t *trial) failed(by []suspect, err error) (bool, error) {
	t.r.drop()
	if t.ctx.Err() != nil {
		return false, t.ctx.Err()
	}
	var launch *launchError
	var crash *CrashError
	var timeout *TimeoutError
	switch {
	case errors.As(err, &launch):
		return false, launch.error
	case errors.As(err, &crash):
		// No kernel runs between cases, and SIGKILL comes from outside (the worker offers itself
		// to the out-of-memory killer): neither is a kernel's doing until it happens again.
		if !t.restarted && (len(by) == 0 || crash.Signal == "SIGKILL") {
			t.restarted = true
			t.res.Warnings = append(t.res.Warnings, crash.Error()+": the case was started again")
			return true, nil
		}
		return t.setAside(by, failure{record.Crashed, crash.Error(), crash.Signal, true})
	case errors.As(err, &timeout):
		return t.setAside(by, failure{record.TimedOut, timeout.Error(), "", false})
	}
	return t.setAside(by, failure{record.Crashed, err.Error(), "", true})
}

// faulty handles a worker that answered verify or measure with an error: an internal one is
// a kernel that returned an error status, or a device that failed under it.
func (t *trial) faulty(by []suspect, e *WorkerError) (bool, error) {
	if e.Kind == KindLost {
		return t.lost(by, e)
	}
	if e.Kind != "internal" {
		return false, t.refused(e)
	}
	return t.setAside(by, failure{record.Crashed, e.Message, "", false})
}

// lost handles a device that nothing more can be done with in this worker: the next one starts
// with a fresh context. Where no kernel had run, the case is started again once.
func (t *trial) lost(by []suspect, e *WorkerError) (bool, error) {
	t.r.drop()
	if len(by) == 0 && !t.restarted {
		t.restarted = true
		t.res.Warnings = append(t.res.Warnings, e.Message+": the case was started again")
		return true, nil
	}
	return t.setAside(by, failure{record.Crashed, e.Message, "", true})
}

// failure is what a kernel did.
type failure struct {
	status         record.Status
	reason, signal string
	// everywhere: it may come from anything, so that no op of the kernel is trusted any
	// more. Otherwise the kernel's other ops are other code and stay in use.
	everywhere bool
}

// setAside quarantines the kernel that failed and says whether another variant may be tried.
// Where several kernels come into question nobody knows which, and none is set aside.
func (t *trial) setAside(by []suspect, f failure) (bool, error) {
	t.res.Status, t.res.Reason = f.status, f.reason
	if len(by) == 0 {
		return false, nil
	}
	var names []string
	for _, s := range by {
		if !slices.Contains(names, s.kernel) {
			names = append(names, s.kernel)
		}
	}
	name := strings.Join(names, "+")
	t.res.Kernel = name
	t.res.Attempts = append(t.res.Attempts, record.Attempt{Kernel: name, Status: f.status, Reason: f.reason, Signal: f.signal})
	if len(by) > 1 {
		t.res.Reason += " (which of its kernels is at fault is not known; none is set aside)"
		return false, nil
	}
	key := name
	if !f.everywhere {
		key += "@" + by[0].op
	}
	t.r.Quarantine(key, fmt.Sprintf("%s in %s: %s", f.status, t.c.ID, f.reason))
	if t.c.Program.Kernel != "" || len(t.c.Arms) > 0 {
		return false, nil // the user asked for this one
	}
	return len(t.res.Attempts) < maxAttempts, nil
}

// refused turns a worker's error into a status. When variants failed before, theirs is the answer.
func (t *trial) refused(e *WorkerError) error {
	if e.Kind == "usage" {
		return e
	}
	if len(t.res.Attempts) > 0 {
		first := t.res.Attempts[0]
		t.res.Status, t.res.Reason, t.res.Kernel = first.Status, first.Reason+"; no other variant: "+e.Message, first.Kernel
		return nil
	}
	t.res.Reason = e.Message
	switch record.Status(e.Kind) {
	case record.Unsupported, record.Skipped:
		t.res.Status = record.Status(e.Kind)
	default:
		t.res.Status = record.Crashed
	}
	for _, k := range e.SetAside {
		t.res.Reason += "; " + k + ": " + t.r.why(k)
	}
	return nil
}
