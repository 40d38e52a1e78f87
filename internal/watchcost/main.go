// Command watchcost measures what watching costs: the quick suite runs in quartets without and with the
// observer reading a meter ten times a second (A B B A), and the ratio of each case's medians is taken. The meter is
// the RAPL meter on a tree of files as two sockets have them, so that it also runs where no counter is.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"ridge/goharness/campaign"
	"ridge/goharness/op"
	"ridge/goharness/power"
	"ridge/goharness/record"
	"ridge/goharness/runner"
)

func main() {
	ridge := flag.String("ridge", "bin/ridge", "the binary whose worker measures")
	operations := flag.String("operations", "", "suites or ops of the quick suite, comma-separated (default: all)")
	quartets := flag.Int("quartets", 1, "quartets A B B A")
	every := flag.Duration("every", 100*time.Millisecond, "time between readings")
	trials := flag.Int("trials", 0, "samples of each case in place of the stop rule")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, *ridge, *operations, *quartets, *trials, *every); err != nil {
		fmt.Fprintln(os.Stderr, "watchcost:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, ridge, operations string, quartets, trials int, every time.Duration) error {
	root, err := os.MkdirTemp("", "watchcost")
	if err != nil {
		return err
	}
	defer os.RemoveAll(root)
	if err := zones(root); err != nil {
		return err
	}
	sides := map[bool]map[string][]float64{false: {}, true: {}}
	for q := range quartets {
		for _, watched := range []bool{false, true, true, false} {
			doc, err := campaign.Run(ctx, config(ridge, operations, root, trials, watched, every))
			if err != nil {
				return err
			}
			if watched && doc.Energy.Meter == "" {
				return fmt.Errorf("the meter was not read: %s", doc.Energy.Unavailable)
			}
			for _, r := range doc.Results {
				if r.Status.Counts() {
					sides[watched][r.ID] = append(sides[watched][r.ID], r.Time.MedianNS)
				}
			}
		}
		report(sides, q+1)
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

// report prints the median ratio over the cases and the spread that the same side shows against itself.
func report(sides map[bool]map[string][]float64, quartets int) {
	var watched, same []float64
	for id, a := range sides[false] {
		b := sides[true][id]
		if len(a) < 2*quartets || len(b) < 2*quartets {
			continue
		}
		sum := func(v []float64) float64 {
			t := 0.0
			for _, x := range v {
				t += x
			}
			return t
		}
		watched = append(watched, sum(b)/sum(a))
		same = append(same, a[0]/a[len(a)-1], b[0]/b[len(b)-1])
	}
	m, lo, hi := median(watched)
	s, _, _ := median(same)
	fmt.Printf("watching / not watching: %.4f (95 %% from %.4f to %.4f) over %d cases, %d quartet(s) A B B A; the same side against itself: %.4f; wanted: within 0.5 %%\n", m, lo, hi, len(watched), quartets, s)
}

// median with its interval by order statistics.
func median(v []float64) (m, lo, hi float64) {
	if len(v) == 0 {
		return math.NaN(), math.NaN(), math.NaN()
	}
	slices.Sort(v)
	n := float64(len(v))
	half := 0.98 * math.Sqrt(n)
	at := func(x float64) float64 { return v[max(0, min(len(v)-1, int(x)))] }
	return (at((n-1)/2) + at(n/2)) / 2, at(n/2 - half), at(n/2 + half)
}
