package profile

import (
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	pprof "github.com/google/pprof/profile"

	"ridge/goharness/backend"
	"ridge/goharness/record"
)

// capture of a GEMM: 6 ticks in the tile, 2 in packing, 1 in the team, 1 in the kernel's page of time.
func capture(t *testing.T) (record.Calibration, Capture) {
	t.Helper()
	doc := document()
	i := 0
	for doc.Results[i].Kernel != "gemm_fp32_avx2_6x16" {
		i++
	}
	return doc, Capture{Result: doc.Results[i], Kernels: []string{doc.Results[i].Kernel}, Code: backend.CodeSamples{
		PeriodNS: 1e6, Threads: 2, WindowNS: 5e6, Outside: 3, Lost: 1, Refused: []backend.RefusedEvent{{Event: "cycles", Reason: "no counters"}},
		Mappings: []backend.CodeMapping{{Start: 0x400000, Limit: 0x500000, File: "/somewhere/ridge", BuildID: "abcd"}, {Start: 0x7000, Limit: 0x8000, File: "[vdso]"}},
		Samples: []backend.CodeSample{{Thread: 0, Address: 0x400010, Count: 4}, {Thread: 0, Address: 0x400020, Count: 2}, {Thread: 1, Address: 0x400010, Count: 2},
			{Thread: 1, Address: 0x400030, Count: 1}, {Thread: 1, Address: 0x7010, Count: 1}}}}
}

func resolver(m backend.CodeMapping, at uint64) (Code, bool) {
	switch at {
	case 0x400010:
		return Code{Function: "tile_gemm_fp32_avx2_6x16.constprop.0", At: Source{"native/gemm/gemm_fma.h", 117}}, true
	case 0x400020:
		return Code{Function: "pack_b_gemm_fp32_avx2_6x16", At: Source{"native/gemm/gemm_fma.h", 81}}, true
	case 0x400030:
		return Code{Function: "barrier", At: Source{"native/team/team_linux.c", 90}}, true
	}
	return Code{}, false
}

func TestThePhaseIsThatOfTheInnermostFunctionThatTellsOne(t *testing.T) {
	for _, tc := range []struct {
		function, file, mapped string
		inlined                []string
		want                   string
	}{
		{"tile_gemm_fp32", "native/gemm/gemm_fma.h", "ridge", nil, "compute"},
		{"ridge_gemm_fp32", "native/gemm/gemm_pack.h", "ridge", []string{"load", "pack_b_gemm_fp32"}, "pack"},
		{"tile_gemm_fp32", "native/gemm/gemm_epilogue.h", "ridge", []string{"clamp", "finish_gemm_fp32"}, "epilogue"},
		{"ridge_attention_fp32", "native/attention/attention_decode.h", "ridge", []string{"decode_join", "decode"}, "reduce"},
		{"finish_gemm_fp32", "native/gemm/gemm_pack.h", "ridge", []string{"pack_row"}, "pack"},
		{"barrier", "native/team/team_linux.c", "ridge", []string{"pack_b"}, "wait"},
		{"", "", "[vdso]", nil, "wait"},
		{"__futex_wait", "", "libc.so.6", nil, "wait"},
	} {
		if got := phaseOf(tc.function, tc.file, tc.mapped, tc.inlined); got != tc.want {
			t.Errorf("%s with %v in it: %s, want %s", tc.function, tc.inlined, got, tc.want)
		}
	}
}

func TestTheArmsOfAComparisonAreSampledApart(t *testing.T) {
	doc, c := capture(t)
	other := c
	c.Arm, other.Arm = "unfused:chain", "fused"
	other.Kernels = []string{"gemm_fp32_portable"}
	p, err := Native(doc, []Capture{c, other}, nil, resolver)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int64{}
	for _, s := range p.Sample {
		got[s.Label["arm"][0]+"/"+s.Label["kernel"][0]] += s.Value[0]
		if name := s.Location[3].Line[0].Function.Name; name != c.Result.Op+" "+s.Label["arm"][0] {
			t.Errorf("frame of the arm: %q", name)
		}
	}
	if len(got) != 2 || got["unfused:chain/gemm_fp32_avx2_6x16"] != 10 || got["fused/gemm_fp32_portable"] != 10 {
		t.Errorf("%v", got)
	}
}

