package machine

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"ridge/goharness/record"
)

// page writes aligned "key value" lines under headings and remembers the first error.
type page struct {
	w    io.Writer
	err  error
	last string // the reason on the line above, which is not repeated
}

const keyWidth = 20

// dash opens the reason of an unknown.
const dash = "– ("

func (p *page) printf(format string, a ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format, a...)
	}
}

func (p *page) heading(s string) { p.printf("\n%s\n%s\n", s, strings.Repeat("─", 78)) }

// line writes one row; long values continue under their first word.
func (p *page) line(key, value string) {
	const width = 100 - keyWidth
	if strings.HasPrefix(value, dash) {
		if value == p.last {
			value = dash + "as above)"
		} else {
			p.last = value
		}
	} else {
		p.last = ""
	}
	for i, part := range wrap(value, width) {
		if i > 0 {
			key = ""
		}
		p.printf("%-*s%s\n", keyWidth, key, part)
	}
}

func wrap(s string, width int) []string {
	var out []string
	line := ""
	for _, w := range strings.Fields(s) {
		if line != "" && len([]rune(line))+1+len([]rune(w)) > width {
			out, line = append(out, line), ""
		}
		if line != "" {
			line += " "
		}
		line += w
	}
	return append(out, line)
}

// show gives a fact as text: the value, or a dash and the reason.
func show[T any](f record.Fact[T], format func(T) string) string {
	if v, ok := f.Get(); ok {
		return format(v)
	}
	return dash + f.Unavailable + ")"
}

func text(s string) string      { return s }
func number(n int) string       { return strconv.Itoa(n) }
func mhz(v float64) string      { return fmt.Sprintf("%.2f GHz", v/1000) }
func ghz(v float64) string      { return fmt.Sprintf("%.2f GHz", v) }
func gbps(v float64) string     { return fmt.Sprintf("%.1f GB/s", v) }
func onOff(b bool) string       { return map[bool]string{true: "enabled", false: "disabled"}[b] }
func cpusText(v float64) string { return fmt.Sprintf("%g CPUs", v) }

// bytesText writes a size with a binary unit.
func bytesText(n int64) string {
	units := []string{"B", "KiB", "MiB", "GiB", "TiB", "PiB"}
	v, i := float64(n), 0
	for v >= 1024 && i < len(units)-1 {
		v, i = v/1024, i+1
	}
	digits := 2 // three significant digits, without trailing zeros
	switch {
	case v >= 100:
		digits = 0
	case v >= 10:
		digits = 1
	}
	t := strconv.FormatFloat(v, 'f', digits, 64)
	if digits > 0 {
		t = strings.TrimRight(strings.TrimRight(t, "0"), ".")
	}
	return t + " " + units[i]
}

// WriteInfo writes what the machine is as plain text, each unknown with its reason.
func WriteInfo(w io.Writer, h record.Host) error {
	p := &page{w: w}
	p.line("Host", strings.TrimSpace(h.Hostname))
	p.line("System", fmt.Sprintf("%s %s, %s", h.OS, h.Arch, show(h.Kernel, text)))
	p.line("Hypervisor", sourced(h.Hypervisor))
	p.line("Container", sourced(h.Container))
	p.writeCPU(h.CPU)
	p.writeTopology(h)
	p.writeCaches(h.CPU)
	p.writeClock(h.CPU.Clock)
	p.writeMemory(h)
	p.heading("Limits of this process")
	l := h.Limits
	p.line("Quota", show(l.QuotaCPUs, cpusText))
	p.line("Cpuset", show(l.Cpuset, text))
	p.line("Affinity", show(l.Affinity, text))
	p.line("Memory limit", show(l.CgroupMemoryLimit, bytesText))
	p.line("Usable threads", fmt.Sprintf("%d (%s)", l.UsableThreads, l.UsableReason))
	if len(h.VendorLibraries) > 0 {
		p.heading("Vendor libraries (baselines of ridge fusion)")
	}
	for _, v := range h.VendorLibraries {
		if v.Unavailable != "" {
			p.line(v.Name, dash+v.Unavailable+")")
		} else {
			p.line(v.Name, v.Version+", "+v.Path)
		}
	}
	return p.err
}

func sourced(f record.Fact[string]) string {
	if v, ok := f.Get(); ok && f.Source != "" {
		return v + " (" + f.Source + ")"
	}
	return show(f, text)
}

