package runner

import (
	"context"
	"errors"
	"fmt"
	"time"

	"ridge/goharness/record"
)

// Runner asks cases of a worker and survives what kernels do to it. It is used by one
// goroutine at a time: configurations never run side by side on a device.
type Runner struct {
	Launch Launcher
	// Deadline bounds one verb of a case; nil means DefaultDeadline.
	Deadline func(verb string, c record.Case, p *Prepared) time.Duration
	// Observe, when set, is called between verification and measurement and may return a
	// function that is called after it: the parent watches meters there.
	Observe func(c record.Case) func(r *record.Result)
	// OnQuarantine hears of kernels set aside.
	OnQuarantine func(kernel, reason string)

	quarantine map[string]string
	worker     Worker
}

// DefaultDeadline leaves room for the slowest portable kernel (0.5 GFLOP/s, 0.2 GB/s) and
// never less than 20 s nor more than 10 min. The start of the process is not counted.
func DefaultDeadline(verb string, c record.Case, p *Prepared) time.Duration {
	var work float64
	if p != nil {
		work = float64(p.FLOPs)/0.5e9 + float64(p.WorkingSetBytes)/0.2e9
	}
	switch verb {
	case VerbVerify:
		work *= 4
	case VerbMeasure:
		work += 3 * float64(c.BudgetNS) / 1e9
	}
	s := min(600, 20+work)
	return time.Duration(s * float64(time.Second))
}

// Quarantined lists the kernels set aside with their reasons.
func (r *Runner) Quarantined() map[string]string { return r.quarantine }

// Quarantine sets a kernel aside for the run (also used when resuming).
func (r *Runner) Quarantine(kernel, reason string) {
	if r.quarantine == nil {
		r.quarantine = map[string]string{}
	}
	if _, there := r.quarantine[kernel]; there || kernel == "" {
		return
	}
	r.quarantine[kernel] = reason
	if r.OnQuarantine != nil {
		r.OnQuarantine(kernel, reason)
	}
}

// Close ends the worker.
func (r *Runner) Close() {
	if r.worker != nil {
		_ = r.worker.Close()
		r.worker = nil
	}
}

// Run answers one case. The error is non-nil only when the campaign cannot go on: the
// context ended or no worker can be started. Everything a kernel does wrong is in the result.
func (r *Runner) Run(ctx context.Context, c record.Case) (record.Result, error) {
	started := time.Now()
	res := record.Result{ID: c.ID, Op: c.Program.Op, Suite: c.Suite, UseCase: c.UseCase, Params: c.Program.Params,
		DType: c.Program.DType, Device: c.Device, Threads: c.Threads, Mode: c.Mode, Batch: c.Batch,
		KernelRequested: c.Program.Kernel, Started: started.UTC().Format(time.RFC3339Nano)}
	defer func() { res.WallNS = int64(time.Since(started)) }()
	if c.SkipReason != "" {
		res.Status, res.Reason = record.Skipped, c.SkipReason
		if c.Unsupported {
			res.Status = record.Unsupported
		}
		return res, nil
	}
	for {
		again, err := r.attempt(ctx, c, &res)
		if err != nil {
			return res, err
		}
		if !again {
			res.WallNS = int64(time.Since(started))
			return res, nil
		}
	}
}

