package machine

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"ridge/goharness/power"
	"ridge/goharness/record"
)

// put writes one file below a root.
func put(t *testing.T, root, path, content string) {
	t.Helper()
	full := filepath.Join(root, path)
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(full, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestCPUListsRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		cpus := rapid.SliceOfNDistinct(rapid.IntRange(0, 300), 1, 40, rapid.ID[int]).Draw(t, "cpus")
		got, err := ParseCPUList(FormatCPUList(cpus))
		if err != nil {
			t.Fatal(err)
		}
		if FormatCPUList(got) != FormatCPUList(cpus) || len(got) != len(cpus) {
			t.Fatalf("%v became %v", cpus, got)
		}
	})
}

func TestCPUListFormats(t *testing.T) {
	for list, want := range map[string][]int{
		"0": {0}, "0-3": {0, 1, 2, 3}, "8,0-1": {8, 0, 1}, "0-10:5": {0, 5, 10}, " 1 , 2 ": {1, 2},
	} {
		if got, err := ParseCPUList(list); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %v %v, want %v", list, got, err, want)
		}
	}
	for _, bad := range []string{"", " ", "a", "1-", "-1", "3-1", "0,0", "0-2,1", "0-4:0", "1:2", "0-4:x", "1,,2", "0-99999999", "18446744073709551616", "1.5", "0x3"} {
		if got, err := ParseCPUList(bad); err == nil || !strings.Contains(err.Error(), "CPU list") {
			t.Errorf("%q was read as %v, error %v", bad, got, err)
		}
	}
}

// TestThreadsAreTheLeastOfAllLimits: trap 16.
func TestThreadsAreTheLeastOfAllLimits(t *testing.T) {
	h := Read(source(t, "container-quota"))
	if q, _ := h.Limits.QuotaCPUs.Get(); q != 2.5 {
		t.Errorf("quota %v, want the tightest of 2.5, 4 and none", h.Limits.QuotaCPUs)
	}
	if s, _ := h.Limits.Cpuset.Get(); s != "8-15" {
		t.Errorf("cpuset %v", h.Limits.Cpuset)
	}
	if s, _ := h.Limits.Affinity.Get(); s != "8-13" {
		t.Errorf("affinity %v", h.Limits.Affinity)
	}
	if h.Limits.UsableThreads != 2 || !strings.Contains(h.Limits.UsableReason, "quota") {
		t.Errorf("%d threads (%s), want 2 of the host's 64 CPUs", h.Limits.UsableThreads, h.Limits.UsableReason)
	}
	cpus, why := UsableCPUs(source(t, "container-quota"))
	if FormatCPUList(cpus) != "8-13" || !strings.Contains(why, "affinity") {
		t.Errorf("usable CPUs %v (%s)", cpus, why)
	}
	src := source(t, "container-quota")
	src.Affinity = func() ([]int, error) { return []int{9}, nil }
	if n, _ := UsableThreads(src); n != 1 {
		t.Errorf("affinity of one CPU: %d threads", n)
	}
	src.Root = fixture(t, "container-quota")
	put(t, src.Root, "/sys/fs/cgroup/kubepods.slice/pod1/c1/cpu.max", "50000 100000")
	if n, why := UsableThreads(src); n != 1 {
		t.Errorf("half a CPU: %d threads (%s), want 1", n, why)
	}
}

