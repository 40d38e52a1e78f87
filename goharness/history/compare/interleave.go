package compare

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"time"

	"ridge/goharness/measure"
	"ridge/goharness/record"
	"ridge/goharness/runner"
)

// Builds are two builds of ridge that Interleave runs in quartets. The workers of both are kept
// alive and asked in turn, A B B A, so that a drift of the machine meets both alike and cancels.
//
// What does not cancel is what a process is born with: where its pages lie moved small kernels by 4 % on a quiet
// machine, and no number of samples of that process tells it from a change. So there are many rounds of new processes
// with a few quartets each, and the median ratio of a round is one observation. Of two equal builds it lies above 1 as
// often as below, by their symmetry: the interval is that of Wilcoxon's signed-rank test, exact for any such noise.
//
// The intervals are looked at after 12, 24, 48, … rounds and the last; of K looks each has the significance
// 0.05/K. A case that is called or same is not measured further.
type Builds struct {
	A, B Build
	// Rounds of new processes at most and Quartets in each; 0 means 192 and 4.
	Rounds, Quartets int
	Threshold        float64 // 0 means 0.03
	// Deadline of one request; nil means runner.DefaultDeadline.
	Deadline func(q runner.Request, c record.Case, p *runner.Prepared) time.Duration
	// Progress hears of each case that is finished in a round; nil: nobody listens.
	Progress func(round int, id string)
}

// Build is one of the two.
type Build struct {
	Name   string
	Launch runner.Launcher
}

// samplesAsked per answer of a worker; the fastest is the sample of a quartet. What else runs on a machine only adds
// time, in bursts longer than the samples of an answer: on two busy cores the rounds of a case differed by 4 to 10 % with the
// median of three samples and by 1 to 4 % with the fastest of nine, for a sixth more time.
const samplesAsked = 9

// pair is a case with what both builds said of it.
type pair struct {
	c        record.Case
	rounds   []float64 // ln of each round's median ratio of costs, B over A
	times    [2][]float64
	kernels  [2]string
	lost     string // what its worker was lost by, the one time that its round was taken again
	excluded string // why it cannot be compared
	decided  *Case  // at an earlier look
	p        float64
}

const (
	// firstLook is the number of rounds before the first look.
	firstLook = 12
	// leastRounds have a signed-rank interval at 95 %.
	leastRounds                    = 6
	defaultRounds, defaultQuartets = 192, 4
)

// Interleave compares two builds on cases. The error is non-nil only when it cannot go on: a
// worker that does not start, speaks another protocol, or an interruption: the comparison then says
// what the last look said, if there was one.
func Interleave(ctx context.Context, b Builds, cases []record.Case) (Comparison, error) {
	if b.Rounds == 0 {
		b.Rounds = defaultRounds
	}
	if b.Quartets == 0 {
		b.Quartets = defaultQuartets
	}
	if b.Threshold == 0 {
		b.Threshold = DefaultThreshold
	}
	if b.Deadline == nil {
		b.Deadline = runner.DefaultDeadline
	}
	if b.Rounds < leastRounds || b.Quartets < 1 {
		return Comparison{}, fmt.Errorf("%d rounds of %d quartets: expected at least %d rounds of 1 quartet", b.Rounds, b.Quartets, leastRounds)
	}
	if !(b.Threshold > 0 && b.Threshold < 1) {
		return Comparison{}, fmt.Errorf("threshold %v: expected more than 0 and less than 1 (100 %%)", b.Threshold)
	}
	pairs := make([]*pair, len(cases))
	for i, c := range cases {
		c.Trials, c.Warmup, c.Quick = samplesAsked, 1, true
		// A pilot reads no clock around each sample, which would take most of the time.
		c.Pilot = true
		pairs[i] = &pair{c: c}
	}
	looks := 1
	for n := firstLook; n < b.Rounds; n *= 2 {
		looks++
	}
	next := firstLook
	for round := range b.Rounds {
		if err := b.round(ctx, round, pairs); err != nil {
			if ctx.Err() != nil && round >= firstLook { // what the last look said is worth showing
				out := b.conclude(pairs)
				out.Warnings = append(out.Warnings, fmt.Sprintf("interrupted in round %d of %d: the cases that are open are as the last look left them", round+1, b.Rounds))
				return out, ctx.Err()
			}
			return Comparison{}, err
		}
		if round+1 != next && round+1 != b.Rounds {
			continue
		}
		next *= 2
		if b.look(pairs, (1-measure.Confidence)/float64(looks)) == 0 {
			break
		}
	}
	return b.conclude(pairs), nil
}

