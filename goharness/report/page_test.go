package report

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"

	"ridge/goharness/record"
	"ridge/goharness/record/recordtest"
)

// machines are n documents of many results each, as runs of different machines leave them.
func machines(tb testing.TB, n, results int) []record.Calibration {
	tb.Helper()
	var docs []record.Calibration
	for i := range n {
		doc := recordtest.Sample()
		doc.RunID = fmt.Sprintf("run-%d", i)
		doc.Host.CPU.Microarchitecture = fmt.Sprintf("Example %d", i)
		base := doc.Results
		for k := 0; len(doc.Results) < results; k++ {
			r := base[k%len(base)]
			id, err := record.ParseCaseID(r.ID)
			if err != nil {
				tb.Fatal(err)
			}
			// Sizes and times differ from result to result, as in a run.
			size := fmt.Sprint(64 + 8*k)
			id.Params = append([]record.Param{{Name: "rows", Value: size}}, id.Params...)
			r.ID = id.String()
			r.Reproduce = "ridge bench --case '" + r.ID + "' --quick"
			if r.Time != nil {
				t := *r.Time
				f := 1 + float64(k*7919%1000)/997 + float64(i)/7
				t.MedianNS, t.CI95NS = t.MedianNS*f, [2]float64{t.CI95NS[0] * f, t.CI95NS[1] * f}
				r.Time = &t
				r.GFLOPS, r.BandwidthGBps = r.GFLOPS/f, r.BandwidthGBps/f
			}
			if r.Conditions != nil {
				c := *r.Conditions
				c.ClockAfterGHz = record.Known(3+float64(k*31%997)/1000, "dependent chain")
				r.Conditions = &c
			}
			doc.Results = append(doc.Results, r)
		}
		doc.Summary = record.Summarize(doc.Results)
		docs = append(docs, doc)
	}
	return docs
}

// largestPage bounds the page of 10 documents with 1,000 results each.
const largestPage = 5 << 20

func TestThePageOfTenMachinesStaysSmall(t *testing.T) {
	var b bytes.Buffer
	if err := WritePage(&b, machines(t, 10, 1000)); err != nil {
		t.Fatal(err)
	}
	t.Logf("%d bytes", b.Len())
	if b.Len() > largestPage {
		t.Errorf("%d bytes, expected at most %d", b.Len(), largestPage)
	}
}

func BenchmarkPageOfTenMachinesOfThousandResults(b *testing.B) {
	docs := machines(b, 10, 1000)
	n := 0
	for b.Loop() {
		var out bytes.Buffer
		if err := WritePage(&out, docs); err != nil {
			b.Fatal(err)
		}
		n = out.Len()
	}
	b.ReportMetric(float64(n), "html-bytes")
}

// rowsOf decodes the rows of a page as its scripts do, without putting ids together.
func rowsOf(t *testing.T, html string) []map[string]any {
	t.Helper()
	m := regexp.MustCompile(`(?s)<script type="application/json" id="data">(.*?)</script>`).FindStringSubmatch(html)
	if m == nil {
		t.Fatal("the page has no data")
	}
	var data struct {
		Columns, Texts, Strings []string
		Docs                    []struct{ Rows [][]float64 }
	}
	if err := json.Unmarshal([]byte(m[1]), &data); err != nil {
		t.Fatal(err)
	}
	text := map[string]bool{}
	for _, n := range data.Texts {
		text[n] = true
	}
	var out []map[string]any
	for _, d := range data.Docs {
		for _, cells := range d.Rows {
			if len(cells) != len(data.Columns) {
				t.Fatalf("a row of %d cells for %d columns", len(cells), len(data.Columns))
			}
			r := map[string]any{}
			for i, n := range data.Columns {
				if text[n] {
					r[n] = data.Strings[int(cells[i])]
				} else {
					r[n] = cells[i]
				}
			}
			out = append(out, r)
		}
	}
	return out
}

