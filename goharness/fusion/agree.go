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

// Agreement is how profiles of the same patterns on one machine agree.
type Agreement struct {
	Runs, Shapes int
	Same         float64   // share of (two runs, shape) with the same verdict
	Inconclusive []float64 // share of each run's shapes
	Open         []string  // shapes whose verdict is inconclusive in some run, with the verdicts
	Contradicted []string  // shapes with two different conclusive verdicts
	Changed      []string  // patterns with different recommendations
	Missing      []string  // shapes that some run has not measured
}

// Agree compares the profiles shape by shape, by case id.
func Agree(runs []record.Fusion) Agreement {
	a := Agreement{Runs: len(runs), Inconclusive: make([]float64, len(runs))}
	verdicts, recommended := map[string][]string{}, map[string][]string{}
	var ids, patterns []string
	for i, f := range runs {
		measured, open := 0, 0
		for _, p := range f.Patterns {
			name := fmt.Sprintf("%s %s %s", p.Pattern, p.DType, p.Mode)
			if recommended[name] == nil {
				patterns = append(patterns, name)
			}
			recommended[name] = append(recommended[name], p.Recommendation.Verdict)
			for _, s := range p.Shapes {
				if verdicts[s.CaseID] == nil {
					ids, verdicts[s.CaseID] = append(ids, s.CaseID), make([]string, len(runs))
				}
				if s.Verdict != NotMeasured {
					verdicts[s.CaseID][i] = s.Verdict
					measured++
				}
				if s.Verdict == measure.Inconclusive {
					open++
				}
			}
		}
		a.Inconclusive[i] = float64(open) / float64(max(1, measured))
	}
	pairs, same := 0, 0
	for _, id := range ids {
		got := verdicts[id]
		a.Shapes++
		line := id + ": " + strings.Join(got, ", ")
		distinct := slices.Compact(slices.Sorted(slices.Values(got)))
		open := slices.Contains(distinct, measure.Inconclusive)
		switch conclusive := len(distinct) - count(open); {
		case slices.Contains(got, ""):
			a.Missing = append(a.Missing, id)
		case conclusive > 1:
			a.Contradicted = append(a.Contradicted, line)
		case open:
			a.Open = append(a.Open, line)
		}
		for i := range got {
			for j := range i {
				pairs++
				same += count(got[i] == got[j])
			}
		}
	}
	a.Same = float64(same) / float64(max(1, pairs))
	for _, p := range patterns {
		if got := recommended[p]; len(slices.Compact(slices.Sorted(slices.Values(got)))) > 1 || len(got) != len(runs) {
			a.Changed = append(a.Changed, p+": "+strings.Join(got, ", "))
		}
	}
	return a
}

func count(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Reached reports whether the runs agree as well as they should.
func (a Agreement) Reached() bool {
	return a.Shapes > 0 && a.Same >= sameGoal && len(a.Contradicted)+len(a.Changed)+len(a.Missing) == 0 && slices.Max(a.Inconclusive) <= inconclusiveGoal
}

// Write prints the figures against their goals, then what does not agree.
func (a Agreement) Write(w io.Writer) error {
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintf(tw, "%d runs of %d shapes\tmeasured\tgoal\n", a.Runs, a.Shapes)
	fmt.Fprintf(tw, "same verdict in two runs\t%.1f %%\t≥ %.0f %%\n", 100*a.Same, 100*sameGoal)
	for i, x := range a.Inconclusive {
		fmt.Fprintf(tw, "inconclusive in run %d\t%.1f %%\t≤ %.0f %%\n", i+1, 100*x, 100*inconclusiveGoal)
	}
	fmt.Fprintf(tw, "shapes with contradicting verdicts\t%d\t0\n", len(a.Contradicted))
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
