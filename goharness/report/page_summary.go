package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"ridge/goharness/record"
)

// machineView is one document's part of the summary and of the conditions.
type machineView struct {
	Label, Subtitle string
	Run             []pair // of the run
	Statuses        []statusCount
	Warnings        []string
	Devices         []deviceView
	Suites          [][]string
	Host            []pair
	Checks          []record.Check
	Command         string
	Ceilings        []ceilingView
	ProfileOnly     bool // a fusion profile that joined no calibration
}

type pair struct{ Name, Value string }

type statusCount struct {
	Status string
	Count  int
}

type deviceView struct {
	ID, Name string
	Peaks    []peakCard
	Memory   []peakCard
	Absent   []pair // peaks without a measured value, and why
}

// peakCard is a measured limit beside its theoretical value.
type peakCard struct {
	Name, Value, Unit, Detail, Theoretical, Formula, Gap string
	Percent                                              string // of the theoretical value, "" when unknown
	Bar                                                  string // the same from 0 to 100, for a <progress>-like bar
}

type ceilingView struct{ Cells []string }

func machineOf(d *record.Calibration, label string) machineView {
	m := machineView{Label: label, Command: clean(strings.Join(d.Command, " "))}
	add := func(list *[]pair, name, value string) {
		if value != "" && value != none {
			*list = append(*list, pair{name, clean(value)})
		}
	}
	m.Subtitle = clean(d.Host.CPU.Model)
	add(&m.Run, "run", d.RunID)
	add(&m.Run, "measured", d.Created)
	kind := "full run"
	if d.Summary.Quick {
		kind = "quick run"
	}
	if d.Summary.WallSeconds > 0 {
		kind += " of " + duration(d.Summary.WallSeconds*1e9)
	}
	if !d.Summary.Complete {
		kind += ", not complete"
	}
	add(&m.Run, "extent", kind)
	add(&m.Run, "tool", strings.TrimSpace(d.Tool.Name+" "+d.Tool.Version))
	if n := len(d.FusionProfiles); n > 0 {
		add(&m.Run, "fusion profiles", strconv.Itoa(n))
	}
	m.ProfileOnly = len(d.Results) == 0 && len(d.FusionProfiles) > 0
	for _, st := range []record.Status{record.OK, record.Noisy, record.Invalid, record.Wrong, record.Crashed, record.TimedOut, record.Unsupported, record.Skipped} {
		if n := d.Summary.Counts[st]; n > 0 {
			m.Statuses = append(m.Statuses, statusCount{string(st), n})
		}
	}
	for _, w := range d.Summary.Warnings {
		m.Warnings = append(m.Warnings, clean(w))
	}
	for _, dev := range d.Devices {
		m.Devices = append(m.Devices, deviceViewOf(d, dev))
	}
	for _, s := range suiteNames(&d.Summary) {
		m.Suites = append(m.Suites, summaryCells(s, d.Summary.Suites[s]))
	}
	for i := range d.Ceilings {
		m.Ceilings = append(m.Ceilings, ceilingView{append(ceilingCells(&d.Ceilings[i]), gap(&d.Ceilings[i]))})
	}
	hostFacts(&d.Host, func(name, value string) { add(&m.Host, name, value) })
	add(&m.Host, "compiler", strings.TrimSpace(d.Tool.Compiler+" "+d.Tool.Flags))
	for _, c := range d.Preflight.Checks {
		m.Checks = append(m.Checks, record.Check{Name: clean(c.Name), Status: clean(c.Status), Message: clean(c.Message), Fix: clean(c.Fix)})
	}
	return m
}