func TestNativeSamplesStandUnderTheirCaseKernelAndPhase(t *testing.T) {
	doc, c := capture(t)
	p, err := Native(doc, []Capture{c}, sources(t).Locate, resolver)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]int64{"compute/tile_gemm_fp32_avx2_6x16.constprop.0": 6, "pack/pack_b_gemm_fp32_avx2_6x16": 2, "wait/barrier": 1, "wait/[vdso]": 1}
	got := map[string]int64{}
	for _, s := range p.Sample {
		_, phase, _ := strings.Cut(s.Location[1].Line[0].Function.Name, " ")
		got[phase+"/"+s.Location[0].Line[0].Function.Name] += s.Value[0]
		if s.Value[1] != s.Value[0]*1e6 {
			t.Errorf("%d samples are %d ns", s.Value[0], s.Value[1])
		}
		if len(s.Location) != 6 || s.Label["case"][0] != c.Result.ID {
			t.Errorf("a stack of %d frames, labels %v", len(s.Location), s.Label)
		}
	}
	for k, n := range want {
		if got[k] != n {
			t.Errorf("%s has %d samples, want %d", k, got[k], n)
		}
	}
	text := strings.Join(p.Comments, "\n")
	for _, w := range []string{"3 ticks outside", "1 ticks were lost", "not counted: cycles: no counters"} {
		if !strings.Contains(text, w) {
			t.Errorf("comments lack %q:\n%s", w, text)
		}
	}
	if p.Mapping[0].BuildID != "abcd" || p.Sample[0].Location[0].Address != 0x400010 {
		t.Errorf("mapping %+v, address %#x", p.Mapping[0], p.Sample[0].Location[0].Address)
	}
	if f := p.Sample[0].Location[0].Line[0].Function; f.SystemName != "" || p.Sample[1].Location[0].Line[0].Function.SystemName != "pack_b_gemm_fp32_avx2_6x16" {
		t.Errorf("-weblist would look for %q, which the debug information does not have", f.SystemName)
	}
}

// A worker that is started anew lies elsewhere in memory, where an address is another instruction's.
func TestAnAddressBelongsToTheMappingOfItsMeasurement(t *testing.T) {
	doc, c := capture(t)
	other := c
	file := func(name string) []backend.CodeMapping {
		return []backend.CodeMapping{{Start: 0x400010, Limit: 0x400020, File: name}}
	}
	c.Code.Mappings, other.Code.Mappings = file("/one/ridge"), file("/other/ridge")
	p, err := Native(doc, []Capture{c, other}, nil, resolver)
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int64{}
	for _, s := range p.Sample {
		if m := s.Location[0].Mapping; m == nil {
			count["none"] += s.Value[0]
		} else {
			count[m.File] += s.Value[0]
		}
	}
	if want := map[string]int64{"/one/ridge": 6, "/other/ridge": 6, "none": 8}; !maps.Equal(count, want) { // the limit itself is beyond
		t.Errorf("ticks by mapping: %v, want %v", count, want)
	}
	if text := strings.Join(p.Comments, "\n"); p.DurationNanos != 1e7 || !strings.Contains(text, "6 ticks outside") || !strings.Contains(text, "2 ticks were lost") {
		t.Errorf("%d ns; comments %s", p.DurationNanos, text)
	}
}

func TestEventsAreSampleTypesWhereTheyAreCounted(t *testing.T) {
	doc, c := capture(t)
	c.Code.Events, c.Code.Refused = []string{"cycles", "instructions"}, nil
	for i := range c.Code.Samples {
		c.Code.Samples[i].Events = []int64{100, 300}
	}
	other := c // a case on a machine where they could not be counted has 0
	other.Code.Events, other.Code.Samples = nil, []backend.CodeSample{{Address: 0x400010, Count: 1}}
	p, err := Native(doc, []Capture{c, other}, nil, resolver)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.SampleType) != 4 || p.SampleType[2].Type != "cycles" || p.SampleType[3].Unit != "count" {
		t.Fatalf("sample types %v", p.SampleType)
	}
	if v := p.Sample[0].Value; v[2] != 100 || v[3] != 300 {
		t.Errorf("values %v", v)
	}
	if v := p.Sample[len(p.Sample)-1].Value; v[2] != 0 || v[3] != 0 {
		t.Errorf("values %v of a case without events", v)
	}
}

