package machine

import (
	"fmt"
	"path"
	"sort"
	"strconv"
	"strings"

	"ridge/goharness/record"
)

const sysCPU = "/sys/devices/system/cpu"

// onlineCPUs lists the CPUs the kernel schedules on.
func onlineCPUs(src Source) ([]int, error) {
	text, err := src.read(sysCPU + "/online")
	if err != nil {
		return nil, err
	}
	return ParseCPUList(text)
}

// readTopology fills sockets, cores, threads, SMT, the logical CPUs and the core types.
func readTopology(src Source, cpu *record.CPU, id CPUID, arm []armCore) {
	online, err := onlineCPUs(src)
	if err != nil {
		why := err.Error()
		cpu.Sockets, cpu.Cores = record.Unknown[int](why), record.Unknown[int](why)
		cpu.Threads, cpu.SMT = record.Unknown[int](why), record.Unknown[int](why)
		return
	}
	cpu.Threads = record.Known(len(online), sysCPU+"/online")
	nodes := nodeOf(src)
	missing := ""
	for _, n := range online {
		l := record.LogicalCPU{CPU: n, Core: -1, Socket: -1, Node: -1}
		dir := fmt.Sprintf("%s/cpu%d/topology", sysCPU, n)
		if v, err := src.readInt(dir + "/physical_package_id"); err == nil && v >= 0 {
			l.Socket = int(v)
		} else if err != nil {
			missing = err.Error()
		} else {
			missing = dir + "/physical_package_id is -1 (the firmware does not say)"
		}
		if sib, err := siblings(src, dir); err == nil {
			l.Core = sib[0]
		} else {
			missing = err.Error()
		}
		if node, ok := nodes[n]; ok {
			l.Node = node
		}
		cpu.Logical = append(cpu.Logical, l)
	}
	countTopology(cpu, missing)
	readCoreTypes(src, cpu, id, arm)
}

// siblings gives the hardware threads of a CPU's core, lowest first.
func siblings(src Source, dir string) ([]int, error) {
	text, err := src.read(dir + "/thread_siblings_list")
	if err != nil {
		return nil, err
	}
	list, err := ParseCPUList(text)
	if err != nil {
		return nil, fmt.Errorf("%s/thread_siblings_list: %w", dir, err)
	}
	sort.Ints(list)
	return list, nil
}

func countTopology(cpu *record.CPU, missing string) {
	sockets, cores := map[int]bool{}, map[int]int{}
	knowSockets, knowCores := true, true
	for _, l := range cpu.Logical {
		sockets[l.Socket] = true
		cores[l.Core]++
		knowSockets = knowSockets && l.Socket >= 0
		knowCores = knowCores && l.Core >= 0
	}
	if knowSockets {
		cpu.Sockets = record.Known(len(sockets), "distinct topology/physical_package_id")
	} else {
		cpu.Sockets = record.Unknown[int](missing)
	}
	if !knowCores {
		cpu.Cores, cpu.SMT = record.Unknown[int](missing), record.Unknown[int](missing)
		return
	}
	smt := 0
	for _, n := range cores {
		smt = max(smt, n)
	}
	cpu.Cores = record.Known(len(cores), "distinct topology/thread_siblings_list")
	cpu.SMT = record.Known(smt, "largest topology/thread_siblings_list")
}

// readCoreTypes finds the kinds of cores of a hybrid CPU: Intel's perf devices name the
// CPUs of each kind, on arm64 the part number of each CPU does. A uniform CPU has none.
func readCoreTypes(src Source, cpu *record.CPU, id CPUID, arm []armCore) {
	type kind struct {
		name, uarch string
		cpus        []int
	}
	var kinds []kind
	u := Lookup(id)
	for _, k := range []struct{ dev, name, uarch string }{
		{"cpu_core", "P", u.Name}, {"cpu_atom", "E", u.ECore()}, {"cpu_lowpower", "LPE", u.ECore()},
	} {
		if text, err := src.read("/sys/devices/" + k.dev + "/cpus"); err == nil {
			if list, err := ParseCPUList(text); err == nil {
				kinds = append(kinds, kind{k.name, k.uarch, list})
			}
		}
	}
	byPart := map[string]int{}
	for _, c := range arm {
		name := Lookup(CPUID{Vendor: armImplementers[c.implementer], Family: c.implementer, Model: c.part}).Name
		i, ok := byPart[name]
		if !ok {
			i = len(kinds)
			byPart[name] = i
			kinds = append(kinds, kind{name: name, uarch: name})
		}
		kinds[i].cpus = append(kinds[i].cpus, c.cpu)
	}
	if len(kinds) < 2 {
		return
	}
	for _, k := range kinds {
		t := record.CoreType{Name: k.name, Microarchitecture: k.uarch, CPUs: FormatCPUList(k.cpus), Threads: len(k.cpus)}
		cores := map[int]bool{}
		in := map[int]bool{}
		for _, c := range k.cpus {
			in[c] = true
		}
		for i := range cpu.Logical {
			if in[cpu.Logical[i].CPU] {
				cpu.Logical[i].Type = k.name
				cores[cpu.Logical[i].Core] = true
			}
		}
		t.Cores = len(cores)
		t.MaxMHz = freqMHz(src, fmt.Sprintf("%s/cpu%d/cpufreq/cpuinfo_max_freq", sysCPU, k.cpus[0]))
		cpu.CoreTypes = append(cpu.CoreTypes, t)
	}
}

