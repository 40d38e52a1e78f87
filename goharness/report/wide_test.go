package report

import (
	"encoding/csv"
	"image/png"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ridge/goharness/record"
)

// wideEnds are upper ends of intervals of few quartets.
var wideEnds = []float64{1001, 3e40, 1e308}

// wide has speed-ups whose interval reaches from nothing to end, in a profile and in a run's results.
func wide(t *testing.T, end float64) []record.Calibration {
	t.Helper()
	profile := aloneWith(t, func(s *record.FusionShape) {
		s.SpeedupCI95, s.Verdict = [2]float64{0, end}, "inconclusive"
		s.VendorFused = &record.VendorFused{Library: "onednn", Version: "3", Kernels: []string{"k"}, LatencyMS: 1, Ratio: 2, RatioCI95: [2]float64{0, end}}
	})
	profile.RunID = "profile"
	run := sample(t)
	for i := range run.Results {
		if r := &run.Results[i]; r.Ratio != nil {
			r.Ratio.CI95 = [2]float64{0, end}
		}
	}
	return []record.Calibration{profile, run}
}

// What nobody reads: long runs of digits, and numbers with an exponent.
var (
	longNumber = regexp.MustCompile(`\d{9,}|\d[eE]\+\d`)
	exponent   = regexp.MustCompile(`\d[eE]\+\d`)
)

func TestWideIntervalsOfSpeedUpsStayReadableInText(t *testing.T) {
	for _, end := range wideEnds {
		docs := wide(t, end)
		for _, width := range []int{0, 80} {
			var b strings.Builder
			if err := WriteTables(&b, docs, Options{Width: width}); err != nil {
				t.Fatal(err)
			}
			for _, line := range strings.Split(b.String(), "\n") {
				if strings.Contains(line, "Linear_Bias_ReLU") && longNumber.MatchString(line) {
					t.Errorf("end %g, width %d: %q", end, width, line)
				}
			}
			if width == 0 && (!strings.Contains(b.String(), "0.00 to > 1000") || !strings.Contains(b.String(), "> 100 %")) {
				t.Errorf("end %g: no bounded interval in\n%s", end, b.String())
			}
		}
		md := show(t, "md", docs...)
		if !strings.Contains(md, "0.00 to > 1000") || exponent.MatchString(md) {
			t.Errorf("end %g: Markdown\n%s", end, md)
		}
		var live strings.Builder
		for _, r := range docs[1].Results {
			if err := NewLive(&live, Options{}, nil).Result(r); err != nil {
				t.Fatal(err)
			}
		}
		if !strings.Contains(live.String(), "±> 100 %") || exponent.MatchString(live.String()) {
			t.Errorf("end %g: live\n%s", end, live.String())
		}
	}
}

// Programs read CSV: it holds the number as it is.
func TestWideIntervalsAreWholeInCSV(t *testing.T) {
	rows, err := csv.NewReader(strings.NewReader(show(t, "csv", wide(t, 3e40)...))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, r := range rows[1:] {
		if v, err := strconv.ParseFloat(r[slices.Index(csvColumns, "ratio_ci95_high")], 64); err == nil && v == 3e40 {
			n++
		}
	}
	if n < 6 {
		t.Errorf("%d intervals", n)
	}
}

func TestWideIntervalsAreDrawnInsideTheirPlot(t *testing.T) {
	for _, end := range wideEnds {
		files, err := WritePlots(t.TempDir(), wide(t, end))
		if err != nil {
			t.Fatal(err)
		}
		drawn := false
		for _, name := range files {
			if !strings.HasSuffix(name, "-fusion.png") {
				continue
			}
			drawn = true
			f, err := os.Open(name)
			if err != nil {
				t.Fatal(err)
			}
			picture, err := png.Decode(f)
			f.Close()
			if err != nil || picture.Bounds().Dx() < 500 || picture.Bounds().Dy() < 100 {
				t.Errorf("end %g: %s: %v", end, name, err)
			}
		}
		if !drawn {
			t.Errorf("end %g: no fusion plot among %q", end, files)
		}
	}
}

func TestWideIntervalsHaveAWidthInThePage(t *testing.T) {
	for _, end := range wideEnds {
		n := 0
		for _, r := range rowsOf(t, show(t, "html", wide(t, end)...)) {
			if r["unit"] == "×" && r["high"].(float64) > largestRatio {
				n++
				if !(r["half"].(float64) > 1) {
					t.Errorf("end %g: %v: half width %v", end, r["shape"], r["half"])
				}
			}
		}
		if n != 6 { // five of the profile and the run's
			t.Errorf("end %g: %d wide intervals", end, n)
		}
	}
}

func TestWideIntervalsEndAtTheFrameInTheBrowser(t *testing.T) {
	b := openBrowser(t)
	b.open(1280, 900, wide(t, 3e40)...)
	// Every whisker of a fusion chart lies between the ends of its axes.
	if out := eval[[]string](b, `charts.filter((c) => c.box.closest("[data-chart=fusion]")).flatMap((c) => {
		const o = c.instance.getOption(), out = [];
		for (const s of o.series) for (const d of s.data) {
			const [x, y] = d.value || d;
			if (x === null) continue;
			if (x < o.xAxis[0].min || x > o.xAxis[0].max || y < o.yAxis[0].min || y > o.yAxis[0].max) out.push(c.title + ": " + x + ", " + y);
		}
		return out; })`); len(out) > 0 {
		t.Errorf("outside of the frame: %q", out)
	}
	text := eval[string](b, `(() => { showResult(rows.find((r) => r.unit === "×")); return document.querySelector("#table").innerText; })()`)
	tips := eval[string](b, `page.docs.flatMap((d) => d.devices.flatMap((v) => v.fusion.flatMap((p) => p.shapes.map((s) => shapeTip(p, s).innerText)))).join("\n")`)
	for _, s := range []string{text, tips} {
		if !strings.Contains(s, "> 1000") || longNumber.MatchString(strings.ReplaceAll(s, "of 1048576 elements", "")) {
			t.Errorf("not readable: %s", s)
		}
	}
	b.noProblems()
}
