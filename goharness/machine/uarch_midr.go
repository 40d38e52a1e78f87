package machine

import (
	"regexp"

	"ridge/goharness/record"
)

const midrSource = "MIDR_EL1 part number; Linux arch/arm64/include/asm/cputype.h"

// armOps: pipes is the number of 128-bit vector pipes with FMA. FMLA does 2 × lanes, SDOT
// 16 products, BFDOT 8, BFMMLA 16 and SMMLA 32 products per pipe and cycle.
func armOps(pipes float64, bf16, i8mm, sve bool, source string) []opRate {
	ops := join(
		rates("neon", "128-bit FMLA pipes; "+source, 4*pipes, 8*pipes, 16*pipes, 0, 0),
		[]opRate{{"dotprod", record.INT8, 32 * pipes, "SDOT; " + source}})
	if bf16 {
		ops = append(ops, opRate{"bf16arm", record.BF16, 32 * pipes, "BFMMLA; " + source})
	}
	if i8mm {
		ops = append(ops, rates("i8mm", "SMMLA, USMMLA; "+source, 0, 0, 0, 0, 64*pipes)...)
	}
	if sve {
		ops = append(ops, rates("sve", "FMLA over the same pipes; "+source, 4*pipes, 8*pipes, 16*pipes, 0, 0)...)
	}
	return ops
}

func armRows() []row {
	const notSocket = "a Neoverse core is licensed: the socket and its memory channels are the chip maker's"
	part := func(name string, model int, ops []opRate) row {
		return row{name: name, vendor: "ARM", family: 0x41, models: [][2]int{{model, model}}, identity: midrSource, ops: ops}
	}
	rows := []row{
		part("Neoverse N1", 0xd0c, armOps(2, false, false, false, "Arm Neoverse N1 Software Optimization Guide, 2 pipes")),
		part("Neoverse V1", 0xd40, armOps(4, true, true, true, "Arm Neoverse V1 Software Optimization Guide, 4×128-bit or 2×256-bit SVE")),
		part("Neoverse N2", 0xd49, armOps(2, true, true, true, "Arm Neoverse N2 Software Optimization Guide, 2 pipes")),
		part("Neoverse V2", 0xd4f, armOps(4, true, true, true, "Arm Neoverse V2 Software Optimization Guide, 4 pipes")),
	}
	rows = append(rows, row{name: "Azure Cobalt 100 (Neoverse N2)", vendor: "Microsoft", family: 0x6d, models: [][2]int{{0xd49, 0xd49}},
		identity: midrSource, ops: armOps(2, true, true, true, "Arm Neoverse N2 Software Optimization Guide, 2 pipes")})
	const why = "unsourced: no figure with a source for this core yet; the measured peak stands alone"
	for _, c := range []struct {
		name  string
		model int
	}{
		{"Cortex-A53", 0xd03}, {"Cortex-A55", 0xd05}, {"Cortex-A57", 0xd07}, {"Cortex-A72", 0xd08}, {"Cortex-A73", 0xd09},
		{"Cortex-A75", 0xd0a}, {"Cortex-A76", 0xd0b}, {"Cortex-A77", 0xd0d}, {"Cortex-A78", 0xd41}, {"Cortex-A78AE", 0xd42},
		{"Cortex-X1", 0xd44}, {"Cortex-A510", 0xd46}, {"Cortex-A710", 0xd47}, {"Cortex-X2", 0xd48}, {"Neoverse E1", 0xd4a},
		{"Cortex-A78C", 0xd4b}, {"Cortex-A715", 0xd4d}, {"Cortex-X3", 0xd4e}, {"Cortex-A520", 0xd80}, {"Cortex-A720", 0xd81},
		{"Cortex-X4", 0xd82}, {"Neoverse V3", 0xd84}, {"Cortex-X925", 0xd85}, {"Neoverse N3", 0xd8e},
	} {
		r := part(c.name, c.model, nil)
		r.noFigures = why
		rows = append(rows, r)
	}
	for _, r := range []row{
		{name: "Fujitsu A64FX", vendor: "Fujitsu", family: 0x46, models: [][2]int{{0x001, 0x001}}},
		{name: "HiSilicon TSV110 (Kunpeng 920)", vendor: "HiSilicon", family: 0x48, models: [][2]int{{0xd01, 0xd01}}},
		{name: "NVIDIA Carmel", vendor: "NVIDIA", family: 0x4e, models: [][2]int{{0x004, 0x004}}},
		{name: "Ampere-1", vendor: "Ampere", family: 0xc0, models: [][2]int{{0xac3, 0xac4}}},
	} {
		r.identity, r.noFigures = midrSource, why
		rows = append(rows, r)
	}
	for i := range rows {
		rows[i].noSocket = notSocket
	}
	return rows
}

