package history

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"ridge/goharness/history/compare"
	"ridge/goharness/measure"
	"ridge/goharness/record"
	"ridge/goharness/report"
)

// Point is one run's figure of a case.
type Point struct {
	RunID    string        `json:"run_id"`
	Created  string        `json:"created"`
	Software string        `json:"software_fingerprint"`
	Status   record.Status `json:"status"`
	Value    float64       `json:"value,omitempty"` // 0: none
	Lo       float64       `json:"lo,omitempty"`    // of the time's interval
	Hi       float64       `json:"hi,omitempty"`
}

// Change is a point in time at which the level of a case moved.
type Change struct {
	RunID    string  `json:"run_id"` // the first run on the new level
	Created  string  `json:"created"`
	Before   float64 `json:"before"` // medians of the levels
	After    float64 `json:"after"`
	Ratio    float64 `json:"ratio"` // after over before
	Software bool    `json:"software_changed"`
	at       int     // index among the points with a value
}

// Trend of a case on one machine, the oldest run first.
type Trend struct {
	Case    string         `json:"case"`
	Metric  compare.Metric `json:"metric"`
	Unit    string         `json:"unit"`
	Host    string         `json:"host_fingerprint"`
	Name    string         `json:"host"`
	Points  []Point        `json:"points"`
	Changes []Change       `json:"changes"`
	Others  int            `json:"runs_on_other_hosts"`
}

// TrendMetrics are those that a trend has.
var TrendMetrics = []compare.Metric{compare.Time, compare.GFLOPS, compare.GBps, compare.Joules}

// column of a metric.
func column(m compare.Metric) (string, error) {
	switch m {
	case compare.Time:
		return "median_ns", nil
	case compare.GFLOPS:
		return "gflops", nil
	case compare.GBps:
		return "gbps", nil
	case compare.Joules:
		return "joules", nil
	}
	return "", fmt.Errorf("metric %q: a trend has time, gflops, gbps or joules", m)
}

// TrendOf a case on a machine (a fingerprint or the start of one); "" is that of the newest run which has
// the case. Points is empty when no run has it; runs that only verified the case have no value.
func (s *Store) TrendOf(ctx context.Context, name, host string, m compare.Metric) (Trend, error) {
	t := Trend{Case: name, Metric: m, Unit: map[compare.Metric]string{compare.Time: "ns", compare.GFLOPS: "GFLOPS", compare.GBps: "GB/s", compare.Joules: "J"}[m], Points: []Point{}, Changes: []Change{}}
	col, err := column(m)
	if err != nil {
		return t, err
	}
	rows, err := s.db.QueryContext(ctx, `SELECT r.run_id, r.created, r.software_fingerprint, r.host_fingerprint, r.host, p.status, CASE r.kind WHEN '`+kindVerify+`' THEN NULL ELSE p.`+col+` END, p.lo_ns, p.hi_ns
		FROM cases c JOIN points p ON p.case_id = c.id JOIN runs r ON r.id = p.run WHERE c.name = ?`, name)
	if err != nil {
		return t, s.wrap(err)
	}
	defer rows.Close()
	type read struct {
		Point
		host, name string
	}
	var all []read
	newest := -1
	for rows.Next() {
		var p read
		var v, lo, hi sql.NullFloat64
		var status string
		if err := rows.Scan(&p.RunID, &p.Created, &p.Software, &p.host, &p.name, &status, &v, &lo, &hi); err != nil {
			return t, s.wrap(err)
		}
		p.Status, p.Value = record.Status(status), v.Float64
		if m == compare.Time && v.Valid {
			p.Lo, p.Hi = lo.Float64, hi.Float64
		}
		if all = append(all, p); strings.HasPrefix(p.host, host) && (newest < 0 || p.Created >= all[newest].Created) {
			newest = len(all) - 1
		}
	}
	if err := rows.Err(); err != nil {
		return t, s.wrap(err)
	}
	if newest < 0 {
		t.Others = len(all)
		return t, nil
	}
	t.Host, t.Name = all[newest].host, all[newest].name
	for _, p := range all {
		if p.host == t.Host {
			t.Points = append(t.Points, p.Point)
		} else {
			t.Others++
		}
	}
	slices.SortStableFunc(t.Points, func(a, b Point) int { return strings.Compare(a.Created, b.Created) })
	t.findChanges()
	return t, nil
}

// measured are the points with a value.
func (t *Trend) measured() []Point {
	var out []Point
	for _, p := range t.Points {
		if p.Value > 0 {
			out = append(out, p)
		}
	}
	return out
}

