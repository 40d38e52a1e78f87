package machine

import (
	"fmt"
	"path"
	"regexp"
	"sort"
	"strconv"
	"strings"

	"ridge/goharness/record"
)

// maxPlausibleMHz: no processor has passed 10 GHz; a larger figure is a unit mistaken.
const maxPlausibleMHz = 10000

// readClock fills what the system says of the clock and measures it. The idle clock is
// measured before the loaded one, and both while the probe runs: a frequency file read
// before the load shows the wrong state.
func readClock(src Source, id CPUID) record.Clock {
	base := firstCPUFreq(src)
	c := record.Clock{
		MinMHz:  freqMHz(src, base+"/cpuinfo_min_freq"),
		MaxMHz:  highestMHz(src),
		BaseMHz: baseMHz(src, id),
		Driver:  textFact(src, base+"/scaling_driver"),
		Turbo:   turbo(src),
	}
	c.Governor = governor(src)
	if why := noCPUFreq(src); why != "" {
		c.MinMHz, c.MaxMHz = record.Unknown[float64](why), record.Unknown[float64](why)
		c.Governor, c.Driver = record.Unknown[string](why), record.Unknown[string](why)
	}
	if c.MaxMHz.Value == nil && id.MaxMHz > 0 {
		c.MaxMHz = record.Known(id.MaxMHz, "cpuid leaf 0x16")
	}
	c.IdleGHz, c.LoadedGHz = measuredClock(src, false), measuredClock(src, true)
	return c
}

func measuredClock(src Source, load bool) record.Fact[float64] {
	if src.Clock == nil {
		return record.Unknown[float64]("not measured: no clock probe was given")
	}
	ghz, err := src.Clock(load)
	if err != nil {
		return record.Unknown[float64](fmt.Sprintf("clock probe: %v", err))
	}
	return record.Known(ghz, "dependent-instruction chain")
}

// freqMHz reads a cpufreq file. cpufreq is in kHz throughout
// (Documentation/admin-guide/pm/cpufreq.rst).
func freqMHz(src Source, file string) record.Fact[float64] {
	v, err := src.readInt(file)
	if err != nil {
		return record.Unknown[float64](err.Error())
	}
	return plausibleMHz(float64(v)/1000, file)
}

func plausibleMHz(mhz float64, source string) record.Fact[float64] {
	if mhz < 10 || mhz > maxPlausibleMHz {
		return record.Unknown[float64](fmt.Sprintf("%s gives %g MHz, which no processor runs at", source, mhz))
	}
	return record.Known(mhz, source)
}

// firstCPUFreq is the frequency folder of the first CPU that has one: CPU 0 may be offline.
func firstCPUFreq(src Source) string {
	if dirs := src.glob(sysCPU + "/cpu[0-9]*/cpufreq"); len(dirs) > 0 {
		return dirs[0]
	}
	return sysCPU + "/cpu0/cpufreq"
}

// highestMHz is the highest cpuinfo_max_freq of all CPUs (hybrid chips differ per core).
func highestMHz(src Source) record.Fact[float64] {
	best := freqMHz(src, firstCPUFreq(src)+"/cpuinfo_max_freq")
	for _, f := range src.glob(sysCPU + "/cpu[0-9]*/cpufreq/cpuinfo_max_freq") {
		m := freqMHz(src, f)
		if v, ok := m.Get(); ok && (best.Value == nil || v > *best.Value) {
			best = m
		}
	}
	return best
}

var brandGHz = regexp.MustCompile(`@ ([0-9]+\.[0-9]+) ?GHz`)

// baseMHz asks, in order: intel_pstate (kHz), ACPI CPPC (MHz, unlike its neighbours),
// cpuid leaf 0x16 (MHz), the brand string.
func baseMHz(src Source, id CPUID) record.Fact[float64] {
	cpufreq := firstCPUFreq(src)
	first := freqMHz(src, cpufreq+"/base_frequency")
	if first.Value != nil {
		return first
	}
	cppc := path.Dir(cpufreq) + "/acpi_cppc/nominal_freq"
	if v, err := src.readInt(cppc); err == nil && v > 0 {
		return plausibleMHz(float64(v), cppc)
	}
	if id.BaseMHz > 0 {
		return plausibleMHz(id.BaseMHz, "cpuid leaf 0x16")
	}
	if m := brandGHz.FindStringSubmatch(id.Brand); m != nil {
		if v, err := strconv.ParseFloat(m[1], 64); err == nil {
			return plausibleMHz(v*1000, "brand string")
		}
	}
	return record.Unknown[float64]("no base_frequency, CPPC nominal_freq, cpuid leaf 0x16 or clock in the brand string")
}

// governor names the one governor of all CPUs, or how many CPUs have which.
func governor(src Source) record.Fact[string] {
	count := map[string]int{}
	for _, f := range src.glob(sysCPU + "/cpu[0-9]*/cpufreq/scaling_governor") {
		if g, err := src.read(f); err == nil {
			count[g]++
		}
	}
	switch len(count) {
	case 0:
		return record.Unknown[string]("no " + sysCPU + "/cpu*/cpufreq/scaling_governor is readable")
	case 1:
		for g := range count {
			return record.Known(g, sysCPU+"/cpu*/cpufreq/scaling_governor")
		}
	}
	var parts []string
	for g, n := range count {
		parts = append(parts, fmt.Sprintf("%s on %d", g, n))
	}
	sort.Strings(parts)
	return record.Known("mixed: "+strings.Join(parts, ", "), sysCPU+"/cpu*/cpufreq/scaling_governor")
}

// noCPUFreq is the one reason for all frequency files when the kernel has no driver.
func noCPUFreq(src Source) string {
	dir := firstCPUFreq(src)
	if src.exists(dir) {
		return ""
	}
	return "no cpufreq driver: " + dir + " does not exist"
}

// turbo reads the switch of intel_pstate (no_turbo: 1 is off) or of the other drivers
// (boost: 1 is on).
func turbo(src Source) record.Fact[bool] {
	off := sysCPU + "/intel_pstate/no_turbo"
	if v, err := src.readInt(off); err == nil {
		return record.Known(v == 0, off)
	}
	on := sysCPU + "/cpufreq/boost"
	if v, err := src.readInt(on); err == nil {
		return record.Known(v != 0, on)
	}
	return record.Unknown[bool]("neither " + off + " nor " + on + " is readable")
}

func textFact(src Source, file string) record.Fact[string] {
	t, err := src.read(file)
	if err != nil {
		return record.Unknown[string](err.Error())
	}
	if t == "" {
		return record.Unknown[string](file + " is empty")
	}
	return record.Known(t, file)
}

// clockFiles bounds the CPUs that ClockNowMHz asks: each answer interrupts one.
const clockFiles = 4

// ClockNowMHz is the mean clock of a few CPUs at this moment as the kernel tells it; 0 where it does not.
func ClockNowMHz(src Source) float64 {
	sum, n := 0.0, 0
	for i := range clockFiles {
		if v, err := src.readInt(fmt.Sprintf("%s/cpu%d/cpufreq/scaling_cur_freq", sysCPU, i)); err == nil && v > 0 {
			sum, n = sum+float64(v)/1e3, n+1
		}
	}
	return sum / max(1, float64(n))
}
