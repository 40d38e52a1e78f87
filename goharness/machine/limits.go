package machine

import (
	"fmt"
	"math"
	"runtime"
	"strings"

	"ridge/goharness/record"
)

// affinity is the set of CPUs the scheduler may put this process on.
func affinity(src Source) ([]int, string, error) {
	if src.Affinity != nil {
		list, err := src.Affinity()
		return list, "sched_getaffinity", err
	}
	text, err := src.read("/proc/self/status")
	if err != nil {
		return nil, "", err
	}
	for _, line := range strings.Split(text, "\n") {
		if v, ok := strings.CutPrefix(line, "Cpus_allowed_list:"); ok {
			list, err := ParseCPUList(strings.TrimSpace(v))
			if err != nil {
				return nil, "", fmt.Errorf("/proc/self/status: %w", err)
			}
			return list, "/proc/self/status Cpus_allowed_list", nil
		}
	}
	return nil, "", fmt.Errorf("/proc/self/status has no Cpus_allowed_list")
}

// UsableCPUs lists the CPUs this process may run on (affinity ∩ cpuset ∩ online) and says
// in words what decided. A quota limits how many threads are worth starting, not which
// CPUs: see UsableThreads.
func UsableCPUs(src Source) ([]int, string) {
	cpus, known := []int(nil), false
	var why []string
	add := func(list []int, err error, name string) {
		if err != nil {
			return
		}
		if !known {
			cpus, known = list, true
		} else {
			cpus = intersect(cpus, list)
		}
		why = append(why, name+" "+FormatCPUList(list))
	}
	online, err := onlineCPUs(src)
	add(online, err, "online")
	set, _, err := cpuset(src)
	add(set, err, "cpuset")
	aff, _, err := affinity(src)
	add(aff, err, "affinity")
	if len(cpus) == 0 {
		n := runtime.NumCPU()
		cpus = nil
		for c := range n {
			cpus = append(cpus, c)
		}
		if known {
			return cpus, fmt.Sprintf("%s have no CPU in common; the %d CPUs the Go runtime found", strings.Join(why, ", "), n)
		}
		return cpus, fmt.Sprintf("no CPU list is readable; the %d CPUs the Go runtime found", n)
	}
	return cpus, strings.Join(why, ", ")
}

// UsableThreads is how many threads this process can really run at once: the least of
// affinity, cpuset and the cgroup quota rounded down, at least 1 — never the host's core
// count.
func UsableThreads(src Source) (int, string) {
	cpus, why := UsableCPUs(src)
	n := len(cpus)
	if q, where, ok, _ := cpuQuota(src); ok {
		if t := max(1, int(math.Floor(q+1e-9))); t < n {
			return t, fmt.Sprintf("quota of %g CPUs (%s); %s", q, where, why)
		}
		why += fmt.Sprintf(", quota %g CPUs", q)
	}
	return n, why
}

func readLimits(src Source) record.Limits {
	var l record.Limits
	if q, where, ok, why := cpuQuota(src); ok {
		l.QuotaCPUs = record.Known(q, where)
	} else {
		l.QuotaCPUs = record.Unknown[float64](why)
	}
	if set, where, err := cpuset(src); err == nil {
		l.Cpuset = record.Known(FormatCPUList(set), where)
	} else {
		l.Cpuset = record.Unknown[string](err.Error())
	}
	if set, where, err := affinity(src); err == nil {
		l.Affinity = record.Known(FormatCPUList(set), where)
	} else {
		l.Affinity = record.Unknown[string](err.Error())
	}
	l.UsableThreads, l.UsableReason = UsableThreads(src)
	if limit, _, where, ok, why := memoryRoom(src); ok {
		l.CgroupMemoryLimit = record.Known(limit, where)
	} else {
		l.CgroupMemoryLimit = record.Unknown[int64](why)
	}
	return l
}