func hostFacts(h *record.Host, add func(name, value string)) {
	text := func(s string) string { return s }
	count := func(n int) string { return strconv.Itoa(n) }
	mhz := func(v float64) string { return digits(v) + " MHz" }
	ghz := func(v float64) string { return digits(v) + " GHz" }
	add("host", h.Hostname)
	add("CPU", strings.TrimSpace(h.CPU.Model+" · "+h.CPU.Microarchitecture))
	if h.CPU.Contradictory {
		add("identity", "contradictory: "+h.CPU.Contradiction)
	}
	add("sockets", fact(h.CPU.Sockets, count))
	add("cores", fact(h.CPU.Cores, count))
	add("threads", fact(h.CPU.Threads, count))
	add("usable threads", strings.TrimSpace(fmt.Sprintf("%d %s", h.Limits.UsableThreads, h.Limits.UsableReason)))
	var caches []string
	for _, c := range h.CPU.Caches {
		caches = append(caches, fmt.Sprintf("L%d %s %s × %d", c.Level, c.Type, size(c.SizeBytes), max(1, c.Instances)))
	}
	add("caches", strings.Join(caches, ", "))
	add("instruction sets", strings.Join(h.CPU.Features, " "))
	add("clock idle", fact(h.CPU.Clock.IdleGHz, ghz))
	add("clock loaded", fact(h.CPU.Clock.LoadedGHz, ghz))
	add("clock maximum", fact(h.CPU.Clock.MaxMHz, mhz))
	add("governor", fact(h.CPU.Clock.Governor, text))
	add("turbo", fact(h.CPU.Clock.Turbo, strconv.FormatBool))
	add("memory", fact(h.Memory.TotalBytes, size))
	add("memory type", fact(h.Memory.Type, text))
	add("operating system", h.OS+" "+h.Arch+", kernel "+fact(h.Kernel, text))
	add("hypervisor", fact(h.Hypervisor, text))
	add("container", fact(h.Container, text))
	add("CPU quota", fact(h.Limits.QuotaCPUs, func(v float64) string { return digits(v) + " CPUs" }))
	add("transparent huge pages", fact(h.HugePages.Transparent, text))
}

func deviceViewOf(d *record.Calibration, dev record.Device) deviceView {
	v := deviceView{ID: clean(dev.ID), Name: clean(dev.Name)}
	r := roofOf(d, dev.ID)
	for _, l := range r.Compute {
		if !l.Shared {
			v.Peaks = append(v.Peaks, cardOf(l))
		}
	}
	for _, l := range r.Memory {
		v.Memory = append(v.Memory, cardOf(l))
	}
	have := map[string]bool{}
	for _, l := range r.Compute {
		have[l.Name] = !l.Shared
	}
	for i := range d.Ceilings {
		c := &d.Ceilings[i]
		name := clean(string(c.DType))
		if c.Device == dev.ID && c.Kind == record.CeilingCompute && c.ISA != record.ISASparse && !have[name] && c.Measured.Unavailable != "" {
			have[name] = true
			v.Absent = append(v.Absent, pair{name, clean(c.Measured.Unavailable)})
		}
	}
	latency := map[string]bool{}
	for _, p := range plateausOf(d) {
		if len(d.Devices) > 1 && dev.Platform != "cpu" {
			break
		}
		name := "latency"
		if p.Level != "" {
			name = clean(p.Level) + " latency"
		}
		latency[clean(p.Level)] = true
		v.Memory = append(v.Memory, peakCard{Name: name, Value: digits(p.LatencyNS), Unit: "ns", Detail: "dependent loads, 1 thread",
			Gap: fmt.Sprintf("plateau of the sweep from %s to %s", size(p.FromBytes), size(p.ToBytes))})
	}
	for i := range d.Ceilings {
		c := &d.Ceilings[i]
		if c.Device == dev.ID && c.Kind == record.CeilingLatency && measurable(c) && !latency[clean(c.Level)] {
			l := limit{Name: ceilingText(c) + " latency", Value: c.Measured.Value, Unit: clean(c.Unit), Detail: "dependent loads", ceiling: c}
			v.Memory = append(v.Memory, cardOf(l))
		}
	}
	return v
}

