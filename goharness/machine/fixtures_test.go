package machine

import (
	"bytes"
	"context"
	"flag"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ridge/goharness/record"
)

var update = flag.Bool("update", false, "write the golden files")

func features386(more ...string) []string {
	return append([]string{"sse2", "sse4.2", "avx", "avx2", "fma", "f16c"}, more...)
}

// hosts are the fixture machines with what their processors would say.
var hosts = []struct {
	name, why string
	cpu       CPUID
	arch      string
	clock     [2]float64 // idle and loaded GHz; 0: no probe
}{
	{"intel-hybrid", "two core types, per-core maximum clocks, SMBIOS with empty slots, everything passes", CPUID{
		Vendor: vendorIntel, Brand: "13th Gen Intel(R) Core(TM) i9-13900K", Family: 6, Model: 0xb7, Stepping: 1,
		Features: features386("avxvnni"), L2Bytes: 2 << 20}, "amd64", [2]float64{5.75, 5.31}},
	{"amd-two-socket", "two NUMA nodes, interleaved SMT numbering, CPPC in MHz, powersave, hot, boost off", CPUID{
		Vendor: vendorAMD, Brand: "AMD EPYC 72F3 8-Core Processor", Family: 0x19, Model: 1, Stepping: 1,
		Features: features386(), L2Bytes: 512 << 10}, "amd64", [2]float64{2.0, 2.7}},
	{"vm-milan", "a virtual machine that hides most: every unknown has a reason", CPUID{
		Vendor: vendorAMD, Brand: "AMD EPYC", Family: 0x19, Model: 1, Stepping: 1, Virtual: true, HypervisorVendor: "KVMKVMKVM",
		Features: features386(), L2Bytes: 512 << 10}, "amd64", [2]float64{3.4, 3.35}},
	{"container-quota", "nested quotas, cpuset and affinity on a host of 64 CPUs", CPUID{
		Vendor: vendorIntel, Brand: "Intel(R) Xeon(R) Platinum 8375C CPU @ 2.90GHz", Family: 6, Model: 0x6a, Stepping: 6,
		Features: features386("avx512f", "avx512dq", "avx512bw", "avx512vl", "avx512vnni"), L1DBytes: 48 << 10, L2Bytes: 1280 << 10, L3Bytes: 54 << 20, LineBytes: 64},
		"amd64", [2]float64{}},
	{"arm64", "identity from MIDR, caches without sizes, a broken sensor, little memory", CPUID{}, "arm64", [2]float64{2.6, 2.6}},
	{"vm-contradictory", "model 167 with AMX: features overrule the model number; Hz mistaken for kHz", trap19, "amd64", [2]float64{}},
}

var trap19 = CPUID{Vendor: vendorIntel, Brand: "Intel(R) Xeon(R) Processor @ 2.60GHz", Family: 6, Model: 167, Stepping: 1, Virtual: true, HypervisorVendor: "KVMKVMKVM",
	Features: features386("avx512f", "avx512dq", "avx512bw", "avx512vl", "avx512vnni", "avxvnni", "avx512bf16", "avx512fp16", "amx-tile", "amx-bf16", "amx-int8"),
	L2Bytes:  2 << 20}

func source(t *testing.T, name string) Source {
	t.Helper()
	for _, h := range hosts {
		if h.name != name {
			continue
		}
		s := Source{Root: sharedFixture(t, name), OS: "linux", Arch: h.arch, CPUID: func() CPUID { return h.cpu },
			Hostname: func() (string, error) { return name, nil }}
		if h.clock[0] > 0 {
			s.Clock = func(load bool) (float64, error) {
				if load {
					return h.clock[1], nil
				}
				return h.clock[0], nil
			}
		}
		return s
	}
	t.Fatalf("no fixture machine %q", name)
	return Source{}
}

func TestInfoAndDoctorOfEveryFixtureMachine(t *testing.T) {
	for _, h := range hosts {
		t.Run(h.name, func(t *testing.T) {
			src := source(t, h.name)
			host := Read(src)
			pre := Doctor(context.Background(), src, Options{Host: &host, LoadInterval: time.Millisecond,
				Now: func() time.Time { return time.Unix(0, 0) }})
			var out bytes.Buffer
			if err := WriteInfo(&out, host); err != nil {
				t.Fatal(err)
			}
			out.WriteString("\n")
			if err := WriteDoctor(&out, pre); err != nil {
				t.Fatal(err)
			}
			golden(t, h.name, h.why, out.Bytes())
			everyUnknownHasAReason(t, host)
		})
	}
}

func golden(t *testing.T, name, why string, got []byte) {
	t.Helper()
	file := filepath.Join("..", "..", "testdata", "machine", name+".golden")
	got = append([]byte("# "+why+"\n"), got...)
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(string(want), string(got)); d != "" {
		t.Errorf("%s (%s): -want +got\n%s", name, why, d)
	}
}

