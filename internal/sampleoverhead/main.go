//go:build cgo && linux && (amd64 || arm64)

// Command sampleoverhead measures what native sampling costs the kernel that is sampled: the same
// fp32 GEMM with the timers on and off, in quartets A B B A, 1000 times a second or as -rate says. It prints
// the ratio of the times with its interval, and ends with 1 when the interval lies above 1.01.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"time"

	"ridge/goharness/backend"
	"ridge/goharness/measure"
	"ridge/goharness/op"
	"ridge/goharness/profile"
	"ridge/goharness/record"
	"ridge/native"
)

func main() {
	hz := flag.Int("rate", profile.DefaultHz, "samples of each thread per second; ridge profile --native takes fewer in a virtual machine")
	budget := flag.Duration("budget", 30*time.Second, "time for the quartets")
	flag.Parse()
	if err := run(*hz, *budget); err != nil {
		fmt.Fprintln(os.Stderr, "sampleoverhead:", err)
		os.Exit(1)
	}
}

// watched takes its samples with the timers on. Starting and stopping them lies outside of the windows.
type watched struct {
	e     backend.Executable
	d     backend.CodeSampler
	hz    int
	ticks *int64
}

func (w watched) Measure(ctx context.Context, launches, samples int) ([]backend.Sample, error) {
	if err := w.d.StartSampling(w.hz); err != nil {
		return nil, err
	}
	s, err := w.e.Measure(ctx, launches, samples)
	got, stopErr := w.d.StopSampling(s)
	if err == nil {
		err = stopErr
	}
	for _, code := range got {
		for _, x := range code.Samples {
			*w.ticks += x.Count
		}
	}
	return s, err
}

func run(hz int, budget time.Duration) error {
	d, err := native.New().Open("cpu", backend.OpenOptions{})
	if err != nil {
		return err
	}
	defer func() { _ = d.Close() }()
	o, err := op.Builtin().New("gemm", map[string]string{"m": "512", "n": "512", "k": "512"}, record.FP32)
	if err != nil {
		return err
	}
	e, err := d.Prepare(op.Single(o), backend.PrepareOptions{Seed: 42})
	if err != nil {
		return err
	}
	defer func() { _ = e.Release() }()
	if err := e.Fill(false, 0); err != nil {
		return err
	}
	var ticks int64
	on := watched{e: e, d: d.(backend.CodeSampler), hz: hz, ticks: &ticks}
	// Samples of 30 ms: some 30 ticks in each, so that the ratio is that of the whole interruption.
	got, err := measure.Compare(context.Background(), on, e, measure.CompareOptions{MinSample: 30 * time.Millisecond, Budget: budget, RelHalfWidth: 0.002})
	if err != nil {
		return err
	}
	r := got.Ratio
	fmt.Printf("%s, %d Hz on each of %d threads: time sampled / not sampled %.4f (95 %% interval %.4f to %.4f, %d quartets A B B A, %d ticks)\n",
		e.Kernels()[0].Name, hz, d.Conditions().Threads, r.Value, r.CI95[0], r.CI95[1], len(r.Quartets), ticks)
	if r.CI95[0] > 1.01 {
		return fmt.Errorf("sampling costs more than 1 %%")
	}
	return nil
}
