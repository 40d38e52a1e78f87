package report

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/plot/plotter"

	"ridge/goharness/record"
)

// closeLines are levels of a device whose bandwidths differ by less than a label is high, and one that triad reaches alone.
func closeLines(t *testing.T) record.Calibration {
	t.Helper()
	doc := sample(t)
	for _, x := range []struct {
		level, access string
		gbps          float64
	}{{"L1", "read", 400}, {"L1", "triad", 900}, {"L2", "read", 300}, {"L3", "read", 100}, {record.LevelHost, record.AccessToDevice, 10}, {record.LevelShared, "read", 890}} {
		doc.Ceilings = append(doc.Ceilings, record.Ceiling{Device: "cpu", Kind: record.CeilingBandwidth, Level: x.level, Access: x.access, Threads: 2, Unit: "GB/s", Measured: record.Measured{Value: x.gbps}})
	}
	return doc
}

// A curve of reads stands beside what reads reach: a triad of the same level loads and stores, and a copy to a device is no read.
func TestTheSweepStandsBesideTheCeilingsOfReads(t *testing.T) {
	doc := closeLines(t)
	r := roofOf(&doc, "cpu")
	var got []string
	for _, l := range r.Read {
		got = append(got, l.Name+" "+l.ceiling.Access)
		if l.Name == "L1" && l.Value != 400 {
			t.Errorf("L1 reads %v", l.Value)
		}
	}
	if want := []string{"L1 read", "L2 read", "L3 read", "DRAM read", "shared read"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if l := r.Memory[0]; l.Name != "L1" || l.Value != 900 {
		t.Errorf("the roof of L1 is %v", l.Value)
	}
	doc.Ceilings = slices.DeleteFunc(doc.Ceilings, func(c record.Ceiling) bool { return c.Level == record.LevelShared })
	p, _, err := drawBandwidthSweep(&doc, "cpu", nil)
	if err != nil || p == nil {
		t.Fatal(p, err)
	}
	if top := valueAt(&p.Y, p.Y.Max); top > 501 {
		t.Errorf("the axis of reads goes to %v", top)
	}
}

func TestLabelsOfCloseLinesStandApart(t *testing.T) {
	for _, tc := range []struct {
		name   string
		values []float64 // of the lines
		apart  bool      // whether the first and the last must stand at other places
	}{
		{"one line three times", []float64{32000, 32000, 32000}, true},
		{"closer than a label is high", []float64{31931, 9247, 4660, 55, 32390}, true},
		{"far from each other", []float64{32000, 9000, 900, 90, 9, .9, .09}, false},
	} {
		s := slopeLabels{across: plotPoints / math.Log(1<<20), up: 300 / math.Log(1e6)}
		var at []float64
		for _, v := range tc.values {
			at = append(at, s.place(plotter.XY{X: 1, Y: v}, plotter.XY{X: 1e5, Y: 1e5 * v}, "label 32000 GB/s"))
		}
		for i, a := range s.taken {
			for _, b := range s.taken[:i] {
				if math.Abs(a.along-b.along) < a.half+b.half && math.Abs(a.beside-b.beside) < 8 {
					t.Errorf("%s: labels at %v cover each other", tc.name, at)
				}
			}
		}
		if n := len(at); tc.apart && at[0] == at[n-1] || !tc.apart && at[0] != at[n-1] {
			t.Errorf("%s: places %v", tc.name, at)
		}
	}
}

func TestCardsNameTheAccessOfALatency(t *testing.T) {
	doc := sample(t)
	for access, ns := range map[string]float64{record.AccessToDevice: 2212, record.AccessToHost: 1607} {
		doc.Ceilings = append(doc.Ceilings, record.Ceiling{Device: "cpu", Kind: record.CeilingLatency, Level: record.LevelHost, Access: access, Threads: 1, Unit: "ns", Measured: record.Measured{Value: ns}})
	}
	got := map[string]string{}
	for _, p := range deviceViewOf(&doc, doc.Devices[0]).Memory {
		got[p.Name] = p.Value
	}
	if got["host h2d latency"] != "2212" || got["host d2h latency"] != "1607" || got["DRAM latency"] == "" {
		t.Errorf("cards %v", got)
	}
}

// That no kernel multiplies sparse operands is no reason why a dense rate was not measured.
func TestARowOfSparseOperandsIsNoMissingPeak(t *testing.T) {
	doc := sample(t)
	for _, x := range []struct {
		isa string
		d   record.DType
	}{{record.ISASparse, record.FP8E5M2}, {"wgmma", record.FP8E4M3}} {
		doc.Ceilings = append(doc.Ceilings, record.Ceiling{Device: "cpu", Kind: record.CeilingCompute, ISA: x.isa, DType: x.d, Threads: 2, Measured: record.Measured{Unavailable: "no kernels of " + x.isa}})
	}
	if got := fmt.Sprint(deviceViewOf(&doc, doc.Devices[0]).Absent); got != "[{bf16 no bf16 instructions} {fp8_e4m3 no kernels of wgmma}]" {
		t.Error(got)
	}
}

func TestAnAcceleratorsFirstPlateauIsThatOfItsL1(t *testing.T) {
	for _, tc := range []struct {
		name, platform, level string
		probe                 int64 // bytes that the probe of L1's latency follows links through
		want                  string
	}{
		{"an older document", "cuda", "L2", 16 << 10, "L1"},
		{"a document that says so", "cuda", "L1", 16 << 10, "L1"},
		{"the probe lies beyond", "cuda", "L2", 512 << 10, "L2"},
		{"no probe", "cuda", "L2", 0, "L2"},
		{"a CPU that reports no L1", "cpu", "L2", 16 << 10, "L2"},
	} {
		doc := record.Calibration{Devices: []record.Device{{ID: "d", Platform: tc.platform}}}
		doc.Summary.Plateaus = []record.Plateau{{Level: tc.level, FromBytes: 8 << 10, ToBytes: 64 << 10, LatencyNS: 25}, {Level: "L2", FromBytes: 512 << 10, ToBytes: 32 << 20, LatencyNS: 147}}
		if tc.probe > 0 {
			doc.Ceilings = []record.Ceiling{{Device: "d", Kind: record.CeilingLatency, Level: "L1", Measured: record.Measured{Value: 23, CaseID: "probe"}}}
			doc.Results = []record.Result{{ID: "probe", WorkingSetBytes: tc.probe}}
		}
		if got := plateausOf(&doc); got[0].Level != tc.want || got[1].Level != "L2" || doc.Summary.Plateaus[0].Level != tc.level {
			t.Errorf("%s: %v of %v", tc.name, got, doc.Summary.Plateaus)
		}
	}
}

func TestThePageNamesTheRuleOfEveryNumberOfVisits(t *testing.T) {
	var b bytes.Buffer
	if err := WritePage(&b, []record.Calibration{withEnergy(t), fusionEnergies(t)}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"of several visits that of the undisturbed times (the fastest third of the samples)", "of a single one that of the quieter half of the quartets"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q on a page with fused kernels", want)
		}
	}
}

