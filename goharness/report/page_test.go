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
	if len(rows) != len(doc.Results) {
		t.Fatalf("%d rows of %d results", len(rows), len(doc.Results))
	}
	for i, r := range rows {
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
