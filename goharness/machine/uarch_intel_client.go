package machine

// intelClientRows: Haswell and later client processors, and the Broadwell and Haswell
// servers, which have the same core.
func intelClientRows() []row {
	const ark = "Intel ARK product pages"
	haswell := func(source string) []opRate { // one add port on Haswell, two multiply ports
		return join(sse(2, "2 ports take a multiply, one an add", source), avx2FMA(source))
	}
	skylake := join(sse(2, "2 ports take a multiply or an add", intelORM+", Skylake"), avx2FMA(intelORM+", Skylake"))
	clientCaches := []cacheRate{
		{"L1", 64, 32, intelORM + ", Haswell to Skylake: 2×32-byte loads, one 32-byte store"},
		{"L2", 64, 0, intelORM + ", Haswell to Skylake: 64 bytes at best"},
	}
	golden := join(
		sse(3, "multiply on ports 0 and 1, add on 1 and 5", intelORM+", Golden Cove"),
		avx2FMA(intelORM+", Golden Cove"),
		rates("avxvnni", vnniNote+intelORM+", Golden Cove", 0, 0, 0, 0, 128))
	lion := join(
		avx2FMA("REFERENCE figures for Lion Cove: 2×256-bit FMA; "+intelORM),
		rates("avxvnni", vnniNote+intelORM+", Lion Cove", 0, 0, 0, 0, 128))
	oneUnit := intelAVX512(1, 128, intelORM+", Ice Lake client: one 512-bit FMA")
	// The 512-bit FMA of port 5 is the server cores' alone: ports 0 and 1 form the one of a client core.
	goldenAVX512 := join(golden,
		rates("avx512", "one 512-bit FMA; "+intelORM+", Golden Cove: that of port 5 is the server cores'", 16, 32, 0, 0, 0),
		rates("avx512fp16", "one 512-bit FMA; "+intelORM+", Golden Cove", 0, 0, 64, 0, 0),
		rates("avx512vnni", vnniNote+intelORM+", Golden Cove, one 512-bit unit", 0, 0, 0, 0, 128))
	const e7 = "Xeon E7 reaches its memory through buffers, whose rate depends on the firmware's memory mode"
	lpddr := func(memory string, mtps float64, products string) *dramBound { // 128 bits in 16-bit channels
		return &dramBound{8, mtps, 2, memory, ark + ", " + products + ", 128 bits"}
	}
	const gracemont, crestmont, skymont = "Gracemont", "Crestmont", "Skymont"

	rows := []row{
		{name: "Haswell", models: [][2]int{{0x3c, 0x3c}, {0x45, 0x46}}, ops: haswell(intelORM + ", Haswell"), caches: clientCaches,
			dram: ddr(2, "DDR3", 1600, ark), has: hasAVX2, l2: []int64{256}},
		{name: "Haswell-EP", product: "Haswell-EX", models: [][2]int{{0x3f, 0x3f}}, brand: xeonE7, ops: haswell(intelORM + ", Haswell"), caches: clientCaches,
			noSocket: e7, has: hasAVX2, l2: []int64{256}},
		{name: "Haswell-EP", models: [][2]int{{0x3f, 0x3f}}, ops: haswell(intelORM + ", Haswell"), caches: clientCaches,
			dram: ddr(4, "DDR4", 2133, ark), has: hasAVX2, l2: []int64{256}},
		{name: "Broadwell", models: [][2]int{{0x3d, 0x3d}, {0x47, 0x47}, {0x56, 0x56}}, ops: haswell(intelORM + ", Broadwell"), caches: clientCaches,
			has: hasAVX2, l2: []int64{256}},
		{name: "Broadwell-EP", product: "Broadwell-EX", models: [][2]int{{0x4f, 0x4f}}, brand: xeonE7, ops: haswell(intelORM + ", Broadwell"), caches: clientCaches,
			noSocket: e7, has: hasAVX2, l2: []int64{256}},
		{name: "Broadwell-EP", models: [][2]int{{0x4f, 0x4f}}, ops: haswell(intelORM + ", Broadwell"), caches: clientCaches,
			dram: ddr(4, "DDR4", 2400, ark), has: hasAVX2, l2: []int64{256}},
		{name: "Skylake", models: [][2]int{{0x4e, 0x4e}, {0x5e, 0x5e}}, ops: skylake, caches: clientCaches,
			dram: ddr(2, "DDR4", 2133, ark), has: hasAVX2, l2: []int64{256}},
		{name: "Kaby to Comet Lake", models: [][2]int{{0x8e, 0x8e}, {0x9e, 0x9e}, {0xa5, 0xa6}}, ops: skylake, caches: clientCaches,
			dram: ddr(2, "DDR4", 2933, ark), has: hasAVX2, l2: []int64{256}},
		{name: "Ice Lake client", models: [][2]int{{0x7d, 0x7e}}, ops: oneUnit, caches: skylakeServerCaches(), has: hasVNNI, l2: []int64{512}},
		{name: "Tiger Lake", models: [][2]int{{0x8c, 0x8d}}, ops: oneUnit, caches: skylakeServerCaches(), has: hasVNNI, l2: []int64{1280}},
		{name: "Rocket Lake", models: [][2]int{{0xa7, 0xa7}}, ops: oneUnit, caches: skylakeServerCaches(),
			dram: ddr(2, "DDR4", 3200, ark), has: hasVNNI, l2: []int64{512}},
		// Early firmware with the efficiency cores switched off leaves AVX-512 on.
		{name: "Golden Cove", product: "Alder Lake with AVX-512", models: [][2]int{{0x97, 0x97}}, feature: "avx512f", ops: goldenAVX512, caches: goldenCoveCaches(true),
			dram: ddr(2, "DDR5", 4800, ark), has: append(hasBF16[:9:9], "avxvnni", "avx512fp16"), l2: []int64{1280}},
		{name: "Golden Cove", product: "Alder Lake", models: [][2]int{{0x97, 0x97}}, ops: golden, caches: goldenCoveCaches(false),
			dram: ddr(2, "DDR5", 4800, ark), has: hasAlder, l2: []int64{1280}, eCore: gracemont},
		{name: "Golden Cove", product: "Alder Lake mobile", models: [][2]int{{0x9a, 0x9a}}, ops: golden, caches: goldenCoveCaches(false),
			dram: lpddr("LPDDR5", 5200, "Core 12th generation P and U"), has: hasAlder, l2: []int64{1280}, eCore: gracemont},
		{name: "Raptor Cove", product: "Raptor Lake", models: [][2]int{{0xb7, 0xb7}, {0xbf, 0xbf}}, ops: golden, caches: goldenCoveCaches(false),
			dram: ddr(2, "DDR5", 5600, ark), has: hasAlder, l2: []int64{2048, 1280}, eCore: gracemont},
		{name: "Raptor Cove", product: "Raptor Lake mobile", models: [][2]int{{0xba, 0xba}}, ops: golden, caches: goldenCoveCaches(false),
			dram: lpddr("LPDDR5", 6400, "Core 13th generation P and U"), has: hasAlder, l2: []int64{2048, 1280}, eCore: gracemont},
		{name: "Redwood Cove", product: "Meteor Lake", models: [][2]int{{0xaa, 0xaa}, {0xac, 0xac}, {0xb5, 0xb5}}, ops: golden, caches: goldenCoveCaches(false),
			has: hasAlder, l2: []int64{2048}, eCore: crestmont},
		{name: "Lion Cove", product: "Arrow Lake", models: [][2]int{{0xc6, 0xc6}}, ops: lion, dram: ddr(2, "DDR5", 6400, ark+", with CUDIMMs"),
			has: hasAlder, l2: []int64{3072}, eCore: skymont},
		{name: "Lion Cove", product: "Arrow Lake-H", models: [][2]int{{0xc5, 0xc5}}, ops: lion, dram: lpddr("LPDDR5X", 8400, "Core Ultra 200H"),
			has: hasAlder, l2: []int64{3072}, eCore: skymont},
		{name: "Lion Cove", product: "Lunar Lake", models: [][2]int{{0xbd, 0xbd}}, ops: lion, dram: lpddr("LPDDR5X", 8533, "Core Ultra 200V"),
			has: hasAlder, l2: []int64{2560}, eCore: skymont},
	}
	for i := range rows {
		rows[i].vendor, rows[i].family, rows[i].identity = vendorIntel, 6, intelFamily
	}
	return rows
}