// attempt tries the case once; again is true when a kernel was set aside and another
// variant may take its place.
func (r *Runner) attempt(ctx context.Context, c record.Case, res *record.Result) (again bool, err error) {
	var exclude []string
	for k := range r.quarantine {
		exclude = append(exclude, k)
	}
	rep, err := r.do(ctx, Request{Verb: VerbPrepare, Case: &c, Exclude: exclude}, c, nil)
	if err != nil {
		return r.failed(ctx, c, res, "", err)
	}
	if rep.Err != nil {
		return false, r.refused(res, rep.Err)
	}
	p := rep.Prepared
	describe(res, p)
	kernels := p.Arms[len(p.Arms)-1].Kernels
	kernel := kernels[len(kernels)-1]
	if len(res.Attempts) > 0 {
		first := res.Attempts[0]
		if res.KernelRequested == "" {
			res.KernelRequested = first.Kernel
		}
		res.FallbackReason = fmt.Sprintf("%s %s: %s", first.Kernel, first.Status, first.Reason)
	}
	rep, err = r.do(ctx, Request{Verb: VerbVerify}, c, p)
	if err != nil {
		return r.failed(ctx, c, res, kernel, err)
	}
	if rep.Err != nil {
		return false, r.refused(res, rep.Err)
	}
	for i := range rep.Verified {
		v := &rep.Verified[i].Verification
		res.Verification = v
		if len(res.Arms) > i {
			res.Arms[i].Verification = v
		}
		if !v.Passed {
			wrong := p.Arms[i].Kernels[len(p.Arms[i].Kernels)-1]
			return r.setAside(c, res, wrong, record.Wrong, describeMismatch(v.Mismatch), "")
		}
	}
	done := func(*record.Result) {}
	if r.Observe != nil {
		if f := r.Observe(c); f != nil {
			done = f
		}
	}
	rep, err = r.do(ctx, Request{Verb: VerbMeasure}, c, p)
	if err != nil {
		return r.failed(ctx, c, res, kernel, err)
	}
	if rep.Err != nil {
		return false, r.refused(res, rep.Err)
	}
	timed(res, rep.Measured)
	done(res)
	res.DeviceMemory = &record.DeviceMemory{StartBytes: p.DeviceBefore, EndBytes: p.DeviceMemory}
	if rep, err = r.do(ctx, Request{Verb: VerbRelease}, c, p); err != nil {
		r.drop()
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		res.Warnings = append(res.Warnings, "releasing the buffers failed: "+err.Error())
	}
	return false, nil
}

// Clock asks the worker for the clock of a device at a thread count, idle and under load.
func (r *Runner) Clock(ctx context.Context, device string, threads int) (ClockReading, error) {
	c := record.Case{Device: device, Threads: threads}
	rep, err := r.do(ctx, Request{Verb: VerbClock, Case: &c}, c, nil)
	if err != nil {
		r.drop()
		return ClockReading{}, fmt.Errorf("measure the clock: %w", err)
	}
	if rep.Err != nil {
		return ClockReading{}, rep.Err
	}
	return *rep.Clock, nil
}

// do sends a request to the worker, starting one where there is none.
func (r *Runner) do(ctx context.Context, q Request, c record.Case, p *Prepared) (Reply, error) {
	if r.worker == nil {
		w, err := r.Launch(ctx)
		if err != nil {
			return Reply{}, &launchError{err}
		}
		r.worker = w
	}
	limit := DefaultDeadline
	if r.Deadline != nil {
		limit = r.Deadline
	}
	ctx, cancel := context.WithTimeout(ctx, limit(q.Verb, c, p))
	defer cancel()
	return r.worker.Do(ctx, q)
}

type launchError struct{ error }

func (e *launchError) Unwrap() error { return e.error }

func (r *Runner) drop() {
	if r.worker != nil {
		_ = r.worker.Close()
		r.worker = nil
	}
}

// failed handles a worker that died, hung or talked nonsense.
func (r *Runner) failed(ctx context.Context, c record.Case, res *record.Result, kernel string, err error) (bool, error) {
	r.drop()
	if ctx.Err() != nil {
		return false, ctx.Err()
	}
	var launch *launchError
	var crash *CrashError
	var timeout *TimeoutError
	switch {
	case errors.As(err, &launch):
		return false, launch.error
	case errors.As(err, &crash):
		return r.setAside(c, res, kernel, record.Crashed, crash.Error(), crash.Signal)
	case errors.As(err, &timeout):
		return r.setAside(c, res, kernel, record.TimedOut, timeout.Error(), "")
	}
	return r.setAside(c, res, kernel, record.Crashed, err.Error(), "")
}

// setAside quarantines a kernel and says whether another variant may be tried.
func (r *Runner) setAside(c record.Case, res *record.Result, kernel string, s record.Status, reason, signal string) (bool, error) {
	res.Status, res.Reason = s, reason
	if kernel == "" {
		return false, nil
	}
	res.Kernel = kernel
	res.Attempts = append(res.Attempts, record.Attempt{Kernel: kernel, Status: s, Reason: reason, Signal: signal})
	key := kernel
	if s == record.Wrong {
		key += "@" + c.Program.Op // its other ops are other code; a crash may come from anything
	}
	r.Quarantine(key, fmt.Sprintf("%s in %s: %s", s, c.ID, reason))
	if c.Program.Kernel != "" || len(c.Arms) > 0 {
		return false, nil // the user asked for this one
	}
	return len(res.Attempts) < 8, nil
}

