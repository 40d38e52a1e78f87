package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"sort"
	"strconv"
	"strings"

	"ridge/goharness/record"
)

func writeTables(w io.Writer, docs []record.Calibration) error {
	return WriteTables(w, docs, Detect(w))
}

// WriteTables shows each document's results, fusion patterns, ceilings and summary.
func WriteTables(w io.Writer, docs []record.Calibration, o Options) error {
	for i := range docs {
		d := &docs[i]
		profiles, err := record.FusionProfiles(d)
		if err != nil {
			return err
		}
		parts := []string{wrapLines(title(d), o.Width), results(d.Results, o)}
		for n := range profiles {
			parts = append(parts, fusionParts(&profiles[n], o)...)
		}
		parts = append(parts,
			section("Cache sweep", sweepColumns, sweepRows(d), o),
			section("Ceilings", ceilingColumns, ceilingRows(d.Ceilings, o), o),
			summaryText(&d.Summary, o))
		for _, p := range parts {
			if p == "" {
				continue
			}
			if _, err := io.WriteString(w, p+"\n"); err != nil {
				return fmt.Errorf("writing the table: %w", err)
			}
		}
	}
	return nil
}

func title(d *record.Calibration) string {
	s := fmt.Sprintf("%s %s · run %s · %s\n", clean(d.Tool.Name), clean(d.Tool.Version), clean(d.RunID), clean(d.Created))
	for _, dev := range d.Devices {
		s += fmt.Sprintf("%s: %s", clean(dev.ID), clean(dev.Name))
		if dev.Threads > 0 {
			s += fmt.Sprintf(", %d threads", dev.Threads)
		}
		s += "\n"
	}
	return s
}

// wrapLines wraps each line of a text.
func wrapLines(s string, width int) string {
	var b strings.Builder
	for _, line := range strings.Split(strings.TrimSuffix(s, "\n"), "\n") {
		for _, w := range wrap(line, width) {
			b.WriteString(w + "\n")
		}
	}
	return b.String()
}

func section(name string, cols []column, rows []gridRow, o Options) string {
	if len(rows) == 0 {
		return ""
	}
	return name + "\n" + grid(cols, rows, o)
}

// ofGivenColumn is left out where the user gave no peak; ofPeakColumn and atClockColumn where the device has no theoretical peak by its clock.
const (
	ofGivenColumn = "of given peak"
	ofPeakColumn  = "of peak"
	atClockColumn = "of peak@clock"
)

// withoutUnused leaves out those of the columns that only some documents have when no row has anything in them.
func withoutUnused(cols []column, rows []gridRow) ([]column, []gridRow) {
	for _, name := range []string{ofGivenColumn, ofPeakColumn, atClockColumn} {
		cols, rows = withoutEmpty(name, cols, rows)
	}
	return cols, rows
}

// withoutEmpty leaves out the column of that name when no row has anything in it.
func withoutEmpty(name string, cols []column, rows []gridRow) ([]column, []gridRow) {
	at := slices.IndexFunc(cols, func(c column) bool { return c.name == name })
	if slices.ContainsFunc(rows, func(r gridRow) bool { return r.cells[at] != none }) {
		return cols, rows
	}
	out := slices.Clone(rows)
	for i := range out {
		out[i].cells = slices.Delete(slices.Clone(out[i].cells), at, at+1)
	}
	return slices.Delete(slices.Clone(cols), at, at+1), out
}

var resultColumns = []column{
	{name: "test", drop: 6}, {name: "op", least: 10}, {name: "shape"}, {name: "use case", drop: 10, least: 12},
	{name: "precision", drop: 1}, {name: "thr", right: true, drop: 7}, {name: "batch", right: true, drop: 12},
	{name: "performance", right: true}, {name: "latency", right: true, drop: 4}, {name: "memory", right: true, drop: 11},
	{name: "device", drop: 9}, {name: "kernel", drop: 8, least: 16}, {name: "of roof", right: true, drop: 3}, {name: ofGivenColumn, right: true, drop: 2},
	{name: ofPeakColumn, right: true, drop: 3}, {name: atClockColumn, right: true, drop: 2}, {name: "bound", drop: 9},
	{name: "±", right: true, drop: 5}, {name: "status"},
}

// resultCells are a result's cells in the order of resultColumns.
func resultCells(r *record.Result) []string {
	threads, batch := none, none
	if r.Threads > 0 {
		threads = strconv.Itoa(r.Threads)
	}
	if r.Batch > 0 {
		batch = strconv.FormatInt(r.Batch, 10)
	}
	return []string{orNone(r.Suite), clean(r.Op), params(r.ID), orNone(r.UseCase), clean(string(r.DType)), threads, batch,
		performance(r), latency(r), size(r.WorkingSetBytes), clean(r.Device), orNone(kernel(r)), ofRoof(r), ofGiven(r), ofPeak(r, false), ofPeak(r, true), bound(r), half(r),
		clean(string(r.Status))}
}

