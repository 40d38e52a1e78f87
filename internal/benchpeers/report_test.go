//go:build cgo && linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"ridge/goharness/plan"
	"ridge/goharness/record"
)

// Every row must be a case that ridge's own contender can be asked, and found again in a file.
func TestTableHoldsDistinctCases(t *testing.T) {
	rows, err := table(rows(), []plan.Peak{{ISA: "avx2", DType: record.FP32}, {ISA: "avx2", DType: record.FP64}}, []int{1, 2})
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, r := range rows {
		key := fmt.Sprint(r.group, r.label, r.threads)
		if seen[key] {
			t.Errorf("two rows %s, %s, %d threads", r.group, r.label, r.threads)
		}
		seen[key] = true
		seats := map[string]bool{}
		for _, e := range r.entries {
			if seats[e.seat] {
				t.Errorf("%s %s: two entries in process %s", r.group, r.label, e.seat)
			}
			seats[e.seat] = true
		}
	}
	if len(rows) < 200 {
		t.Errorf("%d rows, want the whole table", len(rows))
	}
}

func TestDocumentKeepsRowsThatAreNotMeasuredAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "chip", "peers.md")
	order := []row{{group: "g", label: "a", threads: 1}, {group: "g", label: "b", threads: 1}}
	one := interval{1, 1, 1}
	d := &document{path: path, header: header{Chip: "test chip"}}
	d.put(result{ID: "b", Group: "g", Label: "b", Threads: 1, Metric: "ns", Ours: figures{NS: one}, Date: "2026-01-01"})
	if err := d.write(order); err != nil {
		t.Fatal(err)
	}
	d = &document{path: path}
	if err := d.read(); err != nil {
		t.Fatal(err)
	}
	if !d.has(order[1]) || d.has(order[0]) {
		t.Error("the rows that are there are not known")
	}
	slow := interval{0.9, 0.8, 0.95}
	d.put(result{ID: "a", Group: "g", Label: "a", Threads: 1, Metric: "ns", Ours: figures{NS: one, Rounds: 8, Disturbed: 3}, Ratio: &slow, Date: "2026-01-02",
		Peers: []figures{{Name: "p", NS: interval{0.9, 0.9, 0.9}}}, Refused: map[string]string{"q": "wrong output"}})
	if err := d.write(order); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text := string(b)
	for _, want := range []string{"test chip", "2026-01-01", "2026-01-02", "**slower**, disturbed", "q: wrong output", "2 rows: 1 slower", "| g, 1 thread | 1 | 0 | 0 | 1 | a: 0.90 (disturbed) |"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Index(text, "| a |") > strings.Index(text, "| b |") {
		t.Error("the rows are not in the table's order")
	}
	if err := os.WriteFile(d.data(), []byte("{}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := (&document{path: path}).read(); err == nil {
		t.Error("a file of another schema was read")
	}
}

func TestTheIntervalDecidesAgainstThePeer(t *testing.T) {
	for want, ratio := range map[string]*interval{noPeer: nil, faster: {1.02, 1.001, 1.04}, slower: {0.98, 0.96, 0.999}, even: {1.2, 0.99, 1.3}} {
		if got := (result{Ratio: ratio}).againstPeer(); got != want {
			t.Errorf("ratio %v: %s, want %s", ratio, got, want)
		}
	}
	for _, edge := range []interval{{1.1, 1, 1.2}, {0.9, 0.8, 1}} {
		if got := (result{Ratio: &edge}).againstPeer(); got != even {
			t.Errorf("ratio %v: %s, for its interval contains 1", edge, got)
		}
	}
}

// The group with the slowest row stands first, and its slowest row first in it; groups where nothing is slower keep their order. A group whose rows
// stand in two places has one line.
func TestTheSummaryShowsTheSlowestFirst(t *testing.T) {
	d := &document{}
	for _, r := range []struct {
		group   string
		threads int
		label   string
		lo, hi  float64
	}{{"equal", 1, "a", 0.9, 1.1}, {"good", 1, "a", 1.1, 1.3}, {"bad", 1, "a", 0.9, 0.96}, {"bad", 2, "a", 1.2, 1.4}, {"bad", 2, "b", 0.7, 0.9}, {"bad", 2, "c", 0.6, 0.7},
		{"equal", 1, "b", 0.8, 1.2}} {
		ratio := interval{(r.lo + r.hi) / 2, r.lo, r.hi}
		d.rows = append(d.rows, result{Group: r.group, Threads: r.threads, Label: r.label, Count: 3, Ratio: &ratio, Peers: []figures{{Name: "p"}}})
	}
	text := string(d.markdown())
	from := 0
	for _, want := range []string{"7 rows: 3 slower than the best peer, 2 even, 2 faster, 0 without a peer.", "| bad, 2 threads | 2 | 0 | 1 | 0 | c (×3): 0.65; b (×3): 0.80 |",
		"| bad, 1 thread | 1 | 0 | 0 | 0 | a (×3): 0.93 |", "| equal, 1 thread | 0 | 2 | 0 | 0 |  |", "| good, 1 thread | 0 | 0 | 1 | 0 |  |", "## equal, 1 thread"} {
		at := strings.Index(text[from:], want)
		if at < 0 {
			t.Fatalf("no %q after the line before it in\n%s", want, text)
		}
		from += at
	}
}

func TestRenderWritesTheMarkdownAloneAndRefusesWhatWasNotMeasured(t *testing.T) {
	path := filepath.Join(t.TempDir(), "peers.md")
	one := interval{1, 1, 1}
	d := &document{path: path, header: header{Chip: "test chip"}}
	d.put(result{ID: "a", Group: "g", Label: "a", Threads: 3, Metric: "ns", Ours: figures{NS: one}, Version: "of then"})
	if err := d.write(nil); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(d.data())
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := run([]string{"-render", "-out", path}); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != string(want) {
		t.Errorf("%v, rendered again:\n%s\nwant\n%s", err, got, want)
	}
	if got, err := os.ReadFile(d.data()); err != nil || string(got) != string(data) {
		t.Errorf("%v: the data changed to\n%s", err, got)
	}
	if err := run([]string{"-render", "-out", filepath.Join(t.TempDir(), "other.md")}); err == nil || !strings.Contains(err.Error(), "no rows") {
		t.Errorf("error %v of a document that is not there", err)
	}
}

func TestFolderNamesTheChip(t *testing.T) {
	for want, c := range map[string]record.CPU{
		"zen3-milan":    {Microarchitecture: "Zen 3", MicroarchitectureSource: "AuthenticAMD family 25 model 1 (Milan): Linux"},
		"graniterapids": {Microarchitecture: "Granite Rapids class (AMX, AVX10)", MicroarchitectureSource: "features"},
	} {
		if got := folder(c); got != want {
			t.Errorf("folder %q, want %s", got, want)
		}
	}
}

// Each row of a convolution says which layout won, and the group how often.
func TestConvolutionsNameTheLayoutThatWon(t *testing.T) {
	even := interval{1, 1, 1}
	conv := func(id, ours, best string) result {
		return result{ID: id, Group: "convolutions", Label: id, Op: "conv2d", Threads: 1, Metric: "gflops", FLOPs: 1, Ratio: &even,
			Ours: figures{Name: ours, Kernel: "k", NS: even, Best: 1}, Peers: []figures{{Name: best, NS: even, Best: 1}}}
	}
	d := &document{rows: []result{conv("a", "ridge nhwc", "oneDNN"), conv("b", "ridge nchw", "oneDNN blocked"), conv("c", "ridge nhwc", "oneDNN blocked")}}
	text := string(d.markdown())
	for _, want := range []string{"(NHWC, k) | oneDNN, NHWC |", "(NCHW, k) | oneDNN blocked |", "ours NHWC in 2, NCHW in 1; the best peer's blocked in 2, NHWC in 1."} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	other := conv("d", "ridge", "MKL")
	other.Op = "gemm"
	if text := string((&document{rows: []result{other}}).markdown()); strings.Contains(text, "ayout") || strings.Contains(text, "NHWC") {
		t.Errorf("a layout of a GEMM in\n%s", text)
	}
}
