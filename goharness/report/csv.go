package report

import (
	"encoding/csv"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"ridge/goharness/measure"
	"ridge/goharness/record"
)

// csvColumns are fixed: new ones are added at the end.
var csvColumns = append([]string{"run_id", "created", "hostname", "id", "device", "suite", "op", "params", "use_case", "dtype", "accumulate",
	"threads", "mode", "batch", "kernel", "isa", "status", "reason",
	"median_ns", "ci95_low_ns", "ci95_high_ns", "min_ns", "max_ns", "mean_ns", "std_ns", "p90_ns", "p95_ns", "p99_ns", "samples",
	"relative_half_width", "flops", "bytes", "working_set_bytes", "gflops", "bandwidth_gbps", "arithmetic_intensity_flops_per_byte",
	"bound", "memory_level", "fraction", "ratio", "ratio_ci95_low", "ratio_ci95_high", "energy_joules", "gflops_per_watt",
	"unfused_median_ns", "fused_median_ns", "verdict"}, append(slices.Clone(csvEnergyColumns), "concurrent")...)

// csvColumn is the place of a column.
func csvColumn(name string) int { return slices.Index(csvColumns, name) }

func writeCSV(w io.Writer, docs []record.Calibration) error {
	c := csv.NewWriter(w)
	if err := c.Write(csvColumns); err != nil {
		return fmt.Errorf("writing CSV: %w", err)
	}
	for i := range docs {
		d := &docs[i]
		profiles, err := record.FusionProfiles(d)
		if err != nil {
			return err
		}
		shapes := shapesOf(profiles)
		for n := range d.Results {
			row := csvRow(d, &d.Results[n])
			if s, there := shapes[d.Results[n].ID]; there {
				row[csvColumn("verdict")] = csvText(s.Verdict)
				if low, high := csvColumn("ratio_ci95_low"), csvColumn("ratio_ci95_high"); row[low] != "" && s.SpeedupCI95 != [2]float64{} {
					row[low], row[high] = csvNumber(s.SpeedupCI95[0]), csvNumber(s.SpeedupCI95[1]) // the verdict's, wider than that of a single visit
				}
				delete(shapes, d.Results[n].ID)
			}
			if err := c.Write(row); err != nil {
				return fmt.Errorf("writing CSV: %w", err)
			}
		}
		// Shapes whose results are not in the document: those of a profile that joined it.
		for n := range profiles {
			for _, q := range profiles[n].Patterns {
				for _, s := range q.Shapes {
					if _, left := shapes[s.CaseID]; !left {
						continue
					}
					delete(shapes, s.CaseID)
					if err := c.Write(csvShape(d, &profiles[n], q, s)); err != nil {
						return fmt.Errorf("writing CSV: %w", err)
					}
				}
			}
		}
	}
	c.Flush()
	return c.Error()
}

// shapesOf are the shapes of a document's profiles by case id.
func shapesOf(profiles []record.Fusion) map[string]record.FusionShape {
	out := map[string]record.FusionShape{}
	for _, p := range profiles {
		for _, q := range p.Patterns {
			for _, s := range q.Shapes {
				out[s.CaseID] = s
			}
		}
	}
	return out
}

// csvShape is the row of a comparison that a profile alone tells of.
func csvShape(d *record.Calibration, f *record.Fusion, p record.FusionPattern, s record.FusionShape) []string {
	r := shapeResult(f, p, s)
	row := csvRow(d, &r)
	if r.Ratio != nil && s.SpeedupCI95 == [2]float64{} { // of an imported file
		row[csvColumn("ratio_ci95_low")], row[csvColumn("ratio_ci95_high")] = "", ""
	}
	row[csvColumn("verdict")] = csvText(s.Verdict)
	return row
}

// csvNumber leaves a cell empty where there is no number to show.
func csvNumber(v float64) string {
	if !finite(v) {
		return ""
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

// csvRow leaves a cell empty where the document knows nothing, and the speeds of results
// that do not count.
func csvRow(d *record.Calibration, r *record.Result) []string {
	num := csvNumber
	some := func(v float64) string {
		if v == 0 {
			return ""
		}
		return num(v)
	}
	whole := func(v int64) string { return strconv.FormatInt(v, 10) }
	times := make([]string, 12)
	if t := r.Time; t != nil {
		times = []string{num(t.MedianNS), num(t.CI95NS[0]), num(t.CI95NS[1]), num(t.MinNS), num(t.MaxNS), num(t.MeanNS), num(t.StdNS),
			num(t.P90NS), num(t.P95NS), num(t.P99NS), strconv.Itoa(len(t.SamplesNS)), num(t.RelHalfWidth)}
	}
	speeds := make([]string, 3)
	roof := make([]string, 3)
	if r.Status.Counts() {
		speeds = []string{some(r.GFLOPS), some(r.BandwidthGBps), some(r.ArithmeticIntensity)}
		if c := r.Ceiling; c != nil {
			roof = []string{c.Bound, c.MemoryLevel, some(c.Fraction)}
		}
	}
	ratio := make([]string, 3)
	if r.Ratio != nil && r.Status.Counts() {
		ratio = []string{num(r.Ratio.Value), num(r.Ratio.CI95[0]), num(r.Ratio.CI95[1])}
	}
	energy := make([]string, 2)
	if e := energyOf(r); e.joules > 0 {
		energy = []string{num(r.Energy.Joules), some(e.perWatt)} // of all windows together
	}
	p := params(r.ID)
	if p == none {
		p = ""
	}
	row := []string{d.RunID, d.Created, d.Host.Hostname, r.ID, r.Device, r.Suite, r.Op, p, r.UseCase, string(r.DType), string(r.Accumulate),
		strconv.Itoa(r.Threads), r.Mode, whole(r.Batch), kernel(r), r.ISA, string(r.Status), r.Reason}
	for i := range row {
		row[i] = csvText(row[i])
	}
	roof[0], roof[1] = csvText(roof[0]), csvText(roof[1])
	row = append(row, times...)
	row = append(row, whole(r.FLOPs), whole(r.Bytes), whole(r.WorkingSetBytes))
	row = append(row, speeds...)
	row = append(row, roof...)
	row = append(row, ratio...)
	row = append(row, energy...)
	arms := make([]string, 3)
	if ns, ok := measure.ArmTimes(r); ok {
		arms[0], arms[1] = num(ns[0]), num(ns[1])
	}
	row = append(row, arms...)
	return append(append(row, csvEnergy(r)...), csvText(strings.Join(r.Conditions.With(), " ")))
}

// csvText keeps a cell on one line, and a spreadsheet from reading it as a formula.
func csvText(s string) string {
	s = clean(s)
	if s != "" && strings.ContainsRune("=+-@", rune(s[0])) {
		return "'" + s
	}
	return s
}
