package compare

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"ridge/goharness/record"
)

var update = flag.Bool("update", false, "rewrite the schema of comparisons")

// Documents may hold any numbers that JSON has. What comes of a case that says nothing is said of that case, and the others are
// judged as they are without it.
func TestHostileNumbersSpoilNoOtherCase(t *testing.T) {
	many := func(factor float64) *record.Calibration { // enough cases to lend each other degrees of freedom
		d := quiet(factor, nil)
		for i := range 14 {
			r := d.Results[i%6]
			r.ID = strings.Replace(r.ID, "threads=1", fmt.Sprintf("threads=%d", i+2), 1)
			d.Results = append(d.Results, r)
		}
		return d
	}
	clean := compared(t, many(1), many(1.2), Options{})
	huge, tiny := math.MaxFloat64, math.SmallestNonzeroFloat64
	for name, edit := range map[string]func(r *record.Result){
		"time 0":                   func(r *record.Result) { r.Time.MedianNS = 0 },
		"time below 0":             func(r *record.Result) { r.Time.MedianNS = -1 },
		"largest time":             func(r *record.Result) { r.Time.MedianNS = huge },
		"smallest time":            func(r *record.Result) { r.Time.MedianNS = tiny },
		"no time":                  func(r *record.Result) { r.Time = nil },
		"sample 0":                 func(r *record.Result) { r.Time.SamplesNS[3] = 0 },
		"sample below 0":           func(r *record.Result) { r.Time.SamplesNS[0] = -5 },
		"samples from end to end":  func(r *record.Result) { r.Time.SamplesNS = []float64{tiny, huge, tiny, huge, 1, 1, tiny, huge} },
		"one sample":               func(r *record.Result) { r.Time.SamplesNS = r.Time.SamplesNS[:1] },
		"equal samples":            func(r *record.Result) { r.Time.SamplesNS = []float64{5, 5, 5, 5, 5, 5, 5, 5} },
		"100,000 samples":          func(r *record.Result) { r.Time.SamplesNS = bytesOf(100_000, r.Time.MedianNS) },
		"an interval of nothing":   interval(0, 0, 30),
		"an endless interval":      interval(tiny, huge, 30),
		"an interval upside down":  interval(2, 1, 30),
		"more samples than exist":  interval(1, 1.01, huge),
		"a deviation without end":  func(r *record.Result) { r.Time.SamplesNS, r.Time.StdNS = nil, huge },
		"a deviation of almost 0":  func(r *record.Result) { r.Time.SamplesNS, r.Time.StdNS = nil, tiny },
		"a clock of almost 0":      func(r *record.Result) { r.Conditions = &record.Conditions{ClockBeforeGHz: record.Known(tiny, "t")} },
		"items below 0":            func(r *record.Result) { r.Items = -3 },
		"GFLOPS and GB/s below 0":  func(r *record.Result) { r.GFLOPS, r.BandwidthGBps, r.FLOPs, r.Bytes = -1, -1, 1, 1 },
		"largest GFLOPS and GB/s":  func(r *record.Result) { r.GFLOPS, r.BandwidthGBps, r.FLOPs, r.Bytes = huge, huge, 1, 1 },
		"energy with a wild meter": func(r *record.Result) { r.Energy = &record.Energy{Joules: tiny, Uncertainty: huge, Launches: 1} },
		"endless energy":           func(r *record.Result) { r.Energy = &record.Energy{Joules: huge, Launches: tiny} },
	} {
		for side := range 2 {
			old, fresh := many(1), many(1.2)
			for i, d := range []*record.Calibration{old, fresh} {
				if i == side {
					r := &d.Results[0]
					tm := *r.Time
					tm.SamplesNS = append([]float64{}, tm.SamplesNS...)
					r.Time = &tm
					edit(r)
				}
			}
			for _, m := range Metrics {
				c := compared(t, old, fresh, Options{Metric: m})
				var b bytes.Buffer
				for _, f := range Formats {
					if err := Write(&b, c, f, true); err != nil {
						t.Errorf("%s %s: %v", name, f, err)
					}
				}
				if m != Time {
					continue
				}
				for _, k := range c.Cases {
					if k.ID == old.Results[0].ID {
						continue
					}
					for _, w := range clean.Cases {
						if w.ID == k.ID && (w.Outcome != k.Outcome || math.Abs(w.Ratio-k.Ratio) > 1e-12) {
							t.Errorf("%s: case %s is %s (%v), without it %s", name, k.ID, k.Outcome, k.Ratio, w.Outcome)
						}
					}
				}
			}
		}
	}
}

func interval(lo, hi, n float64) func(r *record.Result) {
	return func(r *record.Result) {
		r.Time.SamplesNS, r.Time.CI95NS, r.Time.EffectiveN = nil, [2]float64{lo * 1, hi * 1}, n
	}
}

func bytesOf(n int, v float64) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = v * (1 + 1e-4*float64(i%7))
	}
	return out
}

