// Command interleavebench measures on this machine what ridge compare --interleave promises: that a build beside
// itself raises hardly an alarm, and that a slowdown of 5 % is found. Comparisons of both kinds run in turn by the
// real command on real kernels; the slower build is internal/slowworker, which does 21 launches' work for 20. Each
// comparison is a line of the log, so that calls add up; the figures of the whole log are printed at the end.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"time"

	"ridge/goharness/history/compare"
)

// kinds of comparisons, in the order they are run.
var kinds = []string{"a build with itself", "5 % more work"}

// entry of the log: a comparison.
type entry struct {
	Kind    string                  `json:"kind"`
	Time    string                  `json:"time"`
	Seconds float64                 `json:"seconds"`
	Counts  map[compare.Outcome]int `json:"counts"`
	Called  []called                `json:"called,omitempty"`
}

// called is a case of which the comparison said anything but same.
type called struct {
	ID      string          `json:"id"`
	Outcome compare.Outcome `json:"outcome"`
	Ratio   float64         `json:"ratio"`
	Rounds  int             `json:"rounds"`
}

func main() {
	ridge := flag.String("ridge", "bin/ridge", "the binary whose compare runs, and the build that is compared with itself")
	worker := flag.String("worker", "build/slowworker", "internal/slowworker, built")
	log := flag.String("log", "build/interleave.jsonl", "where comparisons are added up")
	most := flag.Duration("for", 40*time.Second, "start no comparison after that, and stop the last one; 0: show the log")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *ridge, *worker, *log, *most, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "interleavebench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, ridge, worker, log string, most time.Duration, out io.Writer) error {
	all, err := read(log)
	if err != nil {
		return err
	}
	if most > 0 {
		dir, err := os.MkdirTemp("", "interleavebench")
		if err != nil {
			return err
		}
		defer os.RemoveAll(dir)
		plain, slower, err := builds(dir, worker)
		if err != nil {
			return err
		}
		limited, cancel := context.WithTimeout(ctx, most)
		defer cancel()
		for limited.Err() == nil {
			kind := kinds[len(all)%len(kinds)]
			a, b := ridge, ridge
			if kind != kinds[0] {
				a, b = plain, slower
			}
			e, err := one(limited, ridge, dir, kind, a, b)
			if limited.Err() != nil {
				break // what it has so far says nothing
			}
			if err != nil {
				return err
			}
			if err := add(log, e); err != nil {
				return err
			}
			all = append(all, e)
		}
	}
	return figures(out, all)
}

// builds are two executables that differ by the work of the second.
func builds(dir, worker string) (plain, slower string, err error) {
	worker, err = filepath.Abs(worker)
	if err != nil {
		return "", "", err
	}
	var out [2]string
	for extra := range out {
		out[extra] = filepath.Join(dir, fmt.Sprintf("extra-%d", extra))
		script := fmt.Sprintf("#!/bin/sh\nRIDGE_SLOW_EXTRA=%d exec '%s' \"$@\"\n", extra, worker)
		if err := os.WriteFile(out[extra], []byte(script), 0o755); err != nil {
			return "", "", err
		}
	}
	return out[0], out[1], nil
}

// cases take 2 to 200 µs, so that a batch of 20 launches is short.
func cases() []string {
	var out []string
	for _, shape := range []string{"gemm/fp32/m=64,n=64,k=64", "gemm/fp32/m=128,n=128,k=128", "gemm/bf16/m=96,n=96,k=96", "gemv/fp32/m=512,n=512",
		"conv2d/fp32/n=1,c=16,h=14,w=14,k=32,s=3,pad=1", "attention/fp32/b=1,heads=1,sq=64,d=64", "add/fp32/rows=128,cols=256",
		"gelu/fp32/rows=64,cols=256", "softmax/fp32/rows=128,cols=256,dim=1", "transpose/fp32/rows=128,cols=256"} {
		out = append(out, "cpu/"+shape+"/threads=1/hot")
	}
	return out
}

// one comparison by the real command.
func one(ctx context.Context, ridge, dir, kind, a, b string) (entry, error) {
	args := []string{"compare", "--interleave", "--json", "--quiet", "--fail-on", "none", "--data-dir", filepath.Join(dir, "data")}
	for _, id := range cases() {
		args = append(args, "--case", id)
	}
	began := time.Now()
	cmd := exec.CommandContext(ctx, ridge, append(args, a, b)...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	text, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return entry{}, fmt.Errorf("%s: %w: %s", kind, err, exit.Stderr)
	}
	if err != nil {
		return entry{}, err
	}
	var c compare.Comparison
	if err := json.Unmarshal(text, &c); err != nil {
		return entry{}, fmt.Errorf("%s: %w", kind, err)
	}
	e := entry{Kind: kind, Time: began.UTC().Format(time.RFC3339), Seconds: time.Since(began).Seconds(), Counts: c.Counts}
	for _, k := range c.Cases {
		if k.Outcome == compare.NotComparable {
			return e, fmt.Errorf("%s: %s: %s", kind, k.ID, k.Reason)
		}
		if k.Outcome != compare.Same {
			e.Called = append(e.Called, called{k.ID, k.Outcome, k.Ratio, len(k.Rounds)})
		}
	}
	return e, nil
}

func read(path string) ([]entry, error) {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var out []entry
	for s := bufio.NewScanner(f); s.Scan(); {
		var e entry
		if err := json.Unmarshal(s.Bytes(), &e); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		out = append(out, e)
	}
	return out, nil
}

func add(path string, e entry) error {
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(append(line, '\n'))
	return errors.Join(err, f.Close())
}

// figures of all comparisons, with exact binomial intervals (Clopper and Pearson 1934).
func figures(w io.Writer, all []entry) error {
	for _, kind := range kinds {
		n, cases, slower, faster, with, seconds := 0, 0, 0, 0, 0, 0.0
		for _, e := range all {
			if e.Kind != kind {
				continue
			}
			n, seconds = n+1, seconds+e.Seconds
			for _, c := range e.Counts {
				cases += c
			}
			slower, faster = slower+e.Counts[compare.Slower], faster+e.Counts[compare.Faster]
			if e.Counts[compare.Slower]+e.Counts[compare.Faster] > 0 {
				with++
			}
		}
		if n == 0 {
			continue
		}
		if _, err := fmt.Fprintf(w, "%s: %d comparisons of %d cases, %.1f s each: %s of the cases slower, %s faster; %s of the comparisons call a case\n", kind, n, cases/n, seconds/float64(n),
			share(slower, cases), share(faster, cases), share(with, n)); err != nil {
			return err
		}
	}
	return nil
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
