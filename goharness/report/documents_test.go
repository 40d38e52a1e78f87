package report

import (
	"encoding/csv"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"ridge/goharness/record"
	"ridge/goharness/record/recordtest"
)

// alone is a fusion profile that joined no calibration.
func alone(t *testing.T) record.Calibration {
	return aloneWith(t, func(*record.FusionShape) {})
}

// aloneWith is one with every measured shape edited.
func aloneWith(t *testing.T, edit func(*record.FusionShape)) record.Calibration {
	t.Helper()
	f := recordtest.Fusion(recordtest.Sample())
	for i := range f.Patterns {
		for n := range f.Patterns[i].Shapes {
			if s := &f.Patterns[i].Shapes[n]; s.Trials > 0 {
				edit(s)
			}
		}
	}
	text, err := record.EncodeFusion(f)
	if err != nil {
		t.Fatal(err)
	}
	d, err := record.ReadDocument(strings.NewReader(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	all, err := record.JoinFusion([]record.Document{d})
	if err != nil {
		t.Fatal(err)
	}
	return all[0]
}

func fromGraphs(t *testing.T) record.Calibration {
	t.Helper()
	f, err := os.Open("../../testdata/record/graphs_cuda.json")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	doc, err := record.ImportGraphs(f)
	if err != nil {
		t.Fatal(err)
	}
	return doc
}

func TestCSVTellsEveryShapeOnceWithItsVerdict(t *testing.T) {
	doc := alone(t)
	doc.Results = recordtest.Sample().Results[:1]
	// A shape whose result is in the document has its verdict there and no row of its own.
	doc.Results[0].ID = "cpu/Linear_Bias_ReLU/fp32/m=512,k=1024,n=1024/threads=2/hot"
	doc.Results[0].Ratio = &record.Ratio{Value: 1, CI95: [2]float64{0.999, 1.001}} // of one visit
	rows, err := csv.NewReader(strings.NewReader(show(t, "csv", doc))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	id, verdict, ratio := slices.Index(csvColumns, "id"), slices.Index(csvColumns, "verdict"), slices.Index(csvColumns, "ratio")
	got := map[string]string{}
	for _, r := range rows[1:] {
		if _, twice := got[r[id]]; twice {
			t.Errorf("%s has two rows", r[id])
		}
		got[r[id]] = r[verdict]
		if (r[ratio] == "") != (r[verdict] == "not measured") {
			t.Errorf("%s: ratio %q of %s", r[id], r[ratio], r[verdict])
		}
		if low := r[slices.Index(csvColumns, "ratio_ci95_low")]; r[id] == doc.Results[0].ID && (low == "" || low == "0.999") {
			t.Errorf("%s: interval from %q: expected the verdict's", r[id], low)
		}
	}
	for id, want := range map[string]string{
		"cpu/Linear_Bias_ReLU/fp32/m=128,k=512,n=512/threads=2/hot":       "moderate",
		"cpu/Linear_Bias_ReLU/fp32/m=512,k=1024,n=1024/threads=2/hot":     "minimal",
		"cpu/Linear_Bias_ReLU/fp32/m=512,k=1024,n=1024/threads=2/cold":    "inconclusive",
		"cpu/Linear_Bias_ReLU/fp32/m=1024,k=2048,n=2048/threads=2/hot":    "not measured",
		"cpu/Linear_Bias_ReLU/bf16/m=2048,k=1024,n=1024/threads=2/hot":    "moderate",
		"cpu/Conv2d_BN_ReLU/fp32/n=4,c=128,k=128,hw=28,r=3/threads=2/hot": "moderate",
	} {
		if got[id] != want {
			t.Errorf("%s: %q, want %q", id, got[id], want)
		}
	}
	if len(got) != 6 {
		t.Errorf("%d rows: %v", len(got), got)
	}
}

// Without an interval there is none to show, and the reason stands below.
func TestAnImportedSpeedUpShowsNoInterval(t *testing.T) {
	out := show(t, "table", fromGraphs(t))
	row := regexp.MustCompile(`(?m)^Linear_Bias_ReLU .*$`).FindString(out)
	if !strings.Contains(row, "1.25") || !strings.Contains(row, "inconclusive") || strings.Contains(out, "0.00–0.00") || !strings.Contains(out, "a graphs file has no interval of the speed-up") {
		t.Errorf("row %q of\n%s", row, out)
	}
}

func TestColdShapesAreToldFromHotOnesAtAnyWidth(t *testing.T) {
	for _, width := range []int{80, 120, 0} {
		var b strings.Builder
		if err := WriteTables(&b, []record.Calibration{alone(t)}, Options{Width: width}); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(b.String(), "fp32 cold") {
			t.Errorf("width %d:\n%s", width, b.String())
		}
	}
}

// A mean that stands for samples is one line of a benchmark.
func TestBenchfmtGivesAnImportedTimeOnce(t *testing.T) {
	out := show(t, "benchfmt", fromGraphs(t))
	if n := len(regexp.MustCompile(`(?m)^BenchmarkGemm/device=cuda:0/dtype=fp32/.* 1 2900000 ns/op `).FindAllString(out, -1)); n != 1 {
		t.Errorf("%d lines in\n%s", n, out)
	}
}

func TestAFusionProfileThatCannotBeReadIsAnErrorInViewsThatShowIt(t *testing.T) {
	doc := sample(t)
	doc.FusionProfiles[0] = []byte(`{"patterns":5}`)
	for _, name := range []string{"table", "md", "csv", "benchfmt", "insights", "graphs"} {
		v, _ := Find(name)
		if err := v.Write(&strings.Builder{}, []record.Calibration{doc}); err == nil || !strings.Contains(err.Error(), "fusion_profiles[0]: ") {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// Text of a document is neither a formula in a spreadsheet nor a second row, neither markup nor a link in Markdown.
func TestTextOfADocumentStaysTextInCSVAndMarkdown(t *testing.T) {
	doc := sample(t)
	r := &doc.Results[0]
	r.Suite, r.UseCase, r.Kernel, r.Reason = `=HYPERLINK("http://evil.example","x")`, "+1", "@SUM(A1)", "-2\r\nsecond row\u2028third"
	rows, err := csv.NewReader(strings.NewReader(show(t, "csv", doc))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(show(t, "csv", doc), "\n"); n != len(rows) {
		t.Errorf("%d lines of %d rows", n, len(rows))
	}
	for _, row := range rows {
		for i, cell := range row {
			if _, err := strconv.ParseFloat(cell, 64); err != nil && cell != "" && strings.ContainsRune("=+-@", rune(cell[0])) {
				t.Errorf("%s: a spreadsheet would run %q", csvColumns[i], cell)
			}
		}
	}
	r.Kernel, r.Reason, r.Warnings = "[x](http://evil.example)", "", []string{"a | b\n# heading\u2028<script>&lt;~~gone~~"}
	out := show(t, "md", doc)
	for _, want := range []string{`\[x\](http://evil.example)`, `a \| b # heading &lt;script>&amp;lt;\~\~gone\~\~`} {
		if !strings.Contains(out, want) {
			t.Errorf("no %s in the Markdown", want)
		}
	}
	if strings.Contains(clean("a\u202eb\u2066c"), "\u202e") {
		t.Error("text can turn the direction of what follows")
	}
}

// Of several kernels asked for, those that cannot run a case are told apart by their names alone.
func TestTheKernelAskedForStandsWhereNoneAnswered(t *testing.T) {
	doc := sample(t)
	r := &doc.Results[0]
	r.Kernel, r.KernelRequested, r.Status, r.Reason, r.Time, r.Arms = "", "asked16x16", record.Unsupported, "too small", nil, nil
	for _, view := range []string{"table", "csv", "md", "html"} {
		if !strings.Contains(show(t, view, doc), r.KernelRequested) {
			t.Errorf("%s: no kernel %s", view, r.KernelRequested)
		}
	}
	if r.Kernel = "other8x8"; kernel(r) != r.Kernel {
		t.Errorf("kernel %s, the one that answered is %s", kernel(r), r.Kernel)
	}
}

// One shape reads alike as a result and as a fusion pattern: in the order in which the op declares its parameters.
func TestShapesOfFusionPatternsKeepTheDeclaredOrder(t *testing.T) {
	const want = "n=4 c=128 k=128 hw=28 r=3"
	for _, view := range []string{"table", "md", "html"} {
		out := show(t, view, sample(t))
		if !strings.Contains(out, want) || strings.Contains(out, "c=128 hw=28 k=128") {
			t.Errorf("%s: no shape %s, or in another order", view, want)
		}
	}
	imported := fusionRow(record.FusionPattern{}, record.FusionShape{Params: map[string]string{"b": "2", "a": "1"}})
	if got := imported.cells[1]; got != "a=1 b=2" {
		t.Errorf("a shape without a case's id: %q", got)
	}
}

func TestCSVTellsTheEnergyOfALaunch(t *testing.T) {
	doc := withEnergy(t)
	rows, err := csv.NewReader(strings.NewReader(show(t, "csv", doc))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	cell := func(name string) float64 {
		v, err := strconv.ParseFloat(rows[1][csvColumn(name)], 64)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		return v
	}
	e := doc.Results[0].Energy
	if cell("energy_joules") != e.Joules || cell("energy_per_launch_joules") != e.Joules/e.Launches || cell("power_avg_watts") != e.Joules/10 || cell("uncertainty_joules") != e.Uncertainty {
		t.Errorf("row %q of %+v", rows[1], e)
	}
}
