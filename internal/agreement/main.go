// Command agreement says how well fusion profiles of one machine agree, and what the comparison makes of
// two identical programs (scripts/fusion-agreement runs both):
//
//	agreement [-identical N] [PROFILE.json …]
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"time"

	"ridge/goharness/backend"
	"ridge/goharness/fusion"
	"ridge/goharness/measure"
	"ridge/goharness/op"
	"ridge/goharness/record"
	"ridge/native"
)

func main() {
	identical := flag.Int("identical", 0, "trials of identical programs on this machine")
	flag.Parse()
	ok, err := run(*identical, flag.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, "agreement:", err)
		os.Exit(2)
	}
	if !ok {
		os.Exit(1)
	}
}

func run(trials int, paths []string) (ok bool, err error) {
	ok = true
	if trials > 0 {
		if ok, err = identicalPrograms(trials); err != nil {
			return false, err
		}
	}
	if len(paths) == 0 {
		return ok, nil
	}
	var runs []record.Fusion
	for _, path := range paths {
		data, err := os.ReadFile(path)
		if err != nil {
			return false, err
		}
		if err := record.ValidateFusion(data); err != nil {
			return false, fmt.Errorf("%s: %w", path, err)
		}
		var f record.Fusion
		if err := json.Unmarshal(data, &f); err != nil {
			return false, fmt.Errorf("%s: %w", path, err)
		}
		runs = append(runs, f)
	}
	a := fusion.Agree(runs)
	return ok && a.Reached(), a.Write(os.Stdout)
}

// Trials of identical programs: a launch of 1 ms with two threads, each time in buffers of its own.
var twin = map[string]string{"m": "128", "n": "512", "k": "512", "act": "relu"}

const (
	trialBudget = 300 * time.Millisecond
	minimalGoal = 0.95
)

// identicalPrograms compares a fused kernel with itself.
func identicalPrograms(trials int) (bool, error) {
	dev, err := native.New().Open("cpu", backend.OpenOptions{CPUs: []int{0, 1}, Affinity: "scatter"})
	if err != nil {
		return false, err
	}
	defer func() { _ = dev.Close() }()
	o, err := op.Builtin().New("linear", twin, record.FP32)
	if err != nil {
		return false, err
	}
	verdicts := map[string]int{}
	for range trials {
		v, err := twins(dev, op.Single(o))
		if err != nil {
			return false, err
		}
		verdicts[v]++
	}
	fmt.Printf("%d trials of two identical programs: %v\n", trials, verdicts)
	wrong := trials - verdicts[fusion.Minimal] - verdicts[measure.Inconclusive]
	fmt.Printf("minimal in %.1f %% (goal ≥ %.0f %%), strong, moderate or slower in %d (goal 0)\n", 100*float64(verdicts[fusion.Minimal])/float64(trials), 100*minimalGoal, wrong)
	return wrong == 0 && float64(verdicts[fusion.Minimal]) >= minimalGoal*float64(trials), nil
}

func twins(dev backend.Device, p op.Program) (string, error) {
	var arms [2]backend.Executable
	for i := range arms {
		e, err := dev.Prepare(p, backend.PrepareOptions{Seed: 42})
		if err != nil {
			return "", err
		}
		defer func() { _ = e.Release() }()
		if err := e.Fill(false, -1); err != nil {
			return "", err
		}
		arms[i] = e
	}
	// Two visits, as a quick run makes.
	var got measure.Visit
	for i := range 2 {
		c, err := measure.Compare(context.Background(), arms[0], arms[1], measure.CompareOptions{Quick: true, Budget: trialBudget / 2, Cuts: fusion.Cuts()})
		if err != nil {
			return "", err
		}
		v := measure.Visit{Ratio: c.Ratio, Times: c.Times}
		if i == 0 {
			got = v
		} else if got, err = measure.Pool(got, v, 0); err != nil {
			return "", err
		}
	}
	return fusion.Decide(got.Ratio).Class, nil
}