func (t *Trend) findChanges() {
	ps := t.measured()
	xs := make([]float64, len(ps))
	for i, p := range ps {
		xs[i] = math.Log(p.Value)
	}
	cuts := ChangePoints(xs)
	for i, at := range cuts {
		from, to := around(cuts, i, len(ps))
		before, after := math.Exp(measure.Median(xs[from:at])), math.Exp(measure.Median(xs[at:to]))
		t.Changes = append(t.Changes, Change{RunID: ps[at].RunID, Created: ps[at].Created, Before: before, After: after, Ratio: after / before,
			Software: ps[at].Software != ps[at-1].Software, at: at})
	}
}

const (
	// leastSegment is the fewest runs of a level: fewer are outliers.
	leastSegment = 5
	// leastStep is the least difference of two levels (of ln value) that is called a change.
	leastStep = 0.02
	// penalty of a change in units of ln n, as a modified BIC for a level and a place with room for
	// noise that is a little correlated; 3 is usual for independent noise.
	penalty = 5
)

// ChangePoints finds where the level of a series changes: the indices at which new levels begin.
//
// It minimises the sum over levels of squared distances to their mean plus a penalty for each change, exactly
// and by pruning (PELT: Killick, Fearnhead, Eckley 2012). Two things make that safe for run times:
// values beyond 3 standard deviations of the median of their 11 neighbours are drawn in to there,
// and neighbouring levels whose medians are closer than 2 % are joined. The standard deviation is 1.4826·MAD
// of differences over √2, which steps hardly move: the largest of those of neighbours and of second
// and third neighbours, since correlated noise hides in the first.
//
// Of more than mostBins runs, stretches of equal length are taken as one, and the places of the
// changes are sought run by run afterwards: the cost would grow with the square.
func ChangePoints(xs []float64) []int {
	n := len(xs)
	if n < 2*leastSegment {
		return nil
	}
	sigma := noiseOf(xs)
	ys := make([]float64, n)
	for i, x := range xs {
		m := measure.Median(xs[max(0, i-5):min(n, i+6)])
		ys[i] = (math.Min(math.Max(x, m-3*sigma), m+3*sigma) - xs[0]) / sigma
	}
	bin := (n + mostBins - 1) / mostBins
	least := leastSegment
	if bin > 1 {
		least = max(2, (leastSegment+bin-1)/bin)
	}
	cuts := pelt(binned(ys, bin), least, bin)
	refine(ys, cuts, bin)
	return join(xs, cuts)
}

// mostBins bounds the square of PELT's cost.
const mostBins = 2000

func noiseOf(xs []float64) float64 {
	sigma := 1e-4
	for lag := 1; lag <= 3; lag++ {
		diffs := make([]float64, len(xs)-lag)
		for i := range diffs {
			diffs[i] = math.Abs(xs[i+lag] - xs[i])
		}
		sigma = math.Max(sigma, 1.4826*measure.Median(diffs)/math.Sqrt2)
	}
	return sigma
}

// binned are sums of bin neighbours over the root of their number, which have unit variance again.
func binned(ys []float64, bin int) []float64 {
	if bin == 1 {
		return ys
	}
	var out []float64
	for i := 0; i+bin <= len(ys); i += bin {
		sum := 0.0
		for _, y := range ys[i : i+bin] {
			sum += y
		}
		out = append(out, sum/math.Sqrt(float64(bin)))
	}
	return out
}

// refine moves changes between stretches to the run where they cost least.
func refine(ys []float64, cuts []int, bin int) {
	if bin == 1 {
		return
	}
	p := prefix(ys)
	for i, c := range cuts {
		from, to := around(cuts, i, len(ys))
		best := math.Inf(1)
		for at := max(c-bin, from+1); at <= min(c+bin, to-1); at++ {
			if v := p.cost(from, at) + p.cost(at, to); v < best {
				best, cuts[i] = v, at
			}
		}
	}
}

// around a change of a series of n: where the level before it begins and the one after it ends.
func around(cuts []int, i, n int) (from, to int) {
	to = n
	if i > 0 {
		from = cuts[i-1]
	}
	if i+1 < len(cuts) {
		to = cuts[i+1]
	}
	return from, to
}

// sums of a series and of its squares up to an index.
type sums struct{ sum, sq []float64 }

func prefix(ys []float64) sums {
	p := sums{make([]float64, len(ys)+1), make([]float64, len(ys)+1)}
	for i, y := range ys {
		p.sum[i+1], p.sq[i+1] = p.sum[i]+y, p.sq[i]+y*y
	}
	return p
}

