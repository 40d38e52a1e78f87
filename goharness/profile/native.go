package profile

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	pprof "github.com/google/pprof/profile"

	"ridge/goharness/backend"
	"ridge/goharness/record"
)

// Rates of sampling, for each thread and second. An interrupt of a virtual machine leaves it and comes back: it takes some ten
// times as long as on a machine of its own, and half the rate keeps the cost below 1 % (docs/profiling.md).
const (
	DefaultHz = 1000
	VirtualHz = 500
)

// Rate is the one for a host where none is given.
func Rate(h record.Host) int {
	if v, ok := h.Hypervisor.Get(); ok && v != "" && v != "none" {
		return VirtualHz
	}
	return DefaultHz
}

// Capture is what was sampled of one case.
type Capture struct {
	Result  record.Result
	Arm     string   // of a comparison
	Kernels []string // of its steps
	Code    backend.CodeSamples
}

// Code is what an address belongs to.
type Code struct {
	Function string // of the symbol table
	At       Source
	Inlined  []string // functions that the compiler put into it there, the innermost first
}

// Resolver tells of an address; false where nothing is known.
type Resolver func(m backend.CodeMapping, address uint64) (Code, bool)

// Native makes a CPU profile of captures: suite → op → shape → kernel → phase → C function, with the
// real address of each sampled instruction. The innermost function alone was sampled: what it was
// called from stands for itself, not for a measured stack.
func Native(doc record.Calibration, captures []Capture, locate func(string) (Source, bool), resolve Resolver) (*pprof.Profile, error) {
	n := &native{builder: newBuilder(locate), resolve: resolve, column: map[string]int{}, mappings: map[backend.CodeMapping]*pprof.Mapping{}, addresses: map[address]*placed{}}
	n.begin(doc, captures)
	const early = "over before the first tick"
	none := map[string]int{} // measurements; a comparison has one for each visit and arm
	for _, c := range captures {
		switch {
		case c.Code.Unavailable != "":
			none[c.Code.Unavailable]++
			continue
		case !c.Result.Status.Counts():
			none[c.Result.ID+" is "+string(c.Result.Status)]++
			continue
		case len(c.Code.Samples) == 0:
			none[early]++
		}
		n.add(c)
	}
	nothing := "the cases were " + early
	if len(none) > 0 && none[early] < len(captures) {
		nothing = slices.Sorted(maps.Keys(none))[0]
	}
	never := map[string]int{} // cases that never came to be sampled
	for i := range doc.Results {
		r := &doc.Results[i]
		if r.Status.Counts() || r.Probe() || slices.ContainsFunc(captures, func(c Capture) bool { return c.Result.ID == r.ID }) {
			continue
		}
		if len(captures) == 0 {
			nothing = fmt.Sprintf("%s is %s: %s", r.ID, r.Status, r.Reason)
		}
		never["status "+string(r.Status)]++
	}
	for _, left := range []struct {
		what string
		why  map[string]int
	}{{"measurements", none}, {"cases", never}} {
		for _, why := range slices.Sorted(maps.Keys(left.why)) {
			n.p.Comments = append(n.p.Comments, fmt.Sprintf("left out: %d %s: %s", left.why[why], left.what, why))
		}
	}
	if !slices.ContainsFunc(n.p.Sample, func(s *pprof.Sample) bool { return s.Value[0] > 0 }) {
		return nil, errors.New("no instruction was sampled: " + nothing)
	}
	if err := n.p.CheckValid(); err != nil {
		return nil, fmt.Errorf("native profile of run %s: %w", doc.RunID, err)
	}
	return n.p, nil
}

// notCounted begins the comment on a hardware event of which the profile has no counts.
const notCounted = "not counted: "

// NotCounted are the hardware events that were refused to a native profile, each with why and what to do.
func NotCounted(p *pprof.Profile) []string {
	return slices.DeleteFunc(slices.Clone(p.Comments), func(c string) bool { return !strings.HasPrefix(c, notCounted) })
}

type native struct {
	*builder
	column    map[string]int // of each event in a sample's values
	resolve   Resolver
	mappings  map[backend.CodeMapping]*pprof.Mapping
	addresses map[address]*placed
}

// placed is an address with its phase.
type placed struct {
	*pprof.Location
	phase string
}

type address struct {
	mapping *pprof.Mapping
	at      uint64
}

