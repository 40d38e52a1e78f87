//go:build linux && cgo && (amd64 || arm64)

package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"ridge/goharness/measure"
	"ridge/goharness/power"
	"ridge/goharness/power/powertest"
	"ridge/goharness/record"
)

// packageWatts and dramWatts are drawn whatever runs, psysWatts by the whole board.
const (
	packageWatts, dramWatts, psysWatts = 60.0, 20.0, 200.0
	wrapsAt                            = 65_532_610_987 // µJ, as on Zen
)

// sockets puts the files of a machine with one package in the place of the meters: its counters rise once a millisecond, and the package's
// wraps three seconds from now.
func sockets(t *testing.T) {
	t.Helper()
	root, zones := t.TempDir(), map[string]float64{"intel-rapl:0": packageWatts, "intel-rapl:0:0": dramWatts, "intel-rapl:1": psysWatts, "intel-rapl-mmio:0": packageWatts}
	for zone, name := range map[string]string{"intel-rapl:0": "package-0", "intel-rapl:0:0": "dram", "intel-rapl:1": "psys", "intel-rapl-mmio:0": "package-0"} {
		dir := filepath.Join(root, "sys/class/powercap", zone)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for file, text := range map[string]string{"name": name, "max_energy_range_uj": fmt.Sprint(wrapsAt)} {
			if err := os.WriteFile(filepath.Join(dir, file), []byte(text+"\n"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	began := measure.MonotonicNow()
	read := func(name string) ([]byte, error) {
		if filepath.Base(name) != "energy_uj" {
			return os.ReadFile(name)
		}
		watts := zones[filepath.Base(filepath.Dir(name))]
		since := (measure.MonotonicNow() - began).Truncate(time.Millisecond)
		count := wrapsAt - 3*uint64(watts*1e6) + uint64(watts*float64(since.Microseconds()))
		return fmt.Appendln(nil, count%wrapsAt), nil
	}
	metered(t, power.Source{Name: "rapl-powercap", Platform: "cpu", Open: func(ctx context.Context, _ power.Env, d power.Device) (power.Meter, error) {
		return power.Find(ctx, power.Builtin(), power.Env{Root: root, ReadFile: read}, d)
	}})
}

// metered puts a meter in the place of this machine's.
func metered(t *testing.T, s power.Source) {
	t.Helper()
	was := meters
	meters = func() []power.Source { return []power.Source{s} }
	t.Cleanup(func() { meters = was })
}

// gemmOf are the arguments that measure small products of so many rows each.
func gemmOf(command, rows string, more ...string) []string {
	return append([]string{command, "gemm", "--m", rows, "--n", "64", "--k", "64", "--precision", "fp32", "--threads", "1", "--quick"}, more...)
}

func gemmID(m int) string { return fmt.Sprintf("cpu/gemm/fp32/m=%d,n=64,k=64/threads=1/hot", m) }

// measured runs a command line and gives its document.
func measured(t *testing.T, args ...string) record.Calibration {
	t.Helper()
	code, stdout, stderr := ridge(t, append(args, "--data-dir", t.TempDir(), "--json")...)
	if code != exitOK {
		t.Fatalf("ridge %q: exit code %d: %s", args, code, stderr)
	}
	doc, err := record.ReadCalibration(strings.NewReader(stdout))
	if err != nil {
		t.Fatalf("ridge %q: %v", args, err)
	}
	return doc
}

// checkEnergy holds a result's energy against what the files of sockets show.
func checkEnergy(t *testing.T, r record.Result) {
	t.Helper()
	const drawn = packageWatts + dramWatts
	e := r.Energy
	if !e.Known() {
		t.Errorf("%s: %+v", r.ID, e)
		return
	}
	seconds := float64(e.WindowNS) / 1e9
	if off := math.Abs(e.Joules - drawn*seconds); off > 2*e.Uncertainty || e.Uncertainty > 0.1*e.Joules || len(e.Windows) != 3 || seconds < 1.5 {
		t.Errorf("%s: %.4f ± %.4f J in %.4f s and %d windows, drawn were %v W", r.ID, e.Joules, e.Uncertainty, seconds, len(e.Windows), drawn)
	}
	if e.NetJoules == nil || math.Abs(*e.NetJoules) > 2*e.NetUncertainty { // the load draws nothing more
		t.Errorf("%s: net %v ± %v J", r.ID, e.NetJoules, e.NetUncertainty)
	}
	var domains []string
	for _, d := range e.Domains {
		domains = append(domains, fmt.Sprintf("%s %v", d.Name, d.InTotal))
	}
	if want := []string{"package-0 true", "psys false", "package-0/dram true"}; !slices.Equal(domains, want) || e.Meter != "rapl-powercap" {
		t.Errorf("%s: %s, domains %q, want %q", r.ID, e.Meter, domains, want)
	}
	p, flops := r.Metrics.Power, float64(r.FLOPs)*e.Launches
	for name, x := range map[string][2]float64{
		"power_avg_watts": {p.AvgWatts, e.Joules / seconds}, "energy_joules": {p.EnergyJoules, e.Joules}, "gflops_per_watt": {p.GFLOPSPerWatt, flops / e.Joules / 1e9},
		"ops_per_watt": {p.OpsPerWatt, flops / e.Joules}, "energy_per_flop_pj": {p.PJPerFLOP, e.Joules / flops * 1e12},
		"energy_per_byte_pj":  {p.PJPerByte, e.Joules / (float64(r.Bytes) * e.Launches) * 1e12},
		"throughput_per_watt": {p.ThroughputPerWatt, float64(max(1, r.Items)) * e.Launches / e.Joules}} {
		if !(math.Abs(x[0]-x[1]) <= 1e-9*x[1]) {
			t.Errorf("%s: %s is %v, want %v", r.ID, name, x[0], x[1])
		}
	}
	if p.MaxWatts < p.AvgWatts || p.MaxWatts > 1.2*drawn {
		t.Errorf("%s: at most %v W", r.ID, p.MaxWatts)
	}
}

// The whole program with a meter: of ten cases of one op the best and the worst are measured, and all views show it.
func TestTheEnergyOfARunIsShownInAllItsViews(t *testing.T) {
	if testing.Short() {
		t.Skip("it measures for 15 s")
	}
	sockets(t)
	dir := t.TempDir()
	trace, out := filepath.Join(dir, "power.csv"), filepath.Join(dir, "run.json")
	doc := measured(t, gemmOf("bench", "8,16,24,32,40,48,56,64,72,80", "--no-ceilings", "--energy", "--power-trace", trace, "--output", out)...)
	best, worst := 0, 0
	for i, r := range doc.Results {
		if r.GFLOPS > doc.Results[best].GFLOPS {
			best = i
		}
		if r.GFLOPS < doc.Results[worst].GFLOPS {
			worst = i
		}
	}
	for i, r := range doc.Results {
		if i == best || i == worst {
			checkEnergy(t, r)
		} else if r.Energy.Known() || r.Energy.Unavailable != "not selected" || r.Metrics.Power.Unavailable != "not selected" {
			t.Errorf("%s: %+v", r.ID, r.Energy)
		}
	}
	x := doc.Energy
	if len(doc.Results) != 10 || x == nil || x.Selected != 2 || x.Measured != 2 || x.Idle == nil || x.Idle.Unavailable != "" || x.Idle.Seconds != 2 || math.Abs(x.Idle.Before-80) > 1 || math.Abs(x.Idle.After-80) > 1 {
		t.Fatalf("%d results, %+v, idle %+v", len(doc.Results), x, x.Idle)
	}
	if note := x.Facts["intel-rapl-mmio:0"]; !strings.Contains(note, "the same counter") {
		t.Errorf("facts %v", x.Facts)
	}
	kernel := doc.Results[best].Kernel

	// The trace: a row for each reading, and its drawing under what ran.
	f, err := os.Open(trace)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	rows, err := power.ReadTrace(f)
	if err != nil {
		t.Fatal(err)
	}
	phases := map[string]int{}
	var watts []float64
	for _, r := range rows {
		phases[strings.TrimSpace(r.Phase+" "+r.Kernel)]++
		if r.HasWatts {
			watts = append(watts, r.Watts)
		}
	}
	if phases["idle"] < 20 || phases["timing "+kernel] == 0 && phases["timing"] == 0 || phases["sustain "+kernel] < 5 || len(watts) < len(rows)*9/10 || math.Abs(measure.Median(watts)-80) > 2 {
		t.Errorf("%d rows, %v W, by phase %v", len(rows), watts, phases)
	}
	plots := filepath.Join(dir, "plots")
	if code, stdout, stderr := ridge(t, "report", trace, "--format", "plots", "--output", plots); code != exitOK || !strings.Contains(stdout, ".svg") {
		t.Errorf("plots: exit code %d: %s%s", code, stdout, stderr)
	}
	drawn, err := filepath.Glob(filepath.Join(plots, "*.svg"))
	if err != nil || len(drawn) == 0 {
		t.Fatalf("plots %q, %v", drawn, err)
	}
	svg, err := os.ReadFile(drawn[0])
	if err != nil || !strings.Contains(string(svg), kernel) || !strings.Contains(string(svg), "idle") {
		t.Errorf("%s lacks the kernel or the baseline (%v)", drawn[0], err)
	}

	// The reports of the document.
	code, insights, stderr := ridge(t, "report", out, "--format", "insights")
	for _, want := range []string{`(79\.[5-9]|80\.[0-5]) W on average over 2 results with energy`, "GFLOPS/W", `idle (79\.[5-9]|80\.[0-5]) W`, "rapl-powercap"} {
		if code != exitOK || !regexp.MustCompile(want).MatchString(insights) {
			t.Errorf("insights: exit code %d%s, no %q in:\n%s", code, stderr, want, insights)
		}
	}

	code, text, stderr := ridge(t, "report", out, "--format", "csv")
	table, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if code != exitOK || err != nil || len(table) != 11 {
		t.Fatalf("csv: exit code %d: %s, %v, %d lines", code, stderr, err, len(table))
	}
	column := func(name string) int { return slices.Index(table[0], name) }
	filled := 0
	for _, row := range table[1:] {
		watts, err := strconv.ParseFloat(row[column("power_avg_watts")], 64)
		switch {
		case row[column("energy_unavailable")] == "not selected" && row[column("energy_joules")] == "":
		case err == nil && math.Abs(watts-80) < 2 && row[column("energy_meter")] == "rapl-powercap":
			filled++
		default:
			t.Errorf("csv: %q", row)
		}
	}
	if filled != 2 {
		t.Errorf("csv: %d lines with energy", filled)
	}

	// Its profile has the energy as a sample type.
	pb := filepath.Join(dir, "run.pb.gz")
	if code, _, stderr := ridge(t, "profile", "--from", out, "--output", pb); code != exitOK {
		t.Fatalf("profile: exit code %d: %s", code, stderr)
	}
	p, with := readPprof(t, pb), 0
	for _, s := range p.Sample {
		for _, i := range []int{best, worst} {
			if r := doc.Results[i]; s.Label["case"][0] == r.ID {
				with++
				if want := r.Energy.Joules / r.Energy.Launches * 1e6; math.Abs(float64(s.Value[2])-want) > 1 {
					t.Errorf("%s: %d µJ, want %v", r.ID, s.Value[2], want)
				}
			}
		}
	}
	if with != 2 || !strings.Contains(strings.Join(p.Comments, "\n"), "energy: 8 of 10 samples have none and count 0: not selected") {
		t.Errorf("%d samples with energy, comments %q", with, p.Comments)
	}
	if top := goTool(t, "-sample_index=energy", "-top", pb); !strings.Contains(top, "Type: energy") || !strings.Contains(top, kernel) {
		t.Errorf("go tool pprof:\n%s", top)
	}
}

// Each way to ask for energy measures what it names.
func TestTheWaysToAskForEnergy(t *testing.T) {
	if testing.Short() {
		t.Skip("it measures for 30 s")
	}
	for _, tc := range []struct {
		name string
		args []string
		with []int // rows of the cases with energy
	}{
		{"--energy=all", gemmOf("bench", "8,16", "--no-ceilings", "--energy=all"), []int{8, 16}},
		{"a list", gemmOf("bench", "8,16,24", "--no-ceilings", "--energy="+gemmID(16)), []int{16}},
		{"--metrics power", gemmOf("bench", "8", "--no-ceilings", "--metrics", "power"), []int{8}},
		{"ridge profile", gemmOf("profile", "8", "--no-ceilings", "--energy", "--output", filepath.Join(t.TempDir(), "f.pb.gz")), []int{8}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			sockets(t)
			doc := measured(t, tc.args...)
			for _, r := range doc.Results {
				if r.Probe() {
					continue
				}
				m, err := strconv.Atoi(r.Params["m"])
				switch {
				case err != nil:
					t.Error(err)
				case slices.Contains(tc.with, m):
					checkEnergy(t, r)
				case r.Energy.Unavailable != "not selected":
					t.Errorf("%s: %+v", r.ID, r.Energy)
				}
			}
			if doc.Energy.Selected != len(tc.with) || doc.Energy.Measured != len(tc.with) {
				t.Errorf("%+v", doc.Energy)
			}
		})
	}
}

// A list that names nothing, in the place of one that a script has put together, is not the choice that no list asks for.
func TestAnEnergyListWithoutANameIsRefused(t *testing.T) {
	for _, list := range []string{",", " , ", "all,nonsense", "nonsense"} {
		code, _, stderr := ridge(t, gemmOf("bench", "8", "--energy="+list, "--data-dir", t.TempDir())...)
		if code != exitUsage || !strings.Contains(stderr, "expected all or case ids") || len(lines(stderr)) != 1 {
			t.Errorf("--energy=%q: exit code %d: %s", list, code, stderr)
		}
	}
}

// A counter of 80 W beside a sensor of 150 W under a limit of 60 W: the energy stands, with both contradictions.
func TestAMeterThatContradictsItselfIsWarnedOf(t *testing.T) {
	if testing.Short() {
		t.Skip("it measures for 8 s")
	}
	metered(t, power.Source{Name: "liar", Platform: "cpu", Open: func(context.Context, power.Env, power.Device) (power.Meter, error) {
		return &powertest.Counter{Title: "liar", Of: []power.Domain{{Name: "package-0", Unit: power.Joules, Scale: 1e-6, Range: 1 << 40, Interval: time.Millisecond}},
			Watts: []float64{80}, Info: power.Facts{LimitWatts: 60}, Now: measure.MonotonicNow,
			See: func(at time.Duration) power.Sensors {
				return power.Sensors{PowerWatts: 150 + float64(at.Milliseconds()%3)}
			}}, nil
	}})
	doc := measured(t, gemmOf("bench", "8", "--no-ceilings", "--energy")...)
	r := doc.Results[0]
	text := strings.Join(r.Warnings, "; ")
	for _, want := range []string{"energy is not power times time", "is above the power limit of 60 W"} {
		if !r.Energy.Known() || !strings.Contains(text, want) {
			t.Errorf("warnings %q lack %q; %+v", r.Warnings, want, r.Energy)
		}
	}
}

// A driver that hangs costs the doctor's line of the meter, not the doctor.
func TestTheDoctorDoesNotWaitForAMeterThatHangs(t *testing.T) {
	metered(t, power.Source{Name: "deaf", Platform: "cpu", Open: func(context.Context, power.Env, power.Device) (power.Meter, error) {
		return &powertest.Recorded{Of: []power.Domain{{Name: "package-0", Unit: power.Joules}}, Points: []powertest.Point{{Deaf: true}}, Now: measure.MonotonicNow}, nil
	}})
	done := make(chan string, 1)
	go func() {
		var text string
		for _, f := range meterFacts(context.Background()) {
			text += f.Device + ": " + f.Missing + "\n"
		}
		done <- text
	}()
	select {
	case text := <-done:
		if !strings.Contains(text, "cpu: the meter stalled") {
			t.Error(text)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("it does not end")
	}
}

// A trace that cannot be written is an error, and what stood in its place stays.
func TestATraceThatCannotBeWrittenIsNotLostInSilence(t *testing.T) {
	name := filepath.Join(t.TempDir(), "power.csv")
	if err := os.WriteFile(name, []byte("an older trace"), 0o644); err != nil {
		t.Fatal(err)
	}
	l := &lateFile{path: name}
	if _, err := l.Write([]byte("half a ro")); err != nil {
		t.Fatal(err)
	}
	older := func(when string) {
		t.Helper()
		if text, err := os.ReadFile(name); err != nil || string(text) != "an older trace" {
			t.Errorf("%s: %q, %v", when, text, err)
		}
	}
	older("while it is written")
	_ = l.f.File.Close() // what follows fails as on a full disk
	if _, err := l.Write([]byte("w")); err == nil || !strings.Contains(err.Error(), "power.csv: ") || strings.Contains(err.Error(), ".power.csv") {
		t.Errorf("a write that fails: %v", err)
	}
	if err := l.Close(); err != nil || l.err == nil {
		t.Errorf("closed: %v, kept: %v", err, l.err)
	}
	older("after a failure")
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(name), ".*")); len(left) != 0 {
		t.Errorf("left beside it: %q", left)
	}
	if testing.Short() {
		return
	}
	sockets(t)
	var out, errs bytes.Buffer
	args := gemmOf("bench", "8", "--no-ceilings", "--energy", "--quiet", "--power-trace", "/dev/full", "--data-dir", t.TempDir())
	if code := run(t.Context(), append([]string{"ridge"}, args...), &out, &errs); code == exitOK || !strings.Contains(errs.String(), "--power-trace /dev/full: no space left") || len(lines(errs.String())) != 1 || out.Len() == 0 {
		t.Errorf("exit code %d: %s%s", code, out.String(), errs.String())
	}
}
