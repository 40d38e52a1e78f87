package machine

import (
	"regexp"

	"ridge/goharness/record"
)

const (
	vendorIntel = "GenuineIntel"
	vendorAMD   = "AuthenticAMD"
	vendorHygon = "HygonGenuine"
	anyFamily   = -1

	intelORM    = "Intel 64 and IA-32 Architectures Optimization Reference Manual (248966)"
	intelFamily = "Linux arch/x86/include/asm/intel-family.h"
	amxSource   = "TDPBF16PS/TDPBSSD, one 16×16 tile product in 16 cycles; " + intelORM + ", ch. 20"
)

// rates lists operations per cycle of one ISA; a zero is left out.
func rates(isa, source string, fp64, fp32, fp16, bf16, int8 float64) []opRate {
	var out []opRate
	for _, r := range []struct {
		d record.DType
		v float64
	}{{record.FP64, fp64}, {record.FP32, fp32}, {record.FP16, fp16}, {record.BF16, bf16}, {record.INT8, int8}, {record.U8S8, int8}} {
		if r.v > 0 {
			out = append(out, opRate{isa, r.d, r.v, source})
		}
	}
	return out
}

func join(parts ...[]opRate) []opRate {
	var out []opRate
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}

// avx2FMA is two 256-bit FMA units; sseSum is SSE without FMA, where n units take a
// multiply or an add each cycle.
func avx2FMA(source string) []opRate {
	return rates("avx2", "2×256-bit FMA; "+source, 16, 32, 0, 0, 0)
}

func sse(n float64, how, source string) []opRate {
	return rates("sse2", how+", no FMA; "+source, 2*n, 4*n, 0, 0, 0)
}

const vnniNote = "VPDPBUSD is unsigned×signed; signed×signed reaches it with an offset; "

func intelAVX512(units float64, vnni float64, source string) []opRate {
	unitText := "2×512-bit FMA; "
	if units == 1 {
		unitText = "one 512-bit FMA; "
	}
	ops := join(
		sse(2, "2 ports take a multiply or an add", source),
		avx2FMA(source),
		rates("avx512", unitText+source, 16*units, 32*units, 0, 0, 0))
	if vnni > 0 {
		ops = append(ops, rates("avx512vnni", vnniNote+source, 0, 0, 0, 0, vnni)...)
	}
	return ops
}

// sapphireOps: Golden Cove and Redwood Cove server cores.
func sapphireOps(amxFP16 bool) []opRate {
	ops := join(
		sse(3, "multiply on ports 0 and 1, add on 1 and 5", intelORM+", Golden Cove"),
		avx2FMA(intelORM+", Golden Cove"),
		rates("avxvnni", vnniNote+intelORM+", Golden Cove", 0, 0, 0, 0, 128),
		rates("avx512", "2×512-bit FMA; "+intelORM+", Golden Cove", 32, 64, 0, 0, 0),
		rates("avx512fp16", "2×512-bit FMA; "+intelORM+", Golden Cove", 0, 0, 128, 0, 0),
		rates("avx512bf16", "VDPBF16PS, slower than fp32; uops.info, Sapphire Rapids", 0, 0, 0, 32, 0),
		rates("avx512vnni", vnniNote+intelORM+", Golden Cove", 0, 0, 0, 0, 256))
	if amxFP16 {
		return append(ops, rates("amx", amxSource, 0, 0, 1024, 1024, 2048)...)
	}
	return append(ops, rates("amx", amxSource, 0, 0, 0, 1024, 2048)...)
}

func skylakeServerCaches() []cacheRate {
	return []cacheRate{
		{"L1", 128, 64, intelORM + ", Skylake server cache parameters: 2×64-byte loads, one 64-byte store"},
		{"L2", 64, 0, intelORM + ", Skylake server cache parameters: 64 bytes at best, 48 sustained"},
	}
}

func goldenCoveCaches(avx512 bool) []cacheRate {
	l1 := cacheRate{"L1", 96, 64, intelORM + ", Golden Cove: 3×32-byte loads, 2×32-byte stores"}
	if avx512 {
		l1 = cacheRate{"L1", 128, 64, intelORM + ", Golden Cove: 2×64-byte loads, one 64-byte store"}
	}
	return []cacheRate{l1, {"L2", 64, 0, intelORM + ", Golden Cove: 64 bytes"}}
}