// A case in which one of the events was refused keeps the others in their columns.
func TestTheCountsOfAnEventStandInItsColumnWhicheverOthersWereRefused(t *testing.T) {
	doc, c := capture(t)
	few, more := c, c
	why := backend.RefusedEvent{Event: "cycles", Reason: "taken"}
	few.Code.Events, few.Code.Refused = []string{"instructions"}, []backend.RefusedEvent{why}
	few.Code.Samples = []backend.CodeSample{{Address: 0x400010, Count: 1, Events: []int64{30}}}
	more.Code.Events, more.Code.Refused = []string{"cycles", "llc_misses"}, nil
	more.Code.Samples = []backend.CodeSample{{Address: 0x400010, Count: 1, Events: []int64{7, 2}}}
	p, err := Native(doc, []Capture{few, more}, nil, resolver)
	if err != nil {
		t.Fatal(err)
	}
	var types []string
	for _, x := range p.SampleType {
		types = append(types, x.Type)
	}
	if want := []string{"samples", "cpu", "instructions", "cycles", "llc_misses"}; !slices.Equal(types, want) {
		t.Fatalf("sample types %v, want %v", types, want)
	}
	if a, b := p.Sample[0].Value[2:], p.Sample[1].Value[2:]; !slices.Equal(a, []int64{30, 0, 0}) || !slices.Equal(b, []int64{0, 7, 2}) {
		t.Errorf("values %v and %v", a, b)
	}
	if got := NotCounted(p); len(got) != 1 || got[0] != "not counted: cycles in 1 of 2 measurements: taken" {
		t.Errorf("%q", got)
	}
}

// Events share a line where one reason refused them in as many programs, and only there.
func TestEventsRefusedAlikeShareALine(t *testing.T) {
	doc, c := capture(t)
	refuse := func(event, reason string) backend.RefusedEvent {
		return backend.RefusedEvent{Event: event, Reason: reason}
	}
	few, more := c, c
	few.Code.Refused = []backend.RefusedEvent{refuse("cycles", "none"), refuse("llc_misses", "taken"), refuse("instructions", "none"), refuse("branches", "none")}
	more.Code.Refused = []backend.RefusedEvent{refuse("cycles", "none"), refuse("instructions", "none")}
	p, err := Native(doc, []Capture{few, more}, nil, resolver)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"not counted: cycles, instructions: none", "not counted: llc_misses in 1 of 2 measurements: taken", "not counted: branches in 1 of 2 measurements: none"}
	if got := NotCounted(p); !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// The memory controllers' bytes are of a whole case: no instruction has them, and alone they make no profile.
func TestDRAMBytesStandWithTheKernel(t *testing.T) {
	doc, c := capture(t)
	c.Code.Events = []string{"cycles"}
	c.Code.Samples = []backend.CodeSample{{Address: 0x400010, Count: 3, Events: []int64{7}}}
	counted := c
	counted.Code.DRAMBytes, counted.Arm = 640, "fused"
	p, err := Native(doc, []Capture{c, counted}, nil, resolver)
	if err != nil {
		t.Fatal(err)
	}
	if x := p.SampleType; len(x) != 4 || x[3].Type != backend.DRAMBytes || x[3].Unit != "bytes" {
		t.Fatalf("sample types %v", x)
	}
	last := p.Sample[len(p.Sample)-1]
	if len(p.Sample) != 3 || !slices.Equal(last.Value, []int64{0, 0, 0, 640}) || last.Location[0].Line[0].Function.Name != c.Kernels[0] || last.Label["arm"][0] != "fused" {
		t.Errorf("%d samples, %+v", len(p.Sample), last)
	}
	counted.Code.Samples = nil
	if _, err := Native(doc, []Capture{counted}, nil, resolver); err == nil {
		t.Error("a profile without a tick")
	}
}

func TestANativeProfileWithoutSamplesSaysWhy(t *testing.T) {
	doc, c := capture(t)
	cannot, none, unsupported := c, c, c.Result
	cannot.Code = backend.CodeSamples{Unavailable: "device cuda:0 cannot tell"}
	none.Code.Samples = nil
	unsupported.ID, unsupported.Status, unsupported.Reason = "cpu/gemm/fp32/m=1,n=2,k=3/threads=1/cold", record.Unsupported, "mode cold: choose a larger shape"
	for _, tc := range []struct {
		name     string
		results  []record.Result
		captures []Capture
		want     string
	}{
		{"a device that cannot tell", doc.Results, []Capture{cannot}, "sampled: device cuda:0 cannot tell"},
		{"no tick", doc.Results, []Capture{none}, "over before the first tick"},
		{"a case that was refused", []record.Result{unsupported}, nil, unsupported.ID + " is unsupported: mode cold: choose a larger shape"},
		{"no tick, and a case that was refused", []record.Result{c.Result, unsupported}, []Capture{none}, "over before the first tick"},
	} {
		doc.Results = tc.results
		if _, err := Native(doc, tc.captures, nil, resolver); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: error %v, want %q", tc.name, err, tc.want)
		}
	}
	doc.Results = []record.Result{c.Result, unsupported}
	p, err := Native(doc, []Capture{c, none, cannot, cannot}, nil, resolver)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"left out: 1 cases: status unsupported", "left out: 1 measurements: over before the first tick", "left out: 2 measurements: device cuda:0 cannot tell"} {
		if !slices.Contains(p.Comments, want) {
			t.Errorf("beside a sampled case: %q, want %q", p.Comments, want)
		}
	}
}