func (p *page) writeCPU(c record.CPU) {
	p.heading("CPU")
	p.line("Model", c.Model)
	p.line("Microarchitecture", c.Microarchitecture)
	p.line("", "("+c.MicroarchitectureSource+")")
	if c.Vendor == "" {
		p.line("Identity", dash+"the processor gives none)")
	} else {
		p.line("Identity", fmt.Sprintf("%s, family %d (0x%x), model %d (0x%x), stepping %d", c.Vendor, c.Family, c.Family, c.ModelNumber, c.ModelNumber, c.Stepping))
	}
	if c.Contradictory {
		p.line("Contradictory", c.Contradiction)
	}
	if len(c.MaskedFeatures) > 0 {
		p.line("Masked", strings.Join(c.MaskedFeatures, " "))
	}
	p.line("Features", strings.Join(c.Features, " "))
	p.writeRates(c)
}

// writeRates shows the table's operations per cycle for what can be used here.
func (p *page) writeRates(c record.CPU) {
	u := Lookup(CPUIDOf(c))
	var order []string
	rates := map[string][]string{}
	for _, r := range u.Rates() {
		if !ISAUsable(r.ISA, c.Features) {
			continue
		}
		if rates[r.ISA] == nil {
			order = append(order, r.ISA)
		}
		rates[r.ISA] = append(rates[r.ISA], fmt.Sprintf("%s %.4g", r.DType, r.Ops))
	}
	key := "Ops/cycle and core"
	for _, isa := range order {
		p.printf("%-*s%-11s%s\n", keyWidth, key, isa, strings.Join(rates[isa], ", "))
		key = ""
	}
	if len(order) == 0 {
		_, why, _ := u.OpsPerCycle("any instruction set", "any format")
		p.line(key, dash+why+")")
	}
}

func (p *page) writeTopology(h record.Host) {
	c := h.CPU
	p.heading("Topology")
	p.line("Sockets", show(c.Sockets, number))
	p.line("Cores", show(c.Cores, number))
	p.line("Threads", show(c.Threads, number))
	p.line("Threads per core", show(c.SMT, func(n int) string {
		if n == 1 {
			return "1 (no SMT)"
		}
		return number(n)
	}))
	for _, t := range c.CoreTypes {
		cpus := ""
		if t.CPUs != "" {
			cpus = ", CPUs " + t.CPUs
		}
		p.line(t.Name+" cores", fmt.Sprintf("%d cores, %d threads, %s%s, max %s", t.Cores, t.Threads, orUnknown(t.Microarchitecture), cpus, show(t.MaxMHz, mhz)))
	}
	if h.NUMAReason != "" {
		p.line("NUMA nodes", dash+h.NUMAReason+")")
	}
	for _, n := range h.NUMANodes {
		dist := ""
		if len(h.NUMANodes) > 1 && len(n.Distances) > 0 {
			dist = fmt.Sprintf(", distances %v", n.Distances)
		}
		cpus := "CPUs " + n.CPUs
		if n.CPUs == "" {
			cpus = "no CPUs"
		}
		p.line(fmt.Sprintf("NUMA node %d", n.Node), fmt.Sprintf("%s, %s%s", cpus, show(n.TotalBytes, bytesText), dist))
	}
}

func orUnknown(s string) string {
	if s == "" {
		return "unknown core"
	}
	return s
}

func (p *page) writeCaches(c record.CPU) {
	p.heading("Caches")
	if len(c.Caches) > 0 {
		p.printf("%-20s%8s%7s%7s%12s%11s   %s\n", "", "size", "ways", "line", "shared by", "instances", "CPUs of each")
	}
	for _, k := range c.Caches {
		kind := map[string]string{"data": "d", "instruction": "i"}[k.Type]
		row := fmt.Sprintf("L%d%-18s%8s%7s%7s%12s%11s   %s", k.Level, kind, orDash(k.SizeBytes, bytesText(k.SizeBytes)),
			orDash(int64(k.Ways), number(k.Ways)), orDash(int64(k.LineBytes), fmt.Sprintf("%d B", k.LineBytes)),
			orDash(int64(k.SharedByCPUs), plural(k.SharedByCPUs, "CPU")), orDash(int64(k.Instances), number(k.Instances)), instanceText(k.CPUs))
		p.printf("%s\n", strings.TrimRight(row, " "))
	}
	if c.CachesReason != "" {
		p.line("Not known", c.CachesReason)
	}
}

