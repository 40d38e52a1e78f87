package runner

import (
	"context"
	"fmt"
	"time"

	"ridge/goharness/record"
)

// Runner asks cases of a worker and survives what kernels do to it. It is used by one
// goroutine at a time: configurations never run side by side on a device.
type Runner struct {
	Launch Launcher
	// Deadline bounds one request of a case; nil means DefaultDeadline.
	Deadline func(q Request, c record.Case, p *Prepared) time.Duration
	// Observe, when set, is called between verification and measurement and may return a
	// function that is called after it, however it ended: the parent watches meters there.
	// After a failed measurement the result has no Time.
	Observe func(c record.Case) func(r *record.Result)
	// Together, when set, is called where the device is ready to be measured, and returns when that may begin: other
	// devices may be measured at the same time. What it returns is called after the measurement, however it ended; keep runs the
	// program back to back for another while, so that the others go on under the same load. It is nil after a failed one.
	Together func(ctx context.Context, c record.Case) (after func(r *record.Result, keep func() error))
	// OnQuarantine hears of kernels set aside.
	OnQuarantine func(kernel, reason string)

	quarantine map[string]string
	worker     Worker
}

// DefaultDeadline leaves room for the slowest portable kernel (0.5 GFLOP/s, 0.2 GB/s) and
// never less than 20 s nor more than 10 min. What the user asked for by number — trials,
// warm-up launches, seconds of a soak — comes on top, each launch at that kernel's pace. The
// start of the process is not counted.
func DefaultDeadline(q Request, c record.Case, p *Prepared) time.Duration {
	var launch float64 // seconds of the slowest launch
	arms := 1.0
	if p != nil {
		launch = float64(p.FLOPs)/0.5e9 + float64(p.StorageBytes)/0.2e9 // padding too: it is filled and looked at
		if len(p.Arms) > 1 {
			arms = float64(len(p.Arms))
			launch *= arms // of one after the other
		}
	}
	work, asked := launch, 0.0
	switch q.Verb {
	case VerbVerify:
		work *= 4
	case VerbMeasure:
		work += 3 * float64(c.BudgetNS) / 1e9
		// A calibrated sample lasts little more than the least one, unless a launch does.
		sample := max(2*leastSample(c.Device).Seconds(), launch)
		perTrial := sample
		if arms > 1 {
			perTrial = 2 * (sample + launch) // A B B A, a launch before each
		}
		asked = float64(c.Trials)*perTrial + float64(c.Warmup)*max(1e-3, launch)*arms
	case VerbSoak:
		asked = q.Seconds
	case VerbLibrary:
		return openLibraryWithin
	}
	s := min(600, 20+work) + asked
	return time.Duration(min(s, 1e9) * float64(time.Second))
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
	if c.SkipReason != "" {
		res.Status, res.Reason = record.Skipped, c.SkipReason
		if c.Unsupported {
			res.Status = record.Unsupported
		}
		return res, nil
	}
	t := &trial{r: r, ctx: ctx, c: c, res: &res}
	for {
		again, err := t.attempt()
		if err != nil {
			return res, err
		}
		if !again {
			res.WallNS = int64(time.Since(started))
			return res, nil
		}
	}
}

// Clock asks the worker for the clock of a device at a thread count, idle and under load. A device that is lost meanwhile is asked once
// more, by a worker of its own.
func (r *Runner) Clock(ctx context.Context, device string, threads int) (ClockReading, error) {
	c := record.Case{Device: device, Threads: threads}
	for again := false; ; again = true {
		rep, err := r.do(ctx, Request{Verb: VerbClock, Case: &c}, c, nil)
		if err != nil {
			r.drop()
			return ClockReading{}, fmt.Errorf("measure the clock: %w", err)
		}
		if rep.Err == nil {
			return *rep.Clock, nil
		}
		if rep.Err.Kind == KindLost {
			r.drop()
		}
		if rep.Err.Kind != KindLost || again {
			return ClockReading{}, fmt.Errorf("measure the clock of %s: %w", device, rep.Err)
		}
	}
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
	ctx, cancel := context.WithTimeout(ctx, limit(q, c, p))
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
