package machine

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"ridge/goharness/record"
)

func checkQuota(h record.Host) record.Check {
	const name, want = "cpu quota", "none"
	q, ok := h.Limits.QuotaCPUs.Get()
	if !ok {
		if strings.HasPrefix(h.Limits.QuotaCPUs.Unavailable, "no CPU quota") {
			return passed(name, "", "none", want)
		}
		return skipped(name, h.Limits.QuotaCPUs.Unavailable)
	}
	current := fmt.Sprintf("%g CPUs (%s)", q, h.Limits.QuotaCPUs.Source)
	if n, ok := h.CPU.Threads.Get(); ok && q >= float64(n) {
		return passed(name, "not below the machine's CPUs", current, want)
	}
	return problem(name, statusWarning, fmt.Sprintf("%d threads are used; the kernel pauses what runs longer", h.Limits.UsableThreads), current, want,
		"start the container without a CPU limit and give it whole CPUs (--cpuset-cpus)")
}

func checkAffinity(h record.Host) record.Check {
	const name = "cpu affinity"
	text, ok := h.Limits.Affinity.Get()
	if !ok {
		return skipped(name, h.Limits.Affinity.Unavailable)
	}
	allowed, err := ParseCPUList(text)
	if err != nil {
		return skipped(name, err.Error())
	}
	if set, ok := h.Limits.Cpuset.Get(); ok {
		if list, err := ParseCPUList(set); err == nil {
			allowed = intersect(allowed, list)
		}
	}
	n, ok := h.CPU.Threads.Get()
	if !ok {
		return skipped(name, h.CPU.Threads.Unavailable)
	}
	current, want := fmt.Sprintf("%d of %d CPUs (%s)", len(allowed), n, FormatCPUList(allowed)), "all CPUs"
	if len(allowed) >= n {
		return passed(name, "", current, want)
	}
	return problem(name, statusWarning, "all-core figures will be of these CPUs alone", current, want,
		"run without taskset, numactl and cpuset, unless this is intended")
}

func checkMemory(src Source, need int64) record.Check {
	const name = "free memory"
	free, by, err := FreeMemory(src)
	if err != nil {
		return skipped(name, err.Error())
	}
	current, want := fmt.Sprintf("%s (%s)", bytesText(free), by), "≥ "+bytesText(need)
	if free >= need {
		return passed(name, "", current, want)
	}
	return problem(name, statusWarning, "cases that do not fit are skipped", current, want,
		"close programs that hold memory, or raise the container's memory limit")
}

func checkHugePages(h record.Host) record.Check {
	const name, want = "huge pages", "always or madvise"
	t, ok := h.HugePages.Transparent.Get()
	if !ok {
		return skipped(name, h.HugePages.Transparent.Unavailable)
	}
	if t == "always" || t == "madvise" {
		return passed(name, "", "transparent: "+t, want)
	}
	return problem(name, statusWarning, "large buffers will miss the TLB", "transparent: "+t, want,
		"echo madvise > /sys/kernel/mm/transparent_hugepage/enabled (as root)")
}

// MeterFact is the energy meter of a device, or why there is none and what would help.
type MeterFact struct {
	Device         string
	Meter          string
	Domains, Apart []string
	Missing        string
}

// energyChecks is one check for each device.
func energyChecks(ctx context.Context, src Source, meters func(context.Context) []MeterFact) []record.Check {
	if meters == nil {
		return []record.Check{checkEnergy(src)}
	}
	var out []record.Check
	for _, m := range meters(ctx) {
		const want = "a readable meter"
		name := "energy of " + m.Device
		reason, remedy, fixable := strings.Cut(m.Missing, "; to change that: ")
		switch {
		case m.Missing == "":
			current := m.Meter + ": " + strings.Join(m.Domains, ", ")
			if len(m.Apart) > 0 {
				current += " (apart: " + strings.Join(m.Apart, ", ") + ")"
			}
			out = append(out, passed(name, "", current, want))
		case fixable && !strings.Contains(m.Missing, "virtual machine"):
			remedy, _, _ = strings.Cut(remedy, ";")
			out = append(out, problem(name, statusWarning, "energy cannot be measured", reason, want, remedy))
		default:
			out = append(out, skipped(name, m.Missing))
		}
	}
	return out
}

