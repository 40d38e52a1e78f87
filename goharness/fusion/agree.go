package fusion

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"ridge/goharness/measure"
	"ridge/goharness/record"
)

// Goals of repeated runs on one machine.
const (
	sameGoal         = 0.95 // of the shapes have the same verdict in any two runs, at least
	inconclusiveGoal = 0.10 // of the shapes of a run are inconclusive, at most
)

// Agreement is how profiles of the same patterns on one machine agree. A host may move a virtual machine's CPUs between runs: what a shape was
// measured with, CPUs near each other, apart or on one core, is told by its barrier beside the one common in all runs. The goals are of all pairs of runs; how
// many of them had the CPUs placed alike explains what is missed.
type Agreement struct {
	Runs, Shapes int
	Pairs        [2]int     // (two runs, shape): with the CPUs placed alike, and otherwise
	Same         [2]float64 // share of them with the same verdict
	Inconclusive []float64  // share of each run's shapes
	Open         []string   // shapes whose verdict is inconclusive in some run, with the verdicts
	Contradicted []string   // shapes with two different conclusive verdicts
	Moved        int        // those of them that only runs with the CPUs placed otherwise contradict
	Changed      []string   // patterns with different recommendations
	Missing      []string   // shapes that some run has not measured
}

// seen is a shape's verdict in one run.
type seen struct {
	verdict string
	barrier float64
}

// alike reports whether two runs had the CPUs placed alike at a shape; so do those that know nothing of it.
func alike(a, b seen, common float64) bool {
	return a.barrier == 0 || b.barrier == 0 || measure.Placed(a.barrier, common) == measure.Placed(b.barrier, common)
}

// Agree compares the profiles shape by shape, by case id.
func Agree(runs []record.Fusion) Agreement {
	a := Agreement{Runs: len(runs), Inconclusive: make([]float64, len(runs))}
	shapes, recommended := map[string][]seen{}, map[string][]string{}
	var ids, patterns []string
	var barriers []float64
	for i, f := range runs {
		measured, open := 0, 0
		for _, p := range f.Patterns {
			name := fmt.Sprintf("%s %s %s", p.Pattern, p.DType, p.Mode)
			if recommended[name] == nil {
				patterns = append(patterns, name)
			}
			recommended[name] = append(recommended[name], p.Recommendation.Verdict)
			for _, s := range p.Shapes {
				if shapes[s.CaseID] == nil {
					ids, shapes[s.CaseID] = append(ids, s.CaseID), make([]seen, len(runs))
				}
				if s.Verdict != NotMeasured {
					shapes[s.CaseID][i] = seen{s.Verdict, s.BarrierNS}
					measured++
				}
				if s.BarrierNS > 0 {
					barriers = append(barriers, s.BarrierNS)
				}
				if s.Verdict == measure.Inconclusive {
					open++
				}
			}
		}
		a.Inconclusive[i] = float64(open) / float64(max(1, measured))
	}
	common := measure.CommonBarrier(barriers)
	for _, id := range ids {
		a.shape(id, shapes[id], common)
	}
	for i := range a.Same {
		a.Same[i] /= float64(max(1, a.Pairs[i]))
	}
	for _, p := range patterns {
		if got := recommended[p]; len(slices.Compact(slices.Sorted(slices.Values(got)))) > 1 || len(got) != len(runs) {
			a.Changed = append(a.Changed, p+": "+strings.Join(got, ", "))
		}
	}
	return a
}

// shape counts one shape's verdicts in all runs.
func (a *Agreement) shape(id string, got []seen, common float64) {
	a.Shapes++
	line, open, missing, contradicted := id+":", false, false, [2]bool{}
	for i, x := range got {
		line += " " + x.verdict
		if x.barrier > 0 && !measure.Placed(x.barrier, common) {
			line += " (CPUs placed otherwise)"
		}
		if i < len(got)-1 {
			line += ","
		}
		open = open || x.verdict == measure.Inconclusive
		missing = missing || x.verdict == ""
		for _, y := range got[:i] {
			which := count(!alike(x, y, common))
			a.Pairs[which]++
			a.Same[which] += float64(count(x.verdict == y.verdict))
			if x.verdict != y.verdict && x.verdict != measure.Inconclusive && y.verdict != measure.Inconclusive {
				contradicted[which] = true
			}
		}
	}
	switch {
	case missing:
		a.Missing = append(a.Missing, id)
	case contradicted[0] || contradicted[1]:
		a.Contradicted = append(a.Contradicted, line)
		a.Moved += count(!contradicted[0])
	case open:
		a.Open = append(a.Open, line)
	}
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}

// all is the share of all pairs with the same verdict.
func (a Agreement) all() float64 {
	n := [2]float64{float64(a.Pairs[0]), float64(a.Pairs[1])}
	return (n[0]*a.Same[0] + n[1]*a.Same[1]) / max(1, n[0]+n[1])
}

// Reached reports whether the runs agree as well as they should.
func (a Agreement) Reached() bool {
	return a.Shapes > 0 && a.all() >= sameGoal && len(a.Contradicted)+len(a.Changed)+len(a.Missing) == 0 && slices.Max(a.Inconclusive) <= inconclusiveGoal
}

// Write prints the figures against their goals, then what does not agree.
func (a Agreement) Write(w io.Writer) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(tw, "%d runs of %d shapes\tmeasured\tgoal\n", a.Runs, a.Shapes)
	fmt.Fprintf(tw, "same verdict in two runs\t%.1f %%\t≥ %.0f %%\n", 100*a.all(), 100*sameGoal)
	if a.Pairs[1] > 0 {
		fmt.Fprintf(tw, "  where the CPUs were placed alike\t%.1f %% of %d pairs\t\n", 100*a.Same[0], a.Pairs[0])
		fmt.Fprintf(tw, "  where the host had placed the CPUs otherwise\t%.1f %% of %d pairs\t\n", 100*a.Same[1], a.Pairs[1])
	}
	for i, x := range a.Inconclusive {
		fmt.Fprintf(tw, "inconclusive in run %d\t%.1f %%\t≤ %.0f %%\n", i+1, 100*x, 100*inconclusiveGoal)
	}
	fmt.Fprintf(tw, "shapes with contradicting verdicts\t%d\t0\n", len(a.Contradicted))
	if a.Moved > 0 {
		fmt.Fprintf(tw, "  only where the host had placed the CPUs otherwise\t%d\t\n", a.Moved)
	}
	fmt.Fprintf(tw, "patterns with different recommendations\t%d\t0\n", len(a.Changed))
	if err := tw.Flush(); err != nil {
		return err
	}
	for _, l := range []struct {
		title string
		lines []string
	}{{"contradicting", a.Contradicted}, {"recommendation changed", a.Changed}, {"not measured in every run", a.Missing}, {"inconclusive in some run", a.Open}} {
		for _, line := range l.lines {
			if _, err := fmt.Fprintf(w, "%s: %s\n", l.title, line); err != nil {
				return err
			}
		}
	}
	return nil
}