// readCaches groups the cache instances of all online CPUs by their properties.
func readCaches(src Source, cpu *record.CPU, id CPUID) {
	cpu.Caches = []record.Cache{}
	type key struct {
		level, ways, line, shared int
		kind                      string
		size                      int64
	}
	groups := map[key]map[string]bool{}
	for _, l := range cpu.Logical {
		for _, dir := range src.glob(fmt.Sprintf("%s/cpu%d/cache/index*", sysCPU, l.CPU)) {
			k := key{}
			level, err := src.readInt(dir + "/level")
			if err != nil {
				cpu.CachesReason = err.Error()
				continue
			}
			size, err := src.read(dir + "/size")
			if err == nil {
				k.size, err = parseSize(size)
			}
			if err != nil && cpu.CachesReason == "" {
				cpu.CachesReason = fmt.Sprintf("L%d of CPU %d: %v", level, l.CPU, err)
			}
			kind, _ := src.read(dir + "/type")
			k.level, k.kind = int(level), strings.ToLower(kind)
			ways, _ := src.readInt(dir + "/ways_of_associativity") // 0 where the firmware does not say
			line, _ := src.readInt(dir + "/coherency_line_size")
			k.ways, k.line = int(ways), int(line)
			text, err := src.read(dir + "/shared_cpu_list")
			if err != nil {
				text = strconv.Itoa(l.CPU)
			}
			list, err := ParseCPUList(text)
			if err != nil {
				cpu.CachesReason = fmt.Sprintf("%s/shared_cpu_list: %v", dir, err)
				continue
			}
			k.shared = len(list)
			if groups[k] == nil {
				groups[k] = map[string]bool{}
			}
			groups[k][FormatCPUList(list)] = true
		}
	}
	for k, instances := range groups {
		c := record.Cache{Level: k.level, Type: k.kind, SizeBytes: k.size, Ways: k.ways, LineBytes: k.line,
			SharedByCPUs: k.shared, Instances: len(instances), Source: "sysfs"}
		for list := range instances {
			c.CPUs = append(c.CPUs, list)
		}
		sort.Slice(c.CPUs, func(i, j int) bool { return naturalLess(c.CPUs[i], c.CPUs[j]) })
		cpu.Caches = append(cpu.Caches, c)
	}
	sort.Slice(cpu.Caches, func(i, j int) bool {
		a, b := cpu.Caches[i], cpu.Caches[j]
		if a.Level != b.Level {
			return a.Level < b.Level
		}
		if a.Type != b.Type {
			return a.Type < b.Type
		}
		return naturalLess(a.CPUs[0], b.CPUs[0])
	})
	if len(cpu.Caches) == 0 {
		cachesFromCPUID(cpu, id)
	}
}

// cachesFromCPUID gives the sizes of the cache leaves where the kernel lists no caches;
// how many instances there are and who shares them stays unknown.
func cachesFromCPUID(cpu *record.CPU, id CPUID) {
	for _, c := range []struct {
		level int
		kind  string
		size  int64
	}{{1, "data", id.L1DBytes}, {2, "unified", id.L2Bytes}, {3, "unified", id.L3Bytes}} {
		if c.size > 0 {
			cpu.Caches = append(cpu.Caches, record.Cache{Level: c.level, Type: c.kind, SizeBytes: c.size,
				LineBytes: id.LineBytes, Source: "processor"})
		}
	}
	if len(cpu.Caches) > 0 {
		cpu.CachesReason = "the kernel lists no caches; sizes are the processor's own, sharing and instances unknown"
	} else {
		cpu.CachesReason = "neither the kernel (" + path.Join(sysCPU, "cpu0/cache") + ") nor the processor lists caches"
	}
}

// parseSize reads sysfs sizes: "32K", "2M", "1024".
func parseSize(s string) (int64, error) {
	unit := int64(1)
	t := strings.TrimSpace(s)
	switch {
	case strings.HasSuffix(t, "K"):
		unit = 1 << 10
	case strings.HasSuffix(t, "M"):
		unit = 1 << 20
	case strings.HasSuffix(t, "G"):
		unit = 1 << 30
	}
	v, err := strconv.ParseInt(strings.TrimRight(t, "KMG"), 10, 64)
	if err != nil || v < 0 || v > (1<<40)/unit {
		return 0, fmt.Errorf("%q is not a size such as 32K", clip(s))
	}
	return v * unit, nil
}
