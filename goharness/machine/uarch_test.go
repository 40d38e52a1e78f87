package machine

import (
	"slices"
	"strings"
	"testing"

	"ridge/goharness/op"
	"ridge/goharness/record"
)

func overlap(a, b row) bool {
	if a.vendor != b.vendor || a.family != b.family {
		return false
	}
	if a.steppings != nil && b.steppings != nil && (a.steppings[1] < b.steppings[0] || b.steppings[1] < a.steppings[0]) {
		return false
	}
	for _, x := range a.models {
		for _, y := range b.models {
			if x[0] <= y[1] && y[0] <= x[1] {
				return true
			}
		}
	}
	return len(a.models) == 0 && len(b.models) == 0
}

// TestTableRowsDoNotOverlap: of two rows for one model number the earlier must be narrowed
// by the brand, and two brands must not both match one another's names.
func TestTableRowsDoNotOverlap(t *testing.T) {
	rows := allRows()
	for i, a := range rows {
		for _, m := range a.models {
			if m[0] > m[1] {
				t.Errorf("%s: model range %x runs backwards", a.name, m)
			}
		}
		for _, b := range rows[i+1:] {
			if overlap(a, b) && a.brand == nil && a.feature == "" {
				t.Errorf("%s %x hides the later row %s %x", a.name, a.models, b.name, b.models)
			}
		}
	}
}

// noProbe are figures without a register-only probe: the signed dot product of VNNI (its
// probe is the mixed one, at the same rate), and bytes by VPMADDUBSW, which saturates.
var noProbe = map[string]bool{"avx512vnni int8": true, "avxvnni int8": true, "avx512 u8s8": true}

func TestEveryTableFigureHasASource(t *testing.T) {
	for _, r := range allRows() {
		if r.name == "" || r.vendor == "" || r.identity == "" {
			t.Errorf("row %+v lacks name, vendor or source of its identity", r)
		}
		if len(r.ops) == 0 && r.noFigures == "" {
			t.Errorf("%s: no figures and no reason", r.name)
		}
		seen := map[string]bool{}
		for _, o := range r.ops {
			key := o.isa + " " + string(o.dtype)
			if o.source == "" || o.ops <= 0 || seen[key] {
				t.Errorf("%s %s: figure %g, source %q, twice %v", r.name, key, o.ops, o.source, seen[key])
			}
			seen[key] = true
			// A figure that no probe asks for is never shown: their names for an instruction set
			// must be the same. Only probes that the table foresees and nobody wrote may differ.
			if _, err := op.FindPeak(o.isa, o.dtype); err != nil && !noProbe[key] {
				t.Errorf("%s %s: %v", r.name, key, err)
			}
		}
		for _, c := range r.caches {
			if c.source == "" || c.read <= 0 {
				t.Errorf("%s %s: no source or read figure", r.name, c.level)
			}
		}
		if r.dram != nil && r.dram.source == "" {
			t.Errorf("%s: memory bound without source", r.name)
		}
	}
}

