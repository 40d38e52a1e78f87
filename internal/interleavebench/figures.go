package main

import (
	"fmt"
	"io"
	"math"
	"slices"

	"ridge/goharness/history/compare"
	"ridge/goharness/measure"
)

// figures of all comparisons, with exact binomial intervals (Clopper and Pearson 1934), and of each case.
func figures(w io.Writer, all []entry) error {
	for _, kind := range kinds {
		var of []entry
		for _, e := range all {
			if e.Kind == kind {
				of = append(of, e)
			}
		}
		if len(of) == 0 {
			continue
		}
		if err := figuresOf(w, kind, of); err != nil {
			return err
		}
	}
	return nil
}

func figuresOf(w io.Writer, kind string, of []entry) error {
	cases, slower, faster, with := 0, 0, 0, 0
	var seconds, rounds []float64
	by := map[string][]tried{}
	for _, e := range of {
		any := false
		for _, c := range e.Cases {
			cases++
			any = any || c.called()
			switch c.Outcome {
			case compare.Slower:
				slower++
			case compare.Faster:
				faster++
			}
			by[c.ID] = append(by[c.ID], c)
			rounds = append(rounds, float64(c.Rounds))
		}
		if any {
			with++
		}
		seconds = append(seconds, e.Seconds)
	}
	if _, err := fmt.Fprintf(w, "%s: %d comparisons of %d cases in all, median %.1f s and %.0f rounds: %s of the cases slower, %s faster; %s of the comparisons call a case\n", kind, len(of), cases,
		measure.Median(seconds), measure.Median(rounds), share(slower, cases), share(faster, cases), share(with, len(of))); err != nil {
		return err
	}
	var ids []string
	for id := range by {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for _, id := range ids {
		slower, faster := 0, 0
		var ratios, spreads []float64
		for _, c := range by[id] {
			switch c.Outcome {
			case compare.Slower:
				slower++
			case compare.Faster:
				faster++
			}
			ratios, spreads = append(ratios, c.Ratio), append(spreads, c.Spread)
		}
		if _, err := fmt.Fprintf(w, "  %-66s %d slower, %d faster of %d; median ratio %.3f, rounds differ by %.1f %%\n", id, slower, faster, len(by[id]), measure.Median(ratios), 100*measure.Median(spreads)); err != nil {
			return err
		}
	}
	return nil
}

// spread is the standard deviation of ratios.
func spread(xs []float64) float64 {
	if len(xs) < 2 {
		return 0
	}
	mean, sum := 0.0, 0.0
	for _, x := range xs {
		mean += x / float64(len(xs))
	}
	for _, x := range xs {
		sum += (x - mean) * (x - mean)
	}
	return math.Sqrt(sum / float64(len(xs)-1))
}

func share(k, n int) string {
	lo, hi := binomial(k, n)
	return fmt.Sprintf("%d of %d (%.1f %%, 95 %% interval %.1f to %.1f %%)", k, n, 100*float64(k)/float64(n), 100*lo, 100*hi)
}

// binomial is the 95 % interval of a share of which k of n were seen.
func binomial(k, n int) (lo, hi float64) {
	tail := func(p float64, from, to int) float64 { // P(from ≤ X ≤ to)
		sum := 0.0
		for i := from; i <= to; i++ {
			a, _ := math.Lgamma(float64(n + 1))
			b, _ := math.Lgamma(float64(i + 1))
			c, _ := math.Lgamma(float64(n - i + 1))
			sum += math.Exp(a - b - c + float64(i)*math.Log(p) + float64(n-i)*math.Log1p(-p))
		}
		return sum
	}
	solve := func(over func(p float64) bool) float64 {
		a, b := 0.0, 1.0
		for range 60 {
			if m := (a + b) / 2; over(m) {
				b = m
			} else {
				a = m
			}
		}
		return (a + b) / 2
	}
	hi = 1
	if k > 0 {
		lo = solve(func(p float64) bool { return tail(p, k, n) > 0.025 })
	}
	if k < n {
		hi = solve(func(p float64) bool { return tail(p, 0, k) < 0.025 })
	}
	return lo, hi
}
