package compare

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"ridge/goharness/measure"
	"ridge/goharness/record"
	"ridge/goharness/record/recordtest"
)

// quiet is a document of few cases with hardly any noise and ten steady probes.
func quiet(factor float64, edit func(d *record.Calibration)) *record.Calibration {
	w := world{"quiet", 0, measure.Noise{Name: "small", Sigma: 0.0005}, 6}
	d := w.run(7, func(int) float64 { return factor })
	d.Results = d.Results[:6]
	d.Host.CPU.Family, d.Host.CPU.ModelNumber = 25, 1
	for i := range d.Results {
		d.Results[i].Conditions = &record.Conditions{ClockBeforeGHz: record.Known(3.0, "t"), ClockAfterGHz: record.Known(3.0, "t"),
			Compiler: "gcc 12", Driver: "none", Affinity: "scatter"}
	}
	if edit != nil {
		edit(d)
	}
	return d
}

func compared(t *testing.T, old, new *record.Calibration, o Options) Comparison {
	t.Helper()
	c, err := Documents(old, new, o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestOutcomes(t *testing.T) {
	id := quiet(1, nil).Results[0].ID
	for name, c := range map[string]struct {
		factor float64
		edit   func(d *record.Calibration)
		want   Outcome
		says   string // in the reason or attributions
	}{
		"no change":                     {1, nil, Same, ""},
		"below the threshold":           {1.005, nil, Same, ""},
		"slower":                        {1.2, nil, Slower, ""},
		"faster":                        {0.8, nil, Faster, ""},
		"about the threshold":           {1.03, nil, Ambiguous, ""},
		"another compiler":              {1.2, func(d *record.Calibration) { d.Results[0].Conditions.Compiler = "gcc 13" }, Slower, "compiler: gcc 12 → gcc 13"},
		"another driver":                {1.2, func(d *record.Calibration) { d.Results[0].Conditions.Driver = "600" }, Slower, "driver: none → 600"},
		"another kernel":                {1.2, func(d *record.Calibration) { d.Results[0].Kernel = "b" }, Slower, "kernel: a → b"},
		"the clock explains it":         {1.2, clockTo(2.5), Clock, "3.00 to 2.50 GHz"},
		"the clock does not":            {1.2, clockTo(2.9), Slower, "clock: 3.00 → 2.90 GHz"},
		"a faster clock hides it":       {1, clockTo(3.6), Same, ""}, // time is what is asked for
		"another chip":                  {1, func(d *record.Calibration) { d.Devices[0].Name = "other" }, NotComparable, "chip: simulated → other"},
		"another chip, by the host":     {1, func(d *record.Calibration) { d.Devices, d.Host.CPU.Model = nil, "other" }, NotComparable, "chip: simulated → other"},
		"another chip of the same name": {1, func(d *record.Calibration) { d.Host.CPU.Family, d.Host.CPU.ModelNumber = 26, 2 }, NotComparable, "chip: simulated (family 25 model 1) → simulated (family 26 model 2)"},
		"a chip that is not known":      {1, func(d *record.Calibration) { d.Host.CPU.Family, d.Host.CPU.ModelNumber = 0, 0 }, Same, ""},
		"only verified in NEW":          {1.2, func(d *record.Calibration) { d.Results[0].UseCase = record.UseCaseVerification }, NotComparable, "launched once for no figure"},
		"crashed in NEW": {1, func(d *record.Calibration) {
			d.Results[0].Status, d.Results[0].Reason, d.Results[0].Time = record.Crashed, "SIGSEGV", nil
		}, NotComparable, "no value in NEW: crashed: SIGSEGV"},
		"beside another device": {1.2, func(d *record.Calibration) {
			d.Results[0].Conditions.Concurrent = []record.Concurrent{{Device: "cuda:2", Case: "x"}, {Device: "cuda:1", Case: "x"}}
		}, NotComparable, "concurrency: alone → beside cuda:1+cuda:2"},
		"threads": {1, other(func(c *record.CaseID) { c.Threads = 2 }), NotComparable, "threads: 1 → 2"},
		"dtype":   {1, other(func(c *record.CaseID) { c.DType = record.FP64 }), NotComparable, "dtype: fp32 → fp64"},
		"mode":    {1, other(func(c *record.CaseID) { c.Mode = record.Cold }), NotComparable, "mode: hot → cold"},
		"a shape": {1, other(func(c *record.CaseID) { c.Params[0].Value = "77" }), New, ""},
		"no samples and no interval": {1, func(d *record.Calibration) {
			d.Results[0].Time = &record.Time{MedianNS: 5}
		}, NotComparable, "neither samples nor an interval"},
	} {
		old := quiet(1, func(d *record.Calibration) { d.Results[0].Kernel = "a" })
		got := compared(t, old, quiet(c.factor, func(d *record.Calibration) {
			d.Results[0].Kernel = "a"
			if c.edit != nil {
				c.edit(d)
			}
		}), Options{})
		found := false
		for _, k := range got.Cases {
			if k.ID != id && c.want != New && !strings.Contains(k.Reason, "→") && c.want != NotComparable {
				continue
			}
			if k.Outcome != c.want {
				continue
			}
			found = true
			if text := k.Reason + " " + strings.Join(k.Attributed, " "); !strings.Contains(text, c.says) {
				t.Errorf("%s: %q, expected %q in it", name, text, c.says)
			}
		}
		if !found {
			t.Errorf("%s: no case is %s: %+v", name, c.want, got.Counts)
		}
	}
}

func clockTo(ghz float64) func(*record.Calibration) {
	return func(d *record.Calibration) {
		for i := range d.Results {
			d.Results[i].Conditions.ClockAfterGHz = record.Known(ghz, "t")
			d.Results[i].Conditions.ClockBeforeGHz = record.Known(ghz, "t")
		}
	}
}

func other(change func(*record.CaseID)) func(*record.Calibration) {
	return func(d *record.Calibration) {
		id, _ := record.ParseCaseID(d.Results[0].ID)
		change(&id)
		d.Results[0].ID = id.String()
	}
}

func TestASideWithoutACaseSaysNewOrGone(t *testing.T) {
	full, short := quiet(1, nil), quiet(1, func(d *record.Calibration) { d.Results = d.Results[1:] })
	if c := compared(t, short, full, Options{}); c.Counts[New] != 1 || c.Counts[Gone] != 0 {
		t.Errorf("one case more: %v", c.Counts)
	}
	if c := compared(t, full, short, Options{}); c.Counts[Gone] != 1 || c.Counts[New] != 0 {
		t.Errorf("one case less: %v", c.Counts)
	}
}

// A machine whose probes moved by 8 % says nothing of kernels that moved by as much.
func TestAMachineInAnotherStateIsNoRegression(t *testing.T) {
	slow := quiet(1.08, func(d *record.Calibration) {
		for i := range d.Ceilings {
			for j := range d.Ceilings[i].Probes {
				d.Ceilings[i].Probes[j].Value /= 1.08
			}
		}
	})
	c := compared(t, quiet(1, nil), slow, Options{})
	if len(c.Regressions()) > 0 {
		t.Errorf("%d regressions", len(c.Regressions()))
	}
	if !strings.Contains(strings.Join(c.Warnings, " "), "the machine itself was in another state") {
		t.Errorf("the warnings do not tell: %q", c.Warnings)
	}
}

// Beside other devices a probe is another one: it shows no drift.
func TestProbesBesideOtherDevicesTellNothingOfTheMachine(t *testing.T) {
	beside := quiet(1, func(d *record.Calibration) {
		for i := range d.Ceilings {
			for j := range d.Ceilings[i].Probes {
				p := &d.Ceilings[i].Probes[j]
				p.Value, p.Concurrent = p.Value/2, []string{"cuda:1"}
			}
		}
	})
	c := compared(t, quiet(1, nil), beside, Options{})
	if c.ProbeShift != nil || !c.Drift.Assumed {
		t.Errorf("shift %+v, drift %+v", c.ProbeShift, c.Drift)
	}
	if c = compared(t, beside, beside, Options{}); c.ProbeShift == nil || c.Drift.Assumed {
		t.Errorf("both beside it: shift %+v, drift %+v", c.ProbeShift, c.Drift)
	}
}

// On a steady machine the noise of the probes themselves is no drift: long runs are proven to be the same.
func TestTheProbesOwnNoiseIsNoDrift(t *testing.T) {
	w := world{"steady", 0, measure.Noise{Name: "iid", Sigma: 0.006}, 30}
	one := func(int) float64 { return 1 }
	same, with, without := 0, 0.0, 0.0
	for seed := range uint64(6) {
		a, b := w.run(2*seed, one), w.run(2*seed+1, one)
		c := compared(t, a, b, Options{})
		same, with = same+c.Counts[Same], with+c.Drift.PerRun/6
		a.Results, b.Results = a.Results[:simulatedCases], b.Results[:simulatedCases]
		without += compared(t, a, b, Options{}).Drift.PerRun / 6
	}
	if with > 0.75*without || same < 6*simulatedCases/2 {
		t.Errorf("drift %.4f with the probes' samples, %.4f without; %d of %d cases are the same", with, without, same, 6*simulatedCases)
	}
}

func TestWithoutProbesTheDriftIsAssumedAndSaid(t *testing.T) {
	bare := func(factor float64) *record.Calibration {
		return quiet(factor, func(d *record.Calibration) { d.Ceilings = nil })
	}
	c := compared(t, bare(1), bare(1.1), Options{})
	if !c.Drift.Assumed || c.Counts[Slower] != 0 || !strings.Contains(strings.Join(c.Warnings, " "), "assumed") {
		t.Errorf("drift %+v, %v, warnings %q", c.Drift, c.Counts, c.Warnings)
	}
	known := &Drift{PerRun: 0.005, DoF: 30, Source: "30 pairs of runs"}
	if c := compared(t, bare(1), bare(1.1), Options{Drift: known}); c.Counts[Slower] != 6 {
		t.Errorf("with the drift of the history: %v", c.Counts)
	}
}

func TestMetricsAgreeAboutTheDirection(t *testing.T) {
	energy := func(j float64) func(*record.Calibration) {
		return func(d *record.Calibration) {
			for i := range d.Results {
				d.Results[i].Energy = &record.Energy{Joules: j, Uncertainty: j / 200, Launches: 10}
				d.Results[i].Op, d.Results[i].Items, d.Results[i].Bytes = "chase", 4, 100
				d.Results[i].BandwidthGBps = 100 / d.Results[i].Time.MedianNS
			}
		}
	}
	for _, m := range Metrics {
		c := compared(t, quiet(1, energy(10)), quiet(1.5, energy(15)), Options{Metric: m})
		if c.Counts[Slower] != 6 {
			t.Errorf("%s: %v, expected 6 slower", m, c.Counts)
		}
		if k := c.Cases[0]; math.Abs(k.Ratio-1.5) > 0.02 {
			t.Errorf("%s: cost ratio %v, expected 1.5", m, k.Ratio)
		}
	}
	if c := compared(t, quiet(1, nil), quiet(1, nil), Options{Metric: Joules}); c.Counts[NotComparable] != 6 {
		t.Errorf("joules without energy: %v", c.Counts)
	}
}

func TestHolmHoldsTheLessSignificantToLessStrictLevels(t *testing.T) {
	tests := []test{{0.2, 0.05, 100}, {0, 0.01, 100}, {0.3, 0.01, 100}, {0.045, 0.01, 100}}
	got := holm(tests, 0.03, 0.05)
	want := []float64{1 - 0.05/3, 1 - 0.05/2, 1 - 0.05/4, 1 - 0.05/2}
	for i := range want {
		if math.Abs(got[i]-want[i]) > 1e-12 {
			t.Errorf("test %d: level %v, expected %v", i, got[i], want[i])
		}
	}
}

func TestSampleDocumentsAndFusionShapesCompare(t *testing.T) {
	d := recordtest.Sample()
	c := compared(t, &d, &d, Options{})
	if c.Counts[Slower]+c.Counts[Faster]+c.Counts[New]+c.Counts[Gone] != 0 || len(c.Cases) == 0 {
		t.Errorf("a document beside itself: %v", c.Counts)
	}
	fused := false
	for _, k := range c.Cases {
		fused = fused || strings.HasSuffix(k.ID, " fused") && k.CI != nil
	}
	if !fused {
		t.Error("no fused program is compared")
	}
}

func TestFormats(t *testing.T) {
	evil := func(d *record.Calibration) { d.Results[0].Kernel = "<b>|`x\x1b[31m" }
	c := compared(t, quiet(1, func(d *record.Calibration) { d.Results[0].Kernel = "a" }), quiet(1.2, evil), Options{})
	for _, f := range Formats {
		var b bytes.Buffer
		if err := Write(&b, c, f, false); err != nil {
			t.Fatal(err)
		}
		if f == "json" {
			var back Comparison
			if err := json.Unmarshal(b.Bytes(), &back); err != nil || back.Counts[Slower] != 6 {
				t.Errorf("json: %v, %v", err, back.Counts)
			}
			continue
		}
		if s := b.String(); !strings.Contains(s, "6 slower") || strings.Contains(s, "\x1b[31m") || f == "md" && strings.Contains(s, "<b>") {
			t.Errorf("%s:\n%s", f, s)
		}
	}
	if err := Write(&bytes.Buffer{}, c, "pdf", false); err == nil {
		t.Error("format pdf: no error")
	}
}