// round starts both builds' workers and takes the quartets of every case.
func (b Builds) round(ctx context.Context, round int, pairs []*pair) (err error) {
	var ws [2]runner.Worker
	defer func() { // both at once: an end takes a tenth of a second
		var ends sync.WaitGroup
		for _, w := range ws {
			if w != nil {
				ends.Go(func() { _ = w.Close() })
			}
		}
		ends.Wait()
	}()
	start := func(i int) error {
		if ws[i] != nil {
			_ = ws[i].Close()
			ws[i] = nil
		}
		build := []Build{b.A, b.B}[i]
		w, err := build.Launch(ctx)
		if err != nil {
			return fmt.Errorf("build %s: %w", build.Name, err)
		}
		ws[i] = w
		return nil
	}
	// The build that starts first changes with the round.
	for n := range ws {
		if err := start((n + round) % 2); err != nil {
			return err
		}
	}
	for _, p := range pairs {
		if p.excluded != "" || p.decided != nil && p.decided.Outcome != Ambiguous {
			continue
		}
		at, err := b.quartets(ctx, round, p, ws)
		if err != nil && lost(err) && p.lost == "" && ctx.Err() == nil {
			// A worker that dies or hangs once may have met its machine; its build's fault is what happens again.
			p.lost = fmt.Sprintf("round %d: %v", round+1, err)
			for _, i := range []int{at, 1 - at} { // both anew, as in any round
				if err := start(i); err != nil {
					return err
				}
			}
			at, err = b.quartets(ctx, round, p, ws)
		}
		if cerr := ctx.Err(); cerr != nil {
			return cerr
		}
		if err != nil {
			p.excluded = err.Error()
			if lost(err) {
				if err := start(at); err != nil {
					return err
				}
			}
		}
		if b.Progress != nil {
			b.Progress(round, p.c.ID)
		}
	}
	return nil
}

// lost: the worker that gave the error is gone.
func lost(err error) bool {
	var w *runner.WorkerError
	return !errors.As(err, &w) || w.Kind == runner.KindLost
}

// quartets takes those of one case. An error concerns the worker of index at.
func (b Builds) quartets(ctx context.Context, round int, p *pair, ws [2]runner.Worker) (at int, err error) {
	var prepared [2]*runner.Prepared
	ask := func(i int, q runner.Request) (runner.Reply, error) {
		limited, cancel := context.WithTimeout(ctx, b.Deadline(q, p.c, prepared[i]))
		defer cancel()
		r, err := ws[i].Do(limited, q)
		if err == nil && r.Err != nil {
			err = r.Err
		}
		if err != nil {
			at = i
			return r, fmt.Errorf("%s in %s: %w", q.Verb, []Build{b.A, b.B}[i].Name, err)
		}
		return r, nil
	}
	defer func() {
		for i := range ws {
			if prepared[i] != nil && (err == nil || !lost(err)) {
				_, _ = ask(i, runner.Request{Verb: runner.VerbRelease})
			}
		}
	}()
	prepare := func(i int, c record.Case) error {
		r, err := ask(i, runner.Request{Verb: runner.VerbPrepare, Case: &c})
		if err != nil {
			return err
		}
		if prepared[i] = r.Prepared; r.Prepared == nil {
			at = i
			return &runner.WorkerError{Kind: "internal", Message: "prepare: an answer without the case"}
		}
		for arm := range prepared[i].Arms {
			v, err := ask(i, runner.Request{Verb: runner.VerbVerify, Arm: arm})
			if err != nil {
				return err
			}
			if v.Verified == nil || !v.Verified.Passed {
				at = i
				return &runner.WorkerError{Kind: string(record.Wrong), Message: fmt.Sprintf("wrong in %s: its output differs from the expectation", []Build{b.A, b.B}[i].Name)}
			}
		}
		return nil
	}
	for i := range ws {
		if round == 0 { // verified once by each build, before anything is timed
			c := p.c
			c.Pilot = false
			if err := prepare(i, c); err != nil {
				return at, err
			}
		}
		if err := prepare(i, p.c); err != nil {
			return at, err
		}
		if arms := prepared[i].Arms; len(arms) > 0 {
			p.kernels[i] = strings.Join(arms[0].Kernels, "+")
		}
	}
	take := func(i int) (float64, error) {
		r, err := ask(i, runner.Request{Verb: runner.VerbMeasure})
		if err != nil {
			return 0, err
		}
		if r.Measured == nil || len(r.Measured.Times) == 0 || !(r.Measured.Times[0].MinNS > 0) {
			at = i
			return 0, &runner.WorkerError{Kind: "internal", Message: "measure: an answer without a time"}
		}
		return r.Measured.Times[0].MinNS, nil
	}
	for i := range ws { // warm both
		if _, err := take(i); err != nil {
			return at, err
		}
	}
	var ratios []float64
	var times [2][]float64
	for n := range b.Quartets {
		var sum [2]float64
		// B A A B every other time: whoever goes first gains nothing.
		order := [4]int{0, 1, 1, 0}
		if (n+round)%2 == 1 {
			order = [4]int{1, 0, 0, 1}
		}
		for _, i := range order {
			ns, err := take(i)
			if err != nil {
				return at, err
			}
			sum[i] += ns
			times[i] = append(times[i], ns)
		}
		ratios = append(ratios, sum[1]/sum[0])
	}
	for i := range times { // of a round that was taken to its end
		p.times[i] = append(p.times[i], times[i]...)
	}
	p.rounds = append(p.rounds, math.Log(measure.Median(ratios)))
	return 0, nil
}

