package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// quartetsOf makes quartets of so many cases whose watched runs take cost times as long; each run is shifted as a whole by spell.
func quartetsOf(r *rand.Rand, n, cases int, cost, noise, spell float64) []entry {
	var out []entry
	for range n {
		e := entry{Cases: map[string][4]float64{}}
		var shift [4]float64
		for i := range shift {
			shift[i] = 1 + spell*r.NormFloat64()
		}
		for c := range cases {
			var t [4]float64
			for i := range t {
				t[i] = 1e6 * float64(c+1) * shift[i] * (1 + noise*r.NormFloat64())
			}
			t[1], t[2] = t[1]*cost, t[2]*cost
			e.Cases[fmt.Sprint("case ", c)] = t
		}
		out = append(out, e)
	}
	return out
}

func TestTheCostOfWatchingIsToldWithItsInterval(t *testing.T) {
	for _, tc := range []struct {
		name        string
		n           int
		cost, spell float64
		want        string
		fails       bool
	}{
		{"no cost", 3, 1, 0, "0.5 %: within", false},
		{"one quartet", 1, 1, 0, "take three", false},
		{"2 %", 3, 1.02, 0, "NOT within", true},
		{"a neighbour", 3, 1, 0.02, "undecided", false},
	} {
		got := summarize(quartetsOf(rand.New(rand.NewPCG(1, 5)), tc.n, 200, tc.cost, 0.01, tc.spell))
		lo, hi := got.interval()
		if !strings.Contains(got.String(), tc.want) || (got.judge() != nil) != tc.fails || lo > tc.cost || hi < tc.cost {
			t.Errorf("%s: %s, %v", tc.name, got, got.judge())
		}
	}
}

// Neighbours on the host shift all cases of a run together, which the cases alone do not show.
func TestTheIntervalHoldsTheTruthWhereRunsAreShiftedAsAWhole(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 3))
	held, alone := 0, 0
	const trials = 400
	for range trials {
		got := summarize(quartetsOf(r, 3, 50, 1.003, 0.005, 0.003))
		if lo, hi := got.interval(); lo <= 1.003 && 1.003 <= hi {
			held++
		}
		if got.cases[0] <= 1.003 && 1.003 <= got.cases[1] {
			alone++
		}
	}
	if held < trials*94/100 || alone > trials*80/100 {
		t.Errorf("%d of %d hold the truth, by the cases alone %d", held, trials, alone)
	}
}

func TestQuartetsAddUpInALogOfTheSameBinaryAndFlags(t *testing.T) {
	log := filepath.Join(t.TempDir(), "below", "log.jsonl")
	mine, other := setting{Binary: "a", EveryNS: 1}, setting{Binary: "b", EveryNS: 1}
	for i, of := range []setting{mine, other, mine} {
		e := entry{Setting: of, Cases: map[string][4]float64{"c": {1, 2, 2, float64(i)}}}
		if err := add(log, e); err != nil {
			t.Fatal(err)
		}
	}
	f, err := os.OpenFile(log, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(`{"setting":{"bin`); err != nil { // killed while it wrote
		t.Fatal(err)
	}
	f.Close()
	if err := add(log, entry{Setting: mine, Cases: map[string][4]float64{"c": {7, 7, 7, 7}}}); err != nil {
		t.Fatal(err)
	}
	all, others, err := read(log, mine)
	if err != nil || len(all) != 3 || others != 2 || all[2].Cases["c"][3] != 7 {
		t.Errorf("%d quartets, %d others, %v", len(all), others, err)
	}
	if all, others, err := read(filepath.Join(t.TempDir(), "none"), mine); all != nil || others != 0 || err != nil {
		t.Errorf("no log: %v %v %v", all, others, err)
	}
}

func TestTheMedianHasItsIntervalByOrderStatistics(t *testing.T) {
	var v []float64
	for i := range 100 {
		v = append(v, float64(99-i))
	}
	if m, lo, hi := median(v); m != 49.5 || lo != 40 || hi != 60 {
		t.Errorf("%v, %v to %v", m, lo, hi)
	}
	if m, lo, hi := median([]float64{3}); m != 3 || lo != 3 || hi != 3 {
		t.Errorf("of one: %v, %v to %v", m, lo, hi)
	}
	if m, _, _ := median(nil); !math.IsNaN(m) {
		t.Errorf("of none: %v", m)
	}
}