func TestEveryResultIsARowOfThePage(t *testing.T) {
	doc := sample(t)
	rows := rowsOf(t, show(t, "html", doc))
	if len(rows) != len(doc.Results)+6 { // six shapes of the profile
		t.Fatalf("%d rows of %d results", len(rows), len(doc.Results))
	}
	for i, r := range rows[:len(doc.Results)] {
		want := &doc.Results[i]
		if r["status"] != string(want.Status) || r["op"] != want.Op || r["kernel"] != kernel(want) {
			t.Errorf("%s: %v", want.ID, r)
		}
		if want.Reason != "" && !strings.Contains(r["remarks"].(string), want.Reason) {
			t.Errorf("%s: no reason in %q", want.ID, r["remarks"])
		}
		if (r["value"].(float64) > 0) != (performance(want) != none) {
			t.Errorf("%s: value %v, the table shows %s", want.ID, r["value"], performance(want))
		}
		if !want.Status.Counts() && (r["ns"].(float64) != 0 || r["fraction"].(float64) != 0 || r["executed"].(float64) != 0) {
			t.Errorf("%s is %s and has figures: %v", want.ID, want.Status, r)
		}
		if cmd := strings.Replace(r["reproduce"].(string), "\x00", want.ID, 1); cmd != want.Reproduce {
			t.Errorf("%s: command %q, expected %q", want.ID, cmd, want.Reproduce)
		}
	}
}

// hostile is a document whose every text tries to become markup.
func hostile(t *testing.T) record.Calibration {
	const evil = `</script><script>window.hacked=1</script><img src=x onerror="window.hacked=1">`
	doc := sample(t)
	doc.RunID, doc.Created, doc.Tool.Version, doc.Host.Hostname, doc.Host.CPU.Model, doc.Host.CPU.Microarchitecture = evil, evil, evil, evil, evil, evil
	doc.Command = []string{evil}
	doc.Devices[0].Name = evil
	doc.Summary.Warnings = []string{evil}
	doc.Preflight.Checks[0].Message, doc.Preflight.Checks[0].Name = evil, evil
	for i := range doc.Ceilings {
		doc.Ceilings[i].Diagnosis, doc.Ceilings[i].ISA, doc.Ceilings[i].Unit = evil, evil, evil
	}
	for i := range doc.Results {
		r := &doc.Results[i]
		r.Kernel, r.Reason, r.UseCase, r.Suite, r.Reproduce, r.Warnings = evil, evil, evil, evil, evil, []string{evil}
		if r.Conditions != nil {
			r.Conditions.Compiler = evil
		}
	}
	profile := recordtest.Fusion(recordtest.Sample())
	for i := range profile.Patterns {
		profile.Patterns[i].Pattern, profile.Patterns[i].Recommendation.Reason = evil, evil
		for k := range profile.Patterns[i].Shapes {
			profile.Patterns[i].Shapes[k].Baseline = evil
		}
	}
	text, err := record.EncodeFusion(profile)
	if err != nil {
		t.Fatal(err)
	}
	doc.FusionProfiles = []json.RawMessage{text}
	return doc
}

func TestTextOfADocumentNeverBecomesMarkup(t *testing.T) {
	html := show(t, "html", hostile(t))
	if n, want := strings.Count(html, "<script"), strings.Count(show(t, "html", sample(t)), "<script"); n != want {
		t.Errorf("%d script elements, expected %d", n, want)
	}
	text := regexp.MustCompile(`(?s)<script[^>]*>.*?</script>`).ReplaceAllString(html, "")
	if strings.Contains(text, "<img") || !strings.Contains(html, "&lt;script&gt;window.hacked") {
		t.Error("the text is not escaped")
	}
}

func TestThePageAsksForNothing(t *testing.T) {
	html := show(t, "html", sample(t))
	scripts := regexp.MustCompile(`(?s)<script[^>]*>.*?</script>`)
	if m := regexp.MustCompile(`(?i)(src|href|action)="?[a-z]+:[^,]|url\(|@import`).FindString(scripts.ReplaceAllString(html, "")); m != "" {
		t.Errorf("the page refers to %q", m)
	}
	if !strings.Contains(html, "default-src &#39;none&#39;") && !strings.Contains(html, "default-src 'none'") {
		t.Error("no content security policy")
	}
}