func TestModelNumbersFindTheirRow(t *testing.T) {
	for _, c := range []struct {
		vendor, brand           string
		family, model, stepping int
		name                    string
		isa                     string
		dtype                   record.DType
		ops                     float64
		dramGBps                float64
	}{
		{vendorIntel, "Intel(R) Xeon(R) Platinum 8168", 6, 0x55, 4, "Skylake-X", "avx512", record.FP32, 64, 127.968},
		{vendorIntel, "Intel(R) Xeon(R) Platinum 8168", 6, 0x55, 4, "Skylake-X", "avx512", record.U8S8, 256.0 / 3, 127.968},
		{vendorIntel, "Intel(R) Xeon(R) Silver 4114 CPU @ 2.20GHz", 6, 0x55, 4, "Skylake-X", "avx512", record.FP32, 32, 127.968},
		{vendorIntel, "Intel(R) Xeon(R) Gold 5122 CPU @ 3.60GHz", 6, 0x55, 4, "Skylake-X", "avx512", record.FP32, 64, 127.968},
		{vendorIntel, "Intel(R) Xeon(R) Gold 5118 CPU @ 2.30GHz", 6, 0x55, 4, "Skylake-X", "avx512", record.FP32, 32, 127.968},
		{vendorIntel, "Intel(R) Core(TM) i9-7980XE", 6, 0x55, 4, "Skylake-X", "avx512", record.FP64, 32, 85.312},
		{vendorIntel, "Intel(R) Xeon(R) Platinum 8280", 6, 0x55, 7, "Cascade Lake", "avx512vnni", record.U8S8, 256, 140.784},
		{vendorIntel, "", 6, 0x55, 11, "Cooper Lake", "avx2", record.FP32, 32, 153.6},
		{vendorIntel, "", 6, 0x6a, 6, "Ice Lake-SP", "avx512", record.FP64, 32, 204.8},
		{vendorIntel, "Intel(R) Xeon(R) Platinum 8480+", 6, 0x8f, 8, "Sapphire Rapids", "amx", record.BF16, 1024, 307.2},
		{vendorIntel, "Intel(R) Xeon(R) w7-2495X", 6, 0x8f, 8, "Sapphire Rapids", "amx", record.INT8, 2048, 153.6},
		{vendorIntel, "", 6, 0xcf, 2, "Emerald Rapids", "avx512fp16", record.FP16, 128, 358.4},
		{vendorIntel, "", 6, 0xad, 1, "Granite Rapids", "amx", record.FP16, 1024, 844.8},
		{vendorIntel, "Intel(R) Xeon(R) Platinum 9282", 6, 0x55, 7, "Cascade Lake", "avx512", record.FP32, 64, 281.568},
		{vendorIntel, "Intel(R) Xeon(R) D-2183IT CPU @ 2.20GHz", 6, 0x55, 4, "Skylake-X", "avx2", record.FP32, 32, 85.312},
		{vendorIntel, "Intel(R) Xeon(R) D-2776NT", 6, 0x6c, 1, "Ice Lake-D", "avx512", record.FP64, 16, 102.4},
		{vendorIntel, "Intel(R) Xeon(R) CPU E7-8890 v3 @ 2.50GHz", 6, 0x3f, 4, "Haswell-EP", "avx2", record.FP32, 32, 0},
		{vendorIntel, "Intel(R) Xeon(R) CPU E7-8890 v4 @ 2.20GHz", 6, 0x4f, 1, "Broadwell-EP", "avx2", record.FP32, 32, 0},
		{vendorIntel, "Intel(R) Xeon(R) CPU E5-2699 v4 @ 2.20GHz", 6, 0x4f, 1, "Broadwell-EP", "avx2", record.FP32, 32, 76.8},
		{vendorIntel, "", 6, 0x97, 2, "Golden Cove", "avxvnni", record.INT8, 128, 76.8},
		{vendorIntel, "", 6, 0xb7, 1, "Raptor Cove", "avx2", record.FP32, 32, 89.6},
		{vendorIntel, "12th Gen Intel(R) Core(TM) i7-1260P", 6, 0x9a, 3, "Golden Cove", "avx2", record.FP32, 32, 83.2},
		{vendorIntel, "13th Gen Intel(R) Core(TM) i7-1360P", 6, 0xba, 2, "Raptor Cove", "avx2", record.FP32, 32, 102.4},
		{vendorIntel, "Intel(R) Core(TM) Ultra 9 285H", 6, 0xc5, 2, "Lion Cove", "avx2", record.FP64, 16, 134.4},
		{vendorIntel, "Intel(R) Core(TM) Ultra 7 258V", 6, 0xbd, 1, "Lion Cove", "avxvnni", record.U8S8, 128, 136.528},
		{vendorIntel, "", 6, 0xc6, 2, "Lion Cove", "avx2", record.FP64, 16, 102.4},
		{vendorIntel, "", 6, 167, 1, "Rocket Lake", "avx512", record.FP32, 32, 51.2},
		{vendorAMD, "AMD EPYC 7601", 0x17, 0x01, 2, "Zen", "avx2", record.FP32, 16, 170.624},
		{vendorAMD, "AMD EPYC 3451 16-Core Processor", 0x17, 0x01, 2, "Zen", "avx2", record.FP32, 16, 85.312},
		{vendorAMD, "AMD EPYC 7252 8-Core Processor", 0x17, 0x31, 0, "Zen 2", "avx2", record.FP32, 32, 85.312},
		{vendorAMD, "AMD EPYC 7742", 0x17, 0x31, 0, "Zen 2", "avx2", record.FP32, 32, 204.8},
		{vendorAMD, "AMD EPYC", 0x19, 0x01, 1, "Zen 3", "avx2", record.FP64, 16, 204.8},
		{vendorAMD, "AMD Ryzen 9 5950X", 0x19, 0x21, 0, "Zen 3", "sse2", record.FP32, 16, 51.2},
		{vendorAMD, "AMD EPYC 9654", 0x19, 0x11, 1, "Zen 4", "avx512bf16", record.BF16, 64, 460.8},
		{vendorAMD, "AMD EPYC 8534P", 0x19, 0xa0, 2, "Zen 4c", "avx512", record.FP32, 32, 230.4},
		{vendorAMD, "AMD EPYC 9755", 0x1a, 0x02, 1, "Zen 5", "avx512", record.FP32, 64, 614.4},
		{vendorAMD, "AMD Ryzen AI 9 HX 370", 0x1a, 0x24, 0, "Zen 5 mobile", "avx512", record.FP32, 32, 0},
		{vendorHygon, "Hygon C86 7185 32-core Processor", 0x18, 0x01, 1, "Hygon Dhyana (Zen)", "avx2", record.FP32, 16, 170.624},
		{vendorHygon, "Hygon C86 3185 8-core Processor", 0x18, 0x01, 1, "Hygon Dhyana (Zen)", "avx2", record.FP32, 16, 0},
		{"ARM", "", 0x41, 0xd0c, 1, "Neoverse N1", "neon", record.FP32, 16, 0},
		{"ARM", "", 0x41, 0xd40, 1, "Neoverse V1", "bf16arm", record.BF16, 128, 0},
		{"ARM", "", 0x41, 0xd49, 1, "Neoverse N2", "i8mm", record.INT8, 128, 0},
		{"ARM", "", 0x41, 0xd4f, 1, "Neoverse V2", "dotprod", record.INT8, 128, 0},
		{"Apple", "Apple M1", 0x1b588bb3, 0, 0, "Firestorm (M1)", "neon", record.FP32, 32, 68.256},
		{"Apple", "", 0x61, 0x33, 0, "Avalanche (M2)", "bf16arm", record.BF16, 16, 0},
	} {
		u := Lookup(CPUID{Vendor: c.vendor, Brand: c.brand, Family: c.family, Model: c.model, Stepping: c.stepping})
		if u.Name != c.name || u.Inferred || u.Contradictory {
			t.Errorf("%s %x/%x %q: got %+v, want %s", c.vendor, c.family, c.model, c.brand, u, c.name)
			continue
		}
		ops, source, ok := u.OpsPerCycle(c.isa, c.dtype)
		if !ok || ops != c.ops {
			t.Errorf("%s %s %s: %g (%s), want %g", c.name, c.isa, c.dtype, ops, source, c.ops)
		}
		gbps, _, inputs, source, ok := u.DRAMUpperBound()
		if ok != (c.dramGBps > 0) || ok && (gbps < c.dramGBps-1e-9 || gbps > c.dramGBps+1e-9 || len(inputs) == 0) || source == "" {
			t.Errorf("%s %q: memory bound %g %v (%s), want %g", c.name, c.brand, gbps, ok, source, c.dramGBps)
		}
	}
}