// look gives every case its interval, all cases of a look together held to one significance (Holm), and
// counts those that are open.
func (b Builds) look(pairs []*pair, alpha float64) (open int) {
	edge := math.Log1p(b.Threshold)
	var judged []*pair
	var ps []float64
	for _, p := range pairs {
		if p.excluded != "" {
			continue
		}
		if p.decided == nil || p.decided.Outcome == Ambiguous {
			p.p = p.significance(edge)
		}
		judged, ps = append(judged, p), append(ps, p.p)
	}
	levels := holmLevels(ps, alpha)
	for i, p := range judged {
		if p.decided != nil && p.decided.Outcome != Ambiguous {
			continue
		}
		if p.decided = p.judge(levels[i], edge); p.decided.Outcome == Ambiguous {
			open++
		}
	}
	return open
}

func (b Builds) conclude(pairs []*pair) Comparison {
	out := Comparison{Schema: Schema, Interleaved: true, Old: Side{Name: b.A.Name}, New: Side{Name: b.B.Name}, Metric: Time, Unit: Time.unit(),
		Threshold: b.Threshold, Confidence: measure.Confidence, Warnings: []string{}}
	failed := 0
	for _, p := range pairs {
		k := Case{ID: p.c.ID, Outcome: NotComparable, Reason: p.excluded}
		if p.lost != "" {
			out.Warnings = append(out.Warnings, fmt.Sprintf("%s: %s; its round was taken again with new workers", p.c.ID, p.lost))
		}
		if p.excluded != "" {
			failed++
		}
		if p.excluded == "" && p.decided != nil {
			k = *p.decided
		}
		if p.kernels[0] != p.kernels[1] && p.kernels[0] != "" && p.kernels[1] != "" {
			k.Attributed = []string{fmt.Sprintf("kernel: %s → %s", p.kernels[0], p.kernels[1])}
		}
		out.Cases = append(out.Cases, k)
	}
	if failed > 0 {
		out.Warnings = append(out.Warnings, fmt.Sprintf("%d cases could not be measured in both builds (not comparable): the reasons are beside them", failed))
	}
	out.count()
	return out
}

// significance is the smallest one at which the interval lies beyond the edge.
func (p *pair) significance(edge float64) float64 {
	lo, hi := 1e-9, 1.0-1e-9
	clears := func(alpha float64) bool {
		_, from, to, ok := measure.SignedRank(p.rounds, 1-alpha)
		return ok && (from > edge || to < -edge)
	}
	switch {
	case clears(lo):
		return lo
	case !clears(hi):
		return 1
	}
	for range 30 {
		if mid := math.Sqrt(lo * hi); clears(mid) {
			hi = mid
		} else {
			lo = mid
		}
	}
	return hi
}

// judge by the interval at a level.
func (p *pair) judge(level, edge float64) *Case {
	x, lo, hi, ok := measure.SignedRank(p.rounds, level)
	k := &Case{ID: p.c.ID, Old: measure.Median(p.times[0]), New: measure.Median(p.times[1]), Ratio: math.Exp(x), Level: level, Outcome: Ambiguous}
	for _, r := range p.rounds {
		k.Rounds = append(k.Rounds, math.Exp(r))
	}
	if !ok {
		k.Reason = fmt.Sprintf("%d rounds are too few for so many cases", len(p.rounds))
		return k
	}
	k.CI, k.Outcome = &[2]float64{math.Exp(lo), math.Exp(hi)}, outcomeOf(lo, hi, edge)
	return k
}
