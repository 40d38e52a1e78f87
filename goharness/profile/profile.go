// Package profile turns measurements into pprof profiles (github.com/google/pprof): what the
// cases of a calibration cost in time, energy, FLOP and bytes, and where the time lost against
// the ceilings lies (Calibration); which instructions of the native kernels the time goes to
// (Native); and which kernels changed between two runs (Diff). go tool pprof reads the files.
package profile

import (
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	pprof "github.com/google/pprof/profile"

	"ridge/goharness/measure"
	"ridge/goharness/record"
)

// The sample types of a profile of a calibration, in the file's order. Every result counts once,
// as one launch at its median time (the arms of a comparison at the times of their ratio), so that two profiles compare launch by launch however long
// each case was measured.
const (
	Launches         = "launches"           // count
	DeviceTime       = "device_time"        // nanoseconds, the default
	Energy           = "energy"             // microjoules
	FLOP             = "flop"               // count
	Bytes            = "bytes"              // bytes
	TimeOverRoofline = "time_over_roofline" // nanoseconds above the floor that the ceilings allow
	// MeasuredBytes is there where counters of the memory controllers saw a launch's traffic with DRAM.
	MeasuredBytes = "measured_bytes"
)

// roofline is the label of samples without a ceiling, whose 0 over it says nothing.
const roofline = "roofline"

// Options of Calibration.
type Options struct {
	// Locate finds the source of a kernel; nil: no frame has one.
	Locate func(kernel string) (Source, bool)
	// Ticks of a case and, of a comparison, an arm by phase (see Phases); nil: nothing is known of phases.
	Ticks func(id, arm string) Ticks
}

// Source is a line of a file; the path is relative to the module.
type Source struct {
	File string
	Line int64
}

// Calibration makes the profile of a document's results: suite → op → shape → kernel → phase. Only
// verified and timed results that rate a kernel are in it; the comments count what is left out.
//
// Where enough ticks tell the phases of a program, its time is parted among them by their shares. All else is known of the
// whole kernel alone and stays with its frame. Other programs have the one phase "compute".
func Calibration(doc record.Calibration, o Options) (*pprof.Profile, error) {
	b := newBuilder(o.Locate)
	b.ticks = o.Ticks
	b.p.SampleType = []*pprof.ValueType{{Type: Launches, Unit: "count"}, {Type: DeviceTime, Unit: "nanoseconds"},
		{Type: Energy, Unit: "microjoules"}, {Type: FLOP, Unit: "count"}, {Type: Bytes, Unit: "bytes"},
		{Type: TimeOverRoofline, Unit: "nanoseconds"}}
	if b.measured = anyMeasured(&doc); b.measured {
		b.p.SampleType = append(b.p.SampleType, &pprof.ValueType{Type: MeasuredBytes, Unit: "bytes"})
	}
	b.p.DefaultSampleType = DeviceTime
	b.p.TimeNanos = created(doc)
	if s := doc.Summary.WallSeconds; s > 0 && s < math.MaxInt64/1e9 {
		b.p.DurationNanos = int64(math.Round(s * 1e9))
	}
	// All functions and lines are in the file: pprof need not look for a binary.
	b.p.Mapping = []*pprof.Mapping{{ID: 1, File: "ridge", HasFunctions: true, HasFilenames: true, HasLineNumbers: true}}
	c := counts{left: map[string]int{}, noEnergy: map[string]int{}}
	programs, err := programLimits(&doc)
	if err != nil {
		return nil, fmt.Errorf("profile of run %s: %w", doc.RunID, err)
	}
	for i := range doc.Results {
		b.result(&doc.Results[i], programs[doc.Results[i].ID], &c)
	}
	b.p.Comments = c.comments(doc)
	for _, l := range b.p.Location {
		l.Mapping = b.p.Mapping[0]
	}
	if err := b.p.CheckValid(); err != nil {
		return nil, fmt.Errorf("profile of run %s: %w", doc.RunID, err)
	}
	if err := fits(b.p); err != nil {
		return nil, fmt.Errorf("profile of run %s: %w", doc.RunID, err)
	}
	if len(doc.Results) == 0 {
		return nil, fmt.Errorf("profile of run %s: it has no results, as a fusion profile by itself: expected a calibration document", doc.RunID)
	}
	if len(b.p.Sample) == 0 {
		return nil, fmt.Errorf("profile of run %s: none of its %d results is a verified and timed kernel; %s", doc.RunID, len(doc.Results), strings.Join(c.leftOut(), "; "))
	}
	return b.p, nil
}

// programLimits are the least times in ns of the two programs of each comparison, by its case: that of each of their steps at
// the measured ceilings, and a launch for each. 0 where a ceiling was not measured.
func programLimits(doc *record.Calibration) (map[string][2]float64, error) {
	profiles, err := record.FusionProfiles(doc)
	if err != nil {
		return nil, err
	}
	out := map[string][2]float64{}
	for _, f := range profiles {
		for _, p := range f.Patterns {
			for _, s := range p.Shapes {
				if s.UnfusedLimit != nil && s.FusedLimit != nil {
					out[s.CaseID] = [2]float64{s.UnfusedLimit.TimeNS(), s.FusedLimit.TimeNS()}
				}
			}
		}
	}
	return out, nil
}