// The rates of a case that goes to nothing have no upper end that is infinite.
func TestProbesAndClocksOfAnySizeGiveNumbers(t *testing.T) {
	old, fresh := quiet(1, nil), quiet(1, nil)
	for i := range fresh.Ceilings {
		fresh.Ceilings[i].Probes, fresh.Ceilings[i].Measured.Value = nil, math.MaxFloat64
		old.Ceilings[i].Probes, old.Ceilings[i].Measured.Value = nil, math.SmallestNonzeroFloat64
	}
	old.Host.CPU.Clock.LoadedGHz, fresh.Host.CPU.Clock.LoadedGHz = record.Known(math.MaxFloat64, "t"), record.Known(math.SmallestNonzeroFloat64, "t")
	for _, m := range Metrics {
		if err := Write(&bytes.Buffer{}, compared(t, old, fresh, Options{Metric: m}), "json", true); err != nil {
			t.Error(m, err)
		}
	}
}

// A fusion profile tells milliseconds, a comparison nanoseconds.
func TestTimesOfPairsBeyondAllNumbersAreNotCompared(t *testing.T) {
	d := quiet(1, nil)
	f := record.Fusion{Patterns: []record.FusionPattern{{Shapes: []record.FusionShape{{CaseID: "cpu/Linear/fp32/m=1/threads=1/hot", Status: record.OK, UnfusedMS: math.MaxFloat64, FusedMS: 1, Speedup: 1, SpeedupCI95: [2]float64{1, 1}}}}}}
	text, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	d.FusionProfiles = []json.RawMessage{text}
	got := compared(t, d, d, Options{})
	if _, err := json.Marshal(got); err != nil {
		t.Error(err)
	}
	for _, k := range got.Cases {
		if want := map[bool]Outcome{true: NotComparable, false: k.Outcome}[strings.HasSuffix(k.ID, " unfused")]; k.Outcome != want {
			t.Errorf("%s: %s, want %s", k.ID, k.Outcome, want)
		}
	}
}

// A row of a Markdown table has as many cells as its head, whatever a document holds.
func TestTextOfADocumentStaysTextInMarkdownAndOnTerminals(t *testing.T) {
	const evil = "a|b \\| ` <b>&amp;[x](y) *_~ \u202e\u2066\u2028\x1b[31m\u200f"
	c := compared(t, quiet(1, func(d *record.Calibration) { d.Results[0].Kernel = "a"; d.Host.Hostname = evil }),
		quiet(1.2, func(d *record.Calibration) { d.Results[0].Kernel = evil; d.RunID = evil; d.Tool.Compiler = evil }), Options{})
	c.Old.Name = evil
	for _, f := range []string{"md", "table"} {
		var b bytes.Buffer
		if err := Write(&b, c, f, true); err != nil {
			t.Fatal(err)
		}
		if strings.ContainsAny(b.String(), "\u202e\u2066\u2028\x1b\u200f") {
			t.Errorf("%s steers the terminal: %q", f, b.String())
		}
		if f == "table" {
			continue
		}
		rows := 0
		for _, line := range strings.Split(b.String(), "\n") {
			if !strings.HasPrefix(line, "|") {
				if strings.Contains(line, "<b>") || strings.Contains(line, "[x]") {
					t.Errorf("markup: %q", line)
				}
				continue
			}
			rows++
			if n := cells(line); n != 7 {
				t.Errorf("%d cells in %q", n, line)
			}
		}
		if rows < 8 {
			t.Errorf("%d rows", rows)
		}
	}
}

// cells of a row as GitHub's Markdown parts it: a pipe behind an odd number of backslashes is text.
func cells(line string) int {
	n, slashes := -1, 0
	for _, r := range line {
		if r == '|' && slashes%2 == 0 {
			n++
		}
		if slashes++; r != '\\' {
			slashes = 0
		}
	}
	return n
}

// The JSON follows its committed schema, which says what other programs may rely on.
func TestJSONFollowsItsSchema(t *testing.T) {
	got, err := record.GenerateSchema(Schema, &Comparison{})
	if err != nil {
		t.Fatal(err)
	}
	const file = "ridge.comparison-1.schema.json"
	if *update {
		if err := os.WriteFile("../../../schemas/"+file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("../../../schemas/" + file)
	if err != nil || !bytes.Equal(want, got) {
		t.Errorf("schemas/%s is not what the types give (%v; -update rewrites it):\n%s", file, err, got)
	}
	s, err := record.CompileSchema(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []Comparison{compared(t, quiet(1, nil), quiet(1.2, nil), Options{}), compared(t, &record.Calibration{}, &record.Calibration{}, Options{})} {
		var b bytes.Buffer
		if err := Write(&b, c, "json", false); err != nil {
			t.Fatal(err)
		}
		if err := record.ValidateAgainst(s, b.Bytes()); err != nil {
			t.Error(err)
		}
		var keys map[string]json.RawMessage
		if err := json.Unmarshal(b.Bytes(), &keys); err != nil || string(keys["cases"]) == "null" {
			t.Errorf("cases: %s %v", keys["cases"], err)
		}
	}
}