func cardOf(l limit) peakCard {
	c := peakCard{Name: l.Name, Value: digits(l.Value), Unit: l.Unit, Detail: l.Detail, Gap: gap(l.ceiling)}
	if l.Theoretical > 0 {
		c.Theoretical = digits(l.Theoretical) + " " + l.Unit
		c.Formula = clean(strings.TrimSpace(l.ceiling.Theoretical.Formula + " " + l.ceiling.Theoretical.Label))
		if l.ceiling.Ratio > 0 {
			c.Percent = percent(l.ceiling.Ratio)
			c.Bar = strconv.FormatFloat(100*min(1, l.ceiling.Ratio), 'f', 1, 64)
		}
	}
	return c
}

// comparison sets the limits of several machines side by side.
type comparison struct {
	Machines []string
	Rows     []compareRow
}

// compareRow is one limit on every machine.
type compareRow struct {
	Name, Unit string
	Cells      []compareCell
	values     []float64
	lower      bool // is better
}

type compareCell struct {
	Value, Percent string
	Best           bool
}

// clearLead is by how much the best of a row must be ahead to be marked: less is within what the same machine differs from run to run.
const clearLead = 1.03

// comparisonOf takes the limits of each machine's first device; nil where fewer than two documents have any.
func comparisonOf(docs []record.Calibration) *comparison {
	var c comparison
	var roofs []roof
	var waits [][]record.Plateau
	names := labels(docs)
	for i := range docs {
		if len(docs[i].Devices) == 0 {
			continue
		}
		if r := roofOf(&docs[i], docs[i].Devices[0].ID); len(r.Compute)+len(r.Memory) > 0 {
			c.Machines, roofs, waits = append(c.Machines, names[i]), append(roofs, r), append(waits, plateausOf(&docs[i]))
		}
	}
	if len(roofs) < 2 {
		return nil
	}
	put := func(machine int, name, unit, cell, percent string, value float64, lower bool) {
		at := slices.IndexFunc(c.Rows, func(r compareRow) bool { return r.Name == name && r.Unit == unit })
		if at < 0 {
			at = len(c.Rows)
			c.Rows = append(c.Rows, compareRow{Name: name, Unit: unit, Cells: make([]compareCell, len(roofs)), values: make([]float64, len(roofs)), lower: lower})
		}
		c.Rows[at].Cells[machine], c.Rows[at].values[machine] = compareCell{Value: cell, Percent: percent}, value
	}
	limits := func(name string, of func(roof) []limit) {
		for i, r := range roofs {
			for _, l := range of(r) {
				if l.Name != name || l.Shared {
					continue
				}
				share := ""
				if l.ceiling.Ratio > 0 && l.Theoretical > 0 {
					share = percent(l.ceiling.Ratio) + " of " + digits(l.Theoretical)
				}
				put(i, l.Name, l.Unit, digits(l.Value), share, l.Value, false)
			}
		}
	}
	for _, p := range record.Precisions {
		limits(string(p), func(r roof) []limit { return r.Compute })
	}
	for _, level := range levels {
		limits(level, func(r roof) []limit { return r.Memory })
	}
	for _, level := range levels {
		for i, list := range waits {
			for _, p := range list {
				if p.Level == level && p.LatencyNS > 0 {
					put(i, level+" latency", "ns", digits(p.LatencyNS), "", p.LatencyNS, true)
				}
			}
		}
	}
	for i := range c.Rows {
		c.Rows[i].mark()
	}
	return &c
}

// mark finds the best of a row, where it is clearly ahead.
func (r *compareRow) mark() {
	best, second := -1, -1
	ahead := func(a, b float64) bool { return r.lower && a < b || !r.lower && a > b }
	for i, v := range r.values {
		switch {
		case v <= 0:
		case best < 0 || ahead(v, r.values[best]):
			best, second = i, best
		case second < 0 || ahead(v, r.values[second]):
			second = i
		}
	}
	if second < 0 {
		return
	}
	a, b := r.values[best], r.values[second]
	r.Cells[best].Best = max(a/b, b/a) > clearLead
}