// intelAtomRows: processors made of efficiency cores alone. Their figures are to be
// measured first.
func intelAtomRows() []row {
	const why = "unsourced: no figure with a source for this efficiency core; the measured peak stands alone"
	sseOnly := []string{} // none of the tracked features; QEMU gives Tremont's number to its first models of an Ice Lake server
	rows := []row{
		{name: "Goldmont", models: [][2]int{{0x5c, 0x5c}, {0x5f, 0x5f}, {0x7a, 0x7a}}, noFigures: why, has: sseOnly},
		{name: "Tremont", models: [][2]int{{0x86, 0x86}, {0x96, 0x96}, {0x9c, 0x9c}}, noFigures: why, has: sseOnly},
		{name: "Gracemont (Alder Lake-N)", models: [][2]int{{0xbe, 0xbe}}, noFigures: why, has: hasAlder},
		{name: "Crestmont (Sierra Forest)", models: [][2]int{{0xaf, 0xaf}, {0xb6, 0xb6}}, noFigures: why, has: hasAlder},
		{name: "Darkmont (Clearwater Forest)", models: [][2]int{{0xdd, 0xdd}}, noFigures: why, has: hasAlder},
	}
	for i := range rows {
		rows[i].vendor, rows[i].family, rows[i].identity = vendorIntel, 6, intelFamily
	}
	return rows
}