func TestComparedProfilesShowWhatChanged(t *testing.T) {
	old := build(t, document())
	doc := document()
	changed := ""
	for i := range doc.Results {
		switch r := &doc.Results[i]; {
		case r.Kernel == "gemm_fp32_avx2_6x16" && changed == "":
			r.Time.MedianNS *= 2
			changed = r.ID
		case r.Kernel == "gemm_int8_avx2_4x16":
			r.Kernel = "gemm_int8_avx2_6x16"
		}
	}
	c, err := Compare(old, build(t, doc))
	if err != nil {
		t.Fatal(err)
	}
	if k := c.Changes[0]; k.Kernel != "gemm_fp32_avx2_6x16" || k.Ratio < 1.9 || k.NewLost-k.OldLost != k.NewNS-k.OldNS {
		t.Errorf("first change %+v", k)
	}
	if len(c.Switches) != 1 || c.Switches[0].New != "gemm_int8_avx2_6x16" {
		t.Errorf("switches %+v", c.Switches)
	}
	if slices.ContainsFunc(c.Changes, func(k Change) bool { return strings.HasPrefix(k.Kernel, "gemm_int8") }) {
		t.Errorf("a case that another kernel answers counts as a change of the old one: %+v", c.Changes)
	}
	c.Switches[0].NewNS = 2 * c.Switches[0].OldNS
	if got := c.Slower(0.03); len(got) != 2 || !strings.Contains(got[1], "takes 2.000 times as long with gemm_int8_avx2_6x16") {
		t.Errorf("slower: %q", got)
	}
	same, err := Compare(old, old)
	if err != nil || len(same.Slower(0)) != 0 {
		t.Errorf("a profile against itself: %v %v", same.Slower(0), err)
	}
	d, err := Difference(old, build(t, doc))
	if err != nil {
		t.Fatal(err)
	}
	var sum int64
	for _, s := range d.Sample {
		sum += s.Value[1]
	}
	if sum != c.Changes[0].NewNS-c.Changes[0].OldNS {
		t.Errorf("the difference sums to %d ns, want %d", sum, c.Changes[0].NewNS-c.Changes[0].OldNS)
	}
}

// With --no-ceilings nothing is over a roofline: the other profile lost no more for that.
func TestTheTimeOverARooflineThatOneProfileDoesNotKnowIsNotCompared(t *testing.T) {
	old, fresh := document(), document()
	kernel, known := "gemm_fp32_avx2_6x16", 0
	for i := range old.Results {
		if r := &old.Results[i]; r.Kernel == kernel && r.Status.Counts() {
			if known++; known == 1 {
				r.Ceiling = nil
			}
			fresh.Results[i].Time.MedianNS *= 2
		}
	}
	check := func(cases int, want string) {
		t.Helper()
		c, err := Compare(build(t, old), build(t, fresh))
		if err != nil {
			t.Fatal(err)
		}
		k := c.Changes[slices.IndexFunc(c.Changes, func(k Change) bool { return k.Kernel == kernel })]
		var text strings.Builder
		if err := c.Write(&text, 0.03); err != nil {
			t.Fatal(err)
		}
		_, row, _ := strings.Cut(text.String(), "\n"+kernel)
		if row, _, _ = strings.Cut(row, "\n"); k.Known != cases || !strings.HasSuffix(strings.Join(strings.Fields(row), " "), want) {
			t.Errorf("%+v, want %d cases; %q, want %q", k, cases, row, want)
		}
	}
	check(1, "4.234 µs 13.234 µs") // the case of m=64 alone
	for i := range old.Results {
		old.Results[i].Ceiling = nil
	}
	check(0, "2.000 - -")
}

