package main

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// aim: the median of the suite may change by so much.
const aim = 0.005

// setting is what quartets must have in common to be added up.
type setting struct {
	Binary     string `json:"binary"` // SHA-256
	Operations string `json:"operations"`
	Trials     int    `json:"trials"`
	EveryNS    int64  `json:"every_ns"`
}

// entry is one quartet: the medians of each case in ns, in the order A B B A.
type entry struct {
	Setting setting               `json:"setting"`
	Cases   map[string][4]float64 `json:"cases"`
}

func (b bench) setting() (setting, error) {
	text, err := os.ReadFile(b.ridge)
	if err != nil {
		return setting{}, fmt.Errorf("the binary that measures (make build): %w", err)
	}
	sum := sha256.Sum256(text)
	return setting{hex.EncodeToString(sum[:]), b.operations, b.trials, int64(b.every)}, nil
}

// read gives the log's quartets of a setting and counts the others. A torn last line, of a run that was killed, is one of them.
func read(log string, of setting) (all []entry, others int, err error) {
	f, err := os.Open(log)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, nil
	} else if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 16<<20)
	for sc.Scan() {
		var e entry
		if json.Unmarshal(sc.Bytes(), &e) != nil || e.Setting != of || len(e.Cases) == 0 {
			others++
			continue
		}
		all = append(all, e)
	}
	if err := sc.Err(); err != nil {
		return nil, 0, fmt.Errorf("%s: %w", log, err)
	}
	return all, others, nil
}

// add appends a quartet on a line of its own, whatever stands before it.
func add(log string, e entry) error {
	if err := os.MkdirAll(filepath.Dir(log), 0o755); err != nil {
		return err
	}
	text, err := json.Marshal(e)
	if err != nil {
		return err
	}
	old, err := os.ReadFile(log)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if len(old) > 0 && old[len(old)-1] != '\n' {
		text = append([]byte("\n"), text...)
	}
	f, err := os.OpenFile(log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(append(text, '\n'))
	return errors.Join(err, f.Close())
}

// result of some quartets: ratios of the times watched to those not watched.
type result struct {
	ratio        float64    // median over the cases
	cases        [2]float64 // its interval, from case to case
	byQuartet    []float64  // the same median of each quartet
	quartets     [2]float64 // interval of their mean; NaN for one quartet
	same         float64    // median of one side against itself
	count, total int        // cases, quartets
}

func summarize(all []entry) result {
	sums := map[string][2]float64{}
	var same []float64
	r := result{total: len(all), quartets: [2]float64{math.NaN(), math.NaN()}}
	for _, e := range all {
		var of []float64
		for id, t := range e.Cases {
			s := sums[id]
			sums[id] = [2]float64{s[0] + t[0] + t[3], s[1] + t[1] + t[2]}
			of = append(of, (t[1]+t[2])/(t[0]+t[3]))
			same = append(same, t[3]/t[0], t[2]/t[1])
		}
		m, _, _ := median(of)
		r.byQuartet = append(r.byQuartet, m)
	}
	var ratios []float64
	for _, s := range sums {
		ratios = append(ratios, s[1]/s[0])
	}
	r.count = len(ratios)
	r.ratio, r.cases[0], r.cases[1] = median(ratios)
	r.same, _, _ = median(same)
	if n := float64(len(r.byQuartet)); n > 1 {
		mean, sq := 0.0, 0.0
		for _, m := range r.byQuartet {
			mean += m / n
		}
		for _, m := range r.byQuartet {
			sq += (m - mean) * (m - mean)
		}
		half := student(len(r.byQuartet)-1) * math.Sqrt(sq/(n-1)/n)
		r.quartets = [2]float64{mean - half, mean + half}
	}
	return r
}

// interval is the hull of both: cases differ within a quartet, and a neighbour on the host shifts many cases together.
func (r result) interval() (lo, hi float64) {
	lo, hi = r.cases[0], r.cases[1]
	if r.total > 1 {
		lo, hi = min(lo, r.quartets[0]), max(hi, r.quartets[1])
	}
	return lo, hi
}

func (r result) String() string {
	lo, hi := r.interval()
	var each []string
	for _, m := range r.byQuartet {
		each = append(each, fmt.Sprintf("%.4f", m))
	}
	verdict := "undecided: more quartets narrow the interval"
	switch {
	case r.total < 2 && lo > 1-aim && hi < 1+aim:
		verdict = "within, but one quartet does not tell what a neighbour on the host did: take three"
	case lo > 1-aim && hi < 1+aim:
		verdict = "within"
	case r.judge() != nil:
		verdict = "NOT within"
	}
	return fmt.Sprintf("watching / not watching: %.4f (95 %% from %.4f to %.4f) over %d cases, %d quartets A B B A (%s); the same side against itself: %.4f; wanted: within 0.5 %%: %s",
		r.ratio, lo, hi, r.count, r.total, strings.Join(each, " "), r.same, verdict)
}

// judge is an error when the interval lies outside of the aim altogether.
func (r result) judge() error {
	if lo, hi := r.interval(); r.total > 0 && (lo > 1+aim || hi < 1-aim) {
		return fmt.Errorf("watching changes the times by more than 0.5 %%: %.4f to %.4f", lo, hi)
	}
	return nil
}

// student is the factor of a 95 % interval for n degrees of freedom; beyond the table its last value, which is a little too wide.
func student(n int) float64 {
	table := []float64{12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228}
	return table[min(n, len(table))-1]
}

// median with its interval by order statistics.
func median(v []float64) (m, lo, hi float64) {
	if len(v) == 0 {
		return math.NaN(), math.NaN(), math.NaN()
	}
	slices.Sort(v)
	n := float64(len(v))
	half := 0.98 * math.Sqrt(n)
	at := func(x float64) float64 { return v[max(0, min(len(v)-1, int(math.Floor(x))))] }
	return (at((n-1)/2) + at(n/2)) / 2, at(n/2 - half), at(math.Ceil(n/2 + half))
}