// appleRows: macOS gives the brand, Linux (Asahi) the part number.
func appleRows() []row {
	const specs = "Apple technical specifications (memory bandwidth)"
	const src = "measured by several authors: 4 × 128-bit FMLA per cycle; Apple gives no figure"
	m1 := armOps(4, false, false, false, src)
	m2 := append(armOps(4, false, false, false, src), opRate{"bf16arm", record.BF16, 16, "BFMLAL/BFDOT at a quarter of fp16; " + src})
	lp := func(bits int, kind string, mtps float64) *dramBound {
		return &dramBound{bits / 16, mtps, 2, kind, specs}
	}
	const lp4, lp5, lp5x = "LPDDR4X", "LPDDR5", "LPDDR5X"
	rows := []row{}
	add := func(brand, name, eCore string, ops []opRate, d *dramBound) {
		rows = append(rows, row{name: name, vendor: "Apple", family: anyFamily, brand: regexp.MustCompile("^" + brand + "$"),
			identity: "brand string", ops: ops, dram: d, eCore: eCore})
	}
	add("Apple M1", "Firestorm (M1)", "Icestorm", m1, lp(128, lp4, 4266))
	add("Apple M1 Pro", "Firestorm (M1 Pro)", "Icestorm", m1, lp(256, lp5, 6400))
	add("Apple M1 Max", "Firestorm (M1 Max)", "Icestorm", m1, lp(512, lp5, 6400))
	add("Apple M1 Ultra", "Firestorm (M1 Ultra)", "Icestorm", m1, lp(1024, lp5, 6400))
	add("Apple M2", "Avalanche (M2)", "Blizzard", m2, lp(128, lp5, 6400))
	add("Apple M2 Pro", "Avalanche (M2 Pro)", "Blizzard", m2, lp(256, lp5, 6400))
	add("Apple M2 Max", "Avalanche (M2 Max)", "Blizzard", m2, lp(512, lp5, 6400))
	add("Apple M2 Ultra", "Avalanche (M2 Ultra)", "Blizzard", m2, lp(1024, lp5, 6400))
	add("Apple M3", "Everest (M3)", "Sawtooth", m2, lp(128, lp5, 6400))
	add("Apple M3 Pro", "Everest (M3 Pro)", "Sawtooth", m2, lp(192, lp5, 6400))
	add("Apple M3 Max", "Everest (M3 Max)", "Sawtooth", m2, lp(512, lp5, 6400))
	add("Apple M3 Ultra", "Everest (M3 Ultra)", "Sawtooth", m2, lp(1024, lp5, 6400))
	add("Apple M4", "M4 P-core", "M4 E-core", m2, lp(128, lp5x, 7500))
	add("Apple M4 Pro", "M4 Pro P-core", "M4 E-core", m2, lp(256, lp5x, 8533))
	add("Apple M4 Max", "M4 Max P-core", "M4 E-core", m2, lp(512, lp5x, 8533))
	byPart := func(name string, ops []opRate, why string, parts ...int) {
		r := row{name: name, vendor: "Apple", family: 0x61, identity: midrSource, ops: ops, noFigures: why}
		for _, p := range parts {
			r.models = append(r.models, [2]int{p, p})
		}
		rows = append(rows, r)
	}
	const why = "unsourced: no figure with a source for this efficiency core"
	byPart("Icestorm (M1)", nil, why, 0x22, 0x24, 0x28)
	byPart("Firestorm (M1)", m1, "", 0x23, 0x25, 0x29)
	byPart("Blizzard (M2)", nil, why, 0x32, 0x34, 0x38)
	byPart("Avalanche (M2)", m2, "", 0x33, 0x35, 0x39)
	return rows
}
