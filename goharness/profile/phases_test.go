package profile

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"ridge/goharness/backend"
	"ridge/goharness/record"
)

// phased is the document's GEMM alone, of which 60 ticks were sampled: 36 in the tile, 12 in packing, 12 waiting.
func phased(t *testing.T) (record.Calibration, Options) {
	t.Helper()
	doc, c := capture(t)
	doc.Results = []record.Result{c.Result}
	for i := range c.Code.Samples {
		c.Code.Samples[i].Count *= 6
	}
	return doc, Options{Ticks: Phases([]Capture{c}, resolver)}
}

func TestTheTimeOfASampledProgramIsPartedByItsPhases(t *testing.T) {
	doc, o := phased(t)
	doc.Results[0].Time.MedianNS = 1001
	doc.Results[0].Ceiling = &record.ResultCeiling{FloorNS: 901}
	p, err := Calibration(doc, o)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	var sum, times int64
	for _, s := range p.Sample {
		names = append(names, s.Location[0].Line[0].Function.Name)
		sum += s.Value[1]
		times += s.Value[0]
		if phase := s.Label["phase"]; len(phase) == 0 {
			if want := []int64{1, 0, 2000, doc.Results[0].FLOPs, doc.Results[0].Bytes, 100}; !slices.Equal(s.Value, want) {
				t.Errorf("of the whole kernel: %v, want %v", s.Value, want)
			}
		} else if s.Location[1] != p.Sample[0].Location[0] || s.Value[0]+s.Value[2]+s.Value[3]+s.Value[4]+s.Value[5] != 0 {
			t.Errorf("phase %v: %v under %v", phase, s.Value, s.Location[1].Line[0].Function.Name)
		}
	}
	k := doc.Results[0].Kernel
	if want := []string{k, k + " pack", k + " compute", k + " wait"}; !slices.Equal(names, want) || sum != 1001 || times != 1 {
		t.Errorf("%q, %d ns, %d launches", names, sum, times)
	}
	// 12, 36 and 12 of 60 ticks of 1001 ns, the sums rounded.
	if a, b, c := p.Sample[1].Value[1], p.Sample[2].Value[1], p.Sample[3].Value[1]; a != 200 || b != 601 || c != 200 {
		t.Errorf("pack %d, compute %d, wait %d ns", a, b, c)
	}
	if text := strings.Join(p.Comments, "\n"); !strings.Contains(text, "the time of 1 of 1 programs is parted by 60 ticks") {
		t.Error(text)
	}
	var top bytes.Buffer
	if err := WriteTop(&top, p, 5); err != nil || !strings.Contains(top.String(), "100 ns") || !strings.Contains(top.String(), "1.001 µs") {
		t.Errorf("%v:\n%s", err, top.String())
	}
}

// Profiles with and without phases compare, launch by launch.
func TestAProfileWithPhasesComparesWithOneWithout(t *testing.T) {
	doc, o := phased(t)
	with, err := Calibration(doc, o)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := Calibration(doc, Options{})
	if err != nil {
		t.Fatal(err)
	}
	c, err := Compare(plain, with)
	if err != nil || len(c.Changes) != 1 || c.Changes[0].Cases != 1 || c.Changes[0].OldNS != c.Changes[0].NewNS || c.Changes[0].OldLost != c.Changes[0].NewLost {
		t.Errorf("%+v, %v", c, err)
	}
	twice := with.Copy()
	twice.Sample = append(twice.Sample, twice.Sample[1])
	if _, err := Compare(plain, twice); err == nil || !strings.Contains(err.Error(), "twice") {
		t.Errorf("a phase that is there twice: %v", err)
	}
}

// Few ticks, a program without symbols and one that could not be sampled tell no phases.
func TestPhasesThatAreNotKnownAreNotShown(t *testing.T) {
	doc, c := capture(t)
	doc.Results = []record.Result{c.Result}
	many, few := c, c
	many.Code.Samples = []backend.CodeSample{{Address: 0x400010, Count: 500}}
	few.Code.Samples = []backend.CodeSample{{Address: 0x400010, Count: leastTicks - 1}}
	for name, x := range map[string]struct {
		c       Capture
		resolve Resolver
	}{
		"few ticks":    {few, resolver},
		"stripped":     {many, func(backend.CodeMapping, uint64) (Code, bool) { return Code{}, false }},
		"not possible": {Capture{Result: c.Result, Code: backend.CodeSamples{Unavailable: "no timer"}}, resolver},
	} {
		p, err := Calibration(doc, Options{Ticks: Phases([]Capture{x.c}, x.resolve)})
		if err != nil || len(p.Sample) != 1 || !strings.HasSuffix(p.Sample[0].Location[0].Line[0].Function.Name, " compute") || !strings.Contains(p.Comments[2], "not timed") {
			t.Errorf("%s: %v, %v", name, p, err)
		}
	}
}