// everyUnknownHasAReason walks the facts of a host.
func everyUnknownHasAReason(t *testing.T, h record.Host) {
	t.Helper()
	c, m, l := h.CPU, h.Memory, h.Limits
	for name, bad := range map[string]bool{
		"kernel": broken(h.Kernel), "hypervisor": broken(h.Hypervisor), "container": broken(h.Container),
		"sockets": broken(c.Sockets), "cores": broken(c.Cores), "threads": broken(c.Threads), "smt": broken(c.SMT),
		"idle_ghz": broken(c.Clock.IdleGHz), "loaded_ghz": broken(c.Clock.LoadedGHz), "min_mhz": broken(c.Clock.MinMHz),
		"max_mhz": broken(c.Clock.MaxMHz), "base_mhz": broken(c.Clock.BaseMHz), "governor": broken(c.Clock.Governor),
		"driver": broken(c.Clock.Driver), "turbo": broken(c.Clock.Turbo), "total_bytes": broken(m.TotalBytes),
		"available_bytes": broken(m.AvailableBytes), "type": broken(m.Type), "configured_speed_mtps": broken(m.ConfiguredMTps),
		"channels": broken(m.Channels), "theoretical_gbps": broken(m.TheoreticalGBps), "socket_upper_bound_gbps": broken(m.UpperBoundGBps),
		"populated_devices": broken(m.PopulatedDevices), "quota_cpus": broken(l.QuotaCPUs), "cpuset": broken(l.Cpuset),
		"affinity": broken(l.Affinity), "cgroup_memory_limit_bytes": broken(l.CgroupMemoryLimit),
		"transparent": broken(h.HugePages.Transparent), "defrag": broken(h.HugePages.Defrag), "page_size_bytes": broken(h.HugePages.PageSizeBytes),
		"reserved_pages": broken(h.HugePages.Total), "reserved_pages_free": broken(h.HugePages.Free),
		"numa_nodes": len(h.NUMANodes) == 0 && h.NUMAReason == "", "caches": len(c.Caches) == 0 && c.CachesReason == "",
		"microarchitecture": c.Microarchitecture == "" || c.MicroarchitectureSource == "", "usable_threads": l.UsableThreads < 1 || l.UsableReason == "",
	} {
		if bad {
			t.Errorf("%s has neither a value nor a reason, or both", name)
		}
	}
}

func broken[T any](f record.Fact[T]) bool { return (f.Value == nil) == (f.Unavailable == "") }

func TestAnEmptyMachineGivesReasonsOnly(t *testing.T) {
	for _, arch := range []string{"amd64", "arm64"} {
		src := Source{Root: t.TempDir(), OS: "linux", Arch: arch, CPUID: func() CPUID { return CPUID{} }}
		h := Read(src)
		everyUnknownHasAReason(t, h)
		pre := Doctor(context.Background(), src, Options{Host: &h, LoadInterval: time.Millisecond})
		if !pre.Passed {
			t.Errorf("%s: unreadable facts failed the preflight: %+v", arch, pre.Checks)
		}
		for _, c := range pre.Checks {
			if c.Status == statusSkipped && c.Message == "" {
				t.Errorf("%s: check %s is skipped without a reason", arch, c.Name)
			}
		}
	}
}

func TestDarwinHostComesFromSysctl(t *testing.T) {
	values := map[string]uint64{"hw.packages": 1, "hw.physicalcpu": 10, "hw.logicalcpu": 10, "hw.nperflevels": 2, "hw.memsize": 16 << 30,
		"hw.perflevel0.physicalcpu": 4, "hw.perflevel0.logicalcpu": 4, "hw.perflevel0.l1dcachesize": 128 << 10, "hw.perflevel0.l2cachesize": 16 << 20, "hw.perflevel0.cpusperl2": 4,
		"hw.perflevel1.physicalcpu": 6, "hw.perflevel1.logicalcpu": 6, "hw.perflevel1.l1dcachesize": 64 << 10, "hw.perflevel1.l2cachesize": 4 << 20, "hw.perflevel1.cpusperl2": 6,
		"hw.cachelinesize": 128}
	src := Source{Root: t.TempDir(), OS: "darwin", Arch: "arm64",
		CPUID: func() CPUID { return CPUID{Vendor: "Apple", Brand: "Apple M4", Features: []string{"asimd", "bf16"}} },
		Sysctl: func(name string) (uint64, error) {
			if v, ok := values[name]; ok {
				return v, nil
			}
			return 0, os.ErrNotExist
		}}
	h := Read(src)
	everyUnknownHasAReason(t, h)
	if len(h.CPU.CoreTypes) != 2 || h.CPU.CoreTypes[0].Cores != 4 || h.CPU.CoreTypes[1].Microarchitecture != "M4 E-core" {
		t.Errorf("core types: %+v", h.CPU.CoreTypes)
	}
	if h.Limits.UsableThreads != 10 || len(h.CPU.Caches) != 4 {
		t.Errorf("threads %d, caches %+v", h.Limits.UsableThreads, h.CPU.Caches)
	}
	values["vm.page_free_count"], values["hw.pagesize"] = 1000, 16384
	if free, by, err := FreeMemory(src); err != nil || free != 16384000 || by == "" {
		t.Errorf("free memory %d by %s: %v", free, by, err)
	}
	if v, ok := h.Memory.UpperBoundGBps.Get(); !ok || v != 120 {
		t.Errorf("M4 memory bound %v %v, want 120 GB/s", v, h.Memory.UpperBoundGBps)
	}
}