func TestNestedV1QuotaInsideAContainer(t *testing.T) {
	root := t.TempDir()
	put(t, root, "/proc/self/cgroup", "3:cpu,cpuacct:/docker/abc/inner\n2:cpuset:/docker/abc\n1:memory:/../outside\n")
	put(t, root, "/proc/self/mountinfo", "33 31 0:28 /docker/abc /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"+
		"34 31 0:28 /docker/abc /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n35 31 0:28 /docker/abc /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n")
	put(t, root, "/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "150000\n")
	put(t, root, "/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "50000\n")
	put(t, root, "/sys/fs/cgroup/cpu,cpuacct/inner/cpu.cfs_quota_us", "-1\n")
	put(t, root, "/sys/fs/cgroup/cpu,cpuacct/inner/cpu.cfs_period_us", "100000\n")
	put(t, root, "/sys/fs/cgroup/cpuset/cpuset.cpus", "2-3\n")
	put(t, root, "/sys/fs/cgroup/memory/memory.limit_in_bytes", "1000000\n")
	put(t, root, "/sys/fs/cgroup/memory/memory.usage_in_bytes", "400000\n")
	put(t, root, "/proc/meminfo", "MemAvailable: 8000 kB\n")
	src := Source{Root: root, OS: "linux"}
	if q, where, ok, why := cpuQuota(src); !ok || q != 3 || where != "/sys/fs/cgroup/cpu,cpuacct" {
		t.Errorf("quota %g at %s %v %s, want 3 from the outer folder", q, where, ok, why)
	}
	if set, file, err := cpuset(src); err != nil || FormatCPUList(set) != "2-3" {
		t.Errorf("cpuset %v from %s: %v", set, file, err)
	}
	if free, by, err := FreeMemory(src); err != nil || free != 600000 || !strings.Contains(by, "cgroup") {
		t.Errorf("free memory %d by %s: %v", free, by, err)
	}
}

func TestFreeMemoryTakesTheTightestLimit(t *testing.T) {
	src := source(t, "container-quota")
	if free, by, err := FreeMemory(src); err != nil || free != 512<<20 || !strings.Contains(by, "pod1") {
		t.Errorf("%d by %s: %v, want 512 MiB left by the outer limit", free, by, err)
	}
	src = source(t, "vm-milan")
	if free, by, err := FreeMemory(src); err != nil || free != 24364400<<10 || by != "MemAvailable" {
		t.Errorf("%d by %s: %v", free, by, err)
	}
	if _, _, err := FreeMemory(Source{Root: t.TempDir(), OS: "linux"}); err == nil {
		t.Error("no /proc gave a figure")
	}
}

// TestFrequencyUnits: trap 8. cpufreq is in kHz, CPPC in MHz; what cannot be is refused.
func TestFrequencyUnits(t *testing.T) {
	h := Read(source(t, "amd-two-socket"))
	if v, _ := h.CPU.Clock.MaxMHz.Get(); v != 4100 {
		t.Errorf("maximum %v MHz, want 4100 (the file is in kHz)", v)
	}
	if v, _ := h.CPU.Clock.BaseMHz.Get(); v != 3700 {
		t.Errorf("base %v MHz, want 3700 (CPPC is in MHz)", v)
	}
	h = Read(source(t, "vm-contradictory"))
	if v, ok := h.CPU.Clock.MaxMHz.Get(); ok {
		t.Errorf("a file in Hz was believed: %v MHz", v)
	}
}

// CPU 0 may be offline: its folder has then neither frequencies nor a topology.
func TestFrequenciesAreThoseOfACPUThatIsOnline(t *testing.T) {
	root := t.TempDir()
	put(t, root, "/sys/devices/system/cpu/online", "2-3")
	put(t, root, "/sys/devices/system/cpu/cpu0/online", "0")
	for cpu := 2; cpu < 4; cpu++ {
		dir := fmt.Sprintf("/sys/devices/system/cpu/cpu%d/", cpu)
		for file, v := range map[string]string{"cpufreq/cpuinfo_min_freq": "800000", "cpufreq/cpuinfo_max_freq": "3600000", "cpufreq/scaling_driver": "acpi-cpufreq",
			"cpufreq/scaling_governor": "performance", "acpi_cppc/nominal_freq": "2600", "topology/thread_siblings_list": fmt.Sprint(cpu), "topology/physical_package_id": "0"} {
			put(t, root, dir+file, v)
		}
	}
	h := Read(Source{Root: root, OS: "linux", Arch: "amd64", CPUID: func() CPUID { return CPUID{} }})
	c := h.CPU.Clock
	low, _ := c.MinMHz.Get()
	high, _ := c.MaxMHz.Get()
	base, _ := c.BaseMHz.Get()
	driver, _ := c.Driver.Get()
	if governor, _ := c.Governor.Get(); low != 800 || high != 3600 || base != 2600 || driver != "acpi-cpufreq" || governor != "performance" {
		t.Errorf("%+v", c)
	}
	if n, _ := h.CPU.Cores.Get(); n != 2 {
		t.Errorf("%v cores", h.CPU.Cores)
	}
}

func TestHybridCoresAndCaches(t *testing.T) {
	h := Read(source(t, "intel-hybrid"))
	if len(h.CPU.CoreTypes) != 2 || h.CPU.CoreTypes[0].Cores != 8 || h.CPU.CoreTypes[1].Threads != 16 || h.CPU.CoreTypes[1].Microarchitecture != "Gracemont" {
		t.Fatalf("%+v", h.CPU.CoreTypes)
	}
	var l2 []string
	for _, c := range h.CPU.Caches {
		if c.Level == 2 {
			l2 = append(l2, fmt.Sprintf("%d×%d/%d", c.Instances, c.SizeBytes>>20, c.SharedByCPUs))
		}
	}
	if strings.Join(l2, " ") != "8×2/2 4×4/4" {
		t.Errorf("L2 %v", l2)
	}
	if v, _ := h.Memory.TheoreticalGBps.Get(); v != 83.2 {
		t.Errorf("theoretical %v", h.Memory.TheoreticalGBps)
	}
}

func TestUnlikeArmCoresAreToldApart(t *testing.T) {
	root := t.TempDir()
	text := ""
	for cpu, part := range []string{"0xd05", "0xd05", "0xd0b", "0xd0b"} {
		text += fmt.Sprintf("processor : %d\nFeatures : fp asimd asimddp\nCPU implementer : 0x41\nCPU part : %s\n\n", cpu, part)
		put(t, root, fmt.Sprintf("/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu), fmt.Sprint(cpu))
		put(t, root, fmt.Sprintf("/sys/devices/system/cpu/cpu%d/cpufreq/cpuinfo_max_freq", cpu), fmt.Sprint(1500000+cpu*400000))
	}
	put(t, root, "/proc/cpuinfo", text)
	put(t, root, "/sys/devices/system/cpu/online", "0-3")
	h := Read(Source{Root: root, OS: "linux", Arch: "arm64", CPUID: func() CPUID { return CPUID{} }})
	if len(h.CPU.CoreTypes) != 2 || h.CPU.CoreTypes[0].CPUs != "0-1" || h.CPU.CoreTypes[1].Name != "Cortex-A76" || h.CPU.Microarchitecture != "Cortex-A76" {
		t.Errorf("%s, %+v", h.CPU.Microarchitecture, h.CPU.CoreTypes)
	}
	order, err := CPUOrder(h, []int{0, 1, 2, 3}, "scatter")
	if err != nil || order[0] != 2 {
		t.Errorf("order %v %v, want the fast cores first", order, err)
	}
}

func TestCPUOrderPolicies(t *testing.T) {
	hybrid, dual := Read(source(t, "intel-hybrid")), Read(source(t, "amd-two-socket"))
	for _, c := range []struct {
		name   string
		host   record.Host
		cpus   string
		policy string
		want   []int
	}{
		{"scatter takes distinct cores and alternates between nodes", dual, "0-31", "scatter", []int{0, 8, 1, 9, 2, 10}},
		{"scatter comes to second threads last", dual, "0,16,1,8", "scatter", []int{0, 8, 1, 16}},
		{"compact fills a core, then its neighbour", dual, "0-31", "compact", []int{0, 16, 1, 17, 2, 18}},
		{"scatter puts fast cores first", hybrid, "0-31", "scatter", []int{0, 2, 4, 6, 8, 10, 12, 14, 16, 17}},
		{"scatter keeps to the allowed CPUs", hybrid, "1,3,16", "scatter", []int{1, 3, 16}},
		{"a list is kept as given", hybrid, "0-31", "4,0,2", []int{4, 0, 2}},
		{"none pins nothing", hybrid, "0-2", "none", []int{-1, -1, -1}},
		{"unknown topology counts each CPU as a core", record.Host{}, "0-3", "scatter", []int{0, 1, 2, 3}},
	} {
		cpus, err := ParseCPUList(c.cpus)
		if err != nil {
			t.Fatal(err)
		}
		got, err := CPUOrder(c.host, cpus, c.policy)
		if err != nil || len(got) < len(c.want) || !reflect.DeepEqual(got[:len(c.want)], c.want) {
			t.Errorf("%s: %v %v, want %v first", c.name, got, err, c.want)
		}
		if c.policy == "scatter" || c.policy == "compact" {
			if FormatCPUList(got) != FormatCPUList(cpus) {
				t.Errorf("%s: %v is not a permutation of %v", c.name, got, cpus)
			}
		}
	}
	for _, bad := range []string{"0,99", "spread", "", "1-"} {
		if got, err := CPUOrder(hybrid, []int{0, 1}, bad); err == nil {
			t.Errorf("policy %q gave %v", bad, got)
		}
	}
	if _, err := CPUOrder(hybrid, nil, "none"); err == nil {
		t.Error("no usable CPU gave an order")
	}
}

func TestAggregateLLCCountsInstancesOnce(t *testing.T) {
	hybrid, dual := Read(source(t, "intel-hybrid")), Read(source(t, "amd-two-socket"))
	inner := record.Host{CPU: record.CPU{Caches: []record.Cache{
		{Level: 2, Type: "unified", SizeBytes: 1 << 20, CPUs: []string{"0", "1", "2"}}, {Level: 3, Type: "unified", SizeBytes: 8 << 20, CPUs: []string{"0-1"}}}}}
	for _, c := range []struct {
		name string
		host record.Host
		cpus []int
		want int64
	}{
		{"one shared L3", hybrid, []int{0, 5, 31}, 36 << 20},
		{"two threads of a core share an L3", dual, []int{0, 16}, 32 << 20},
		{"an L3 for each core", dual, []int{0, 1, 8}, 96 << 20},
		{"a core without L3 ends at its L2", inner, []int{0, 1, 2}, 9 << 20},
		{"unknown sharing counts one each", Read(source(t, "container-quota")), []int{0, 1}, 108 << 20},
		{"no cache known", record.Host{}, []int{0}, 0},
	} {
		if got := AggregateLLC(c.host, c.cpus); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

// smbiosDevice builds a type 17 structure (SMBIOS 2.8 length).
func smbiosDevice(locator, bank string, mtps int) memoryDevice {
	return memoryDevice{locator: locator, bank: bank, kind: "DDR4", dataWidthBits: 64, configuredMTps: mtps}
}

func TestChannelsFromLocators(t *testing.T) {
	for _, c := range []struct {
		name     string
		locators []string // "locator|bank"
		want     int      // 0: ambiguous
	}{
		{"letters in the locator, two modules a channel", []string{"DIMM_A1|", "DIMM_A2|", "DIMM_B1|", "DIMM_B2|"}, 2},
		{"socket and letter", []string{"P1-DIMMA1|", "P1-DIMMB1|", "P2-DIMMA1|", "P2-DIMMB1|"}, 4},
		{"controller and channel", []string{"Controller0-ChannelA-DIMM0|", "Controller0-ChannelB-DIMM0|", "Controller1-ChannelA-DIMM0|"}, 3},
		{"channel in the bank", []string{"DIMM 0|P0 CHANNEL A", "DIMM 1|P0 CHANNEL B", "DIMM 0|P1 CHANNEL A"}, 3},
		{"numbered channels", []string{"CPU0_CH0_DIMM0|", "CPU0_CH1_DIMM0|"}, 2},
		{"a letter that may be the socket", []string{"A1|", "A2|", "B1|"}, 0},
		{"plain numbers", []string{"DIMM 1|BANK 0", "DIMM 2|BANK 1"}, 0},
		{"the same slot twice", []string{"DIMM_A1|", "DIMM_A1|"}, 0},
		{"one of two unclear", []string{"DIMM_A1|", "slot 7|"}, 0},
	} {
		var devices []memoryDevice
		for _, l := range c.locators {
			loc, bank, _ := strings.Cut(l, "|")
			devices = append(devices, smbiosDevice(loc, bank, 3200))
		}
		keys, err := channelsOf(devices)
		distinct := map[string]bool{}
		for _, k := range keys {
			distinct[k] = true
		}
		if (err != nil) != (c.want == 0) || err == nil && len(distinct) != c.want {
			t.Errorf("%s: %v %v, want %d", c.name, keys, err, c.want)
		}
	}
}

func TestBrokenSMBIOSIsAReason(t *testing.T) {
	long := make([]byte, 0x60)
	long[0], long[1] = 17, 0x5c
	binary.LittleEndian.PutUint16(long[0x0a:], 64)
	binary.LittleEndian.PutUint16(long[0x0c:], 0x7fff)
	binary.LittleEndian.PutUint16(long[0x20:], 0xffff)
	binary.LittleEndian.PutUint32(long[0x58:], 70000)
	if d, ok, err := parseMemoryDevice(long); err != nil || !ok || d.configuredMTps != 70000 {
		t.Errorf("extended speed: %+v %v %v", d, ok, err)
	}
	for _, raw := range [][]byte{{17}, {17, 200, 0, 0}, {0, 2, 0, 0}, {17, 0x28, 0, 0, 1, 2, 3}, make([]byte, 64)} {
		root := t.TempDir()
		put(t, root, "/sys/firmware/dmi/tables/DMI", string(raw))
		var m record.Memory
		readSMBIOSMemory(Source{Root: root}, &m)
		if broken(m.Type) || broken(m.Channels) || broken(m.ConfiguredMTps) || broken(m.TheoreticalGBps) || m.TheoreticalGBps.Value != nil {
			t.Errorf("% x: %+v", raw, m)
		}
	}
}

func TestCacheSizesHaveTheirUnit(t *testing.T) {
	for text, want := range map[string]int64{"32K": 32 << 10, "2M": 2 << 20, "1G": 1 << 30, "1024": 1024, " 48K ": 48 << 10, "": -1, "K": -1, "-1K": -1, "2048G": -1, "1.5M": -1} {
		if got, err := parseSize(text); (err != nil) != (want < 0) || err == nil && got != want {
			t.Errorf("%q: %d %v, want %d", text, got, err, want)
		}
	}
}

// Modules of unlike speed or width have no one formula.
func TestUnlikeModulesGiveNoTheoreticalBandwidth(t *testing.T) {
	for _, c := range []struct {
		name  string
		width [2]uint16
		mtps  [2]uint16
		want  float64
	}{{"alike", [2]uint16{64, 64}, [2]uint16{3200, 3200}, 51.2}, {"speeds", [2]uint16{64, 64}, [2]uint16{3200, 2666}, 0}, {"widths", [2]uint16{64, 32}, [2]uint16{3200, 3200}, 0}, {"no speed", [2]uint16{64, 64}, [2]uint16{}, 0}} {
		var table []byte
		for i, locator := range []string{"DIMM_A1", "DIMM_B1"} {
			d := make([]byte, 0x28)
			d[0], d[1], d[0x10], d[0x12] = 17, 0x28, 1, 0x1a
			binary.LittleEndian.PutUint16(d[0x0a:], c.width[i])
			binary.LittleEndian.PutUint16(d[0x0c:], 0x4000)
			binary.LittleEndian.PutUint16(d[0x20:], c.mtps[i])
			table = append(append(table, d...), locator+"\x00\x00"...)
		}
		root := t.TempDir()
		put(t, root, "/sys/firmware/dmi/tables/DMI", string(table))
		var m record.Memory
		readSMBIOSMemory(Source{Root: root}, &m)
		if v, ok := m.TheoreticalGBps.Get(); ok != (c.want > 0) || v != c.want || broken(m.TheoreticalGBps) {
			t.Errorf("%s: %+v, want %g", c.name, m.TheoreticalGBps, c.want)
		}
	}
}

func TestBareMetalCloudIsNotAHypervisor(t *testing.T) {
	root := t.TempDir()
	put(t, root, "/sys/class/dmi/id/product_name", "c7g.metal")
	put(t, root, "/sys/class/dmi/id/sys_vendor", "Amazon EC2")
	if v, _ := readHypervisor(Source{Root: root, Arch: "arm64"}, CPUID{}).Get(); v != "none" {
		t.Errorf("c7g.metal: %q", v)
	}
	if v, _ := readHypervisor(Source{Root: root, Arch: "amd64"}, CPUID{Virtual: true, HypervisorVendor: "Strange"}).Get(); !strings.Contains(v, "Strange") {
		t.Errorf("unknown signature: %q", v)
	}
}

func TestStealAndTemperature(t *testing.T) {
	if v, _ := Steal(source(t, "vm-milan")).Get(); v != 142*10_000_000 {
		t.Errorf("steal %d ns, want 142 ticks of 10 ms", v)
	}
	if f := Steal(Source{Root: t.TempDir()}); f.Value != nil || f.Unavailable == "" {
		t.Errorf("%+v", f)
	}
	if f := Temperature(source(t, "intel-hybrid")); f.Value == nil || *f.Value != 43 || f.Source != "coretemp Package id 0" {
		t.Errorf("%+v", f)
	}
	if f := Temperature(source(t, "arm64")); f.Value != nil {
		t.Errorf("a broken sensor was believed: %+v", f)
	}
}

func TestDoctorThresholds(t *testing.T) {
	clock := func(loaded float64) record.Host {
		var h record.Host
		h.CPU.Clock.LoadedGHz, h.CPU.Clock.MaxMHz = record.Known(loaded, "probe"), record.Known(4000.0, "table")
		return h
	}
	governor := func(g string) record.Host {
		var h record.Host
		h.CPU.Clock.Governor = record.Known(g, "sysfs")
		return h
	}
	heat := func(milli string) Source {
		root := t.TempDir()
		put(t, root, "/sys/class/thermal/thermal_zone0/temp", milli)
		return Source{Root: root}
	}
	load := func(avg string) Source {
		root := t.TempDir()
		put(t, root, "/proc/loadavg", avg+" 0 0 1/1 1")
		put(t, root, "/sys/devices/system/cpu/online", "0-9")
		return Source{Root: root}
	}
	at := func(avg string) record.Check { return checkLoad(context.Background(), load(avg), time.Millisecond) }
	for _, c := range []struct {
		name string
		got  record.Check
		want string
	}{
		{"clock at 90 %", checkClock(clock(3.6)), statusPassed}, {"clock at 89 %", checkClock(clock(3.56)), statusWarning},
		{"clock at 70 %", checkClock(clock(2.8)), statusWarning}, {"clock at 69 %", checkClock(clock(2.76)), statusFailed},
		{"performance", checkGovernor(governor("performance")), statusPassed}, {"powersave", checkGovernor(governor("powersave")), statusFailed},
		{"schedutil", checkGovernor(governor("schedutil")), statusWarning}, {"mixed with powersave", checkGovernor(governor("mixed: performance on 1, powersave on 1")), statusFailed},
		{"69 °C", checkTemperature(heat("69900")), statusPassed}, {"70 °C", checkTemperature(heat("70000")), statusWarning},
		{"85 °C", checkTemperature(heat("85000")), statusFailed}, {"no sensor", checkTemperature(Source{Root: t.TempDir()}), statusSkipped},
		{"load 4 %", at("0.4"), statusPassed}, {"load 10 %", at("1.0"), statusWarning}, {"load 90 % never fails", at("9.0"), statusWarning},
		{"no /proc", checkLoad(context.Background(), Source{Root: t.TempDir()}, time.Millisecond), statusSkipped},
	} {
		if c.got.Status != c.want {
			t.Errorf("%s: %+v, want %s", c.name, c.got, c.want)
		}
		if (c.got.Status == statusWarning || c.got.Status == statusFailed) && c.got.Fix == "" {
			t.Errorf("%s: a problem without a fix", c.name)
		}
	}
}

func TestLoadIsMeasuredOverTheInterval(t *testing.T) {
	root := t.TempDir()
	put(t, root, "/proc/stat", "cpu  100 0 100 1000 0 0 0 0 0 0\n")
	share, how, err := busyShare(context.Background(), Source{Root: root}, 200*time.Millisecond, func(_ context.Context, d time.Duration) error {
		if d != 200*time.Millisecond {
			t.Errorf("it waits %v", d)
		}
		put(t, root, "/proc/stat", "cpu  130 0 100 1070 0 0 0 0 0 0\n")
		return nil
	})
	if err != nil || share != 0.3 || !strings.Contains(how, "busy") {
		t.Errorf("%g %s %v, want 30 of 100 ticks", share, how, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, _, err := busyShare(ctx, Source{Root: root}, time.Hour, power.Sleep); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
}

func TestGPUChecks(t *testing.T) {
	ctx, root := context.Background(), t.TempDir()
	src := Source{Root: root}
	put(t, root, "/dev/nvidia0", "")
	if c := checkNVML(src); c.Status != statusWarning {
		t.Errorf("GPU without library: %+v", c)
	}
	put(t, root, nvmlNames[0], "")
	if c := checkNVML(src); c.Status != statusPassed {
		t.Errorf("GPU with library: %+v", c)
	}
	if c := checkGPUUsers(ctx, src, nil); c.Status != statusSkipped || c.Message == "" {
		t.Errorf("no platform: %+v", c)
	}
	busy := func(context.Context) ([]string, error) { return []string{"cuda:0 pid 42 (train)"}, nil }
	if c := checkGPUUsers(ctx, src, busy); c.Status != statusWarning || !strings.Contains(c.Current, "42") {
		t.Errorf("busy GPU: %+v", c)
	}
	if c := checkGPUUsers(ctx, src, func(context.Context) ([]string, error) { return nil, errors.New("driver too old") }); c.Status != statusSkipped {
		t.Errorf("error: %+v", c)
	}
}

func TestThisMachineIsReadable(t *testing.T) {
	h := Read(Source{})
	everyUnknownHasAReason(t, h)
	if h.Limits.UsableThreads < 1 || h.Arch == "" {
		t.Errorf("%+v", h.Limits)
	}
}