// TestFeaturesOverruleTheModelNumber: trap 19.
func TestFeaturesOverruleTheModelNumber(t *testing.T) {
	u := Lookup(trap19)
	if !u.Contradictory || !u.Inferred || u.Source != "inferred from features" {
		t.Fatalf("%+v", u)
	}
	for _, want := range []string{"Rocket Lake", "amx-tile", "avx512fp16", "2048 KiB"} {
		if !strings.Contains(u.Contradiction, want) {
			t.Errorf("contradiction %q does not name %s", u.Contradiction, want)
		}
	}
	if v, source, ok := u.OpsPerCycle("amx", record.BF16); !ok || v != 1024 || !strings.Contains(source, "inferred from features") {
		t.Errorf("amx bf16: %g %q %v", v, source, ok)
	}
	if v, _, ok := u.OpsPerCycle("avx512", record.FP32); !ok || v != 64 {
		t.Errorf("avx512 fp32: %g %v; the one FMA unit of model 167 must not be believed", v, ok)
	}
	if _, _, _, why, ok := u.DRAMUpperBound(); ok || !strings.Contains(why, "features") {
		t.Errorf("a socket was inferred from features: %q", why)
	}
	hidden := trap19 // a host that hides AMX-FP16 shows AVX10 all the same, which no chip before Granite Rapids has
	hidden.Features = slices.DeleteFunc(append(slices.Clone(trap19.Features), "avx10"), func(f string) bool { return f == "amx-fp16" })
	if u := Lookup(hidden); !u.Inferred || u.Name != "Granite Rapids class (AMX, AVX10)" {
		t.Errorf("%+v", u)
	}
	genuine := CPUID{Vendor: vendorIntel, Family: 6, Model: 167, Features: features386("avx512f", "avx512dq", "avx512bw", "avx512vl", "avx512vnni"), L2Bytes: 4 << 20}
	if u := Lookup(genuine); u.Contradictory || u.Name != "Rocket Lake" {
		t.Errorf("an odd L2 size alone (hypervisors invent cache leaves) made %+v", u)
	}
}

