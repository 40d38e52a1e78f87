// Command readmetable writes the README's table from the committed quick calibration. Run
// it in the module's root after the document has changed: go run ./internal/readmetable
package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"

	"ridge/goharness/record"
	"ridge/goharness/report"
)

const (
	readme   = "README.md"
	document = "docs/benchmarks/zen5-turin/quick.json"
	begin    = "<!-- quick table: go run ./internal/readmetable writes it from " + document + " -->\n"
	end      = "<!-- end of quick table -->\n"
)

// picks are the results shown, by op, precision and use case, which stay the same on every
// machine: each suite, every precision of gemm, cached and DRAM-sized shapes.
var picks = []struct {
	op    string
	dtype record.DType
	use   string
}{
	{"gemm", record.FP32, "square 2048"},
	{"gemm", record.FP64, "square 1024"}, {"gemm", record.FP32, "square 1024"}, {"gemm", record.FP16, "square 1024"},
	{"gemm", record.BF16, "square 1024"}, {"gemm", record.INT8, "square 1024"}, {"gemm", record.U8S8, "square 1024"},
	{"gemm", record.FP32, "token generation"},
	{"linear", record.FP32, "transformer layer, act gelu"},
	{"conv2d", record.FP32, "late block"}, {"conv2d", record.INT8, "early block"}, {"conv2d", record.FP32, "depthwise"},
	{"attention", record.FP32, "12 heads"}, {"attention", record.FP32, "12 heads, causal"},
	{"relu", record.FP32, "1024 x 1024"}, {"exp", record.FP32, "1024 x 1024"}, {"gelu", record.BF16, "1024 x 1024"}, {"add", record.FP32, "from DRAM"},
	{"softmax", record.FP32, "1024 x 1024, dim 1"}, {"layer_norm", record.FP32, "1024 x 1024"},
	{"sum", record.FP32, "1024 x 1024, dim all"}, {"sum", record.FP32, "from DRAM"},
	{"transpose", record.FP32, "1024 x 1024"},
	{"stream_copy", record.FP64, "from DRAM"}, {"stream_triad", record.FP64, "from DRAM"},
	{"dot", record.FP64, "n = 100000"}, {"gemv", record.FP32, "n = 1024"},
}

func main() {
	if err := rewrite(readme, document); err != nil {
		fmt.Fprintln(os.Stderr, "readmetable:", err)
		os.Exit(1)
	}
}

func rewrite(readme, document string) error {
	data, err := os.ReadFile(document)
	if err != nil {
		return err
	}
	doc, err := record.ReadCalibration(bytes.NewReader(data))
	if err != nil {
		return fmt.Errorf("%s: %w", document, err)
	}
	text, err := os.ReadFile(readme)
	if err != nil {
		return err
	}
	out, err := replace(string(text), doc)
	if err != nil {
		return fmt.Errorf("%s: %w", readme, err)
	}
	return record.WriteFile(readme, []byte(out))
}

// replace puts the document's table between the markers of the text.
func replace(text string, doc record.Calibration) (string, error) {
	before, rest, ok := strings.Cut(text, begin)
	_, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		return "", fmt.Errorf("expected the lines %q and %q", begin, end)
	}
	t, err := table(doc)
	if err != nil {
		return "", err
	}
	return before + begin + t + end + after, nil
}

// table is what stands between the markers.
func table(doc record.Calibration) (string, error) {
	var results []record.Result
	for _, p := range picks {
		found := false
		for i := range doc.Results {
			r := &doc.Results[i]
			if !found && !r.Probe() && r.Op == p.op && r.DType == p.dtype && r.UseCase == p.use {
				results, found = append(results, *r), true
			}
		}
		if !found {
			return "", fmt.Errorf("the document has no %s at %s with the use case %q", p.op, p.dtype, p.use)
		}
	}
	if len(doc.Devices) == 0 {
		return "", fmt.Errorf("the document names no device")
	}
	dev := doc.Devices[0]
	rs, err := report.MarkdownResults(results, "test", "op", "use case", "precision", "batch", "performance", "latency", "memory",
		"device", "kernel", "of roof", "bound", "±", "status")
	if err != nil {
		return "", err
	}
	var ceilings []record.Ceiling
	for _, c := range doc.Ceilings {
		switch {
		case c.Device != dev.ID, c.Measured.Unavailable != "":
		case c.Kind == record.CeilingCompute && c.Threads == dev.Threads,
			c.Kind == record.CeilingBandwidth && c.Threads == dev.Threads && (c.Level == "DRAM" || c.Access == "read" || c.Access == "copy"),
			c.Kind == record.CeilingLatency:
			ceilings = append(ceilings, c)
		}
	}
	cs, err := report.MarkdownCeilings(ceilings, "kind", "limit", "thr", "theoretical", "measured", "ratio", "unit")
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "From the quick calibration of a machine with %s (%s), %d threads, on %s by ridge %s.\n", dev.Name, doc.Host.CPU.Microarchitecture,
		dev.Threads, strings.Split(doc.Created, "T")[0], doc.Tool.Version)
	fmt.Fprintf(&b, "`noisy`: the interval (±) is wider than the goal of this run, ± 2 %%.\n\n%s\n%s\n", rs, cs)
	fmt.Fprintf(&b, "The whole document is [%s](%s); `ridge report %s` shows it.\n", document, document, document)
	return b.String(), nil
}
