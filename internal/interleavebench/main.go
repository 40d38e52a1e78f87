// Command interleavebench measures on this machine what ridge compare --interleave promises: that a build beside
// itself raises hardly an alarm, and that a slowdown of 5 % is found. Comparisons of both kinds run in turn by the
// real command on real kernels; the slower build is internal/slowworker, which does 21 launches' work for 20. Each
// comparison is printed and a line of the log when it ends, so that calls add up; the figures of the whole log are printed at the end.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"ridge/goharness/history/compare"
)

// kinds of comparisons, in the order they are run.
var kinds = []string{"a build with itself", "5 % more work"}

// entry of the log: a comparison.
type entry struct {
	Kind    string  `json:"kind"`
	Time    string  `json:"time"`
	Seconds float64 `json:"seconds"`
	Cases   []tried `json:"cases"`
}

// tried is a case of a comparison: a trial.
type tried struct {
	ID      string          `json:"id"`
	Outcome compare.Outcome `json:"outcome"`
	Ratio   float64         `json:"ratio"`
	Rounds  int             `json:"rounds"`
	// Spread is the standard deviation of the rounds' ratios, what limits how small a change is found.
	Spread float64 `json:"spread"`
}

// called: the comparison says that the builds differ.
func (t tried) called() bool { return t.Outcome == compare.Slower || t.Outcome == compare.Faster }

// rounds is the most that a case had.
func (e entry) rounds() int {
	n := 0
	for _, c := range e.Cases {
		n = max(n, c.Rounds)
	}
	return n
}

// bench is one call.
type bench struct {
	ridge, worker, log string
	most               time.Duration // 0: show the log alone
	cases, rounds      int           // of a comparison
	out                io.Writer
	now                func() time.Time
}

func main() {
	b := bench{out: os.Stdout, now: time.Now}
	flag.StringVar(&b.ridge, "ridge", "bin/ridge", "the binary whose compare runs, and the build that is compared with itself")
	flag.StringVar(&b.worker, "worker", "build/slowworker", "internal/slowworker, built")
	flag.StringVar(&b.log, "log", "build/interleave.jsonl", "where comparisons are added up")
	flag.DurationVar(&b.most, "for", 5*time.Minute, "take so long: start no comparison that may not end in that time; 0: show the log")
	flag.IntVar(&b.cases, "cases", 4, fmt.Sprintf("cases of a comparison, the next of %d in turn", len(shapes)))
	flag.IntVar(&b.rounds, "rounds", 192, "most rounds of a comparison")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := b.run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "interleavebench:", err)
		os.Exit(1)
	}
}

func (b bench) run(ctx context.Context) error {
	if b.cases < 1 || b.cases > len(shapes) || b.rounds < 12 {
		return fmt.Errorf("%d cases in %d rounds: expected 1 to %d cases and at least 12 rounds", b.cases, b.rounds, len(shapes))
	}
	all, old, err := read(b.log)
	if err != nil {
		return err
	}
	if old > 0 {
		fmt.Fprintf(b.out, "%s: %d comparisons of an earlier method are left out\n", b.log, old)
	}
	if b.most > 0 {
		if all, err = b.measure(ctx, all); err != nil {
			return err
		}
	}
	return figures(b.out, all)
}