// kernel names the kernel that gave the result, or was asked for where none did; of a comparison those of the second arm.
func kernel(r *record.Result) string {
	if len(r.Arms) == 2 {
		return strings.Join(r.Arms[1].Kernels, "+")
	}
	return cmp.Or(r.Kernel, r.KernelRequested)
}

// remarks are what a reader must know beside the numbers: why a result is not plain ok,
// and its warnings.
func remarks(r *record.Result) string {
	var out []string
	if r.Status != record.OK && r.Reason != "" {
		out = append(out, clean(string(r.Status)+": "+r.Reason))
	}
	if r.FallbackReason != "" {
		out = append(out, "other kernel than asked for: "+clean(r.FallbackReason))
	}
	for _, w := range r.Warnings {
		out = append(out, "warning: "+clean(w))
	}
	return strings.Join(out, "; ")
}

func results(rs []record.Result, o Options) string {
	cols, rows := withoutUnused(resultColumns, resultRows(rs, o))
	return section("Results", cols, rows, o)
}

// resultRows leaves out the probes that worked: they stand under the ceilings and in the sweep.
func resultRows(rs []record.Result, o Options) []gridRow {
	var rows []gridRow
	for i := range rs {
		r := &rs[i]
		if r.Probe() && r.Status.Counts() {
			continue
		}
		below := remarks(r)
		if r.Status == record.Noisy && len(r.Warnings) == 0 && r.FallbackReason == "" {
			below = "" // the column ± says how noisy
		}
		rows = append(rows, gridRow{cells: resultCells(r), below: below, color: statusColor(r.Status)})
	}
	return rows
}

// statusColor: green ok, yellow for what was not measured, red for what is wrong.
func statusColor(s record.Status) string {
	switch s {
	case record.OK:
		return "\x1b[32m"
	case record.Invalid, record.Wrong, record.Crashed, record.TimedOut:
		return "\x1b[31m"
	}
	return "\x1b[33m"
}

var ceilingColumns = []column{
	{name: "kind"}, {name: "limit"}, {name: "device", drop: 3}, {name: "thr", right: true, drop: 2},
	{name: "theoretical", right: true, drop: 1}, {name: "measured", right: true}, {name: "ratio", right: true}, {name: "unit"},
}

func ceilingCells(c *record.Ceiling) []string {
	ratio := none
	if c.Ratio > 0 {
		ratio = percent(c.Ratio)
	}
	return []string{clean(c.Kind), ceilingText(c), clean(c.Device), strconv.Itoa(c.Threads), theoretical(c), measured(c), ratio, clean(c.Unit)}
}

func ceilingRows(cs []record.Ceiling, o Options) []gridRow {
	var rows []gridRow
	for i := range cs {
		rows = append(rows, gridRow{cells: ceilingCells(&cs[i]), below: gap(&cs[i])})
	}
	return rows
}

var summaryColumns = []column{
	{name: "suite"}, {name: "cases", right: true}, {name: "best_gflops", right: true}, {name: "of", drop: 2},
	{name: "best_bandwidth_gbps", right: true}, {name: "of", drop: 1},
}

func summaryCells(name string, s record.SuiteSummary) []string {
	cells := []string{clean(name), strconv.Itoa(s.Cases), none, none, none, none}
	if s.BestGFLOPS > 0 {
		cells[2], cells[3] = digits(s.BestGFLOPS), clean(s.BestGFLOPSCase)
	}
	if s.BestBandwidthGBps > 0 {
		cells[4], cells[5] = digits(s.BestBandwidthGBps), clean(s.BestBandwidthCase)
	}
	return cells
}

func summaryText(s *record.Summary, o Options) string {
	var rows []gridRow
	for _, name := range suiteNames(s) {
		rows = append(rows, gridRow{cells: summaryCells(name, s.Suites[name])})
	}
	out := section("Summary", summaryColumns, rows, o)
	text := countsText(s) + "\n"
	for _, w := range s.Warnings {
		text += "warning: " + clean(w) + "\n"
	}
	return out + wrapLines(text, o.Width)
}

// countsText says how many results have which status, and whether the run is whole.
func countsText(s *record.Summary) string {
	var parts []string
	for _, st := range []record.Status{record.OK, record.Noisy, record.Invalid, record.Wrong, record.Unsupported, record.Crashed,
		record.TimedOut, record.Skipped} {
		if n := s.Counts[st]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, st))
		}
	}
	if len(parts) == 0 {
		parts = []string{"no results"}
	}
	text := strings.Join(parts, ", ")
	if s.WallSeconds > 0 {
		text += fmt.Sprintf(" in %s", duration(s.WallSeconds*1e9))
	}
	if !s.Complete {
		text += "; the run is not complete"
	}
	return text
}

func suiteNames(s *record.Summary) []string {
	var names []string
	for n := range s.Suites {
		names = append(names, n)
	}
	sort.Strings(names)
	return names
}
