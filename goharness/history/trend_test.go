package history

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"ridge/goharness/history/compare"
	"ridge/goharness/record"
)

// series of n runs: noise of sigma with lag-1 autocorrelation rho, outliers in a share of runs,
// and steps of ln value at given runs.
func series(rng *rand.Rand, n int, sigma, rho, outliers float64, steps map[int]float64) []float64 {
	xs := make([]float64, n)
	z, level := rng.NormFloat64(), 10.0
	for i := range xs {
		level += steps[i]
		z = rho*z + math.Sqrt(1-rho*rho)*rng.NormFloat64()
		xs[i] = level + sigma*z
		if rng.Float64() < outliers {
			xs[i] += 0.2 + 0.3*rng.Float64()
		}
	}
	return xs
}

func TestSteadySeriesHaveNoChangePoints(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct{ sigma, rho, outliers float64 }{{0.01, 0, 0}, {0.03, 0, 0}, {0.01, 0.3, 0}, {0.02, 0.3, 0.05}, {0, 0, 0}} {
		alarms := 0
		for range 200 {
			if len(ChangePoints(series(rng, 100, c.sigma, c.rho, c.outliers, nil))) > 0 {
				alarms++
			}
		}
		t.Logf("%+v: %d of 200 steady series have a change point", c, alarms)
		if alarms > 10 {
			t.Errorf("%+v: %d of 200 steady series have a change point, expected at most 10", c, alarms)
		}
	}
}

func TestStepsAreFoundWhereTheyAre(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, steps := range []map[int]float64{{50: 0.05}, {50: -0.05}, {30: 0.05, 60: -0.05}, {20: 0.1, 90: 0.1}} {
		found, near, more := 0, 0, 0
		for range 100 {
			got := ChangePoints(series(rng, 100, 0.01, 0, 0.03, steps))
			hits := 0
			for at := range steps {
				for _, g := range got {
					if g >= at-2 && g <= at+2 {
						hits++
					}
				}
			}
			found, near = found+len(steps), near+hits
			more += max(0, len(got)-len(steps))
		}
		t.Logf("%v: %d of %d steps within two runs, %d too many", steps, near, found, more)
		if float64(near) < 0.95*float64(found) || more > 10 {
			t.Errorf("%v: %d of %d steps within two runs, %d too many", steps, near, found, more)
		}
	}
}

func TestShortSeriesAndOutliersAreNoChange(t *testing.T) {
	if got := ChangePoints([]float64{1, 1, 1, 2, 2, 2}); got != nil {
		t.Errorf("six runs: %v", got)
	}
	xs := make([]float64, 30)
	xs[10], xs[20], xs[21] = 1, 1, 1
	if got := ChangePoints(xs); len(got) != 0 {
		t.Errorf("outliers: %v", got)
	}
}

// Long series are searched in stretches first; the places are as exact.
func TestLongSeriesAreSearchedAsWell(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for range 10 {
		got := ChangePoints(series(rng, 7003, 0.01, 0, 0.02, map[int]float64{2002: 0.05, 5011: -0.05}))
		if len(got) != 2 || got[0] < 1998 || got[0] > 2006 || got[1] < 5007 || got[1] > 5015 {
			t.Errorf("%v, expected 2002 and 5011", got)
		}
		// With more outliers six of eleven runs are bad somewhere, which is a level of its own.
		if got := ChangePoints(series(rng, 7003, 0.01, 0.3, 0.02, nil)); len(got) > 0 {
			t.Errorf("steady: %v", got)
		}
	}
}

