package fusion

import (
	"fmt"
	"strings"
	"testing"

	"ridge/goharness/measure"
	"ridge/goharness/record"
)

// apart makes the odd shapes of a run be measured with the CPUs apart.
func apart(f record.Fusion) record.Fusion {
	for i := range f.Patterns[0].Shapes {
		f.Patterns[0].Shapes[i].BarrierNS = 100 + 110*float64(i%2)
	}
	return f
}

// What differs where the host had moved the CPUs is told apart, and misses the goals all the same.
func TestRunsWithTheCPUsPlacedOtherwiseAreCountedApart(t *testing.T) {
	near := profile("ssss", Fuse)
	for i := range near.Patterns[0].Shapes {
		near.Patterns[0].Shapes[i].BarrierNS = 105
	}
	a := Agree([]record.Fusion{near, apart(profile("smsm", Fuse))})
	if a.Pairs != [2]int{2, 2} || a.Same != [2]float64{1, 0} || a.all() != 0.5 || a.Moved != 2 || len(a.Contradicted) != 2 || a.Reached() {
		t.Errorf("%+v", a)
	}
	var b strings.Builder
	if err := a.Write(&b); err != nil || !strings.Contains(b.String(), "contradicting: shape1: strong, minimal (CPUs placed otherwise)\n") {
		t.Errorf("%v\n%s", err, b.String())
	}
	if a := Agree([]record.Fusion{near, apart(profile("mmmm", Fuse))}); len(a.Contradicted) != 4 || a.Moved != 2 || a.Reached() {
		t.Errorf("%+v", a)
	}
}

// profile makes a run of one pattern from a verdict letter per shape: s strong, m minimal, ? inconclusive, x not measured.
func profile(verdicts, recommendation string) record.Fusion {
	p := record.FusionPattern{Pattern: "P", DType: record.FP32, Mode: record.Hot, Recommendation: record.Recommendation{Verdict: recommendation}}
	for i, v := range verdicts {
		verdict := map[rune]string{'s': Strong, 'm': Minimal, '?': measure.Inconclusive, 'x': NotMeasured}[v]
		p.Shapes = append(p.Shapes, record.FusionShape{CaseID: fmt.Sprint("shape", i), Verdict: verdict})
	}
	return record.Fusion{Patterns: []record.FusionPattern{p}}
}

func TestAgreementOfRuns(t *testing.T) {
	twenty := strings.Repeat("s", 20)
	for _, c := range []struct {
		name                                 string
		runs                                 []record.Fusion
		same                                 float64
		contradicted, changed, missing, open int
		reached                              bool
	}{
		{"equal runs", []record.Fusion{profile("ssmm", Fuse), profile("ssmm", Fuse)}, 1, 0, 0, 0, 0, true},
		{"one of twenty inconclusive once", []record.Fusion{profile(twenty, Fuse), profile(twenty[1:]+"?", Fuse)}, 0.95, 0, 0, 0, 1, true},
		{"two of twenty inconclusive once", []record.Fusion{profile(twenty, Fuse), profile(twenty[2:]+"??", Fuse)}, 0.9, 0, 0, 0, 2, false},
		{"a contradiction", []record.Fusion{profile(twenty+twenty, Fuse), profile(twenty+twenty[1:]+"m", Fuse)}, 0.975, 1, 0, 0, 0, false},
		{"a contradiction beside an open one", []record.Fusion{profile("s", Fuse), profile("?", Fuse), profile("m", Fuse)}, 0, 1, 0, 0, 0, false},
		{"other recommendations", []record.Fusion{profile("sm", Fuse), profile("sm", DoNotFuse)}, 1, 0, 1, 0, 0, false},
		{"a shape that was not measured", []record.Fusion{profile("sm", Fuse), profile("sx", Fuse)}, 0.5, 0, 0, 1, 0, false},
		{"mostly inconclusive", []record.Fusion{profile("s???", Fuse), profile("s???", Fuse)}, 1, 0, 0, 0, 3, false},
		{"nothing", []record.Fusion{{}, {}}, 0, 0, 0, 0, 0, false},
	} {
		a := Agree(c.runs)
		got := fmt.Sprint(a.all(), len(a.Contradicted), len(a.Changed), len(a.Missing), len(a.Open), a.Reached())
		if want := fmt.Sprint(c.same, c.contradicted, c.changed, c.missing, c.open, c.reached); got != want {
			t.Errorf("%s: %s, want %s", c.name, got, want)
		}
		var b strings.Builder
		if err := a.Write(&b); err != nil || !strings.Contains(b.String(), "≥ 95 %") {
			t.Errorf("%s: %v, %s", c.name, err, b.String())
		}
	}
}
