package history

import (
	"context"
	"fmt"
	"math"
	"slices"

	"ridge/goharness/history/compare"
)

const (
	leastPairs = 5  // of runs, to tell the drift
	mostPairs  = 20 // the newest
	leastCases = 5  // that a pair must have in common
)

// Drift is how much levels change from run to run of the same software on a machine, from pairs of
// runs one after the other; false when there are fewer than five pairs. Its degrees of freedom are
// the pairs: what a run's cases share is one reading. The runs that are to be compared are left out: their difference
// would count as drift and hide itself.
func (s *Store) Drift(ctx context.Context, host string, compared ...string) (compare.Drift, bool, error) {
	rows, err := s.db.QueryContext(ctx, "SELECT id, run_id, software_fingerprint, kind, quick FROM runs WHERE host_fingerprint = ? AND complete AND kind <> '"+kindVerify+"' ORDER BY created DESC, id DESC LIMIT 200", host)
	if err != nil {
		return compare.Drift{}, false, s.wrap(err)
	}
	defer rows.Close()
	// alike runs have cases in common.
	type alike struct {
		soft, kind string
		quick      bool
	}
	type run struct {
		id int64
		alike
	}
	var runs []run
	for rows.Next() {
		var r run
		var id string
		if err := rows.Scan(&r.id, &id, &r.soft, &r.kind, &r.quick); err != nil {
			return compare.Drift{}, false, s.wrap(err)
		}
		if !slices.Contains(compared, id) {
			runs = append(runs, r)
		}
	}
	if err := rows.Err(); err != nil {
		return compare.Drift{}, false, s.wrap(err)
	}
	var sum float64
	pairs := 0
	last := map[alike]run{} // the next newer run of the same software
	for _, r := range runs {
		newer, ok := last[r.alike]
		last[r.alike] = r
		if !ok || pairs >= mostPairs {
			continue
		}
		d, err := s.changes(ctx, r.id, newer.id)
		if err != nil {
			return compare.Drift{}, false, err
		}
		if len(d) < leastCases {
			continue
		}
		x := compare.SpreadOf(d)
		sum += x * x
		pairs++
	}
	if pairs < leastPairs {
		return compare.Drift{}, false, nil
	}
	perRun := math.Max(math.Sqrt(sum/float64(pairs)/2), compare.LeastDrift)
	return compare.Drift{PerRun: perRun, DoF: pairs, Source: fmt.Sprintf("%d pairs of runs of one build in the history", pairs)}, true, nil
}

// changes are ln of the ratios of two runs' times, case by case.
func (s *Store) changes(ctx context.Context, a, b int64) ([]float64, error) {
	rows, err := s.db.QueryContext(ctx, `SELECT q.median_ns / p.median_ns FROM points p JOIN points q ON q.case_id = p.case_id AND q.run = ?
		WHERE p.run = ? AND p.median_ns > 0 AND q.median_ns > 0`, b, a)
	if err != nil {
		return nil, s.wrap(err)
	}
	defer rows.Close()
	var out []float64
	for rows.Next() {
		var ratio float64
		if err := rows.Scan(&ratio); err != nil {
			return nil, s.wrap(err)
		}
		out = append(out, math.Log(ratio))
	}
	return out, s.wrap(rows.Err())
}