func ddr(channels int, memory string, mtps float64, source string) *dramBound {
	return &dramBound{channels, mtps, 8, memory, source}
}

var (
	hasAVX2     = []string{"avx2", "fma", "f16c"}
	hasSKX      = append(hasAVX2[:3:3], "avx512f", "avx512dq", "avx512bw", "avx512vl")
	hasVNNI     = append(hasSKX[:7:7], "avx512vnni")
	hasBF16     = append(hasVNNI[:8:8], "avx512bf16")
	hasSapphire = append(hasBF16[:9:9], "avxvnni", "avx512fp16", "amx-tile", "amx-bf16", "amx-int8")
	hasGranite  = append(hasSapphire[:14:14], "amx-fp16")
	hasAlder    = append(hasAVX2[:3:3], "avxvnni")
)

// Products with one 512-bit FMA unit: Bronze, Silver and most of Gold 5xxx (ARK lists
// "# of AVX-512 FMA Units: 1"); Gold 5122 and 5222 have two.
var (
	oneFMA  = regexp.MustCompile(`Bronze 3|Silver 4|Gold 5[12]([013-9][0-9]|2[013-9])`)
	hedt    = regexp.MustCompile(`Xeon\(R\) W-2|Core\(TM\) i[79]`)
	xeonD   = regexp.MustCompile(`Xeon\(R\) D-2`)
	clAP    = regexp.MustCompile(`Platinum 92`)
	xeonE7  = regexp.MustCompile(`E7-`)
	w2400   = regexp.MustCompile(`w[357]-2[45]`)
	w3400   = regexp.MustCompile(`w[579]-3[45]`)
	xeonMax = regexp.MustCompile(`Xeon\(R\) CPU Max`)
)