func TestTheChartLibraryIsTheOneItsMakersPublished(t *testing.T) {
	script, err := page.ReadFile("page/echarts/echarts.common.min.js")
	if err != nil {
		t.Fatal(err)
	}
	const want = "61f13280aba3161f77fc801bf5f9c786f55f10432153a0683fc5cc0700b013d5" // page/echarts/SHA256SUMS
	if got := fmt.Sprintf("%x", sha256.Sum256(script)); got != want {
		t.Errorf("SHA-256 %s, expected %s: scripts/echarts renews it", got, want)
	}
	if bytes.Contains(script, []byte("</script")) || bytes.Contains(script, []byte("<!--")) {
		t.Error("the script would end its element")
	}
}

func TestPagesOfOddDocuments(t *testing.T) {
	empty := record.Calibration{Schema: record.SchemaCalibration}
	for name, docs := range map[string][]record.Calibration{
		"no document": nil, "an empty one": {empty}, "a fusion profile alone": {alone(t)}, "a graphs file": {fromGraphs(t)},
		"the same machine twice": {sample(t), sample(t)},
	} {
		if err := WritePage(io.Discard, docs); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestDocumentsAreToldApartByTheirLabels(t *testing.T) {
	a, b, c := sample(t), sample(t), sample(t)
	b.RunID = "second"
	c.Host.Name = "other"
	got := labels([]record.Calibration{a, b, c})
	if got[0] == got[1] || got[2] != "other" || !strings.Contains(got[1], "second") {
		t.Errorf("labels %q", got)
	}
}

// withEnergy is a document whose first results have the joules of a meter.
func withEnergy(t *testing.T) record.Calibration {
	doc := sample(t)
	for i := range doc.Results {
		r := &doc.Results[i]
		if r.Time == nil || !r.Status.Counts() || r.Probe() {
			continue
		}
		launches := 10e9 / r.Time.MedianNS
		watts := 40 + 7*float64(i)
		r.Energy = &record.Energy{Joules: 10 * watts, Uncertainty: 10 * watts * .03, WindowNS: 10e9, Launches: launches, Meter: "rapl", MaxWatts: watts + 5}
		if err := record.FillMetrics(r, nil, doc.Ceilings, record.UserPeaks{}); err != nil {
			t.Fatal(err)
		}
	}
	return doc
}

// fusionEnergies is a fusion profile alone, with energies of both programs.
func fusionEnergies(t *testing.T) record.Calibration {
	t.Helper()
	n := 0.0
	return aloneWith(t, func(s *record.FusionShape) {
		n++
		energy := func(ms, watts float64) *record.Energy {
			return &record.Energy{Joules: 5 * watts, Uncertainty: .2 * watts, WindowNS: 5e9, Launches: 5e3 / ms, Meter: "rapl"}
		}
		s.Energy, s.FusedEnergy = energy(s.UnfusedMS, 60+n), energy(s.FusedMS, 55)
		a, _ := s.Energy.PerLaunch()
		b, _ := s.FusedEnergy.PerLaunch()
		s.EnergyRatio, s.EnergyRatioCI95 = a/b, &[2]float64{.95 * a / b, 1.05 * a / b}
	})
}

func TestAProfileAloneShowsItsEnergies(t *testing.T) {
	html := show(t, "html", fusionEnergies(t))
	if !strings.Contains(html, `<section id="energy">`) || strings.Contains(show(t, "html", alone(t)), `<section id="energy">`) {
		t.Error("the section of energy")
	}
	// A row is of the fused program, whose kernels it names.
	n := 0
	for _, r := range rowsOf(t, html) {
		if r["unit"] == "×" {
			n++
			if w := r["watts"].(float64); w < 54.9 || w > 55.1 {
				t.Errorf("%v: %v W, expected those of the fused program", r["shape"], w)
			}
		}
	}
	if n != 5 {
		t.Errorf("%d rows", n)
	}
}

func TestEnergyOfARowIsThatOfOneLaunchWithItsUncertainty(t *testing.T) {
	doc := withEnergy(t)
	for i, r := range rowsOf(t, show(t, "html", doc))[:len(doc.Results)] {
		want := &doc.Results[i]
		if !want.Energy.Known() {
			if r["watts"].(float64) != 0 {
				t.Errorf("%s: %v W without a meter", want.ID, r["watts"])
			}
			continue
		}
		near := func(name string, v float64) {
			if got := r[name].(float64); v == 0 != (got == 0) || v != 0 && (got/v < .999 || got/v > 1.001) {
				t.Errorf("%s: %s %v, expected %v", want.ID, name, got, v)
			}
		}
		near("watts", want.Energy.Joules/10)
		near("joules", want.Energy.Joules/want.Energy.Launches)
		near("energyHalf", .03)
		near("perWatt", want.Metrics.Power.GFLOPSPerWatt)
	}
}

// int8 kernels that use the instructions of u8·s8 stand under their ceiling, and bf16 widened to fp32 under that of fp32.
func TestTheRooflineHasTheCeilingsThatJudge(t *testing.T) {
	doc := sample(t)
	add := func(d record.DType, isa string, value float64) {
		doc.Ceilings = append(doc.Ceilings, record.Ceiling{Device: "cpu", Kind: record.CeilingCompute, DType: d, ISA: isa, Threads: 2, Unit: "GOPS", Measured: record.Measured{Value: value},
			Theoretical: record.Theoretical{Value: 950}, Ratio: value / 950})
	}
	add(record.U8S8, "avx512vnni", 900)
	int8, bf16 := -1, -1
	for i := range doc.Results {
		r := &doc.Results[i]
		if r.Op == "gemm" && r.DType == record.INT8 && r.Ceiling != nil {
			int8 = i
			c := *r.Ceiling
			c.ComputeGFLOPS = 900
			r.Ceiling = &c
		}
		if r.Op == "gemm" && r.DType == record.FP32 && r.Status == record.OK && r.Threads == 2 {
			bf16 = i
		}
	}
	if int8 < 0 || bf16 < 0 {
		t.Fatal("the sample has no such results")
	}
	wide := doc.Results[bf16]
	wide.DType = record.BF16
	c := *wide.Ceiling
	c.ComputeGFLOPS = 218
	wide.Ceiling = &c
	doc.Results = append(doc.Results, wide)
	got := map[string]limit{}
	for _, l := range roofOf(&doc, "cpu").Compute {
		got[l.Name] = l
	}
	if l := got["int8"]; l.Value != 900 || l.Shared || l.Detail != "avx512vnni, 2 threads" || l.Theoretical != 950 {
		t.Errorf("int8: %+v", l)
	}
	if l := got["bf16"]; l.Value != 218 || !l.Shared || l.Detail != "computed as fp32, avx2, 2 threads" {
		t.Errorf("bf16: %+v", l)
	}
	v := deviceViewOf(&doc, doc.Devices[0])
	for _, p := range v.Peaks {
		if p.Name == "bf16" {
			t.Error("bf16 has a card of a peak that is fp32's")
		}
	}
	if len(v.Absent) != 1 || v.Absent[0].Name != "bf16" {
		t.Errorf("not measured: %v", v.Absent)
	}
}

func TestTheBestOfARowIsMarkedWhereItIsClearlyAhead(t *testing.T) {
	machine := func(name string, fp32, ns float64) record.Calibration {
		doc := sample(t)
		doc.Host.Name = name
		for i := range doc.Ceilings {
			if c := &doc.Ceilings[i]; c.DType == record.FP32 {
				c.Measured.Value = fp32
			}
		}
		doc.Summary.Plateaus = []record.Plateau{{Level: "L1", FromBytes: 8192, ToBytes: 32768, LatencyNS: ns}}
		return doc
	}
	best := func(name string, docs ...record.Calibration) string {
		out := ""
		for _, r := range comparisonOf(docs).Rows {
			for i, c := range r.Cells {
				if r.Name == name && c.Best {
					out += fmt.Sprint(i)
				}
			}
		}
		return out
	}
	a := machine("a", 200, 1.5)
	if got := best("fp32", a, machine("b", 205, 1)); got != "" {
		t.Errorf("2.5 %% more is marked as better: %s", got)
	}
	if got := best("fp32", a, alone(t), machine("b", 210, 1)); got != "1" {
		t.Errorf("5 %% more: %q; a profile alone has no column", got)
	}
	if got := best("L1 latency", a, machine("b", 205, 1)); got != "1" {
		t.Errorf("the lower latency is better, marked: %q", got)
	}
	if comparisonOf([]record.Calibration{a, alone(t)}) != nil {
		t.Error("one machine is compared with nothing")
	}
}

// Shapes of a profile are in the table too, with verdict, reason and command line.
func TestEveryShapeOfAProfileIsARowOfThePage(t *testing.T) {
	found := map[string]map[string]any{}
	for _, r := range rowsOf(t, show(t, "html", alone(t))) {
		if r["suite"] != "fusion" || r["threads"].(float64) != 2 {
			t.Errorf("%v", r)
		}
		found[r["op"].(string)+" "+r["dtype"].(string)+" "+r["mode"].(string)+" "+r["shape"].(string)] = r
	}
	r := found["Linear_Bias_ReLU fp32 hot m=128,k=512,n=512"]
	if r == nil || len(found) != 6 {
		t.Fatalf("%d rows", len(found))
	}
	if r["verdict"] != "moderate" || r["value"].(float64) != 1.1714 || r["reproduce"] != "ridge bench --case '\x00'" || !strings.Contains(r["arms"].(string), "410 µs → 350 µs") || r["half"].(float64) != .01 {
		t.Errorf("%v", r)
	}
	if r := found["Linear_Bias_ReLU fp32 hot m=1024,k=2048,n=2048"]; r["verdict"] != "not measured" || r["unit"] != "" || !strings.Contains(r["remarks"].(string), "needs more memory") {
		t.Errorf("not measured: %v", r)
	}
}

// What verify ran once is in the table and in no chart.
func TestAVerifiedLaunchIsNoPointOfTheRoofline(t *testing.T) {
	doc := sample(t)
	points := 0
	for i := range doc.Results {
		r := &doc.Results[i]
		if _, _, on := onRoofline(r); on {
			points++
		}
		r.UseCase = record.UseCaseVerification
		if _, _, on := onRoofline(r); on {
			t.Errorf("%s is on the roofline", r.ID)
		}
	}
	if points == 0 {
		t.Error("the sample has no point")
	}
}

// Nothing may lie above a roof: it is the highest of a level's accesses, not that of reading.
func TestTheRoofOfALevelIsItsFastestAccess(t *testing.T) {
	doc := recordtest.Sample()
	for _, x := range []struct {
		access string
		gbps   float64
	}{{"read", 32}, {"nt_copy", 54}, {"triad", 35}} {
		doc.Ceilings = append(doc.Ceilings, record.Ceiling{Device: "cpu", Kind: record.CeilingBandwidth, Level: "L9", Access: x.access, Threads: 2, Unit: "GB/s",
			Measured: record.Measured{Value: x.gbps}})
	}
	for _, l := range roofOf(&doc, "cpu").Memory {
		if l.Name == "L9" && (l.Value != 54 || l.ceiling.Access != "nt_copy") {
			t.Errorf("a roof of %v by %s", l.Value, l.ceiling.Access)
		} else if l.Name == "L9" {
			return
		}
	}
	t.Error("no roof of 54 GB/s")
}