// instanceText shows the CPU lists of a few instances; the document has them all.
func instanceText(lists []string) string {
	const most = 3
	if len(lists) <= most {
		return strings.Join(lists, " | ")
	}
	return strings.Join(lists[:most-1], " | ") + " | … | " + lists[len(lists)-1]
}

func plural(n int, unit string) string {
	if n == 1 {
		return "1 " + unit
	}
	return fmt.Sprintf("%d %ss", n, unit)
}

func orDash(n int64, s string) string {
	if n == 0 {
		return "–"
	}
	return s
}

func (p *page) writeClock(c record.Clock) {
	p.heading("Clock")
	p.line("Measured, idle", show(c.IdleGHz, ghz))
	p.line("Measured, loaded", show(c.LoadedGHz, ghz))
	p.line("Minimum", show(c.MinMHz, mhz))
	p.line("Base", show(c.BaseMHz, mhz))
	p.line("Maximum", show(c.MaxMHz, mhz))
	p.line("Governor", show(c.Governor, text))
	p.line("Driver", show(c.Driver, text))
	p.line("Turbo", show(c.Turbo, onOff))
}

func (p *page) writeMemory(h record.Host) {
	m := h.Memory
	p.heading("Memory")
	p.line("Total", show(m.TotalBytes, bytesText))
	p.line("Available", show(m.AvailableBytes, bytesText))
	p.noteNodes(h)
	p.line("Type", show(m.Type, text))
	p.line("Configured speed", show(m.ConfiguredMTps, func(v float64) string { return fmt.Sprintf("%g MT/s", v) }))
	p.line("Channels", show(m.Channels, number))
	p.line("Theoretical", formula(m.TheoreticalGBps))
	p.line("Socket upper bound", formula(m.UpperBoundGBps))
	p.line("Huge pages", fmt.Sprintf("%s of %s; transparent: %s", show(h.HugePages.Total, func(n int64) string { return fmt.Sprintf("%d reserved", n) }),
		show(h.HugePages.PageSizeBytes, bytesText), show(h.HugePages.Transparent, text)))
}

// noteNodes says when the kernel's two figures of memory are far apart, as they are where
// a virtual machine was given memory after it started.
func (p *page) noteNodes(h record.Host) {
	total, ok := h.Memory.TotalBytes.Get()
	var sum int64
	for _, n := range h.NUMANodes {
		v, known := n.TotalBytes.Get()
		ok = ok && known
		sum += v
	}
	if ok && sum > 0 && (float64(sum) < 0.9*float64(total) || float64(sum) > 1.1*float64(total)) {
		p.line("Note", "the kernel counts "+bytesText(sum)+" in its NUMA nodes and "+bytesText(total)+" in all (memory added or returned while running)")
	}
}

func formula(f record.Fact[float64]) string {
	if v, ok := f.Get(); ok {
		return gbps(v) + " = " + f.Source
	}
	return show(f, gbps)
}

// WriteDoctor writes the preflight checks as a list, with the fix below each problem.
func WriteDoctor(w io.Writer, pre record.Preflight) error {
	p := &page{w: w}
	mark := map[string]string{statusPassed: "pass", statusWarning: "WARN", statusFailed: "FAIL", statusSkipped: "skip"}
	count := map[string]int{}
	for _, c := range pre.Checks {
		count[c.Status]++
		value := c.Current
		if value == "" {
			value = c.Message
		}
		for i, part := range wrap(value, 72) {
			head := fmt.Sprintf("%-4s  %-22s", mark[c.Status], c.Name)
			if i > 0 {
				head = strings.Repeat(" ", 28)
			}
			p.printf("%s%s\n", head, part)
		}
		if c.Status != statusWarning && c.Status != statusFailed {
			continue
		}
		for _, l := range []struct{ key, value string }{{"why", c.Message}, {"want", c.Expected}, {"fix", c.Fix}} {
			for i, part := range wrap(l.value, 66) {
				key := l.key
				if i > 0 {
					key = ""
				}
				p.printf("%28s%-6s%s\n", "", key, part)
			}
		}
	}
	verdict := "fit to measure"
	switch {
	case !pre.Passed && pre.Forced:
		verdict = "not fit to measure; forced"
	case !pre.Passed:
		verdict = "not fit to measure: fix what failed, or use --force"
	case count[statusWarning] > 0:
		verdict = "fit to measure, with warnings"
	}
	p.printf("\n%d passed, %s, %d failed, %d skipped: %s\n", count[statusPassed], plural(count[statusWarning], "warning"), count[statusFailed], count[statusSkipped], verdict)
	return p.err
}