func intelRows() []row {
	const ark = "Intel ARK product pages"
	skx, clx, cpx := &[2]int{0, 4}, &[2]int{5, 7}, &[2]int{10, 11}
	m := func(ranges ...int) [][2]int { // single models
		var out [][2]int
		for _, r := range ranges {
			out = append(out, [2]int{r, r})
		}
		return out
	}
	// SKX multiplies bytes in three instructions for 64 products (VPMADDUBSW, VPMADDWD, VPADDD).
	// Products of two signed bytes do not fit the first one: they take 16 bits each, 32 in two.
	skxBytes := []opRate{{"avx512", record.U8S8, 256.0 / 3, "VPMADDUBSW+VPMADDWD+VPADDD on 2 ports; " + intelORM},
		{"avx512", record.INT8, 64, "VPMADDWD+VPADDD on 2 ports; " + intelORM}}
	rows := []row{
		{name: "Skylake-X", models: m(0x55), steppings: skx, brand: oneFMA, ops: intelAVX512(1, 0, intelORM+"; "+ark+": 1 FMA unit"),
			caches: skylakeServerCaches(), dram: ddr(6, "DDR4", 2666, ark), has: hasSKX, l2: []int64{1024}},
		{name: "Skylake-X", models: m(0x55), steppings: skx, brand: hedt, ops: join(intelAVX512(2, 0, intelORM), skxBytes),
			caches: skylakeServerCaches(), dram: ddr(4, "DDR4", 2666, ark+", Xeon W-2100 and Core X"), has: hasSKX, l2: []int64{1024}},
		{name: "Skylake-X", product: "Skylake-D", models: m(0x55), steppings: skx, brand: xeonD, ops: join(intelAVX512(2, 0, intelORM), skxBytes),
			caches: skylakeServerCaches(), dram: ddr(4, "DDR4", 2666, ark+", Xeon D-2100"), has: hasSKX, l2: []int64{1024}},
		{name: "Skylake-X", models: m(0x55), steppings: skx, ops: join(intelAVX512(2, 0, intelORM), skxBytes),
			caches: skylakeServerCaches(), dram: ddr(6, "DDR4", 2666, ark+", Xeon Scalable 1st generation"), has: hasSKX, l2: []int64{1024}},
		{name: "Cascade Lake", models: m(0x55), steppings: clx, brand: oneFMA, ops: intelAVX512(1, 0, intelORM+"; "+ark+": 1 FMA unit"),
			caches: skylakeServerCaches(), dram: ddr(6, "DDR4", 2933, ark), has: hasVNNI, l2: []int64{1024}},
		{name: "Cascade Lake", models: m(0x55), steppings: clx, brand: hedt, ops: intelAVX512(2, 256, intelORM),
			caches: skylakeServerCaches(), dram: ddr(4, "DDR4", 2933, ark+", Xeon W-2200 and Core X"), has: hasVNNI, l2: []int64{1024}},
		{name: "Cascade Lake", product: "Cascade Lake-AP", models: m(0x55), steppings: clx, brand: clAP, ops: intelAVX512(2, 256, intelORM),
			caches: skylakeServerCaches(), dram: ddr(12, "DDR4", 2933, ark+", Xeon Platinum 9200: two dies"), has: hasVNNI, l2: []int64{1024}},
		{name: "Cascade Lake", models: m(0x55), steppings: clx, ops: intelAVX512(2, 256, intelORM),
			caches: skylakeServerCaches(), dram: ddr(6, "DDR4", 2933, ark+", Xeon Scalable 2nd generation"), has: hasVNNI, l2: []int64{1024}},
		{name: "Cooper Lake", models: m(0x55), steppings: cpx, ops: intelAVX512(2, 256, intelORM),
			caches: skylakeServerCaches(), dram: ddr(6, "DDR4", 3200, ark+", Xeon Scalable 3rd generation (4 and 8 sockets)"), has: hasBF16, l2: []int64{1024}},
		{name: "Ice Lake-SP", models: m(0x6a), ops: intelAVX512(2, 256, intelORM+", Ice Lake server"),
			caches: skylakeServerCaches(), dram: ddr(8, "DDR4", 3200, ark+", Xeon Scalable 3rd generation"), has: hasVNNI, l2: []int64{1280}},
		{name: "Ice Lake-D", models: m(0x6c), ops: intelAVX512(1, 128, intelORM+"; "+ark+": 1 FMA unit"),
			caches: skylakeServerCaches(), dram: ddr(4, "DDR4", 3200, ark+", Xeon D-2700"), has: hasVNNI, l2: []int64{1280}},
		{name: "Sapphire Rapids", models: m(0x8f), brand: xeonMax, ops: sapphireOps(false), caches: goldenCoveCaches(true),
			noSocket: "Xeon Max has HBM2e beside its DDR5; which of them serves a buffer depends on the memory mode", has: hasSapphire, l2: []int64{2048}},
		{name: "Sapphire Rapids", models: m(0x8f), brand: w2400, ops: sapphireOps(false), caches: goldenCoveCaches(true),
			dram: ddr(4, "DDR5", 4800, ark+", Xeon W-2400 and W-2500"), has: hasSapphire, l2: []int64{2048}},
		{name: "Sapphire Rapids", models: m(0x8f), brand: w3400, ops: sapphireOps(false), caches: goldenCoveCaches(true),
			dram: ddr(8, "DDR5", 4800, ark+", Xeon W-3400 and W-3500"), has: hasSapphire, l2: []int64{2048}},
		{name: "Sapphire Rapids", models: m(0x8f), ops: sapphireOps(false), caches: goldenCoveCaches(true),
			dram: ddr(8, "DDR5", 4800, ark+", Xeon Scalable 4th generation"), has: hasSapphire, l2: []int64{2048}},
		{name: "Emerald Rapids", models: m(0xcf), ops: sapphireOps(false), caches: goldenCoveCaches(true),
			dram: ddr(8, "DDR5", 5600, ark+", Xeon Scalable 5th generation"), has: hasSapphire, l2: []int64{2048}},
		{name: "Granite Rapids", models: m(0xad), ops: sapphireOps(true), caches: goldenCoveCaches(true),
			dram: ddr(12, "MRDIMM", 8800, ark+", Xeon 6900P; RDIMMs have 6400 MT/s, Xeon 6700P has 8 channels"), has: hasGranite, l2: []int64{2048}},
		{name: "Granite Rapids-D", models: m(0xae), ops: sapphireOps(true), caches: goldenCoveCaches(true), has: hasGranite, l2: []int64{2048}},
	}
	for i := range rows {
		rows[i].vendor, rows[i].family, rows[i].identity = vendorIntel, 6, intelFamily
	}
	return rows
}