// cost of one level over [a, b): squared distances to the mean.
func (p sums) cost(a, b int) float64 {
	d := p.sum[b] - p.sum[a]
	return p.sq[b] - p.sq[a] - d*d/float64(b-a)
}

// pelt gives the optimal change points of a series of unit variance with levels of at least least
// values, in units of the runs (bin) that a value stands for.
func pelt(ys []float64, least, bin int) []int {
	n := len(ys)
	beta := penalty * math.Log(float64(n*bin))
	p := prefix(ys)
	best, from := make([]float64, n+1), make([]int, n+1)
	best[0] = -beta
	for t := 1; t < least; t++ {
		best[t] = math.Inf(1)
	}
	candidates, values := []int{0}, []float64{}
	for t := least; t <= n; t++ {
		best[t], values = math.Inf(1), values[:0]
		for _, s := range candidates {
			v := best[s] + p.cost(s, t)
			values = append(values, v)
			if v+beta < best[t] {
				best[t], from[t] = v+beta, s
			}
		}
		// A start that is worse than the best by more than a change costs never wins again.
		kept := candidates[:0]
		for i, s := range candidates {
			if values[i] <= best[t] {
				kept = append(kept, s)
			}
		}
		candidates = kept
		if s := t + 1 - least; s >= least {
			candidates = append(candidates, s)
		}
	}
	var out []int
	for t := from[n]; t > 0; t = from[t] {
		out = append(out, t*bin)
	}
	slices.Reverse(out)
	return out
}

// join leaves out changes between levels that are closer than leastStep, the smallest first.
func join(xs []float64, cuts []int) []int {
	for len(cuts) > 0 {
		least, at := leastStep, -1
		for i, c := range cuts {
			from, to := around(cuts, i, len(xs))
			if d := math.Abs(measure.Median(xs[from:c]) - measure.Median(xs[c:to])); d < least {
				least, at = d, i
			}
		}
		if at < 0 {
			return cuts
		}
		cuts = slices.Delete(cuts, at, at+1)
	}
	return nil
}

// Spark draws the values in at most width characters, each the median of its runs.
func (t *Trend) Spark(width int) string {
	ps := t.measured()
	if len(ps) == 0 || width < 1 {
		return ""
	}
	width = min(width, len(ps))
	var vs []float64
	for i := range width {
		var group []float64
		for _, p := range ps[i*len(ps)/width : (i+1)*len(ps)/width] {
			group = append(group, p.Value)
		}
		vs = append(vs, measure.Median(group))
	}
	lo, hi := slices.Min(vs), slices.Max(vs)
	const bars = "▁▂▃▄▅▆▇█"
	var b strings.Builder
	for _, v := range vs {
		at := 3
		if hi > lo*1.001 { // a flat line stays flat
			at = int((v - lo) / (hi - lo) * 7.999)
		}
		b.WriteRune([]rune(bars)[at])
	}
	return b.String()
}

// Write shows the trend as text.
func (t *Trend) Write(w io.Writer) error {
	ps := t.measured()
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n%s of machine %s (%s): %d runs", report.Plain(t.Case), t.Metric, t.Host, report.Plain(t.Name), len(t.Points))
	if n := len(t.Points) - len(ps); n > 0 {
		fmt.Fprintf(&b, ", %d without a value", n)
	}
	if t.Others > 0 {
		fmt.Fprintf(&b, "; %d runs of other machines are not shown (--host)", t.Others)
	}
	b.WriteString("\n")
	if len(ps) > 0 {
		var vs []float64
		for _, p := range ps {
			vs = append(vs, p.Value)
		}
		fmt.Fprintf(&b, "\n%s\n\n", t.Spark(80))
		fmt.Fprintf(&b, "first %.5g · median %.5g · last %.5g · least %.5g · most %.5g %s\n", vs[0], measure.Median(vs), vs[len(vs)-1], slices.Min(vs), slices.Max(vs), t.Unit)
		fmt.Fprintf(&b, "from %s to %s\n", report.Plain(ps[0].Created), report.Plain(ps[len(ps)-1].Created))
	}
	switch {
	case len(ps) < 2*leastSegment:
		fmt.Fprintf(&b, "change points: not looked for (%d runs; at least %d are needed)\n", len(ps), 2*leastSegment)
	case len(t.Changes) == 0:
		b.WriteString("no change point\n")
	}
	for _, c := range t.Changes {
		why := "the same software"
		if c.Software {
			why = "with other software"
		}
		fmt.Fprintf(&b, "change at run %s (%s): %.5g → %.5g %s, %+.1f %%, %s\n", report.Plain(c.RunID), report.Plain(c.Created), c.Before, c.After, t.Unit, 100*(c.Ratio-1), why)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
