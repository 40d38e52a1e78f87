package compare

import (
	"fmt"
	"slices"
	"strings"

	"ridge/goharness/record"
)

// match pairs the items of two documents by case id. A case without a namesake is paired with the
// one case of the same shape that differs in precision, threads or mode, and is not comparable then.
// Cases with a value on both sides have no outcome yet.
func match(old, new []*item) []Case {
	at := map[string]*item{}
	for _, a := range old {
		at[a.id] = a
	}
	var out []Case
	paired := map[*item]bool{}
	var alone []*item
	for _, b := range new {
		a := at[b.id]
		if a == nil {
			alone = append(alone, b)
			continue
		}
		paired[a] = true
		c := Case{ID: b.id, old: a, new: b}
		if c.Reason = incomparable(a, b); c.Reason != "" {
			c.Outcome = NotComparable
		}
		out = append(out, c)
	}
	left := map[string][]*item{}
	for _, a := range old {
		if !paired[a] && a.key != "" {
			left[a.key] = append(left[a.key], a)
		}
	}
	ours := map[string]int{}
	for _, b := range alone {
		ours[b.key]++
	}
	for _, b := range alone {
		if as := left[b.key]; len(as) == 1 && ours[b.key] == 1 {
			paired[as[0]] = true
			out = append(out, Case{ID: b.id, Outcome: NotComparable, Reason: strings.Join(differences(as[0], b), ", "), old: as[0], new: b})
			continue
		}
		out = append(out, Case{ID: b.id, Outcome: New, New: b.value, Reason: b.unusable, new: b})
	}
	for _, a := range old {
		if !paired[a] {
			out = append(out, Case{ID: a.id, Outcome: Gone, Old: a.value, Reason: a.unusable, old: a})
		}
	}
	return out
}

// incomparable says why two items of one id cannot be compared; "" when they can.
func incomparable(a, b *item) string {
	chip := otherChip(a.chip, b.chip, a.silicon, b.silicon)
	switch {
	case chip != "":
		return chip
	case a.with() != b.with():
		return concurrency(a, b)
	case a.unusable != "" && b.unusable != "":
		return "no value: " + a.unusable
	case a.unusable != "":
		return "no value in OLD: " + a.unusable
	case b.unusable != "":
		return "no value in NEW: " + b.unusable
	}
	return ""
}

// differences between two cases of the same shape.
func differences(a, b *item) []string {
	var out []string
	if chip := otherChip(a.chip, b.chip, a.silicon, b.silicon); chip != "" {
		out = append(out, chip)
	}
	if a.with() != b.with() {
		out = append(out, concurrency(a, b))
	}
	if a.parts.DType != b.parts.DType {
		out = append(out, fmt.Sprintf("dtype: %s → %s", a.parts.DType, b.parts.DType))
	}
	if a.parts.Threads != b.parts.Threads {
		out = append(out, fmt.Sprintf("threads: %d → %d", a.parts.Threads, b.parts.Threads))
	}
	if a.parts.Mode != b.parts.Mode {
		out = append(out, fmt.Sprintf("mode: %s → %s", a.parts.Mode, b.parts.Mode))
	}
	return out
}

// with names the devices that were measured at the same time as an item's; "": it was measured alone, or nobody knows.
func (it *item) with() string { return strings.Join(it.r.Conditions.With(), "+") }

// concurrency says in what two items differ that were not measured beside the same devices.
func concurrency(a, b *item) string {
	name := func(with string) string {
		if with == "" {
			return "alone"
		}
		return "beside " + with
	}
	return "concurrency: " + name(a.with()) + " → " + name(b.with())
}

// changes are what a change of the case may be attributed to.
func (it *item) changes(to *item) []string {
	var out []string
	note := func(what, a, b string) {
		if a != b && a != "" && b != "" {
			out = append(out, fmt.Sprintf("%s: %s → %s", what, a, b))
		}
	}
	note("kernel", it.kernels, to.kernels)
	note("kernel parameters", params(it.r), params(to.r))
	note("accumulator", string(it.r.Accumulate), string(to.r.Accumulate))
	if a, b := it.r.Conditions, to.r.Conditions; a != nil && b != nil {
		note("compiler", a.Compiler, b.Compiler)
		note("compiler flags", a.CompilerFlags, b.CompilerFlags)
		note("driver", a.Driver, b.Driver)
		note("affinity", a.Affinity, b.Affinity)
		note("CPUs", fmt.Sprint(a.CPUs), fmt.Sprint(b.CPUs))
		x, okX := a.HugePageShare.Get()
		y, okY := b.HugePageShare.Get()
		if okX && okY && (x-y > 0.25 || y-x > 0.25) {
			out = append(out, fmt.Sprintf("huge pages: %.0f %% → %.0f %%", 100*x, 100*y))
		}
	}
	if it.clock > 0 && to.clock > 0 && (to.clock/it.clock > 1.01 || it.clock/to.clock > 1.01) {
		out = append(out, fmt.Sprintf("clock: %.2f → %.2f GHz", it.clock, to.clock))
	}
	return out
}

func params(r *record.Result) string {
	var s []string
	for k, v := range r.KernelParams {
		s = append(s, fmt.Sprintf("%s=%d", k, v))
	}
	slices.Sort(s)
	if len(s) == 0 {
		return "defaults"
	}
	return strings.Join(s, ",")
}

// documentChanges are differences that concern every case.
func documentChanges(a, b *record.Calibration) []string {
	var out []string
	note := func(what, x, y string) {
		if x != y && x != "" && y != "" {
			out = append(out, fmt.Sprintf("%s: %s → %s", what, x, y))
		}
	}
	fact := func(f record.Fact[string]) string { v, _ := f.Get(); return v }
	if chip := otherChip(a.Host.CPU.Model, b.Host.CPU.Model, silicon(&a.Host.CPU), silicon(&b.Host.CPU)); chip != "" {
		out = append(out, chip)
	}
	note("host", a.Host.Hostname, b.Host.Hostname)
	note("ridge", a.Tool.Version+" "+a.Tool.Revision, b.Tool.Version+" "+b.Tool.Revision)
	note("compiler", a.Tool.Compiler, b.Tool.Compiler)
	note("compiler flags", a.Tool.Flags, b.Tool.Flags)
	note("Go", a.Tool.GoVersion, b.Tool.GoVersion)
	note("operating system's kernel", fact(a.Host.Kernel), fact(b.Host.Kernel))
	note("hypervisor", fact(a.Host.Hypervisor), fact(b.Host.Hypervisor))
	note("governor", fact(a.Host.CPU.Clock.Governor), fact(b.Host.CPU.Clock.Governor))
	for _, x := range a.Devices {
		for _, y := range b.Devices {
			if x.ID == y.ID {
				note("driver of "+x.ID, x.Facts["driver"], y.Facts["driver"])
			}
		}
	}
	if x, y := hostClock(a), hostClock(b); x > 0 && y > 0 && (x/y > 1.01 || y/x > 1.01) {
		out = append(out, fmt.Sprintf("clock: %.2f → %.2f GHz", x, y))
	}
	return out
}
