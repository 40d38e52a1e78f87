package tune

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"ridge/goharness/backend"
	"ridge/goharness/measure"
	"ridge/goharness/op"
	"ridge/goharness/plan"
	"ridge/goharness/record"
)

// Target is one shape to search for; what is found holds for its class.
type Target struct {
	Op     string
	DType  record.DType
	Params map[string]string
}

func (t Target) String() string {
	var ps []string
	for _, k := range slices.Sorted(maps.Keys(t.Params)) {
		ps = append(ps, k+"="+t.Params[k])
	}
	return fmt.Sprintf("%s %s %s", t.Op, t.DType, strings.Join(ps, ","))
}

// Options of a search.
type Options struct {
	Device  string
	Threads int
	Ops     *op.Registry
	Caches  backend.Caches
	Tuner   backend.Tuner
	// Kernels that can run here for an op, the preferred first, models left out.
	Kernels func(o op.Op) ([]backend.KernelInfo, error)
	// Run answers one case: runner.Runner.Run. Its worker has no tuning.
	Run func(ctx context.Context, c record.Case) (record.Result, error)
	// Budget is the time for one target.
	Budget   time.Duration
	Now      func() time.Time
	Revision string
	// Say hears of progress; nil: nobody.
	Say func(format string, a ...any)
}

// Outcome of one target.
type Outcome struct {
	Target  Target
	Class   string
	Threads int
	Default string // the kernel that is picked without tuning
	Tried   int    // candidates measured
	Found   *Entry // nil: nothing is proven faster than the default
	// Faults are candidates that were wrong, crashed or hung: a defect of the kernel.
	Faults []string
}

// candidate is a kernel with parameters in place of its defaults.
type candidate struct {
	kernel string
	params map[string]int64
}

func (c candidate) String() string {
	if len(c.params) == 0 {
		return c.kernel
	}
	var ps []string
	for _, k := range slices.Sorted(maps.Keys(c.params)) {
		ps = append(ps, fmt.Sprintf("%s=%d", k, c.params[k]))
	}
	return c.kernel + " " + strings.Join(ps, " ")
}

func (c candidate) equal(d candidate) bool {
	return c.kernel == d.kernel && maps.Equal(c.params, d.params)
}

type search struct {
	o       Options
	out     Outcome
	base    record.Case
	axes    map[string][]backend.Axis // per kernel
	origin  candidate                 // the default
	best    candidate
	tried   []candidate
	started time.Time
}

// Quartets of the screening rounds: each round asks twice as many of half as many candidates.
const (
	firstQuartets = 2
	lastQuartets  = measure.MinQuartets
)

// Shares of a target's budget after which no further screening and no further final comparison
// begins; the rest is for the confirmation.
const screenShare, finalShare = 0.6, 0.75

// Plan lists what a search of the target would begin with: the default kernel and the candidates.
func Plan(o Options, t Target) (Outcome, []string, error) {
	s, start, err := begin(o, t)
	if err != nil {
		return Outcome{Target: t}, nil, err
	}
	var names []string
	for _, c := range start {
		names = append(names, c.String())
	}
	return s.out, names, nil
}

// Search looks for the fastest kernel and parameters of a target. All comparisons are quartets
// against the best so far, in one process. Candidates are screened by successive halving; what
// is left must beat the best with an interval above 1 to take its place; then come the
// neighbours of the best. At the end the best is compared with the default afresh, because the
// winner of many comparisons owes a part of its lead to luck.
func Search(ctx context.Context, o Options, t Target) (Outcome, error) {
	s, start, err := begin(o, t)
	if err != nil {
		return Outcome{Target: t}, err
	}
	s.started = o.Now()
	if err := s.halve(ctx, start); err != nil {
		return s.out, err
	}
	for improved := true; improved; {
		before := s.best
		if err := s.halve(ctx, s.neighbours()); err != nil {
			return s.out, err
		}
		improved = !s.best.equal(before)
	}
	return s.out, s.confirm(ctx)
}

// begin finds the default and the first candidates.
func begin(o Options, t Target) (*search, []candidate, error) {
	what, err := o.Ops.New(t.Op, t.Params, t.DType)
	if err != nil {
		return nil, nil, fmt.Errorf("tune %v: %w", t, err)
	}
	kernels, err := o.Kernels(what)
	if err != nil {
		return nil, nil, fmt.Errorf("tune %v: %w", t, err)
	}
	s := &search{o: o, out: Outcome{Target: t, Threads: o.Threads}, axes: map[string][]backend.Axis{}}
	if s.o.Say == nil {
		s.o.Say = func(string, ...any) {}
	}
	var start []candidate
	for _, k := range kernels {
		space, ok := o.Tuner.Space(what, k.Name, o.Caches, o.Threads)
		if !ok {
			continue
		}
		s.axes[k.Name] = space.Axes
		c := candidate{kernel: k.Name}
		if s.origin.kernel == "" {
			s.origin, s.best, s.out.Class, s.out.Default = c, c, space.Class, k.Name
		} else {
			start = append(start, c)
		}
		for _, p := range space.Start {
			if c := (candidate{k.Name, p}); !slices.ContainsFunc(start, c.equal) {
				start = append(start, c)
			}
		}
	}
	if s.origin.kernel == "" || len(kernels) == 0 || kernels[0].Name != s.origin.kernel {
		return nil, nil, fmt.Errorf("tune %v: %w", t, backend.Unsupported("the kernel that runs this shape has no parameters"))
	}
	s.base, err = plan.NewCase(o.Ops, o.Device, record.ProgramRef{Op: t.Op, Params: t.Params, DType: t.DType}, o.Threads, record.Hot)
	if err != nil {
		return nil, nil, fmt.Errorf("tune %v: %w", t, err)
	}
	return s, start, nil
}