// refused turns a worker's error into a status. When variants failed before, theirs is the answer.
func (r *Runner) refused(res *record.Result, e *WorkerError) error {
	if e.Kind == "usage" {
		return e
	}
	if len(res.Attempts) > 0 {
		last := res.Attempts[0]
		res.Status, res.Reason, res.Kernel = last.Status, last.Reason+"; no other variant: "+e.Message, last.Kernel
		return nil
	}
	switch record.Status(e.Kind) {
	case record.Unsupported, record.Skipped:
		res.Status = record.Status(e.Kind)
	default:
		res.Status = record.Crashed
	}
	res.Reason = e.Message
	return nil
}

func describe(res *record.Result, p *Prepared) {
	res.Params = map[string]string{}
	for _, x := range p.Params {
		res.Params[x.Name] = x.Value
	}
	last := p.Arms[len(p.Arms)-1]
	res.Kernel = last.Kernels[len(last.Kernels)-1]
	res.ISA = ISATag(last.ISA)
	res.Accumulate = p.Accumulate
	res.FLOPs, res.Bytes, res.WorkingSetBytes = p.FLOPs, p.Bytes, p.WorkingSetBytes
	res.Items, res.ItemUnit = p.Items, p.ItemUnit
	res.ReadBytes, res.WriteBytes, res.InputStreams = p.Traffic.ReadBytes, p.Traffic.WriteBytes, p.Traffic.Inputs
	if p.Bytes > 0 {
		res.ArithmeticIntensity = float64(p.FLOPs) / float64(p.Bytes)
	}
	res.Arms = nil
	if len(p.Arms) > 1 {
		for _, a := range p.Arms {
			res.Arms = append(res.Arms, record.Arm{Name: a.Name, Kernels: a.Kernels, FLOPs: a.FLOPs, Bytes: a.Bytes})
		}
	}
}

func timed(res *record.Result, m *Measured) {
	res.Status, res.Reason = record.OK, ""
	res.Time = &m.Times[0]
	for i := range res.Arms {
		res.Arms[i].Time = &m.Times[i]
	}
	res.Ratio = m.Ratio
	if !m.Converged {
		res.Status = record.Noisy
		width := fmt.Sprintf("%.2g", 100*res.Time.RelHalfWidth)
		if res.Time.RelHalfWidth >= 0.1 {
			width = fmt.Sprintf("%.0f", 100*res.Time.RelHalfWidth)
		}
		if res.Time.RelHalfWidth > 1 { // few independent samples: the width itself says nothing
			width = "more than 100"
		}
		res.Reason = "the interval of the median was still ±" + width + " % when the budget ended"
	}
	if t := res.Time.MedianNS; t > 0 {
		res.GFLOPS = float64(res.FLOPs) / t
		res.BandwidthGBps = float64(res.Bytes) / t
	}
	c := m.Conditions
	res.Conditions = &c
	res.Energy = &record.Energy{Unavailable: "not asked for"}
}

func describeMismatch(m *record.Mismatch) string {
	if m == nil {
		return "the output differs from the expectation"
	}
	if len(m.Index) == 0 {
		return fmt.Sprintf("%s test: tensor %s: %s, want %s", m.Phase, m.Tensor, m.Got, m.Want)
	}
	return fmt.Sprintf("%s test: tensor %s%v is %s, want %s ± %.3g", m.Phase, m.Tensor, m.Index, m.Got, m.Want, m.Bound)
}

// ISATag names the instruction set that a kernel's required features amount to, in the
// vocabulary of the peak probes; "portable" when it requires none.
func ISATag(features []string) string {
	tags := []struct{ feature, tag string }{
		{"amx-fp16", "amx"}, {"amx-int8", "amx"}, {"amx-bf16", "amx"}, {"avx512fp16", "avx512fp16"},
		{"avx512bf16", "avx512bf16"}, {"avx512vnni", "avx512vnni"}, {"avx512f", "avx512"}, {"avxvnni", "avxvnni"},
		{"avx2", "avx2"}, {"sse2", "sse2"}, {"sve", "sve"}, {"i8mm", "i8mm"}, {"bf16", "bf16arm"},
		{"dotprod", "dotprod"}, {"neon", "neon"},
	}
	for _, t := range tags {
		for _, f := range features {
			if f == t.feature {
				return t.tag
			}
		}
	}
	return "portable"
}
