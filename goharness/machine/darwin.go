package machine

import (
	"fmt"

	"ridge/goharness/record"
)

// readDarwin fills the host from sysctl: darwin has neither /proc nor /sys, no affinity
// interface and no cgroups.
func readDarwin(src Source, h *record.Host, id CPUID, u Uarch) {
	const noFile = "darwin has no such interface"
	get := src.Sysctl
	if get == nil {
		get = sysctlInt
	}
	intFact := func(name string) record.Fact[int] {
		v, err := get(name)
		if err != nil {
			return record.Unknown[int](fmt.Sprintf("sysctl %s: %v", name, err))
		}
		return record.Known(int(v), "sysctl "+name)
	}
	bytesFact := func(name string) record.Fact[int64] {
		v, err := get(name)
		if err != nil {
			return record.Unknown[int64](fmt.Sprintf("sysctl %s: %v", name, err))
		}
		return record.Known(int64(v), "sysctl "+name)
	}
	if release, err := kernelRelease(); err == nil {
		h.Kernel = record.Known(release, "sysctl kern.osrelease")
	} else {
		h.Kernel = record.Unknown[string](err.Error())
	}
	h.NUMAReason = noFile
	c := &h.CPU
	c.Sockets, c.Cores, c.Threads = intFact("hw.packages"), intFact("hw.physicalcpu"), intFact("hw.logicalcpu")
	c.SMT = record.Unknown[int]("cores or threads unknown")
	cores, okC := c.Cores.Get()
	threads, okT := c.Threads.Get()
	if okC && okT && cores > 0 {
		c.SMT = record.Known(threads/cores, "threads over cores")
	}
	darwinCoreTypes(c, get, u)
	darwinCaches(c, get, id)
	c.Clock = record.Clock{
		MinMHz: record.Unknown[float64](noFile), MaxMHz: record.Unknown[float64](noFile), BaseMHz: record.Unknown[float64](noFile),
		Governor: record.Unknown[string](noFile), Driver: record.Unknown[string](noFile), Turbo: record.Unknown[bool](noFile),
		IdleGHz: measuredClock(src, false), LoadedGHz: measuredClock(src, true),
	}
	h.Memory = record.Memory{
		TotalBytes:     bytesFact("hw.memsize"),
		AvailableBytes: record.Unknown[int64]("darwin has no figure of memory that can be allocated without swapping"),
		Type:           record.Unknown[string]("no SMBIOS on darwin"), ConfiguredMTps: record.Unknown[float64]("no SMBIOS on darwin"),
		Channels: record.Unknown[int]("no SMBIOS on darwin"), PopulatedDevices: record.Unknown[int]("no SMBIOS on darwin"),
		TheoreticalGBps: record.Unknown[float64]("no SMBIOS on darwin"),
	}
	if v, formula, _, source, ok := u.DRAMUpperBound(); ok {
		h.Memory.UpperBoundGBps = record.Known(v, formula+"; "+source)
	} else {
		h.Memory.UpperBoundGBps = record.Unknown[float64](source)
	}
	h.Limits = record.Limits{
		QuotaCPUs: record.Unknown[float64]("no cgroups on darwin"), Cpuset: record.Unknown[string]("no cgroups on darwin"),
		Affinity: record.Unknown[string](noFile), CgroupMemoryLimit: record.Unknown[int64]("no cgroups on darwin"),
	}
	if okT {
		h.Limits.UsableThreads, h.Limits.UsableReason = threads, "sysctl hw.logicalcpu; darwin sets no limits"
	} else {
		h.Limits.UsableThreads, h.Limits.UsableReason = UsableThreads(src)
	}
	h.HugePages = record.HugePages{
		Transparent: record.Unknown[string](noFile), Defrag: record.Unknown[string](noFile),
		PageSizeBytes: record.Unknown[int64](noFile), Total: record.Unknown[int64](noFile), Free: record.Unknown[int64](noFile),
	}
}

// freeMemoryDarwin counts the pages that nobody uses. The kernel would also give back
// caches, so more may be had; it does not say how much.
func freeMemoryDarwin(src Source) (int64, string, error) {
	get := src.Sysctl
	if get == nil {
		get = sysctlInt
	}
	pages, err := get("vm.page_free_count")
	if err != nil {
		return 0, "", fmt.Errorf("read free memory: sysctl vm.page_free_count: %w", err)
	}
	size, err := get("hw.pagesize")
	if err != nil {
		return 0, "", fmt.Errorf("read free memory: sysctl hw.pagesize: %w", err)
	}
	return int64(pages * size), "sysctl vm.page_free_count", nil
}

// perfLevels: hw.perflevel0 is the fastest kind of core (Apple, "Tuning your code's
// performance for Apple silicon").
func perfLevels(get func(string) (uint64, error)) int {
	n, err := get("hw.nperflevels")
	if err != nil {
		return 0
	}
	return int(n)
}

// darwinCoreTypes numbers the CPUs by kind. The kernel does not say which CPU number is of
// which kind, so the lists stay empty.
func darwinCoreTypes(c *record.CPU, get func(string) (uint64, error), u Uarch) {
	if perfLevels(get) < 2 {
		return
	}
	for i, t := range []struct{ name, uarch string }{{"P", u.Name}, {"E", u.ECore()}} {
		cores, err := get(fmt.Sprintf("hw.perflevel%d.physicalcpu", i))
		threads, err2 := get(fmt.Sprintf("hw.perflevel%d.logicalcpu", i))
		if err != nil || err2 != nil {
			continue
		}
		c.CoreTypes = append(c.CoreTypes, record.CoreType{Name: t.name, Microarchitecture: t.uarch,
			Cores: int(cores), Threads: int(threads), MaxMHz: record.Unknown[float64]("darwin does not tell the clock")})
	}
}

func darwinCaches(c *record.CPU, get func(string) (uint64, error), id CPUID) {
	c.Caches = []record.Cache{}
	line, err := get("hw.cachelinesize")
	if err != nil {
		line = uint64(id.LineBytes)
	}
	for level := range perfLevels(get) {
		prefix := fmt.Sprintf("hw.perflevel%d.", level)
		cpus, err := get(prefix + "logicalcpu")
		if err != nil || cpus == 0 {
			continue
		}
		for _, k := range []struct {
			level             int
			kind, size, share string
		}{{1, "data", "l1dcachesize", ""}, {1, "instruction", "l1icachesize", ""}, {2, "unified", "l2cachesize", "cpusperl2"}} {
			size, err := get(prefix + k.size)
			if err != nil || size == 0 {
				continue
			}
			shared := uint64(1)
			if k.share != "" {
				if shared, err = get(prefix + k.share); err != nil || shared == 0 {
					continue
				}
			}
			c.Caches = append(c.Caches, record.Cache{Level: k.level, Type: k.kind, SizeBytes: int64(size), LineBytes: int(line),
				SharedByCPUs: int(shared), Instances: int((cpus + shared - 1) / shared), Source: "sysctl " + prefix + k.size})
		}
	}
	if len(c.Caches) == 0 {
		cachesFromCPUID(c, id)
		return
	}
	c.CachesReason = "darwin does not tell which CPU uses which instance, nor the size of the system-level cache"
}
