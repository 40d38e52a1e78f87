package machine

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"ridge/goharness/power"
	"ridge/goharness/record"
)

// Check statuses.
const (
	statusPassed  = "passed"
	statusWarning = "warning"
	statusFailed  = "failed"
	statusSkipped = "skipped"
)

// Options of the preflight checks.
type Options struct {
	// Host, when given, saves reading it (and measuring its clock) again.
	Host *record.Host
	// Force records that a failed check was overridden.
	Force bool
	// LoadInterval is how long the CPU load is watched; 0 means 300 ms.
	LoadInterval time.Duration
	// NeedBytes is the memory the run wants; 0 means 2 GiB.
	NeedBytes int64
	// GPUUsers lists other processes on the GPUs; nil where no GPU platform is in the build.
	GPUUsers func(context.Context) ([]string, error)
	// Meters looks for the energy meter of each device; nil: only the files of the CPU's are tried.
	Meters func(context.Context) []MeterFact
	// Now gives the time stamp; nil is time.Now.
	Now func() time.Time
}

// Doctor checks whether this machine is fit for measuring. Only a failed check stops a
// run; load, and facts that cannot be read, never do.
func Doctor(ctx context.Context, src Source, o Options) record.Preflight {
	now := o.Now
	if now == nil {
		now = time.Now
	}
	if o.LoadInterval <= 0 {
		o.LoadInterval = 300 * time.Millisecond
	}
	if o.NeedBytes <= 0 {
		o.NeedBytes = 2 << 30
	}
	// The load is watched before the clock probe makes some.
	load := checkLoad(ctx, src, o.LoadInterval)
	var host record.Host
	if o.Host != nil {
		host = *o.Host
	} else {
		host = Read(src)
	}
	p := record.Preflight{Timestamp: now().UTC().Format(time.RFC3339), Forced: o.Force, Passed: true}
	p.Checks = []record.Check{
		checkIdentity(host),
		checkGovernor(host),
		checkTurbo(host),
		checkClock(host),
		load,
		checkTemperature(src),
		checkQuota(host),
		checkAffinity(host),
		checkMemory(src, o.NeedBytes),
		checkHugePages(host),
		checkCounters(src),
		checkNVML(src),
		checkGPUUsers(ctx, src, o.GPUUsers),
	}
	at := 10 // behind the huge pages
	p.Checks = slices.Insert(p.Checks, at, energyChecks(ctx, src, o.Meters)...)
	for _, c := range p.Checks {
		if c.Status == statusFailed {
			p.Passed = false
		}
	}
	return p
}

func passed(name, message, current, expected string) record.Check {
	return record.Check{Name: name, Status: statusPassed, Message: message, Current: current, Expected: expected}
}

func skipped(name, reason string) record.Check {
	return record.Check{Name: name, Status: statusSkipped, Message: reason}
}

func problem(name, status, message, current, expected, fix string) record.Check {
	return record.Check{Name: name, Status: status, Message: message, Current: current, Expected: expected, Fix: fix}
}

func checkIdentity(h record.Host) record.Check {
	const name, want = "cpu identity", "model number and features agree"
	c := h.CPU
	switch {
	case c.Contradictory:
		return problem(name, statusWarning, c.Contradiction, c.Microarchitecture+" ("+c.MicroarchitectureSource+")", want,
			"none: the hypervisor masks the model; theoretical rows are inferred, trust the measured ceilings")
	case c.Microarchitecture == "unknown":
		return problem(name, statusWarning, c.MicroarchitectureSource, "unknown", "a row in the table",
			"none: theoretical compute peaks stay unavailable, the measured ceilings hold")
	case len(c.MaskedFeatures) > 0:
		return problem(name, statusWarning, "features of this silicon are not offered: "+strings.Join(c.MaskedFeatures, ", "),
			c.Microarchitecture, want, "enable them in the firmware or the virtual machine's CPU model, or accept lower peaks")
	}
	return passed(name, "", c.Microarchitecture, want)
}

func checkGovernor(h record.Host) record.Check {
	const name = "cpu governor"
	g, ok := h.CPU.Clock.Governor.Get()
	if !ok {
		return skipped(name, h.CPU.Clock.Governor.Unavailable)
	}
	const fix = "cpupower frequency-set -g performance (as root)"
	switch {
	case g == "performance":
		return passed(name, "", g, "performance")
	case strings.Contains(g, "powersave"):
		return problem(name, statusFailed, "the clock may stay low or rise late under load", g, "performance", fix)
	}
	return problem(name, statusWarning, "the clock follows the load with a delay", g, "performance", fix)
}