// In the browser lines and curves have the labels that the plots have.
func TestLabelsOfLimitsInTheBrowser(t *testing.T) {
	b := openBrowser(t)
	b.open(1280, 900, closeLines(t))
	const option = `charts.find((c) => c.box.closest("[data-chart=%s]")).instance.getOption().series`
	apart := eval[float64](b, `(() => {
		const c = charts.find((c) => c.box.closest("[data-chart=roofline]")), series = c.instance.getOption().series;
		const i = series.findIndex((s) => s.name === "ceilings" && s.type === "scatter");
		const at = (name) => c.instance.convertToPixel({seriesIndex: i}, series[i].data.find((d) => d.label.formatter().startsWith(name)).value);
		const [a, b] = [at("L1 900"), at("shared 890")];
		return Math.hypot(a[0] - b[0], a[1] - b[1]);
	})()`)
	if apart < 90 {
		t.Errorf("labels of lines that are close begin %.0f pixels from each other", apart)
	}
	got := eval[[]string](b, fmt.Sprintf(option, "memory")+`.flatMap((s) => s.markLine ? s.markLine.data.map((d) => d.label.formatter()) : [])`)
	if slices.Sort(got); !slices.Contains(got, "L1 400") || slices.Contains(got, "L1 900") {
		t.Errorf("lines beside the curve of reads: %q", got)
	}
	b.noProblems()
}