// begin writes the head: the sample types and what the comments can say of all cases together.
func (n *native) begin(doc record.Calibration, captures []Capture) {
	p := n.p
	p.SampleType = []*pprof.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}}
	p.DefaultSampleType, p.PeriodType = "cpu", &pprof.ValueType{Type: "cpu", Unit: "nanoseconds"}
	p.TimeNanos = created(doc)
	var outside, lost int64
	refused, order := map[backend.RefusedEvent]int{}, []backend.RefusedEvent(nil)
	for _, c := range captures {
		p.Period = max(p.Period, c.Code.PeriodNS)
		p.DurationNanos += c.Code.WindowNS
		outside += c.Code.Outside
		lost += c.Code.Lost
		for _, e := range c.Code.Events {
			if _, known := n.column[e]; !known {
				n.column[e] = len(p.SampleType)
				p.SampleType = append(p.SampleType, &pprof.ValueType{Type: e, Unit: "count"})
			}
		}
		for _, r := range c.Code.Refused {
			if refused[r] == 0 {
				order = append(order, r)
			}
			refused[r]++
		}
	}
	if slices.ContainsFunc(captures, func(c Capture) bool { return c.Code.DRAMBytes > 0 }) {
		n.column[backend.DRAMBytes] = len(p.SampleType)
		p.SampleType = append(p.SampleType, &pprof.ValueType{Type: backend.DRAMBytes, Unit: "bytes"})
	}
	p.Comments = append(p.Comments,
		origin(doc),
		fmt.Sprintf("sampled every %d ns on each kernel thread, in the timed samples alone; %d ticks outside of them are left out", p.Period, outside),
		"only the innermost function is sampled; the frames above it name its case and kernel, and its phase by the function's name")
	if lost > 0 {
		p.Comments = append(p.Comments, fmt.Sprintf("%d ticks were lost: a thread did not run, or the ring was full", lost))
	}
	// Events that were refused for one reason, as often, share a line: a virtual machine without counters refuses all of them alike.
	for len(order) > 0 {
		first, events := order[0], []string(nil)
		order = slices.DeleteFunc(order, func(r backend.RefusedEvent) bool {
			alike := r.Reason == first.Reason && refused[r] == refused[first]
			if alike {
				events = append(events, r.Event)
			}
			return alike
		})
		of := ""
		if k := refused[first]; k < len(captures) {
			of = fmt.Sprintf(" in %d of %d measurements", k, len(captures))
		}
		p.Comments = append(p.Comments, notCounted+strings.Join(events, ", ")+of+": "+first.Reason)
	}
}

// add adds the samples of a case. What the memory controllers moved belongs to no instruction: it stands with the kernel.
func (n *native) add(c Capture) {
	for _, s := range c.Code.Samples {
		m := mappingOf(c.Code.Mappings, s.Address)
		leaf := n.addressed(m, s.Address)
		x := n.sample(c, append([]*pprof.Location{leaf.Location}, n.stack(caseFrames(&c.Result, c.Arm), n.kernelFrames(c.Kernels, leaf.phase))...))
		x.Value[0], x.Value[1] = s.Count, s.Count*c.Code.PeriodNS
		for i, v := range s.Events {
			x.Value[n.column[c.Code.Events[i]]] = v
		}
		x.NumLabel["thread"], x.NumUnit["thread"] = []int64{int64(s.Thread)}, []string{"count"}
	}
	if c.Code.DRAMBytes > 0 {
		x := n.sample(c, n.stack(caseFrames(&c.Result, c.Arm), n.kernelFrames(c.Kernels, "")[:1]))
		x.Value[n.column[backend.DRAMBytes]] = c.Code.DRAMBytes
	}
}

// sample adds one of a case, without values.
func (n *native) sample(c Capture, at []*pprof.Location) *pprof.Sample {
	r := &c.Result
	x := &pprof.Sample{Location: at, Value: make([]int64, len(n.p.SampleType)),
		Label: map[string][]string{"dtype": {string(r.DType)}, "mode": {r.Mode}, "device": {r.Device}, "kernel": {strings.Join(c.Kernels, " + ")}, "case": {r.ID}}}
	if c.Arm != "" {
		x.Label["arm"] = []string{c.Arm}
	}
	numbers(x, r)
	n.p.Sample = append(n.p.Sample, x)
	return x
}

func mappingOf(all []backend.CodeMapping, at uint64) backend.CodeMapping {
	i := slices.IndexFunc(all, func(m backend.CodeMapping) bool { return at >= m.Start && at < m.Limit })
	if i < 0 {
		return backend.CodeMapping{}
	}
	return all[i]
}

// addressed is the location of an instruction with the function that holds it.
func (n *native) addressed(m backend.CodeMapping, at uint64) *placed {
	to := n.mapping(m)
	key := address{to, at}
	if l := n.addresses[key]; l != nil {
		return l
	}
	name, src, phase := describe(n.resolve, m, at)
	// A compiler's copy of a function (tile.constprop.0) has no name of its own in the debug
	// information; go tool pprof -weblist finds it by an empty system name.
	system := name
	if strings.Contains(name, ".") {
		system = ""
	}
	l := &pprof.Location{ID: uint64(len(n.p.Location) + 1), Mapping: to, Address: at,
		Line: []pprof.Line{{Function: n.function(name, system, src.File, 0), Line: src.Line}}}
	n.p.Location = append(n.p.Location, l)
	n.addresses[key] = &placed{l, phase}
	return n.addresses[key]
}

func (n *native) mapping(m backend.CodeMapping) *pprof.Mapping {
	if m.File == "" {
		return nil
	}
	to := n.mappings[m]
	if to == nil {
		to = &pprof.Mapping{ID: uint64(len(n.p.Mapping) + 1), Start: m.Start, Limit: m.Limit, Offset: m.Offset, File: m.File, BuildID: m.BuildID,
			HasFunctions: true, HasFilenames: true, HasLineNumbers: true}
		n.mappings[m] = to
		n.p.Mapping = append(n.p.Mapping, to)
	}
	return to
}