// BenchmarkTenThousandRuns times list and trend on 10,000 runs of 300 results.
func BenchmarkTenThousandRuns(b *testing.B) {
	const runs, results = 10000, 300
	ctx := context.Background()
	s := opened(b, b.TempDir())
	rng := rand.New(rand.NewPCG(5, 6))
	if _, err := s.db.Exec("PRAGMA synchronous = OFF"); err != nil {
		b.Fatal(err)
	}
	err := s.write(ctx, func(tx *sql.Tx) error {
		for i := range results {
			if _, err := tx.Exec("INSERT INTO cases (id, name) VALUES (?, ?)", i+1, fmt.Sprintf("cpu/gemm/fp32/m=%d/threads=1/hot", i)); err != nil {
				return err
			}
		}
		run, err := tx.Prepare(`INSERT INTO runs VALUES (?, ?, ?, '2026-01-01T00:00:00Z', 'calibrate', '["ridge","calibrate"]', 'host', 'aaaa', 'bbbb', 'chip', '1', 'rev', 0, 1, 300, 'run')`)
		if err != nil {
			return err
		}
		point, err := tx.Prepare("INSERT INTO points VALUES (?, ?, 'ok', ?, ?, ?, 1, 1, NULL)")
		if err != nil {
			return err
		}
		for c := range results { // in the order of the table: faster than as they come
			for r := range runs {
				if c == 0 {
					if _, err := run.Exec(r+1, fmt.Sprintf("run-%05d", r), fmt.Sprintf("20%02d-%02d-%02dT%02d:00:00Z", 10+r/8000, r/672%12+1, r/24%28+1, r%24)); err != nil {
						return err
					}
				}
				v := 1e6 * math.Exp(0.01*rng.NormFloat64())
				if r > 6000 {
					v *= 1.05
				}
				if _, err := point.Exec(c+1, r+1, v, 0.99*v, 1.01*v); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	b.Run("list", func(b *testing.B) {
		for range b.N {
			if got, err := s.List(ctx, Filter{Limit: 30}); err != nil || len(got) != 30 {
				b.Fatal(len(got), err)
			}
		}
	})
	b.Run("list all", func(b *testing.B) {
		for range b.N {
			if got, err := s.List(ctx, Filter{}); err != nil || len(got) != runs {
				b.Fatal(len(got), err)
			}
		}
	})
	b.Run("trend", func(b *testing.B) {
		for range b.N {
			got, err := s.TrendOf(ctx, "cpu/gemm/fp32/m=150/threads=1/hot", "", compare.Time)
			if err != nil || len(got.Points) != runs || len(got.Changes) == 0 {
				b.Fatal(len(got.Points), len(got.Changes), err)
			}
		}
	})
	b.Run("drift", func(b *testing.B) {
		for range b.N {
			if d, ok, err := s.Drift(ctx, "aaaa"); err != nil || !ok || d.PerRun > 0.02 {
				b.Fatal(d, ok, err)
			}
		}
	})
}

// What a device reached beside others has a trend of its own.
func TestATrendKeepsConcurrentRunsApart(t *testing.T) {
	ctx := t.Context()
	s := opened(t, t.TempDir())
	id := ""
	for i := range 4 {
		d := sample(fmt.Sprintf("r%02d", i), fmt.Sprintf("2026-03-%02dT00:00:00Z", 1+i), 1)
		for j := range d.Results {
			r := &d.Results[j]
			if r.Status != record.OK || r.Time == nil || len(r.Arms) > 0 {
				continue
			}
			id = r.ID
			if i%2 == 1 {
				c := *r.Conditions
				c.Concurrent = []record.Concurrent{{Device: "cuda:1", Case: "x"}}
				r.Conditions = &c
			}
		}
		must[Added](t)(s.Add(ctx, d, FromRun))
	}
	for name, want := range map[string]string{id: "[r00 r02]", id + " beside cuda:1": "[r01 r03]"} {
		var runs []string
		for _, p := range must[Trend](t)(s.TrendOf(ctx, name, "", compare.Time)).Points {
			runs = append(runs, p.RunID)
		}
		if fmt.Sprint(runs) != want {
			t.Errorf("%s: %v", name, runs)
		}
	}
}

func TestTrendsAreOfOneMachineInOrder(t *testing.T) {
	ctx := t.Context()
	s := opened(t, t.TempDir())
	id := ""
	for i := range 20 {
		d := sample(fmt.Sprintf("r%02d", i), fmt.Sprintf("2026-03-%02dT00:00:00Z", 20-i), 1+0.2*float64(i/10))
		if i == 7 {
			d.Host.Name = "another"
		}
		for _, r := range d.Results {
			if r.Status == record.OK && r.Time != nil && len(r.Arms) == 0 {
				id = r.ID
			}
		}
		must[Added](t)(s.Add(ctx, d, FromRun))
	}
	tr := must[Trend](t)(s.TrendOf(ctx, id, "", compare.Time))
	if len(tr.Points) != 19 || tr.Others != 1 || tr.Points[0].RunID != "r19" {
		t.Errorf("%d points, %d others", len(tr.Points), tr.Others)
	}
	if len(tr.Changes) != 1 || tr.Changes[0].RunID != "r09" || tr.Changes[0].Ratio > 0.84 || tr.Changes[0].Ratio < 0.82 {
		t.Errorf("%+v", tr.Changes)
	}
	if s := tr.Spark(19); !strings.HasPrefix(s, "██████████▁") || len([]rune(s)) != 19 {
		t.Errorf("%q", s)
	}
	var svg bytes.Buffer
	if err := tr.Plot(&svg); err != nil || !strings.Contains(svg.String(), "<svg") {
		t.Error(err)
	}
	none := must[Trend](t)(s.TrendOf(ctx, "no such case", "", compare.Time))
	if len(none.Points) != 0 || none.Plot(&svg) == nil {
		t.Error("a case that no run has")
	}
	if got := must[[]string](t)(s.Cases(ctx, "_%", 5)); len(got) != 0 {
		t.Errorf("wild cards: %q", got)
	}
}
