package machine

import "regexp"

// AMD Software Optimization Guides by family.
const (
	sogZen1 = "AMD Software Optimization Guide for Family 17h (55723)"
	sogZen2 = "AMD Software Optimization Guide for Family 17h Models 30h and greater (56305)"
	sogZen3 = "AMD Software Optimization Guide for Family 19h (56665)"
	sogZen4 = "AMD Software Optimization Guide for Zen 4 (57647)"
	sogZen5 = "AMD Software Optimization Guide for Zen 5 (58455)"

	amdModels = "Linux arch/x86/kernel/cpu/amd.c and AMD processor programming references"
	amdSpecs  = "AMD product specifications"
)

// Zen cores have two multiply (FMA) and two add pipes: SSE code without FMA keeps all four
// busy.
func zenSSE(source string) []opRate { return sse(4, "2 multiply and 2 add pipes", source) }

func zen4Ops() []opRate {
	return join(zenSSE(sogZen4), avx2FMA(sogZen4),
		rates("avx512", "512-bit operations take two cycles of the 2×256-bit FMA; "+sogZen4, 16, 32, 0, 0, 0),
		rates("avx512bf16", "VDPBF16PS; "+sogZen4, 0, 0, 0, 64, 0),
		rates("avx512vnni", vnniNote+sogZen4, 0, 0, 0, 0, 128))
}

// zen5Ops: wide is the 512-bit data path of desktop and server parts.
func zen5Ops(wide bool) []opRate {
	ops := join(zenSSE(sogZen5), avx2FMA(sogZen5), rates("avxvnni", vnniNote+sogZen5, 0, 0, 0, 0, 128))
	if !wide {
		return join(ops,
			rates("avx512", "512-bit operations take two cycles of the 2×256-bit FMA; "+sogZen5, 16, 32, 0, 0, 0),
			rates("avx512bf16", "VDPBF16PS; "+sogZen5, 0, 0, 0, 64, 0),
			rates("avx512vnni", vnniNote+sogZen5, 0, 0, 0, 0, 128))
	}
	return join(ops,
		rates("avx512", "2×512-bit FMA (an add beside each FMA is not counted); "+sogZen5, 32, 64, 0, 0, 0),
		rates("avx512bf16", "VDPBF16PS; "+sogZen5, 0, 0, 0, 128, 0),
		rates("avx512vnni", vnniNote+sogZen5, 0, 0, 0, 0, 256))
}

func zenCaches(l1Read, l1Write, l2Read float64, source string) []cacheRate {
	return []cacheRate{
		{"L1", l1Read, l1Write, source},
		{"L2", l2Read, 0, source},
		{"L3", 32, 0, source},
	}
}