// left reports whether something may begin that has a share of the budget.
func (s *search) left(share float64) bool {
	return s.o.Now().Sub(s.started) < time.Duration(share*float64(s.o.Budget))
}

// halve screens candidates, twice as long each time those of the better half, and lets what is
// left challenge the best.
func (s *search) halve(ctx context.Context, list []candidate) error {
	for quartets := firstQuartets; len(list) > 0; quartets *= 2 {
		type scored struct {
			candidate
			ratio float64
		}
		var ranked []scored
		for _, c := range list {
			if !s.left(screenShare) {
				break
			}
			r, err := s.compare(ctx, s.best, c, func(k *record.Case) { k.Trials, k.Warmup = quartets, 1 })
			if err != nil {
				return err
			}
			if r != nil {
				ranked = append(ranked, scored{c, r.Value})
			}
		}
		slices.SortStableFunc(ranked, func(a, b scored) int {
			switch {
			case a.ratio > b.ratio:
				return -1
			case a.ratio < b.ratio:
				return 1
			}
			return 0
		})
		// The better half, and of the last round what looks faster than the best at all.
		last := quartets >= lastQuartets || len(ranked) <= 2
		list = nil
		for i, c := range ranked {
			if i < (len(ranked)+1)/2 && (!last || c.ratio > 1) {
				list = append(list, c.candidate)
			}
		}
		if last {
			break
		}
	}
	for _, c := range list {
		if !s.left(finalShare) {
			return nil
		}
		r, err := s.compare(ctx, s.best, c, s.long)
		if err != nil {
			return err
		}
		if r != nil && faster(*r) {
			s.o.Say("%v: %v is %.3f times as fast as %v [%.3f, %.3f]", s.out.Target, c, r.Value, s.best, r.CI95[0], r.CI95[1])
			s.best = c
		}
	}
	return nil
}

// long asks for the stop rule within a tenth of the budget.
func (s *search) long(k *record.Case) { k.BudgetNS = int64(s.o.Budget / 10) }

// faster reports whether a ratio's interval lies above 1.
func faster(r record.Ratio) bool {
	const proven = "faster"
	return measure.Decide(r, []measure.Cut{{From: 1, Class: proven}}, "slower").Class == proven && r.CI95[0] > 1
}

// neighbours of the best: one parameter one value up or down. Where the best has the kernel's
// defaults, whose values are not known here, each value of each axis.
func (s *search) neighbours() []candidate {
	var out []candidate
	for _, a := range s.axes[s.best.kernel] {
		at, set := s.best.params[a.Name]
		for _, v := range a.Values {
			if set && !adjacent(a.Values, at, v) {
				continue
			}
			p := maps.Clone(s.best.params)
			if p == nil {
				p = map[string]int64{}
			}
			p[a.Name] = v
			if c := (candidate{s.best.kernel, p}); !slices.ContainsFunc(s.tried, c.equal) {
				out = append(out, c)
			}
		}
	}
	return out
}

// adjacent reports whether v is the next value of an ascending axis below or above at.
func adjacent(axis []int64, at, v int64) bool {
	i, found := slices.BinarySearch(axis, at)
	if found {
		return i > 0 && v == axis[i-1] || i+1 < len(axis) && v == axis[i+1]
	}
	return i > 0 && v == axis[i-1] || i < len(axis) && v == axis[i]
}

// confirm compares the best with the default once more and makes the entry.
func (s *search) confirm(ctx context.Context) error {
	if s.best.equal(s.origin) {
		return nil
	}
	r, err := s.compare(ctx, s.origin, s.best, s.long)
	if err != nil || r == nil {
		return err
	}
	if !faster(*r) {
		s.o.Say("%v: %v is not confirmed: %.3f [%.3f, %.3f]", s.out.Target, s.best, r.Value, r.CI95[0], r.CI95[1])
		return nil
	}
	e := Entry{Shape: s.out.Target.Params, Gain: r.Value, GainCI95: r.CI95, Quartets: len(r.Quartets),
		Date: s.o.Now().UTC().Format(time.RFC3339), Revision: s.o.Revision,
		Tuned: backend.Tuned{Op: s.out.Target.Op, DType: s.out.Target.DType, Class: s.out.Class, Threads: s.o.Threads,
			Kernel: s.best.kernel, Params: s.best.params}}
	if s.best.kernel != s.origin.kernel {
		e.Replaces = s.origin.kernel
	}
	s.out.Found = &e
	return nil
}

// compare measures a against b; above 1 b is faster. nil: b cannot be measured.
func (s *search) compare(ctx context.Context, a, b candidate, effort func(*record.Case)) (*record.Ratio, error) {
	k := s.base
	k.Arms = nil
	for _, c := range []candidate{a, b} {
		ref := k.Program
		ref.Name, ref.Kernel, ref.KernelParams = c.String(), c.kernel, c.params
		k.Arms = append(k.Arms, ref)
	}
	effort(&k)
	if !slices.ContainsFunc(s.tried, b.equal) {
		s.tried = append(s.tried, b)
		s.out.Tried++
	}
	r, err := s.o.Run(ctx, k)
	if err != nil {
		return nil, fmt.Errorf("tune %v: compare %v with %v: %w", s.out.Target, b, a, err)
	}
	switch r.Status {
	case record.Wrong, record.Crashed, record.TimedOut:
		s.out.Faults = append(s.out.Faults, fmt.Sprintf("%v against %v is %s: %s", b, a, r.Status, r.Reason))
	}
	if !r.Status.Counts() || r.Ratio == nil {
		s.o.Say("%v: %v is left out, %s: %s", s.out.Target, b, r.Status, r.Reason)
		return nil, nil
	}
	return r.Ratio, nil
}
