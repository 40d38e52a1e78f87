package machine

import (
	"fmt"
	"strconv"
	"strings"

	"ridge/goharness/record"
)

// parseKB reads " 24684092 kB" as bytes (the kernel's kB is 1024 bytes).
func parseKB(s string) (int64, error) {
	f := strings.Fields(s)
	if len(f) != 2 || f[1] != "kB" {
		return 0, fmt.Errorf("%q is not a size in kB", clip(s))
	}
	v, err := strconv.ParseInt(f[0], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%q is not a size in kB", clip(s))
	}
	return v << 10, nil
}

// meminfo reads the named fields of /proc/meminfo. Sizes are in bytes, counts (the
// HugePages_ fields have no unit) as they are.
func meminfo(src Source) (map[string]int64, error) {
	text, err := src.read("/proc/meminfo")
	if err != nil {
		return nil, err
	}
	out := map[string]int64{}
	for _, line := range strings.Split(text, "\n") {
		key, value, ok := strings.Cut(line, ":")
		if !ok {
			continue
		}
		if v, err := parseKB(value); err == nil {
			out[key] = v
		} else if v, err := strconv.ParseInt(strings.TrimSpace(value), 10, 64); err == nil {
			out[key] = v
		}
	}
	return out, nil
}

// FreeMemory is how many bytes may be allocated now: the smaller of the kernel's
// MemAvailable and what the cgroup memory limits leave; limitedBy names which.
func FreeMemory(src Source) (available int64, limitedBy string, err error) {
	if src.os() == "darwin" {
		return freeMemoryDarwin(src)
	}
	m, err := meminfo(src)
	if err != nil {
		return 0, "", fmt.Errorf("read free memory: %w", err)
	}
	v, ok := m["MemAvailable"]
	if !ok {
		return 0, "", fmt.Errorf("read free memory: /proc/meminfo has no MemAvailable")
	}
	if _, room, where, found, _ := memoryRoom(src); found && room < v {
		return room, "cgroup memory limit (" + where + ")", nil
	}
	return v, "MemAvailable", nil
}

func readMemory(src Source, u Uarch) record.Memory {
	var m record.Memory
	info, err := meminfo(src)
	field := func(name string) record.Fact[int64] {
		if err != nil {
			return record.Unknown[int64](err.Error())
		}
		if v, ok := info[name]; ok {
			return record.Known(v, "/proc/meminfo "+name)
		}
		return record.Unknown[int64]("/proc/meminfo has no " + name)
	}
	m.TotalBytes, m.AvailableBytes = field("MemTotal"), field("MemAvailable")
	readSMBIOSMemory(src, &m)
	if v, formula, _, source, ok := u.DRAMUpperBound(); ok {
		m.UpperBoundGBps = record.Known(v, formula+"; "+source)
	} else {
		m.UpperBoundGBps = record.Unknown[float64](source)
	}
	return m
}

func readHugePages(src Source) record.HugePages {
	var h record.HugePages
	h.Transparent = chosen(src, "/sys/kernel/mm/transparent_hugepage/enabled")
	h.Defrag = chosen(src, "/sys/kernel/mm/transparent_hugepage/defrag")
	info, err := meminfo(src)
	field := func(name string) record.Fact[int64] {
		if err != nil {
			return record.Unknown[int64](err.Error())
		}
		if v, ok := info[name]; ok {
			return record.Known(v, "/proc/meminfo "+name)
		}
		return record.Unknown[int64]("/proc/meminfo has no " + name)
	}
	h.PageSizeBytes, h.Total, h.Free = field("Hugepagesize"), field("HugePages_Total"), field("HugePages_Free")
	return h
}

// chosen reads a sysfs file that marks the setting in force: "always [madvise] never".
func chosen(src Source, file string) record.Fact[string] {
	text, err := src.read(file)
	if err != nil {
		return record.Unknown[string](err.Error())
	}
	_, rest, ok := strings.Cut(text, "[")
	word, _, ok2 := strings.Cut(rest, "]")
	if !ok || !ok2 {
		return record.Unknown[string](fmt.Sprintf("%s holds %q, with no setting marked", file, clip(text)))
	}
	return record.Known(word, file)
}