// measure adds comparisons while there is time for a whole one: what ended early would be those that were easily decided.
func (b bench) measure(ctx context.Context, all []entry) ([]entry, error) {
	dir, err := os.MkdirTemp("", "interleavebench")
	if err != nil {
		return all, err
	}
	defer os.RemoveAll(dir)
	plain, slower, err := builds(dir, b.worker)
	if err != nil {
		return all, err
	}
	end := b.now().Add(b.most)
	limited, cancel := context.WithTimeout(ctx, b.most)
	defer cancel()
	slowest := 0.0 // seconds of a round in this call
	for n := 0; limited.Err() == nil; n++ {
		whole := time.Duration(slowest * float64(b.rounds) * float64(time.Second))
		if left := end.Sub(b.now()); n > 0 && left < whole {
			fmt.Fprintf(b.out, "no comparison is started any more: %v are left and one may take %v\n", left.Round(time.Second), whole.Round(time.Second))
			break
		}
		kind := kinds[len(all)%len(kinds)]
		old, new := b.ridge, b.ridge
		if kind != kinds[0] {
			old, new = plain, slower
		}
		e, err := b.one(limited, dir, kind, next(len(all)/len(kinds), b.cases), old, new)
		if limited.Err() != nil { // what it has so far says nothing
			fmt.Fprintf(b.out, "%s: cut off, not counted: give it more time (-for), or fewer -cases or -rounds\n", kind)
			break
		}
		if err != nil {
			return all, err
		}
		if err := add(b.log, e); err != nil {
			return all, err
		}
		all, slowest = append(all, e), max(slowest, e.Seconds/float64(max(1, e.rounds())))
		fmt.Fprintln(b.out, e)
	}
	return all, nil
}

// String is the line of a comparison when it ends.
func (e entry) String() string {
	of := map[compare.Outcome]int{}
	for _, c := range e.Cases {
		of[c.Outcome]++
	}
	var parts []string
	for _, o := range compare.Outcomes {
		if of[o] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", of[o], o))
		}
	}
	return fmt.Sprintf("%s  %s: %s, after %d rounds in %.1f s", e.Time, e.Kind, strings.Join(parts, ", "), e.rounds(), e.Seconds)
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

// shapes take 2 to 200 µs, so that a batch of 20 launches is short.
var shapes = []string{"gemm/fp32/m=64,n=64,k=64", "gemm/fp32/m=128,n=128,k=128", "gemm/bf16/m=96,n=96,k=96", "gemv/fp32/m=512,n=512",
	"conv2d/fp32/n=1,c=16,h=14,w=14,k=32,s=3,pad=1", "attention/fp32/b=1,heads=1,sq=64,d=64", "add/fp32/rows=128,cols=256",
	"gelu/fp32/rows=64,cols=256", "softmax/fp32/rows=128,cols=256,dim=1", "transpose/fp32/rows=128,cols=256"}

// next are the cases of the n-th comparison of a kind: the shapes in turn.
func next(n, cases int) []string {
	var out []string
	for i := range cases {
		out = append(out, "cpu/"+shapes[(n*cases+i)%len(shapes)]+"/threads=1/hot")
	}
	return out
}

// one comparison by the real command.
func (b bench) one(ctx context.Context, dir, kind string, cases []string, old, new string) (entry, error) {
	args := []string{"compare", "--interleave", "--json", "--quiet", "--fail-on", "none", "--rounds", strconv.Itoa(b.rounds), "--data-dir", filepath.Join(dir, "data")}
	for _, id := range cases {
		args = append(args, "--case", id)
	}
	began := b.now()
	cmd := exec.CommandContext(ctx, b.ridge, append(args, old, new)...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second // then it is killed
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
	e := entry{Kind: kind, Time: began.UTC().Format(time.RFC3339), Seconds: b.now().Sub(began).Seconds()}
	for _, k := range c.Cases {
		if k.Outcome == compare.NotComparable {
			return e, fmt.Errorf("%s: %s: %s", kind, k.ID, k.Reason)
		}
		e.Cases = append(e.Cases, tried{k.ID, k.Outcome, k.Ratio, len(k.Rounds), spread(k.Rounds)})
	}
	return e, nil
}

// read gives the log's comparisons, and how many lines there are of a time when they were measured otherwise.
func read(path string) (all []entry, old int, err error) {
	f, err := os.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	s := bufio.NewScanner(f)
	for n := 1; s.Scan(); n++ {
		var e entry
		if err := json.Unmarshal(s.Bytes(), &e); err != nil {
			return nil, 0, fmt.Errorf("%s, line %d: %w: delete the line or the file", path, n, err)
		}
		if len(e.Cases) == 0 {
			old++
			continue
		}
		all = append(all, e)
	}
	if err := s.Err(); err != nil {
		return nil, 0, fmt.Errorf("%s: %w", path, err)
	}
	return all, old, nil
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