// Alder Lake with its efficiency cores off has AVX-512, with one FMA unit where the server core has two.
func TestAVX512OfAClientGoldenCoveIsNoContradiction(t *testing.T) {
	server := []string{"avx512f", "avx512dq", "avx512bw", "avx512vl", "avx512vnni", "avxvnni", "avx512bf16", "avx512fp16"}
	for _, c := range []struct {
		features     []string
		fp32, l1Read float64
		eCore        string
	}{{features386(server...), 32, 128, ""}, {features386("avxvnni"), 0, 96, "Gracemont"}} {
		u := Lookup(CPUID{Vendor: vendorIntel, Family: 6, Model: 0x97, Stepping: 2, Features: c.features})
		ops, _, _ := u.OpsPerCycle("avx512", record.FP32)
		read, _, _ := u.CacheBytesPerCycle("L1", "read")
		if u.Name != "Golden Cove" || u.Contradictory || len(u.Masked) > 0 || ops != c.fp32 || read != c.l1Read || u.ECore() != c.eCore {
			t.Errorf("%v: %+v, avx512 fp32 %g, L1 %g, efficiency cores %q", c.features, u, ops, read, u.ECore())
		}
	}
	// An unknown client chip is inferred to be the one without.
	if u := Lookup(CPUID{Vendor: vendorIntel, Family: 6, Model: 0xcc, Features: features386("avxvnni")}); u.Name != "Alder Lake class (AVX-VNNI)" || len(u.Rates()) == 0 || slices.ContainsFunc(u.Rates(), func(r Rate) bool { return r.ISA == "avx512" }) {
		t.Errorf("%+v", u)
	}
}

// QEMU's first models of an Ice Lake server have the number of Tremont, which has not even AVX.
func TestAVX512UnderTheNumberOfAnAtomIsContradictory(t *testing.T) {
	u := Lookup(CPUID{Vendor: vendorIntel, Brand: "Intel Xeon Processor (Icelake)", Family: 6, Model: 0x86, Features: features386("avx512f", "avx512dq", "avx512bw", "avx512vl", "avx512vnni")})
	if !u.Contradictory || !u.Inferred || u.Name != "Cascade or Ice Lake class (AVX512-VNNI)" || !strings.Contains(u.Contradiction, "Tremont, which has no avx2") {
		t.Errorf("%+v", u)
	}
	if u := Lookup(CPUID{Vendor: vendorIntel, Family: 6, Model: 0x86, Features: []string{"sse2", "sse4.2"}}); u.Name != "Tremont" || u.Contradictory || len(u.Masked) > 0 {
		t.Errorf("%+v", u)
	}
}

