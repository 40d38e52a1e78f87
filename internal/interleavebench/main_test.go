package main

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"ridge/goharness/history/compare"
	"ridge/goharness/record"
)

// The tables of Clopper and Pearson's intervals at 95 %.
func TestBinomialIntervals(t *testing.T) {
	for _, c := range []struct {
		k, n   int
		lo, hi float64
	}{{0, 10, 0, 0.3085}, {10, 10, 0.6915, 1}, {5, 10, 0.1871, 0.8129}, {0, 360, 0, 0.0102}, {1, 20, 0.0013, 0.2487}} {
		if lo, hi := binomial(c.k, c.n); math.Abs(lo-c.lo) > 1e-4 || math.Abs(hi-c.hi) > 1e-4 {
			t.Errorf("%d of %d: %.4f to %.4f, expected %.4f to %.4f", c.k, c.n, lo, hi, c.lo, c.hi)
		}
	}
}

// trials are cases of one comparison.
func trials(outcomes ...compare.Outcome) []tried {
	var out []tried
	for i, o := range outcomes {
		out = append(out, tried{ID: next(0, len(shapes))[i], Outcome: o, Ratio: 1 + float64(i)/100, Rounds: 12, Spread: .02})
	}
	return out
}

func TestFiguresAddUpTheLog(t *testing.T) {
	var b strings.Builder
	err := figures(&b, []entry{{Kind: kinds[0], Seconds: 10, Cases: trials(compare.Same, compare.Same, compare.Same, compare.Faster)},
		{Kind: kinds[1], Cases: trials(compare.Slower, compare.Slower)}, {Kind: kinds[0], Seconds: 20, Cases: trials(compare.Ambiguous, compare.Same)}})
	for _, want := range []string{"2 comparisons of 6 cases in all, median 15.0 s and 12 rounds", "0 of 6 (0.0 %", "1 of 6 (16.7 %", "1 of 2 (50.0 %", "2 of 2 (100.0 %",
		"m=64,n=64,k=64/threads=1/hot                         0 slower, 0 faster of 2; median ratio 1.000, rounds differ by 2.0 %"} {
		if err != nil || !strings.Contains(b.String(), want) {
			t.Errorf("%v, no %q in\n%s", err, want, b.String())
		}
	}
}

func TestCasesAreWellFormedAndTakenInTurn(t *testing.T) {
	seen := map[string]int{}
	for n := range 5 {
		for _, id := range next(n, 4) {
			if _, err := record.ParseCaseID(id); err != nil {
				t.Errorf("%s: %v", id, err)
			}
			seen[id]++
		}
	}
	for id, n := range seen {
		if n != 2 || len(seen) != len(shapes) {
			t.Errorf("%s %d times of 20, of %d cases", id, n, len(seen))
		}
	}
}

// fake is a ridge whose comparison takes some seconds, and by the bench's clock 10 minutes.
func fake(t *testing.T, seconds string) bench {
	t.Helper()
	dir := t.TempDir()
	script := "#!/bin/sh\ntrap 'kill $!; exit 3' INT\nsleep " + seconds + ` >/dev/null 2>&1 & wait
echo '{"cases":[{"id":"cpu/x","outcome":"same","ratio":1,"rounds":[1,1.02,0.98,1,1,1,1,1,1,1,1,1]}]}'
echo >>"$0.ended"
`
	if err := os.WriteFile(filepath.Join(dir, "ridge"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	now := func() time.Time {
		ended, _ := os.ReadFile(filepath.Join(dir, "ridge.ended"))
		return time.Unix(1e9, 0).Add(time.Duration(len(ended)) * 10 * time.Minute)
	}
	return bench{ridge: filepath.Join(dir, "ridge"), worker: "w", log: filepath.Join(dir, "log"), cases: 4, rounds: 48, now: now}
}

func TestComparisonsAreAddedWhileAWholeOneHasTime(t *testing.T) {
	b := fake(t, "0")
	var out strings.Builder
	b.out, b.most = &out, 65*time.Minute // of 48 rounds one would take 40 minutes, which are left after the second and not after the third
	if err := b.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	all, old, err := read(b.log)
	if err != nil || old != 0 || len(all) != 3 {
		t.Fatalf("%d comparisons and %d old ones, %v:\n%s", len(all), old, err, out.String())
	}
	if n := strings.Count(out.String(), "1 same, after 12 rounds in "); n != len(all) || all[1].Kind != kinds[1] || all[0].Cases[0].Spread < .005 {
		t.Errorf("%d lines for %d comparisons, %+v:\n%s", n, len(all), all[0], out.String())
	}
	for _, want := range []string{"no comparison is started any more: 35m0s are left and one may take 40m0s", "a build with itself: ", "5 % more work: "} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
}

func TestAComparisonThatTakesTooLongIsCutOffAndNotCounted(t *testing.T) {
	b := fake(t, "600")
	var out strings.Builder
	b.out, b.most = &out, 300*time.Millisecond
	began := time.Now()
	err := b.run(t.Context())
	if all, _, _ := read(b.log); err != nil || len(all) != 0 || !strings.Contains(out.String(), "cut off, not counted") || time.Since(began) > time.Minute {
		t.Errorf("%v, %d comparisons, after %v:\n%s", err, len(all), time.Since(began), out.String())
	}
}

func TestLinesOfAnEarlierMethodAreCountedAndLeftOut(t *testing.T) {
	b := fake(t, "0")
	var out strings.Builder
	b.out = &out
	if err := os.WriteFile(b.log, []byte(`{"kind":"a build with itself","counts":{"same":10}}`+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := b.run(t.Context()); err != nil || !strings.Contains(out.String(), "1 comparisons of an earlier method") || strings.Contains(out.String(), "with itself: ") {
		t.Errorf("%v:\n%s", err, out.String())
	}
	if err := os.WriteFile(b.log, []byte("{\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := b.run(t.Context()); err == nil || !strings.Contains(err.Error(), "line 1") {
		t.Errorf("a damaged line: %v", err)
	}
}