func TestADocumentWithoutKernelsSaysWhatIsExpected(t *testing.T) {
	failed := document()
	for i := range failed.Results {
		failed.Results[i].Status = record.Crashed
	}
	for want, doc := range map[string]record.Calibration{"expected a calibration document": {RunID: "of fusion"}, "is a verified and timed kernel; left out: 6 results: probes": failed} {
		if _, err := Calibration(doc, Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// Values that a document from elsewhere may hold: their totals would be negative, and one alone not what it says.
func TestValuesThatAddUpToTooMuchAreRefused(t *testing.T) {
	for _, tc := range []struct {
		want string
		set  func(*record.Result)
	}{
		{DeviceTime, func(r *record.Result) { r.Time.MedianNS = 1e19 }},
		{FLOP, func(r *record.Result) { r.FLOPs = math.MaxInt64 }},
		{Energy, func(r *record.Result) { r.Energy = &record.Energy{Joules: 1e300, WindowNS: 1e9, Launches: 1} }},
	} {
		all, one := document(), document()
		tc.set(&one.Results[0])
		for i := range all.Results {
			if r := &all.Results[i]; r.Time != nil && len(r.Arms) == 0 {
				tc.set(r)
			}
		}
		for _, doc := range []record.Calibration{all, one} {
			if _, err := Calibration(doc, Options{}); err == nil || !strings.Contains(err.Error(), tc.want+" adds up to more than") {
				t.Errorf("%s: %v", tc.want, err)
			}
		}
	}
	p := build(t, document())
	for _, s := range p.Sample {
		s.Value[1] = math.MinInt64
	}
	if _, err := Compare(build(t, document()), p); err == nil || !strings.Contains(err.Error(), "new profile: "+DeviceTime+" adds up") {
		t.Errorf("--diff: %v", err)
	}
}

func TestCasesOfOneProfileAloneAreNamedAndNotJudged(t *testing.T) {
	whole, part := document(), document()
	gone := part.Results[0].ID
	part.Results = part.Results[1:]
	for _, tc := range []struct {
		name             string
		old, fresh       *pprof.Profile
		onlyOld, onlyNew []string
		line             string
	}{
		{"gone", build(t, whole), build(t, part), []string{gone}, nil, "only in the old profile: 1 case, " + gone},
		{"new", build(t, part), build(t, whole), nil, []string{gone}, "only in the new profile: 1 case, " + gone},
	} {
		c, err := Compare(tc.old, tc.fresh)
		if err != nil {
			t.Fatalf("%s: %v", tc.name, err)
		}
		if !slices.Equal(c.OnlyOld, tc.onlyOld) || !slices.Equal(c.OnlyNew, tc.onlyNew) {
			t.Errorf("%s: only in the old %q, in the new %q", tc.name, c.OnlyOld, c.OnlyNew)
		}
		if got := c.Slower(0); len(got) > 0 {
			t.Errorf("%s: slower: %q", tc.name, got)
		}
		var text strings.Builder
		if err := c.Write(&text, 0.03); err != nil || !strings.Contains(text.String(), tc.line) {
			t.Errorf("%s: %v in\n%s", tc.name, err, text.String())
		}
	}
	part.Results = part.Results[:1]
	whole.Results = whole.Results[:1]
	if c, err := Compare(build(t, whole), build(t, part)); err == nil {
		t.Errorf("nothing in common: %+v", c)
	}
}

// Bytes that only one of two runs could count are in no difference; all else is.
func TestTheDifferenceHoldsWhatBothProfilesHave(t *testing.T) {
	doc := document()
	known := record.Known(123456.0, "counters")
	for i := range doc.Results {
		if r := &doc.Results[i]; r.Energy != nil && r.Energy.Joules > 0 {
			r.Energy.MeasuredBytes = &known
		}
	}
	plain, counted := build(t, document()), build(t, doc)
	for _, two := range [][2]*pprof.Profile{{plain, counted}, {counted, plain}} {
		d, err := Difference(two[0], two[1])
		if err != nil {
			t.Fatal(err)
		}
		if len(d.SampleType) != 6 || d.DefaultSampleType != DeviceTime {
			t.Errorf("sample types %v, default %s", d.SampleType, d.DefaultSampleType)
		}
	}
	if len(counted.SampleType) != 7 {
		t.Error("the profiles themselves were changed")
	}
}

func TestAVirtualMachineIsSampledLessOften(t *testing.T) {
	for _, tc := range []struct {
		at   record.Fact[string]
		want int
	}{{record.Known("kvm", "cpuid"), VirtualHz}, {record.Known("none", "cpuid"), DefaultHz}, {record.Unknown[string]("no cpuid"), DefaultHz}} {
		if got := Rate(record.Host{Hypervisor: tc.at}); got != tc.want {
			t.Errorf("%+v: %d Hz, want %d", tc.at, got, tc.want)
		}
	}
}
