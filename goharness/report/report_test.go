package report

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jedib0t/go-pretty/v6/text"
	"golang.org/x/perf/benchfmt"

	"ridge/goharness/record"
	"ridge/goharness/record/recordtest"
)

var update = flag.Bool("update", false, "rewrite the goldens")

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("../../testdata/report", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (run the test with -update)", err)
	}
	if d := cmp.Diff(string(want), string(got)); d != "" {
		t.Errorf("%s differs (-want +got; -update rewrites it):\n%s", path, d)
	}
}

// sample is the sample document with its metrics, valid against the schema.
func sample(t *testing.T) record.Calibration {
	t.Helper()
	doc := recordtest.Sample()
	for i := range doc.Results {
		if err := record.FillMetrics(&doc.Results[i], nil, doc.Ceilings, record.UserPeaks{}); err != nil {
			t.Fatal(err)
		}
	}
	data, err := record.EncodeCalibration(doc)
	if err != nil {
		t.Fatal(err)
	}
	if err := record.Validate(data); err != nil {
		t.Fatal(err)
	}
	return doc
}

func show(t *testing.T, name string, docs ...record.Calibration) string {
	t.Helper()
	v, ok := Find(name)
	if !ok {
		t.Fatalf("no view %s", name)
	}
	var b bytes.Buffer
	if err := v.Write(&b, docs); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestViewGoldens(t *testing.T) {
	for name, file := range map[string]string{
		"table":    "table.txt",     // every status, a comparison and both kinds of unknown in one table
		"md":       "report.md",     // the same with everything that Markdown would read as markup escaped
		"csv":      "results.csv",   // columns other programs rely on by place
		"benchfmt": "results.bench", // names that benchstat matches between runs
		"insights": "insights.txt",  // peaks, ridge points and the order of the worst
	} {
		golden(t, file, []byte(show(t, name, sample(t))))
	}
}

// Narrow terminals: columns leave in order of importance and nothing wraps.
func TestTableGoldenOfANarrowTerminal(t *testing.T) {
	var b bytes.Buffer
	if err := WriteTables(&b, []record.Calibration{sample(t)}, Options{Width: 80}); err != nil {
		t.Fatal(err)
	}
	golden(t, "table-80.txt", b.Bytes())
}

func TestTableFitsAnyTerminal(t *testing.T) {
	doc := sample(t)
	for width := 40; width <= 240; width += 7 {
		for _, color := range []bool{false, true} {
			var b bytes.Buffer
			if err := WriteTables(&b, []record.Calibration{doc}, Options{Width: width, Color: color}); err != nil {
				t.Fatal(err)
			}
			for _, line := range strings.Split(b.String(), "\n") {
				if n := text.StringWidthWithoutEscSequences(line); n > width {
					t.Errorf("width %d: a line of %d: %q", width, n, line)
				}
			}
			if strings.Contains(b.String(), "\x1b") != color {
				t.Errorf("colour asked: %v", color)
			}
		}
	}
}

func TestSpeedsOfResultsThatDoNotCountAreNowhere(t *testing.T) {
	doc := sample(t)
	for i := range doc.Results {
		if r := &doc.Results[i]; r.Status == record.Invalid {
			r.Reason = "above its limit"
			if r.BandwidthGBps < 400e3 {
				t.Fatal("the sample's invalid result is not fast")
			}
		}
	}
	for _, v := range Views() {
		if v.Files != nil { // files, which have a test of their own
			continue
		}
		if v.Name == "json" {
			continue // the document keeps what was measured beside its status
		}
		out := show(t, v.Name, doc)
		if regexp.MustCompile(`\b48[0-9]{4}(\.\d+)?( GB/s|,)`).MatchString(out) || strings.Contains(out, "488064") {
			t.Errorf("%s shows the speed of an invalid result", v.Name)
		}
		if v.Name != "benchfmt" && v.Name != "graphs" && !strings.Contains(out, "invalid") {
			t.Errorf("%s does not say that a result is invalid", v.Name)
		}
	}
}

func TestEveryViewTakesDocumentsWithNothingAndWithNonsense(t *testing.T) {
	var empty record.Calibration
	odd := sample(t)
	odd.Results[0].Op = "ge|mm\x1b[31m\n`x`"
	odd.Results[0].Kernel = "\x00"
	odd.Results[1].ID = "not a case id"
	odd.Results[2].Time = nil
	odd.Results[3].Suite = ""
	odd.Ceilings[0].Measured = record.Measured{}
	odd.Results[5].Ceiling = &record.ResultCeiling{}
	for _, v := range Views() {
		if v.Files != nil { // files, which have a test of their own
			continue
		}
		for _, doc := range []record.Calibration{empty, odd} {
			var b bytes.Buffer
			if err := v.Write(&b, []record.Calibration{doc}); err != nil && v.Name != "graphs" {
				t.Errorf("%s: %v", v.Name, err)
			}
			if strings.ContainsAny(b.String(), "\x1b\x00") && v.Name != "csv" {
				t.Errorf("%s lets control characters through", v.Name)
			}
		}
		if v.Name != "graphs" {
			show(t, v.Name)
			show(t, v.Name, sample(t), sample(t))
		}
	}
}

func TestViewsReportFailingWriters(t *testing.T) {
	for _, v := range Views() {
		if v.Files != nil { // files, which have a test of their own
			continue
		}
		if err := v.Write(brokenWriter{}, []record.Calibration{sample(t)}); !errors.Is(err, os.ErrClosed) {
			t.Errorf("%s: error %v", v.Name, err)
		}
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, os.ErrClosed }

func TestJSONViewGivesTheDocumentBack(t *testing.T) {
	doc := sample(t)
	got, err := record.ReadCalibration(strings.NewReader(show(t, "json", doc)))
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(doc.Results, got.Results); d != "" {
		t.Error(d)
	}
	var list []json.RawMessage
	if err := json.Unmarshal([]byte(show(t, "json", doc, doc)), &list); err != nil || len(list) != 2 {
		t.Fatalf("%d documents, %v", len(list), err)
	}
	if err := record.Validate(list[1]); err != nil {
		t.Error(err)
	}
}

func TestCSVHasOneRowPerResultUnderFixedColumns(t *testing.T) {
	doc := sample(t)
	rows, err := csv.NewReader(strings.NewReader(show(t, "csv", doc))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != 1+len(doc.Results)+6 || len(rows[0]) != len(csvColumns) { // six shapes of the profile
		t.Errorf("%d rows of %d columns", len(rows), len(rows[0]))
	}
}

// A time beside other devices is another one than that of the device alone: views that go on to other tools say so.
func TestViewsTellConcurrentResultsFromLoneOnes(t *testing.T) {
	doc := sample(t)
	c := *doc.Results[0].Conditions
	c.Concurrent = []record.Concurrent{{Device: "cuda:2", Case: "x"}, {Device: "cuda:1", Case: "x"}}
	doc.Results[0].Conditions = &c
	rows, err := csv.NewReader(strings.NewReader(show(t, "csv", doc))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if at := csvColumn("concurrent"); rows[1][at] != "cuda:1 cuda:2" || rows[2][at] != "" {
		t.Errorf("%q and %q", rows[1][at], rows[2][at])
	}
	if got := show(t, "benchfmt", doc); strings.Count(got, "/mode=hot/beside=cuda:1+cuda:2 ") != len(doc.Results[0].Time.SamplesNS) {
		t.Error("benchfmt: its samples are not apart")
	}
	text, err := record.ExportGraphs(doc)
	if err != nil {
		t.Fatal(err)
	}
	back, err := record.ImportGraphs(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range back.Results {
		if with := strings.Join(r.Conditions.With(), " "); (r.ID == doc.Results[0].ID) != (with == "cuda:1 cuda:2") {
			t.Errorf("graphs: %s beside %q", r.ID, with)
		}
	}
}

func TestBenchfmtIsReadByItsOwnReader(t *testing.T) {
	doc := sample(t)
	r := benchfmt.NewReader(strings.NewReader(show(t, "benchfmt", doc)), "x")
	lines := map[string]int{}
	for r.Scan() {
		switch rec := r.Result().(type) {
		case *benchfmt.Result:
			lines[rec.Name.String()]++
			if v, ok := rec.Value("sec/op"); !ok || v <= 0 {
				t.Errorf("%s: no time", rec.Name)
			}
		case *benchfmt.SyntaxError:
			t.Error(rec)
		}
	}
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(show(t, "benchfmt", doc), "\n# not counted: 5 of 18 results\n") {
		t.Error("it does not say what was left out")
	}
	if n := lines["Gemm/device=cpu/dtype=fp32/m=1024/n=1024/k=1024/threads=2/mode=hot"]; n != 7 {
		t.Errorf("%d lines for 7 samples; names %v", n, lines)
	}
	if len(lines) != 14 { // six results of one arm, two arms and six probes
		t.Errorf("%d names: %v", len(lines), lines)
	}
}

// Bandwidth and latency of one size are one line, although the buffers beside it differ.
func TestTheCacheSweepJoinsBandwidthAndLatencyOfOneSize(t *testing.T) {
	var got []string
	doc := sample(t)
	for _, r := range sweepRows(&doc) {
		got = append(got, strings.TrimSpace(strings.Join(r.cells, " ")))
	}
	want := []string{"16.0 KiB 340 2 1.20", "256 KiB – – 3.60", "512 KiB 160 2 –"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("the sweep (-want +got):\n%s", d)
	}
	// Another device's points have rows of their own.
	doc.Devices = append(doc.Devices, record.Device{ID: "cuda:0", Platform: "cuda", Name: "GPU"})
	for _, r := range doc.Results[:len(doc.Results):len(doc.Results)] {
		if r.Op == "bandwidth" {
			r.Device = "cuda:0"
			r.Threads, r.BandwidthGBps = 0, 3000
			doc.Results = append(doc.Results, r)
		}
	}
	cpu, cuda := 0, 0
	for _, r := range sweepRows(&doc) {
		switch text := strings.Join(r.cells, " "); {
		case strings.HasSuffix(text, " cuda:0") && strings.Contains(text, " 3000 0 "):
			cuda++
		case strings.HasSuffix(text, " cpu") && !strings.Contains(text, "3000"):
			cpu++
		default:
			t.Errorf("row %q", text)
		}
	}
	if cpu != 3 || cuda == 0 {
		t.Errorf("%d rows of the CPU and %d of the GPU", cpu, cuda)
	}
}

func TestFiguresFitTheOp(t *testing.T) {
	tm := &record.Time{MedianNS: 95}
	for want, r := range map[string]record.Result{
		"206 GFLOPS": {Suite: "compute", Op: "gemm", DType: record.FP32, FLOPs: 1, GFLOPS: 206.4, Time: tm, Status: record.OK},
		"390 GOPS":   {Suite: "compute", Op: "gemm", DType: record.INT8, FLOPs: 1, GFLOPS: 390.4, Time: tm, Status: record.OK},
		"22.6 GB/s":  {Suite: "elementwise", Op: "relu", DType: record.FP32, FLOPs: 1, GFLOPS: 1, BandwidthGBps: 22.56, Time: tm, Status: record.OK},
		"95.0 ns":    {Suite: "latency", Op: "chase", DType: record.INT64, Bytes: 8, Time: tm, Status: record.OK},
		"47.5 ns":    {Suite: "sweep", Op: "chase", DType: record.INT64, Bytes: 8, Items: 2, Time: tm, Status: record.OK},
		none:         {Suite: "compute", Op: "gemm", DType: record.FP32, FLOPs: 1, GFLOPS: 9e9, Time: tm, Status: record.Invalid},
	} {
		if got := performance(&r); got != want {
			t.Errorf("%s shows %q, want %q", r.Op, got, want)
		}
	}
}

func TestLiveLineOfEachResultWithItsReason(t *testing.T) {
	var b bytes.Buffer
	l := NewLive(&b, Options{}, nil)
	for _, r := range sample(t).Results {
		if err := l.Result(r); err != nil {
			t.Fatal(err)
		}
	}
	golden(t, "live.txt", b.Bytes()) // one line a result, reasons underneath
	b.Reset()
	narrow := NewLive(&b, Options{Width: 60}, nil)
	for _, r := range sample(t).Results {
		narrow.Result(r)
	}
	for _, line := range strings.Split(b.String(), "\n") {
		if text.StringWidth(line) > 60 {
			t.Errorf("wider than 60: %q", line)
		}
	}
}

// clock is a clock that advances by hand.
type clock struct{ now time.Time }

func (c *clock) Now() time.Time { return c.now }

func TestProgressPlainLinesTellTheTimeLeft(t *testing.T) {
	var b bytes.Buffer
	c := &clock{time.Unix(0, 0)}
	p := NewProgress(&b, 4, 4, ProgressOptions{Now: c.Now})
	for range 2 {
		p.Begin("gemm\x1b[0m")
		c.now = c.now.Add(10 * time.Second)
		p.Done(1)
	}
	p.Begin("copy")
	p.Finish()
	want := "[1/4] gemm?[0m\n[2/4] gemm?[0m, about 30s left\n[3/4] copy, about 20s left\n"
	if b.String() != want {
		t.Errorf("got %q", b.String())
	}
}

func TestProgressBarStaysInItsLineAndMakesRoom(t *testing.T) {
	var b bytes.Buffer
	p := NewProgress(&b, 2, 2, ProgressOptions{Terminal: true, Width: 40})
	p.Begin(strings.Repeat("a long name ", 10))
	if n := text.StringWidth(b.String()); n != 39 || strings.Contains(b.String(), "\n") {
		t.Errorf("%d columns: %q", n, b.String())
	}
	b.Reset()
	if err := NewLive(&b, Options{}, p).Result(sample(t).Results[0]); err != nil {
		t.Fatal(err)
	}
	if s := b.String(); !strings.HasPrefix(s, "\r\x1b[Kok") || !strings.Contains(s, "\n█") && !strings.Contains(s, "\n░") {
		t.Errorf("the bar is in the way: %q", s)
	}
	b.Reset()
	p.Finish()
	if b.String() != "\r\x1b[K" {
		t.Errorf("left behind: %q", b.String())
	}
}

func TestProgressQuietSaysNothing(t *testing.T) {
	var b bytes.Buffer
	p := NewProgress(&b, 1, 1, ProgressOptions{Terminal: true, Quiet: true})
	p.Begin("x")
	p.Done(1)
	p.Finish()
	var none *Progress
	none.Begin("x")
	none.Done(1)
	none.Finish()
	if b.Len() != 0 {
		t.Errorf("said %q", b.String())
	}
}

func TestNothingButATerminalGetsColour(t *testing.T) {
	if o := Detect(&bytes.Buffer{}); o != (Options{}) {
		t.Errorf("a buffer: %+v", o)
	}
	f, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if o := Detect(f); o != (Options{}) {
		t.Errorf("a file: %+v", o)
	}
}
