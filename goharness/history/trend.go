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
)

// Point is one run's figure of a case.
type Point struct {
	RunID    string        `json:"run_id"`
	Created  string        `json:"created"`
	Software string        `json:"software_fingerprint"`
	Version  string        `json:"version"`
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
// the case. Points is empty when no run has it.
func (s *Store) TrendOf(ctx context.Context, name, host string, m compare.Metric) (Trend, error) {
	t := Trend{Case: name, Metric: m, Unit: map[compare.Metric]string{compare.Time: "ns", compare.GFLOPS: "GFLOPS", compare.GBps: "GB/s", compare.Joules: "J"}[m], Points: []Point{}, Changes: []Change{}}
	col, err := column(m)
	if err != nil {
		return t, err
	}
	rows, err := s.db.QueryContext(ctx, `SELECT r.run_id, r.created, r.software_fingerprint, r.version || ' ' || r.revision, r.host_fingerprint, r.host, p.status, p.`+col+`, p.lo_ns, p.hi_ns
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
		if err := rows.Scan(&p.RunID, &p.Created, &p.Software, &p.Version, &p.host, &p.name, &status, &v, &lo, &hi); err != nil {
			return t, s.wrap(err)
		}
		p.Status, p.Value = record.Status(status), v.Float64
		if m == compare.Time {
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
		from, to := 0, len(ps)
		if i > 0 {
			from = cuts[i-1]
		}
		if i+1 < len(cuts) {
			to = cuts[i+1]
		}
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
// of the differences of neighbours over √2, which steps hardly move.
func ChangePoints(xs []float64) []int {
	n := len(xs)
	if n < 2*leastSegment {
		return nil
	}
	diffs := make([]float64, n-1)
	for i := range diffs {
		diffs[i] = math.Abs(xs[i+1] - xs[i])
	}
	sigma := math.Max(1.4826*measure.Median(diffs)/math.Sqrt2, 1e-4)
	ys := make([]float64, n)
	for i, x := range xs {
		m := measure.Median(xs[max(0, i-5):min(n, i+6)])
		ys[i] = (math.Min(math.Max(x, m-3*sigma), m+3*sigma) - xs[0]) / sigma
	}
	return join(xs, pelt(ys, penalty*math.Log(float64(n))))
}

// pelt gives the optimal change points of a series of unit variance.
func pelt(ys []float64, beta float64) []int {
	n := len(ys)
	sum, sq := make([]float64, n+1), make([]float64, n+1)
	for i, y := range ys {
		sum[i+1], sq[i+1] = sum[i]+y, sq[i]+y*y
	}
	cost := func(a, b int) float64 {
		d := sum[b] - sum[a]
		return sq[b] - sq[a] - d*d/float64(b-a)
	}
	best, from := make([]float64, n+1), make([]int, n+1)
	best[0] = -beta
	for t := 1; t < leastSegment; t++ {
		best[t] = math.Inf(1)
	}
	candidates := []int{0}
	for t := leastSegment; t <= n; t++ {
		best[t] = math.Inf(1)
		for _, s := range candidates {
			if v := best[s] + cost(s, t) + beta; v < best[t] {
				best[t], from[t] = v, s
			}
		}
		// A start that is worse than the best by more than a change costs never wins again.
		candidates = slices.DeleteFunc(candidates, func(s int) bool { return best[s]+cost(s, t) > best[t] })
		if s := t + 1 - leastSegment; s >= leastSegment {
			candidates = append(candidates, s)
		}
	}
	var out []int
	for t := from[n]; t > 0; t = from[t] {
		out = append(out, t)
	}
	slices.Reverse(out)
	return out
}

// join leaves out changes between levels that are closer than leastStep, the smallest first.
func join(xs []float64, cuts []int) []int {
	for len(cuts) > 0 {
		least, at := leastStep, -1
		for i, c := range cuts {
			from, to := 0, len(xs)
			if i > 0 {
				from = cuts[i-1]
			}
			if i+1 < len(cuts) {
				to = cuts[i+1]
			}
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
	fmt.Fprintf(&b, "%s\n%s of machine %s (%s): %d runs", compare.Plain(t.Case), t.Metric, t.Host, compare.Plain(t.Name), len(t.Points))
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
		fmt.Fprintf(&b, "from %s to %s\n", compare.Plain(ps[0].Created), compare.Plain(ps[len(ps)-1].Created))
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
		fmt.Fprintf(&b, "change at run %s (%s): %.5g → %.5g %s, %+.1f %%, %s\n", compare.Plain(c.RunID), compare.Plain(c.Created), c.Before, c.After, t.Unit, 100*(c.Ratio-1), why)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