// origin says which run on what a profile is of.
func origin(doc record.Calibration) string {
	out := fmt.Sprintf("ridge %s, run %s of %s on %s", doc.Tool.Version, doc.RunID, doc.Created, doc.Host.CPU.Model)
	for _, d := range doc.Devices {
		if d.ID != "cpu" {
			out += fmt.Sprintf(", %s %s", d.ID, d.Name)
		}
	}
	return out
}

// created is when the document's run began, in nanoseconds since 1970; 0 when unknown.
func created(doc record.Calibration) int64 {
	at, err := time.Parse(time.RFC3339, doc.Created)
	if err != nil {
		return 0
	}
	return at.UnixNano()
}

// Write writes the profile in pprof's compressed form. Equal profiles give equal bytes.
func Write(w io.Writer, p *pprof.Profile) error { return p.Write(w) }

// counts what the samples do not say.
type counts struct {
	samples, noCeiling, beyond int
	parted, ticks              int64          // samples whose time is parted by phases, and by how many ticks
	left                       map[string]int // results left out, by reason
	noEnergy                   map[string]int // samples without energy, by reason
}

func (c *counts) comments(doc record.Calibration) []string {
	phases := "phases inside kernels are not timed: each kernel has the one phase compute (ridge profile --native samples inside)"
	if c.parted > 0 {
		phases = fmt.Sprintf("phases: the time of %d of %d programs is parted by %d ticks of their threads, sampled after the measurement; wait is the team at its barriers; the others have the one phase compute",
			c.parted, c.samples, c.ticks)
	}
	out := []string{
		origin(doc),
		"every case counts once: one launch at its median time, the arms of a comparison at the times of their ratio, with its FLOP and its modelled bytes",
		phases,
	}
	if c.noCeiling > 0 {
		out = append(out, fmt.Sprintf("time_over_roofline: %d of %d samples have no ceiling and contribute nothing", c.noCeiling, c.samples))
	}
	if c.beyond > 0 {
		out = append(out, fmt.Sprintf("time_over_roofline: %d of %d samples are at least as fast as their ceiling and contribute nothing", c.beyond, c.samples))
	}
	for _, why := range slices.Sorted(maps.Keys(c.noEnergy)) {
		out = append(out, fmt.Sprintf("energy: %d of %d samples have none and count 0: %s", c.noEnergy[why], c.samples, why))
	}
	return append(out, c.leftOut()...)
}

// leftOut says how many results are not in the profile and why.
func (c *counts) leftOut() []string {
	var out []string
	for _, why := range slices.Sorted(maps.Keys(c.left)) {
		out = append(out, fmt.Sprintf("left out: %d results: %s", c.left[why], why))
	}
	return out
}

// result adds the samples of a result: one, or one for each arm of a comparison, whose least times are limits.
func (b *builder) result(r *record.Result, limits [2]float64, c *counts) {
	switch {
	case r.Probe():
		c.left["probes of ceilings, which rate no kernel"]++
		return
	case !r.Status.Counts():
		c.left["status "+string(r.Status)]++
		return
	case !r.HasFigure():
		c.left["verified and launched once, whose time is no figure"]++
		return
	case median(r.Time) <= 0 && len(r.Arms) == 0:
		c.left["not timed"]++
		return
	}
	if len(r.Arms) == 0 {
		floor := 0.0
		if r.Ceiling != nil {
			floor = r.Ceiling.FloorNS
		}
		b.sample(r, c, "", []string{r.Kernel}, median(r.Time), r.FLOPs, r.Bytes, floor, r.Energy)
		return
	}
	times, compared := measure.ArmTimes(r)
	for i, a := range r.Arms {
		ns := median(a.Time)
		if compared { // the medians of all samples hold what a neighbour slowed
			ns = times[i]
		}
		if ns <= 0 {
			c.left["arms that were not timed"]++
			continue
		}
		e := a.Energy
		if e == nil { // why there is none is said once, of the result
			e = &record.Energy{Unavailable: "an arm of a comparison without windows of its own"}
			if r.Energy != nil && r.Energy.Unavailable != "" {
				e = r.Energy
			}
		}
		floor := 0.0
		if i < len(limits) {
			floor = limits[i]
		}
		b.sample(r, c, a.Name, a.Kernels, ns, a.FLOPs, a.Bytes, floor, e)
	}
}

// median is 0 where there is no time.
func median(t *record.Time) float64 {
	if t == nil {
		return 0
	}
	return max(0, t.MedianNS)
}

// unnamed stands for the kernel of a document that names none, as those of other tools: labels without text are not written.
const unnamed = "unnamed kernel"

