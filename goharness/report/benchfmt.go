package report

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"ridge/goharness/record"
)

// writeBenchfmt writes the Go benchmark format (go.dev/design/14313-benchmark-format): one
// line per sample, its launches as the iteration count; one line of an imported time that has
// no samples, its mean. Results that do not count are left
// out and numbered in a comment. A kernel stands in the name only
// when it was forced, so that runs with different preferred kernels can be compared.
//
// benchstat compares what has the same configuration (the lines "key: value"). What differs from run to run of a machine is
// therefore a comment; only where several documents stand in one text does each have its run as configuration too, so that
// their samples stay apart: benchstat -col run compares them.
func writeBenchfmt(w io.Writer, docs []record.Calibration) error {
	var b strings.Builder
	b.WriteString("Unit GFLOPS better=higher\nUnit GOPS better=higher\nUnit GB/s better=higher\n")
	for i := range docs {
		d := &docs[i]
		left := 0
		for n := range d.Results {
			if r := &d.Results[n]; !r.HasFigure() || (r.Time == nil && len(r.Arms) == 0) {
				left++
			}
		}
		fmt.Fprintf(&b, "\n# %s %s, run %s of %s on %s\n# not counted: %d of %d results\n", clean(d.Tool.Name), clean(d.Tool.Version), clean(d.RunID),
			clean(d.Created), clean(d.Host.Hostname), left, len(d.Results))
		profiles, err := record.FusionProfiles(d)
		if err != nil {
			return err
		}
		if n := len(shapesOf(profiles)); n > 0 {
			fmt.Fprintf(&b, "# fusion shapes: %d without samples in their profiles\n", n)
		}
		if len(docs) > 1 {
			fmt.Fprintf(&b, "run: %s\n", clean(d.RunID))
		}
		fmt.Fprintf(&b, "goos: %s\ngoarch: %s\ncpu: %s\n\n", clean(d.Host.OS), clean(d.Host.Arch), chip(&d.Host))
		for n := range d.Results {
			benchLines(&b, &d.Results[n])
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// chip is the CPU's brand with its microarchitecture, which the brand of a virtual machine may leave open.
func chip(h *record.Host) string {
	if m := h.CPU.Microarchitecture; m != "" && !strings.Contains(h.CPU.Model, m) {
		return clean(strings.TrimSpace(h.CPU.Model + " (" + m + ")"))
	}
	return clean(h.CPU.Model)
}

func benchLines(b *strings.Builder, r *record.Result) {
	id, err := record.ParseCaseID(r.ID)
	if err != nil || !r.HasFigure() {
		return
	}
	name := benchName(id)
	if with := r.Conditions.With(); len(with) > 0 {
		name += "/beside=" + token(strings.Join(with, "+"))
	}
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
		if !(ns > 0) || math.IsInf(float64(max(flops, bytes, 1))/ns, 0) {
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
	}, clean(s))
}