// checkEnergy tries to read the RAPL counters, which belong to root since Linux 5.10.
func checkEnergy(src Source) record.Check {
	const name, want = "energy counters", "readable"
	if src.os() == "darwin" {
		if _, err := os.Stat("/usr/bin/powermetrics"); err != nil {
			return skipped(name, "powermetrics is not installed")
		}
		if os.Geteuid() != 0 {
			return problem(name, statusWarning, "energy cannot be measured", "powermetrics needs root", want, "run as root for energy figures")
		}
		return passed(name, "", "powermetrics", want)
	}
	files := src.glob("/sys/class/powercap/*/energy_uj")
	if len(files) == 0 {
		return skipped(name, "no RAPL counter under /sys/class/powercap (a virtual machine, or the kernel module is not loaded)")
	}
	readable := 0
	for _, f := range files {
		if _, err := os.ReadFile(src.path(f)); err == nil {
			readable++
		} else if !errors.Is(err, fs.ErrPermission) {
			return skipped(name, src.explain(f, err).Error())
		}
	}
	current := fmt.Sprintf("%d of %d RAPL counters", readable, len(files))
	if readable == len(files) {
		return passed(name, "", current, want)
	}
	return problem(name, statusWarning, "energy cannot be measured", current, want, "chmod a+r /sys/class/powercap/*/energy_uj (as root), or run as root")
}

// checkCounters: perf_event_paranoid up to 2 lets a process count its own user-space
// events (Documentation/admin-guide/sysctl/kernel.rst).
func checkCounters(src Source) record.Check {
	const name, want = "performance counters", "perf_event_paranoid ≤ 2"
	v, err := src.readInt("/proc/sys/kernel/perf_event_paranoid")
	if err != nil {
		return skipped(name, err.Error())
	}
	current := fmt.Sprintf("perf_event_paranoid = %d", v)
	if v > 2 {
		return problem(name, statusWarning, "hardware counters are closed to this user", current, want, "sysctl kernel.perf_event_paranoid=2 (as root)")
	}
	if src.os() == "linux" && !src.exists("/sys/bus/event_source/devices/cpu") && !src.exists("/sys/bus/event_source/devices/cpu_core") &&
		len(src.glob("/sys/bus/event_source/devices/armv8*")) == 0 {
		return skipped(name, current+", but the kernel has no core PMU (usual in a virtual machine)")
	}
	return passed(name, "", current, want)
}

// nvmlNames: where distributions and the driver's installer put the library.
var nvmlNames = []string{
	"/usr/lib/x86_64-linux-gnu/libnvidia-ml.so.1", "/usr/lib/aarch64-linux-gnu/libnvidia-ml.so.1",
	"/usr/lib64/libnvidia-ml.so.1", "/usr/lib/libnvidia-ml.so.1", "/usr/local/nvidia/lib64/libnvidia-ml.so.1",
	"/usr/lib/wsl/lib/libnvidia-ml.so.1", "/run/opengl-driver/lib/libnvidia-ml.so.1",
}

func findNVML(src Source) (string, bool) {
	for _, n := range nvmlNames {
		if src.exists(n) {
			return n, true
		}
	}
	return "", false
}

func checkNVML(src Source) record.Check {
	const name = "nvml"
	gpus := src.glob("/dev/nvidia[0-9]*")
	lib, ok := findNVML(src)
	switch {
	case ok:
		return passed(name, "", lib, "present")
	case len(gpus) > 0:
		return problem(name, statusWarning, fmt.Sprintf("%d NVIDIA GPU(s) but no NVML library: no power, clock and temperature of them", len(gpus)),
			"libnvidia-ml.so.1 not found", "present", "install the driver's compute libraries")
	}
	return skipped(name, "no NVIDIA device and no NVML library on this machine")
}

func checkGPUUsers(ctx context.Context, src Source, users func(context.Context) ([]string, error)) record.Check {
	const name, want = "gpu users", "none"
	if users == nil {
		if _, ok := findNVML(src); !ok {
			return skipped(name, "no NVML library on this machine")
		}
		return skipped(name, "not asked here: a run on a GPU looks for other processes there itself, and warns of them")
	}
	list, err := users(ctx)
	if err != nil {
		return skipped(name, err.Error())
	}
	if len(list) == 0 {
		return passed(name, "", "none", want)
	}
	return problem(name, statusWarning, "others share the GPU: expect noisy results", strings.Join(list, ", "), want, "stop them and repeat")
}
