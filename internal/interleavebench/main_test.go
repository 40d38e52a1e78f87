package main

import (
	"math"
	"strings"
	"testing"

	"ridge/goharness/history/compare"
	"ridge/goharness/record"
)

// The tables of Clopper and Pearson's intervals at 95 %.
func TestBinomialIntervals(t *testing.T) {
	for _, c := range []struct {
		k, n   int
		lo, hi float64
	}{{0, 10, 0, 0.3085}, {10, 10, 0.6915, 1}, {5, 10, 0.1871, 0.8129}, {0, 360, 0, 0.0102}, {1, 20, 0.0013, 0.2487}} {
		if lo, hi := binomial(c.k, c.n); math.Abs(lo-c.lo) > 1e-4 || math.Abs(hi-c.hi) > 1e-4 {
			t.Errorf("%d of %d: %.4f to %.4f, expected %.4f to %.4f", c.k, c.n, lo, hi, c.lo, c.hi)
		}
	}
}

func TestFiguresAddUpTheLog(t *testing.T) {
	var b strings.Builder
	err := figures(&b, []entry{{Kind: kinds[0], Counts: map[compare.Outcome]int{compare.Same: 19, compare.Faster: 1}}, {Kind: kinds[1], Counts: map[compare.Outcome]int{compare.Slower: 20}},
		{Kind: kinds[0], Counts: map[compare.Outcome]int{compare.Ambiguous: 20}}})
	for _, want := range []string{"2 comparisons of 20 cases", "0 of 40 (0.0 %", "1 of 40 (2.5 %", "1 of 2 (50.0 %", "20 of 20 (100.0 %"} {
		if err != nil || !strings.Contains(b.String(), want) {
			t.Errorf("%v, no %q in\n%s", err, want, b.String())
		}
	}
}

func TestCasesAreWellFormed(t *testing.T) {
	for _, id := range cases() {
		if _, err := record.ParseCaseID(id); err != nil {
			t.Errorf("%s: %v", id, err)
		}
	}
}
