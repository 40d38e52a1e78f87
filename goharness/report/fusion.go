package report

import (
	"fmt"
	"io"
	"math"
	"strings"

	"ridge/goharness/record"
)

var adviceColumns = []column{{name: "pattern"}, {name: "recommendation"}}

var fusionColumns = []column{
	{name: "pattern"}, {name: "shape"}, {name: "precision", drop: 1}, {name: "unfused ms", right: true, drop: 4}, {name: "fused ms", right: true, drop: 3},
	{name: "speed-up", right: true}, {name: "interval", right: true, drop: 2}, {name: "predicted", right: true, drop: 6}, {name: "moved/written", right: true, drop: 5}, {name: "baseline", drop: 7}, {name: "verdict"},
}

// WriteFusion shows a fusion profile: its shapes, the recommendations, and what to do.
func WriteFusion(w io.Writer, f record.Fusion, o Options) error {
	for _, p := range fusionParts(&f, o) {
		if p == "" {
			continue
		}
		if _, err := io.WriteString(w, p+"\n"); err != nil {
			return fmt.Errorf("writing the table: %w", err)
		}
	}
	return nil
}

func fusionParts(f *record.Fusion, o Options) []string {
	rows, advice, lists := fusionRows(f)
	return []string{
		section("Fusion patterns", fusionColumns, rows, o),
		section("Recommendations", adviceColumns, advice, o),
		fusionLists(lists, o),
	}
}

// fusionRows are a profile's shapes, its recommendations, and the patterns by recommendation, with the size where it depends on one.
func fusionRows(f *record.Fusion) (rows, advice []gridRow, lists map[string][]string) {
	lists = map[string][]string{}
	for _, p := range f.Patterns {
		for _, s := range p.Shapes {
			rows = append(rows, fusionRow(p, s))
		}
		r := p.Recommendation
		name := clean(p.Pattern) + " " + precisionAndMode(p)
		text, listed := r.Reason, name
		if c := r.Crossover; c != nil {
			at := fmt.Sprintf("up to %s %d", c.Parameter, c.Between[0])
			if c.FuseAbove {
				at = fmt.Sprintf("from %s %d", c.Parameter, c.Between[1])
			}
			listed = clean(fmt.Sprintf("%s %s", name, at))
			about := ""
			if c.Value > 0 {
				about = fmt.Sprintf(", at about %.3g", c.Value)
			}
			text = fmt.Sprintf("fuse %s (the answer changes between %d and %d%s); %s", at, c.Between[0], c.Between[1], about, text)
		}
		advice = append(advice, gridRow{cells: []string{name, orNone(r.Verdict)}, below: clean(text)})
		lists[r.Verdict] = append(lists[r.Verdict], listed)
	}
	return rows, advice, lists
}

// precisionAndMode names the mode of cold shapes, since hot is what goes without saying.
func precisionAndMode(p record.FusionPattern) string {
	if p.Mode == record.Cold {
		return clean(string(p.DType)) + " cold"
	}
	return clean(string(p.DType))
}

