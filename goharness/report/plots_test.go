package report

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"image/png"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"

	"ridge/goharness/record"
)

func TestPlotsAreWrittenAsSVGAndPNG(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	doc := withEnergy(t)
	files, err := WritePlots(dir, []record.Calibration{doc, hostile(t)})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"roofline", "bandwidth", "bandwidth-utilisation", "latency", "fusion", "power-efficiency"} {
		for _, ext := range []string{".svg", ".png"} {
			name := filepath.Join(dir, "example-cpu-zen-3-cpu-"+want+ext)
			found := false
			for _, f := range files {
				found = found || f == name
			}
			if !found {
				t.Errorf("no %s in %q", name, files)
			}
		}
	}
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if filepath.Dir(name) != dir {
			t.Errorf("%s is outside of %s", name, dir)
		}
		if strings.HasSuffix(name, ".png") {
			if _, err := png.DecodeConfig(f); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		for d := xml.NewDecoder(f); ; {
			tok, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Errorf("%s: %v", name, err)
				break
			}
			if e, ok := tok.(xml.StartElement); ok && (e.Name.Local == "script" || e.Name.Local == "img") {
				t.Errorf("%s: text of the document became the element %s", name, e.Name.Local)
			}
		}
	}
}

// The frame of a plot fills the picture: no room is kept for names of axes where they are not.
func TestPlotsFillTheirPicture(t *testing.T) {
	dir := t.TempDir()
	files, err := WritePlots(dir, []record.Calibration{withEnergy(t)})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if !strings.HasSuffix(name, ".png") || strings.Contains(name, "fusion") {
			continue
		}
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		m, err := png.Decode(f)
		f.Close()
		if err != nil {
			t.Fatal(err)
		}
		// The first row and the last column that hold ink below the title.
		b := m.Bounds()
		ink := func(x, y int) bool { r, g, bl, _ := m.At(x, y).RGBA(); return r+g+bl < 3*0xf000 }
		title, top, right := b.Dy()/20, -1, -1
		for y := title; y < b.Dy() && top < 0; y++ {
			for x := range b.Dx() {
				if ink(x, y) {
					top = y
				}
			}
		}
		for x := b.Dx() - 1; x >= 0 && right < 0; x-- {
			for y := title; y < b.Dy(); y++ {
				if ink(x, y) {
					right = x
				}
			}
		}
		if top > b.Dy()/8 || right < b.Dx()*95/100 {
			t.Errorf("%s: of %d × %d pixels the plot begins %d below the top and ends %d from the left", filepath.Base(name), b.Dx(), b.Dy(), top, right)
		}
	}
}

// The legend's rows have room of their own above what is drawn.
func TestTheLegendOfUtilisationCoversNothing(t *testing.T) {
	doc := sample(t)
	proto := doc.Results[0]
	doc.Results = nil
	names := []string{"L1", "L2", "L3", "DRAM", "L3-DRAM", "HBM"}
	for i, level := range names {
		r, c := proto, *proto.Ceiling
		c.Bound, c.MemoryLevel, c.MemoryGBps = "memory", level, 100
		r.Ceiling, r.BandwidthGBps, r.WorkingSetBytes = &c, 118, int64(1)<<(16+i)
		doc.Results = append(doc.Results, r)
	}
	p, height, err := drawUtilisation(&doc, doc.Devices[0].ID, nil)
	if err != nil || p == nil {
		t.Fatal(p, err)
	}
	c := draw.New(vgsvg.New(plotWidth, height))
	rows := p.Legend.Rectangle(c)
	// The plot's frame is lower than the canvas by its title and the axis: with all of the canvas the legend would take less of it.
	used := float64(rows.Max.Y-rows.Min.Y) / float64(height-vg.Points(60))
	if top := 118 / p.Y.Max; top+used > 1 {
		t.Errorf("the highest mark stands at %.2f of the frame, the legend begins at %.2f", top, 1-used)
	}
}

func TestAxesAreLabelledInStepsThatEncloseTheValues(t *testing.T) {
	for _, c := range []struct {
		values []float64
		base   float64
		want   string
	}{
		{[]float64{36, 396}, 10, "20 50 100 200 500"},
		{[]float64{1, 1000}, 10, "1 2 5 10 20 50 100 200 500 1000"},
		{[]float64{.9, 4e6}, 10, "0.5|1|10|100|1000|10000|100000|1000000|5000000"},
		{[]float64{3}, 10, "2 5"},
		{[]float64{8, 8}, 2, "8 16"},
		{[]float64{5, 100}, 2, "4 8 16 32 64 128"},
		{nil, 10, "1 2 5 10"},
	} {
		var a plot.Axis
		logarithmic(&a, c.values, c.base, tick)
		var got []string
		ends := []string{tick(math.Round(100*valueAt(&a, a.Min)) / 100), tick(math.Round(100*valueAt(&a, a.Max)) / 100)}
		for _, x := range a.Tick.Marker.Ticks(a.Min, a.Max) {
			if x.Label != "" {
				got = append(got, x.Label)
			}
		}
		if strings.Contains(c.want, "|") { // the ends have no label
			got = append(append(ends[:1:1], got...), ends[1])
		}
		if text := strings.Join(got, " "); text != strings.ReplaceAll(c.want, "|", " ") {
			t.Errorf("%v: %s, expected %s", c.values, text, c.want)
		}
	}
}

// Numbers that no machine has cost neither time nor memory.
func TestPlotsOfExtremeNumbersAndManyPatterns(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: ten times as long under the race detector, which other tests of the same code meet")
	}
	doc := withEnergy(t)
	for i := range doc.Results {
		r := &doc.Results[i]
		if r.Time == nil {
			continue
		}
		tm := *r.Time
		v := []float64{1e-300, 1e300, 1e-18}[i%3]
		tm.MedianNS, tm.CI95NS = v, [2]float64{v / 2, v * 2}
		r.Time, r.GFLOPS, r.BandwidthGBps = &tm, 1/v, v
	}
	for i := range doc.Ceilings {
		doc.Ceilings[i].Measured.Value = []float64{1e300, 1e-300}[i%2]
	}
	profiles, err := record.FusionProfiles(&doc)
	if err != nil {
		t.Fatal(err)
	}
	for range 20_000 {
		profiles[0].Patterns = append(profiles[0].Patterns, profiles[0].Patterns[0])
	}
	text, err := record.EncodeFusion(profiles[0])
	if err != nil {
		t.Fatal(err)
	}
	doc.FusionProfiles = []json.RawMessage{text}
	// What is allocated measures the work, whatever else the machine does: a loop over such numbers makes ticks and labels.
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	files, err := WritePlots(t.TempDir(), []record.Calibration{doc})
	if err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if mib := (after.TotalAlloc - before.TotalAlloc) >> 20; mib > 1024 { // 214
		t.Errorf("%d MiB allocated for %d files", mib, len(files))
	}
	for _, name := range files {
		if st, err := os.Stat(name); err != nil || st.Size() > 4<<20 {
			t.Errorf("%s: %v, %v", name, st, err)
		}
	}
}