func TestMaskedFeaturesAreNamed(t *testing.T) {
	u := Lookup(CPUID{Vendor: vendorIntel, Family: 6, Model: 0x8f, Features: features386("avx512f", "avx512dq", "avx512bw", "avx512vl", "avx512vnni", "avxvnni", "avx512bf16", "avx512fp16")})
	if u.Contradictory || strings.Join(u.Masked, " ") != "amx-tile amx-bf16 amx-int8" {
		t.Errorf("%+v", u)
	}
}

func TestUnknownModelsAreInferredOrUnknownWithAReason(t *testing.T) {
	u := Lookup(CPUID{Vendor: vendorAMD, Family: 0x1b, Model: 1, Features: features386("avx512f", "avx512bf16", "avxvnni")})
	if !u.Inferred || u.Contradictory || !strings.Contains(u.Source, "no table row") {
		t.Errorf("%+v", u)
	}
	u = Lookup(CPUID{Vendor: "RISC-V"})
	if u.Name != "unknown" || u.Source == "" {
		t.Errorf("%+v", u)
	}
	if _, why, ok := u.OpsPerCycle("avx2", record.FP32); ok || why == "" {
		t.Errorf("figure for an unknown processor: %q", why)
	}
	if _, why, ok := u.CacheBytesPerCycle("L1", "read"); ok || why == "" {
		t.Errorf("cache figure for an unknown processor: %q", why)
	}
}

func TestAbsentFiguresSayWhy(t *testing.T) {
	zen3 := Lookup(CPUID{Vendor: vendorAMD, Family: 0x19, Model: 1})
	for _, c := range []struct {
		isa string
		d   record.DType
	}{{"avx512", record.FP32}, {"avx2", record.FP16}, {"avx2", record.INT8}, {"amx", record.BF16}, {"avx2", record.TF32}} {
		if v, why, ok := zen3.OpsPerCycle(c.isa, c.d); ok || v != 0 || !strings.Contains(why, c.isa) {
			t.Errorf("Zen 3 %s %s: %g %q %v", c.isa, c.d, v, why, ok)
		}
	}
	eCores := Lookup(CPUID{Vendor: vendorIntel, Family: 6, Model: 0xaf})
	if _, why, ok := eCores.OpsPerCycle("avx2", record.FP32); ok || !strings.HasPrefix(why, "unsourced") {
		t.Errorf("E-cores: %q %v", why, ok)
	}
	if v, _, ok := zen3.CacheBytesPerCycle("L1", "read"); !ok || v != 64 {
		t.Errorf("Zen 3 L1 read %g %v", v, ok)
	}
	if _, why, ok := zen3.CacheBytesPerCycle("L3", "write"); ok || why == "" {
		t.Errorf("Zen 3 L3 write %q %v", why, ok)
	}
}

// TestOSStateDecidesFeatures: a feature whose registers the system does not save is not usable.
func TestOSStateDecidesFeatures(t *testing.T) {
	all := []string{"sse2", "avx", "avx2", "fma", "f16c", "avx512f", "avx512fp16", "avxvnni", "avx10", "amx-tile", "amx-bf16"}
	for _, c := range []struct {
		name string
		xcr0 uint64
		want string
	}{
		{"no AVX state", 0x3, "sse2"},
		{"AVX state", 0x7, "sse2 avx avx2 fma f16c avxvnni"},
		{"AVX-512 state, no tiles", 0xe7, "sse2 avx avx2 fma f16c avx512f avx512fp16 avxvnni avx10"},
		{"tile configuration without tile data", 0x200e7, "sse2 avx avx2 fma f16c avx512f avx512fp16 avxvnni avx10"},
		{"all", 0x600e7, strings.Join(all, " ")},
	} {
		if got := strings.Join(osUsable(all, c.xcr0, true), " "); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
	if got := osUsable(all, 0, false); len(got) != len(all) {
		t.Errorf("unknown XCR0 dropped features: %v", got)
	}
}

func TestCPUIDOfADocumentFindsTheSameRow(t *testing.T) {
	for _, h := range hosts {
		host := Read(source(t, h.name))
		u := Lookup(CPUIDOf(host.CPU))
		if u.Name != host.CPU.Microarchitecture || u.Contradictory != host.CPU.Contradictory {
			t.Errorf("%s: %+v from the document, %s when read", h.name, u, host.CPU.Microarchitecture)
		}
	}
}