func amdRows() []row {
	zen1 := join(sse(4, "2 multiply and 2 add pipes", sogZen1), rates("avx2", "2×128-bit FMA; "+sogZen1, 8, 16, 0, 0, 0))
	zen2 := join(zenSSE(sogZen2), avx2FMA(sogZen2))
	zen3 := join(zenSSE(sogZen3), avx2FMA(sogZen3))
	c1 := zenCaches(32, 16, 32, sogZen1)
	c2, c3, c4 := zenCaches(64, 32, 32, sogZen2), zenCaches(64, 32, 32, sogZen3), zenCaches(64, 32, 32, sogZen4)
	c5 := zenCaches(128, 64, 64, sogZen5)
	hasZen5 := append(hasBF16[:9:9], "avxvnni")
	l2half, l2one := []int64{512}, []int64{1024}
	epyc := regexp.MustCompile(`EPYC`)

	rows := []row{
		// Family 17h: Zen, Zen+ and Zen 2.
		{name: "Zen", product: "Snowy Owl", family: 0x17, models: [][2]int{{0x00, 0x07}}, brand: regexp.MustCompile(`EPYC 3`), ops: zen1, caches: c1, dram: ddr(4, "DDR4", 2666, amdSpecs+", EPYC 3000"), has: hasAVX2, l2: l2half},
		{name: "Zen", product: "Naples", family: 0x17, models: [][2]int{{0x00, 0x07}}, brand: epyc, ops: zen1, caches: c1, dram: ddr(8, "DDR4", 2666, amdSpecs+", EPYC 7001"), has: hasAVX2, l2: l2half},
		{name: "Zen", family: 0x17, models: [][2]int{{0x00, 0x2f}, {0x50, 0x5f}}, ops: zen1, caches: c1, has: hasAVX2, l2: l2half},
		{name: "Zen 2", product: "Rome", family: 0x17, models: [][2]int{{0x31, 0x31}}, brand: regexp.MustCompile(`EPYC 7(232P|252|272|282)\b`), ops: zen2, caches: c2, dram: ddr(4, "DDR4", 2666, amdSpecs+", EPYC 7232P, 7252, 7272 and 7282: half the channels' bandwidth"), has: hasAVX2, l2: l2half},
		{name: "Zen 2", product: "Rome", family: 0x17, models: [][2]int{{0x31, 0x31}}, brand: epyc, ops: zen2, caches: c2, dram: ddr(8, "DDR4", 3200, amdSpecs+", EPYC 7002"), has: hasAVX2, l2: l2half},
		{name: "Zen 2", product: "Matisse", family: 0x17, models: [][2]int{{0x71, 0x71}}, ops: zen2, caches: c2, dram: ddr(2, "DDR4", 3200, amdSpecs+", Ryzen 3000"), has: hasAVX2, l2: l2half},
		{name: "Zen 2", family: 0x17, models: [][2]int{{0x30, 0x4f}, {0x60, 0x70}, {0x72, 0x7f}, {0x84, 0x87}, {0x90, 0x91}, {0x98, 0x9f}, {0xa0, 0xaf}}, ops: zen2, caches: c2, has: hasAVX2, l2: l2half},
		// Family 19h: Zen 3 and Zen 4.
		{name: "Zen 3", product: "Milan", family: 0x19, models: [][2]int{{0x00, 0x07}}, ops: zen3, caches: c3, dram: ddr(8, "DDR4", 3200, amdSpecs+", EPYC 7003 (Milan)"), has: hasAVX2, l2: l2half},
		{name: "Zen 3", product: "Chagall", family: 0x19, models: [][2]int{{0x08, 0x08}}, ops: zen3, caches: c3, dram: ddr(8, "DDR4", 3200, amdSpecs+", Threadripper PRO 5000WX"), has: hasAVX2, l2: l2half},
		{name: "Zen 3", product: "Vermeer", family: 0x19, models: [][2]int{{0x21, 0x21}}, ops: zen3, caches: c3, dram: ddr(2, "DDR4", 3200, amdSpecs+", Ryzen 5000"), has: hasAVX2, l2: l2half},
		{name: "Zen 3", family: 0x19, models: [][2]int{{0x09, 0x0f}, {0x20, 0x20}, {0x22, 0x5f}}, ops: zen3, caches: c3, has: hasAVX2, l2: l2half},
		{name: "Zen 4", product: "Storm Peak", family: 0x19, models: [][2]int{{0x18, 0x18}}, ops: zen4Ops(), caches: c4, dram: ddr(8, "DDR5", 5200, amdSpecs+", Threadripper PRO 7000WX; without PRO 4 channels"), has: hasBF16, l2: l2one},
		{name: "Zen 4", product: "Genoa", family: 0x19, models: [][2]int{{0x10, 0x17}, {0x19, 0x1f}}, ops: zen4Ops(), caches: c4, dram: ddr(12, "DDR5", 4800, amdSpecs+", EPYC 9004 (Genoa)"), has: hasBF16, l2: l2one},
		{name: "Zen 4", product: "Raphael", family: 0x19, models: [][2]int{{0x61, 0x61}}, ops: zen4Ops(), caches: c4, dram: ddr(2, "DDR5", 5200, amdSpecs+", Ryzen 7000"), has: hasBF16, l2: l2one},
		{name: "Zen 4", family: 0x19, models: [][2]int{{0x60, 0x60}, {0x62, 0x9f}}, ops: zen4Ops(), caches: c4, has: hasBF16, l2: l2one},
		{name: "Zen 4c", product: "Siena", family: 0x19, models: [][2]int{{0xa0, 0xaf}}, brand: regexp.MustCompile(`EPYC 8`), ops: zen4Ops(), caches: c4, dram: ddr(6, "DDR5", 4800, amdSpecs+", EPYC 8004 (Siena)"), has: hasBF16, l2: l2one},
		{name: "Zen 4c", product: "Bergamo", family: 0x19, models: [][2]int{{0xa0, 0xaf}}, ops: zen4Ops(), caches: c4, dram: ddr(12, "DDR5", 4800, amdSpecs+", EPYC 97x4 (Bergamo)"), has: hasBF16, l2: l2one},
		// Family 1Ah: Zen 5.
		{name: "Zen 5", product: "Shimada Peak", family: 0x1a, models: [][2]int{{0x08, 0x08}}, ops: zen5Ops(true), caches: c5, dram: ddr(8, "DDR5", 6400, amdSpecs+", Threadripper PRO 9000WX; without PRO 4 channels"), has: hasZen5, l2: l2one},
		{name: "Zen 5", product: "Turin", family: 0x1a, models: [][2]int{{0x00, 0x07}, {0x09, 0x0f}}, ops: zen5Ops(true), caches: c5, dram: ddr(12, "DDR5", 6400, amdSpecs+", EPYC 9005 (Turin)"), has: hasZen5, l2: l2one},
		{name: "Zen 5c", product: "Turin Dense", family: 0x1a, models: [][2]int{{0x10, 0x1f}}, ops: zen5Ops(true), caches: c5, dram: ddr(12, "DDR5", 6400, amdSpecs+", EPYC 9005 (Turin Dense)"), has: hasZen5, l2: l2one},
		{name: "Zen 5 mobile", family: 0x1a, models: [][2]int{{0x20, 0x2f}, {0x60, 0x6f}}, ops: zen5Ops(false), has: hasZen5, l2: l2one},
		{name: "Zen 5", product: "Granite Ridge", family: 0x1a, models: [][2]int{{0x44, 0x44}}, ops: zen5Ops(true), caches: c5, dram: ddr(2, "DDR5", 5600, amdSpecs+", Ryzen 9000"), has: hasZen5, l2: l2one},
		{name: "Zen 5", family: 0x1a, models: [][2]int{{0x40, 0x43}, {0x45, 0x4f}}, ops: zen5Ops(true), caches: c5, has: hasZen5, l2: l2one},
		{name: "Zen 5 (Strix Halo)", family: 0x1a, models: [][2]int{{0x70, 0x7f}}, ops: zen5Ops(true), caches: c5,
			dram: &dramBound{16, 8000, 2, "LPDDR5X", amdSpecs + ", Ryzen AI Max, 256 bits"}, has: hasZen5, l2: l2one},
	}
	for i := range rows {
		rows[i].vendor, rows[i].identity = vendorAMD, amdModels
	}
	hygon := row{name: "Hygon Dhyana (Zen)", vendor: vendorHygon, family: 0x18, identity: "Linux arch/x86/kernel/cpu/hygon.c", ops: zen1, caches: c1, has: hasAVX2, l2: l2half}
	server := hygon
	server.brand, server.dram = regexp.MustCompile(`C86 7`), ddr(8, "DDR4", 2666, "Hygon C86 7000 shares the socket of EPYC 7001")
	return append(rows, server, hygon)
}
