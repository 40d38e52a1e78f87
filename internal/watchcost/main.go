// Command watchcost measures what watching costs: each op of the quick suite runs in quartets without and with the
// observer reading a meter ten times a second (A B B A), and the ratio of each case's medians is taken. The meter is
// the RAPL meter on a tree of files as two sockets have them, so that it also runs where no counter is.
// Quartets add up in a log, so that a long measurement can be taken in parts.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"ridge/goharness/campaign"
	"ridge/goharness/op"
	"ridge/goharness/plan"
	"ridge/goharness/power"
	"ridge/goharness/record"
	"ridge/goharness/runner"
)

// bench is what is measured, and for how long.
type bench struct {
	ridge, operations, log string
	quartets, trials       int
	every, most            time.Duration
	out                    io.Writer
}

func main() {
	b := bench{out: os.Stdout}
	flag.StringVar(&b.ridge, "ridge", "bin/ridge", "the binary whose worker measures")
	flag.StringVar(&b.operations, "operations", "", "suites or ops of the quick suite, comma-separated (default: all)")
	flag.StringVar(&b.log, "log", "build/watchcost.jsonl", "where quartets of the same binary and flags are added up")
	flag.IntVar(&b.quartets, "quartets", 1, "quartets A B B A of the whole suite to add; 0: show the log")
	flag.DurationVar(&b.most, "for", time.Hour, "start no quartet that may not end in that time")
	flag.DurationVar(&b.every, "every", 100*time.Millisecond, "time between readings")
	flag.IntVar(&b.trials, "trials", 0, "samples of each case in place of the stop rule")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := b.run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "watchcost:", err)
		os.Exit(1)
	}
}

func (b bench) run(ctx context.Context) error {
	if b.quartets < 0 || b.trials < 0 || b.every <= 0 || b.most <= 0 {
		return fmt.Errorf("%d quartets, %d trials, every %v for %v: expected no negative count, and times above 0", b.quartets, b.trials, b.every, b.most)
	}
	of, err := b.setting()
	if err != nil {
		return err
	}
	all, others, err := read(b.log, of)
	if err != nil {
		return err
	}
	if others > 0 {
		fmt.Fprintf(b.out, "%s: %d quartets of another binary or with other flags are left out\n", b.log, others)
	}
	if len(all) > 0 {
		fmt.Fprintf(b.out, "%s: %d quartets so far\n%s\n", b.log, len(all), summarize(all))
	}
	root, err := os.MkdirTemp("", "watchcost")
	if err != nil {
		return err
	}
	defer os.RemoveAll(root)
	if err := zones(root); err != nil {
		return err
	}
	end, longest := time.Now().Add(b.most), time.Duration(0)
	for n := range b.quartets {
		if n > 0 && time.Until(end) < longest {
			fmt.Fprintf(b.out, "no quartet is started any more: %v are left and one takes %v\n", max(0, time.Until(end)).Round(time.Second), longest.Round(time.Second))
			break
		}
		began := time.Now()
		e, err := b.quartet(ctx, root)
		if err != nil {
			return fmt.Errorf("quartet %d (what was finished before is in %s): %w", len(all)+1, b.log, err)
		}
		e.Setting = of
		if err := add(b.log, e); err != nil {
			return err
		}
		all, longest = append(all, e), max(longest, time.Since(began))
		fmt.Fprintf(b.out, "%s (%v)\n", summarize(all), time.Since(began).Round(time.Second))
	}
	return summarize(all).judge()
}

// quartet runs the suite four times, op by op: what a neighbour on the host does for a while falls on a few ops, not on one side of the whole suite.
func (b bench) quartet(ctx context.Context, root string) (entry, error) {
	e := entry{Cases: map[string][4]float64{}}
	ops, err := b.ops()
	if err != nil {
		return e, err
	}
	for _, name := range ops {
		if err := b.quartetOf(ctx, root, name, e.Cases); err != nil {
			return e, fmt.Errorf("%s: %w", name, err)
		}
	}
	if len(e.Cases) == 0 {
		return e, fmt.Errorf("no case has a time in all four runs")
	}
	return e, nil
}

// ops are those of the quick suite. The levels of memory only choose among their sizes.
func (b bench) ops() (out []string, err error) {
	o := config(b.ridge, b.operations, "", b.trials, false, b.every).Plan
	o.Threads, o.LLC = 1, 32<<20
	p, err := plan.Build(o)
	if err != nil {
		return nil, err
	}
	for _, c := range p.Cases {
		if !slices.Contains(out, c.Program.Op) {
			out = append(out, c.Program.Op)
		}
	}
	return out, nil
}

// quartetOf adds one op's cases to those of a quartet.
func (b bench) quartetOf(ctx context.Context, root, name string, to map[string][4]float64) error {
	var sides [2]map[string][]float64
	for i := range sides {
		sides[i] = map[string][]float64{}
	}
	for _, watched := range []int{0, 1, 1, 0} {
		doc, err := campaign.Run(ctx, config(b.ridge, name, root, b.trials, watched == 1, b.every))
		if err != nil {
			return err
		}
		if watched == 1 && doc.Energy.Meter == "" {
			return fmt.Errorf("the meter was not read: %s", doc.Energy.Unavailable)
		}
		for _, r := range doc.Results {
			if r.Status.Counts() && r.Time != nil {
				sides[watched][r.ID] = append(sides[watched][r.ID], r.Time.MedianNS)
			}
		}
	}
	for id, a := range sides[0] {
		if w := sides[1][id]; len(a) == 2 && len(w) == 2 {
			to[id] = [4]float64{a[0], w[0], w[1], a[1]}
		}
	}
	return nil
}

// zones are the counters of two sockets with their DRAM and the board's.
func zones(root string) error {
	for zone, name := range map[string]string{"intel-rapl:0": "package-0", "intel-rapl:0:0": "dram", "intel-rapl:1": "package-1", "intel-rapl:1:0": "dram", "intel-rapl:2": "psys"} {
		dir := filepath.Join(root, "sys/class/powercap", zone)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		for file, text := range map[string]string{"name": name, "energy_uj": "123456789", "max_energy_range_uj": "262143328850"} {
			if err := os.WriteFile(filepath.Join(dir, file), []byte(text+"\n"), 0o644); err != nil {
				return err
			}
		}
	}
	return nil
}

func config(ridge, operations, root string, trials int, watched bool, every time.Duration) campaign.Config {
	cfg := campaign.Config{Launch: runner.Process([]string{ridge, "worker"}, nil), SkipPreflight: true, NoProbes: true, Tool: record.Tool{Name: "watchcost"}}
	cfg.Plan.Device, cfg.Plan.Quick, cfg.Plan.Ops, cfg.Plan.Trials = "cpu", true, op.Builtin(), trials
	if operations != "" {
		cfg.Plan.Operations = strings.Split(operations, ",")
	}
	cfg.Energy = watched
	cfg.EnergyOf = campaign.EnergyOptions{Cases: []string{"none"}, Trace: io.Discard, Follow: every, // the windows come after the timing and are none of its cost
		Meters: []power.Source{{Name: "files", Platform: "cpu", Open: func(ctx context.Context, _ power.Env, d power.Device) (power.Meter, error) {
			return power.Find(ctx, power.Builtin(), power.Env{Root: root}, d)
		}}}}
	return cfg
}