func checkTurbo(h record.Host) record.Check {
	const name = "turbo"
	on, ok := h.CPU.Clock.Turbo.Get()
	if !ok {
		return skipped(name, h.CPU.Clock.Turbo.Unavailable)
	}
	if on {
		return passed(name, "", "enabled", "enabled")
	}
	return problem(name, statusWarning, "results hold for the base clock alone", "disabled", "enabled",
		"echo 0 > /sys/devices/system/cpu/intel_pstate/no_turbo or echo 1 > /sys/devices/system/cpu/cpufreq/boost (as root), or the firmware setup")
}

// checkClock compares the clock measured under FMA load with the highest the system names.
func checkClock(h record.Host) record.Check {
	const name = "cpu clock under load"
	ghz, ok := h.CPU.Clock.LoadedGHz.Get()
	if !ok {
		return skipped(name, h.CPU.Clock.LoadedGHz.Unavailable)
	}
	mhz, ok := h.CPU.Clock.MaxMHz.Get()
	if !ok {
		return skipped(name, fmt.Sprintf("measured %.2f GHz; maximum unknown: %s", ghz, h.CPU.Clock.MaxMHz.Unavailable))
	}
	share := ghz * 1000 / mhz
	current := fmt.Sprintf("%.2f GHz, %.0f %% of %.2f GHz", ghz, 100*share, mhz/1000)
	const want = "≥ 90 % of the maximum"
	const fix = "check governor, power limits and cooling; close other programs"
	switch {
	case share >= 0.9:
		return passed(name, "", current, want)
	case share >= 0.7:
		return problem(name, statusWarning, "below the maximum", current, want, fix)
	}
	return problem(name, statusFailed, "far below the maximum", current, want, fix)
}

// checkLoad measures how busy all CPUs are over a short interval; where two readings do
// not differ it falls back on the load average and says so. Load never fails a run.
func checkLoad(ctx context.Context, src Source, d time.Duration) record.Check {
	const name, want = "cpu load", "< 5 %"
	share, how, err := busyShare(ctx, src, d, power.Sleep)
	if err != nil {
		return skipped(name, err.Error())
	}
	current := fmt.Sprintf("%.1f %% (%s)", 100*share, how)
	const fix = "stop other programs and repeat"
	switch {
	case share < 0.05:
		return passed(name, "", current, want)
	case share < 0.20:
		return problem(name, statusWarning, "other work is running", current, want, fix)
	}
	return problem(name, statusWarning, "much other work is running: expect noisy results", current, want, fix)
}

func busyShare(ctx context.Context, src Source, d time.Duration, sleep func(context.Context, time.Duration) error) (share float64, how string, err error) {
	before, err := readCPUTimes(src)
	if err == nil {
		if err := sleep(ctx, d); err != nil {
			return 0, "", fmt.Errorf("interrupted while watching the load: %w", err)
		}
		after, err := readCPUTimes(src)
		busy, idle := after.busy-before.busy, after.idle-before.idle
		if err == nil && busy >= 0 && busy+idle > 0 {
			return float64(busy) / float64(busy+idle), fmt.Sprintf("busy time of all CPUs over %v", d), nil
		}
	}
	avg, lerr := loadAverage(src)
	if lerr != nil {
		if err != nil {
			return 0, "", err
		}
		return 0, "", lerr
	}
	cpus, cerr := onlineCPUs(src)
	if cerr != nil {
		return 0, "", cerr
	}
	return avg / float64(len(cpus)), "one-minute load average over the CPUs", nil
}

func checkTemperature(src Source) record.Check {
	const name, want = "temperature", "< 70 °C"
	t := Temperature(src)
	c, ok := t.Get()
	if !ok {
		return skipped(name, t.Unavailable)
	}
	current := fmt.Sprintf("%.0f °C (%s, hottest of %d)", c, t.Source, len(temperatures(src)))
	const fix = "let the machine cool down; check fans and air flow"
	switch {
	case c < 70:
		return passed(name, "", current, want)
	case c < 85:
		return problem(name, statusWarning, "warm before the run starts", current, want, fix)
	}
	return problem(name, statusFailed, "too hot: the clock will be throttled", current, want, fix)
}