func (b *builder) sample(r *record.Result, c *counts, arm string, kernels []string, ns float64, flops, bytes int64, floor float64, energy *record.Energy) {
	c.samples++
	if strings.Join(kernels, "") == "" {
		kernels = []string{unnamed}
	}
	var lost float64
	switch {
	case !(floor > 0):
		c.noCeiling++
	case floor >= ns:
		c.beyond++
	default:
		lost = ns - floor
	}
	joules, why := joulesPerLaunch(energy)
	if why != "" {
		c.noEnergy[why]++
	}
	kernel := strings.Join(kernels, " + ")
	measured, _ := measuredBytes(energy)
	add := func(stack []*pprof.Location, phase string, values ...int64) {
		s := &pprof.Sample{Location: stack, Value: values,
			Label: map[string][]string{"dtype": {string(r.DType)}, "mode": {r.Mode}, "device": {r.Device}, "kernel": {kernel}, "case": {r.ID}}}
		if arm != "" {
			s.Label["arm"] = []string{arm}
		}
		if phase != "" {
			s.Label["phase"] = []string{phase}
		}
		if !(floor > 0) {
			s.Label[roofline] = []string{"unknown"}
		}
		numbers(s, r)
		b.p.Sample = append(b.p.Sample, s)
	}
	values := []int64{1, round(ns), round(joules * 1e6), flops, bytes, round(lost)}
	if b.measured {
		values = append(values, round(measured))
	}
	frames := caseFrames(r, arm)
	ticks := b.ticksOf(r.ID, arm)
	if ticks.total() < leastTicks {
		add(b.stack(frames, b.kernelFrames(kernels, compute)), "", values...)
		return
	}
	c.parted, c.ticks = c.parted+1, c.ticks+ticks.total()
	names, parts := ticks.part(values[1])
	values[1] = 0
	add(b.stack(frames, b.kernelFrames(kernels, compute)[:1]), "", values...)
	for i, name := range names {
		of := make([]int64, len(values))
		of[1] = parts[i]
		add(b.stack(frames, b.kernelFrames(kernels, name)), name, of...)
	}
}

// ticksOf a program; none where nothing is known.
func (b *builder) ticksOf(id, arm string) Ticks {
	if b.ticks == nil {
		return nil
	}
	return b.ticks(id, arm)
}

// joulesPerLaunch is the energy of one launch, or why there is none.
func joulesPerLaunch(e *record.Energy) (joules float64, why string) {
	switch {
	case e == nil:
		return 0, "not asked for"
	case e.Unavailable != "":
		return 0, e.Unavailable
	case !e.Known():
		return 0, "the document has no joules per launch"
	}
	joules, _ = e.PerLaunch()
	return joules, ""
}

// measuredBytes of one launch, by counters.
func measuredBytes(e *record.Energy) (float64, bool) {
	if e == nil || e.MeasuredBytes == nil {
		return 0, false
	}
	return e.MeasuredBytes.Get()
}

// anyMeasured reports whether a result has measured bytes.
func anyMeasured(doc *record.Calibration) bool {
	return slices.ContainsFunc(doc.Results, func(r record.Result) bool {
		if _, ok := measuredBytes(r.Energy); ok {
			return true
		}
		return slices.ContainsFunc(r.Arms, func(a record.Arm) bool { _, ok := measuredBytes(a.Energy); return ok })
	})
}

// caseFrames are the frames of a case from the outermost: suite, op, shape and, of a comparison, arm.
// The names differ from level to level, so that pprof does not take an op for its suite of the same name.
func caseFrames(r *record.Result, arm string) []frame {
	suite := r.Suite
	if suite == "" {
		suite = "none"
	}
	shape := "-"
	if id, err := record.ParseCaseID(r.ID); err == nil { // the declared order, without defaults
		var words []string
		for _, p := range id.Params {
			words = append(words, p.Name+"="+p.Value)
		}
		shape = strings.Join(words, ",")
	}
	out := []frame{{name: "suite " + suite}, {name: "op " + r.Op}, {name: strings.TrimSpace(r.Op + " " + shape)}}
	if arm != "" {
		out = append(out, frame{name: r.Op + " " + arm})
	}
	return out
}

// kernelFrames are the kernel and its phase. Several kernels of one arm, whose times nobody took
// apart, are one frame.
func (b *builder) kernelFrames(kernels []string, phase string) []frame {
	name := strings.Join(kernels, " + ")
	f := frame{name: name}
	if len(kernels) == 1 && b.locate != nil {
		if s, ok := b.locate(kernels[0]); ok {
			f.file, f.line = s.File, s.Line
		}
	}
	leaf := f
	leaf.name = name + " " + phase
	return []frame{f, leaf}
}

// numbers adds the thread count and the whole-number parameters of an op as numeric labels: pprof
// takes a filter such as threads=2 for a range of numbers.
func numbers(s *pprof.Sample, r *record.Result) {
	s.NumLabel, s.NumUnit = map[string][]int64{"threads": {int64(r.Threads)}}, map[string][]string{"threads": {"count"}}
	for name, text := range r.Params {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			continue
		}
		unit := "elements"
		if name == "bytes" {
			unit = "bytes"
		}
		s.NumLabel[name], s.NumUnit[name] = []int64{n}, []string{unit}
	}
}

// round gives the largest number, which fits refuses, for what 64 bits cannot hold.
func round(x float64) int64 {
	switch {
	case !(x > 0):
		return 0
	case x >= math.MaxInt64:
		return math.MaxInt64
	}
	return int64(math.Round(x))
}
