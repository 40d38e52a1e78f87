package report

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"ridge/goharness/record"
)

// writeBenchfmt writes the Go benchmark format (go.dev/design/14313-benchmark-format): one
// line per sample, its launches as the iteration count; one line of an imported time that has
// no samples, its mean. Results that do not count are left
// out and numbered in the configuration line not-counted. A kernel stands in the name only
// when it was forced, so that runs with different preferred kernels can be compared.
func writeBenchfmt(w io.Writer, docs []record.Calibration) error {
	var b strings.Builder
	b.WriteString("Unit GFLOPS better=higher\nUnit GOPS better=higher\nUnit GB/s better=higher\n")
	for i := range docs {
		d := &docs[i]
		left := 0
		for n := range d.Results {
			if r := &d.Results[n]; !r.Status.Counts() || (r.Time == nil && len(r.Arms) == 0) {
				left++
			}
		}
		fmt.Fprintf(&b, "\ntool: %s %s\nrun: %s\nhost: %s\ncpu: %s\ngoos: %s\ngoarch: %s\nnot-counted: %d of %d\n",
			clean(d.Tool.Name), clean(d.Tool.Version), clean(d.RunID), clean(d.Host.Hostname), clean(d.Host.CPU.Model),
			clean(d.Host.OS), clean(d.Host.Arch), left, len(d.Results))
		profiles, err := record.FusionProfiles(d)
		if err != nil {
			return err
		}
		if n := len(shapesOf(profiles)); n > 0 {
			fmt.Fprintf(&b, "fusion-shapes: %d without samples in their profiles\n", n)
		}
		b.WriteString("\n")
		for n := range d.Results {
			benchLines(&b, &d.Results[n])
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func benchLines(b *strings.Builder, r *record.Result) {
	id, err := record.ParseCaseID(r.ID)
	if err != nil || !r.Status.Counts() {
		return
	}
	name := benchName(id)
	for _, a := range r.Arms {
		if a.Time != nil {
			samples(b, name+"/arm="+token(a.Name), a.Time, r.DType, a.FLOPs, a.Bytes)
		}
	}
	if r.Time != nil {
		samples(b, name, r.Time, r.DType, r.FLOPs, r.Bytes)
	}
}

func samples(b *strings.Builder, name string, t *record.Time, d record.DType, flops, bytes int64) {
	all := t.SamplesNS
	if len(all) == 0 {
		all = []float64{t.MeanNS}
	}
	for _, ns := range all {
		if ns <= 0 {
			continue
		}
		fmt.Fprintf(b, "Benchmark%s %d %s ns/op", name, max(1, t.Launches), short(ns))
		if flops > 0 {
			fmt.Fprintf(b, " %s %s", short(float64(flops)/ns), rateUnit(d))
		}
		if bytes > 0 {
			fmt.Fprintf(b, " %s GB/s", short(float64(bytes)/ns))
		}
		b.WriteString("\n")
	}
}

func short(v float64) string { return strconv.FormatFloat(v, 'g', 8, 64) }

// benchName writes a case id as a benchmark name: Gemm/dtype=fp32/m=1024/…
func benchName(id record.CaseID) string {
	b := strings.ToUpper(id.Op[:1]) + id.Op[1:]
	b += "/device=" + id.Device + "/dtype=" + string(id.DType)
	for _, p := range id.Params {
		b += "/" + p.Name + "=" + p.Value
	}
	b += "/threads=" + strconv.Itoa(id.Threads) + "/mode=" + id.Mode
	if id.Kernel != "" {
		b += "/kernel=" + id.Kernel
	}
	return b
}

// token makes text a part of a benchmark name.
func token(s string) string {
	return strings.Map(func(r rune) rune {
		if r <= ' ' || r == '/' || r == 0x7f {
			return '_'
		}
		return r
	}, s)
}