func fusionRow(p record.FusionPattern, s record.FusionShape) gridRow {
	shape := params(s.CaseID)
	if shape == none { // of an imported file
		shape = strings.ReplaceAll(sortedParams(s.Params), ",", " ")
	}
	row := gridRow{cells: []string{clean(p.Pattern), clean(shape), precisionAndMode(p), none, none, none, none, none, none, none, clean(s.Verdict)}}
	if s.Trials == 0 {
		row.below = clean(string(s.Status) + ": " + s.Reason)
		return row
	}
	c := row.cells
	c[3], c[4], c[5] = fmt.Sprintf("%.4g", s.UnfusedMS), fmt.Sprintf("%.4g", s.FusedMS), times(s.Speedup, 2)
	if s.SpeedupCI95 == [2]float64{} { // of an imported file, which has none
		row.below = clean(s.Reason)
	} else {
		c[6] = timesBetween(s.SpeedupCI95)
	}
	if s.Predicted > 0 {
		c[7] = times(s.Predicted, 2)
	}
	c[8], c[9] = less(s.MemoryReduction), orNone(s.Baseline)
	if s.UnfusedWritten > 0 && s.FusedWritten > 0 {
		c[8] += " / " + less(1-float64(s.FusedWritten)/float64(s.UnfusedWritten))
	}
	if f := s.VendorFused; f != nil {
		row.below = clean(fmt.Sprintf("%s %s: %.4g ms, %s of ridge's fused kernel's time (%s)", f.Library, f.Version, f.LatencyMS, times(f.Ratio, 2), timesBetween(f.RatioCI95)))
	}
	if s.FusedForm == record.FormPacked {
		row.below = strings.TrimPrefix(row.below+"; the fused kernel has its weights packed beforehand", "; ")
	}
	if s.AtLeast != "" && s.AtLeast != s.Verdict {
		c[10] += ", at least " + clean(s.AtLeast)
	}
	return row
}

// shapeResult is a profile's shape as a result, for views that have a row of each.
func shapeResult(f *record.Fusion, p record.FusionPattern, s record.FusionShape) record.Result {
	r := record.Result{ID: s.CaseID, Device: f.Device.ID, Suite: "fusion", Op: p.Pattern, DType: p.DType, Mode: p.Mode, Kernel: strings.Join(s.FusedKernels, "+"), Params: s.Params,
		Status: s.Status, Reason: s.Reason, FLOPs: s.FLOPs, Bytes: s.FusedBytes, Energy: s.Energy, Reproduce: "ridge bench --case '" + s.CaseID + "'"}
	if f.Quick {
		r.Reproduce += " --quick"
	}
	id, err := record.ParseCaseID(s.CaseID)
	if err != nil {
		r.Reproduce = ""
	}
	r.Threads = id.Threads
	if s.Trials > 0 && s.Speedup > 0 {
		fused := s.FusedFLOPs
		if fused == 0 { // of an older document, whose fused_gflops are of flops
			fused = s.FLOPs
		}
		r.Ratio = &record.Ratio{Value: s.Speedup, CI95: s.SpeedupCI95}
		r.Arms = []record.Arm{
			{Name: "unfused", Kernels: s.UnfusedKernels, FLOPs: s.FLOPs, Bytes: s.UnfusedBytes, Time: &record.Time{MedianNS: s.UnfusedMS * 1e6}, Energy: s.Energy},
			{Name: "fused", Kernels: s.FusedKernels, FLOPs: fused, Bytes: s.FusedBytes, Time: &record.Time{MedianNS: s.FusedMS * 1e6}, Energy: s.FusedEnergy},
		}
	}
	return r
}

// fusionLists are the three lists that a reader acts on, and what is open.
func fusionLists(of map[string][]string, o Options) string {
	var b strings.Builder
	for _, l := range []struct{ verdict, title string }{
		{"fuse", "fuse always"}, {"depends_on_size", "fuse by size"}, {"do_not_fuse", "do not fuse"}, {"inconclusive", "inconclusive"},
	} {
		if len(of[l.verdict]) > 0 {
			b.WriteString(l.title + ": " + strings.Join(of[l.verdict], ", ") + "\n")
		}
	}
	if b.Len() == 0 {
		return ""
	}
	return wrapLines(b.String(), o.Width)
}

// less shows a fraction that is saved.
func less(f float64) string {
	if v := -100 * f; finite(v) && math.Abs(v) < 1e12 {
		if f > 0.995 && f < 1 { // not all
			return fmt.Sprintf("%.2g %%", v)
		}
		if math.Abs(v) < 0.5 {
			return "0 %"
		}
		return fmt.Sprintf("%+.0f %%", v) // more, where the fused program moves more
	}
	return percent(-f)
}
