//go:build cgo && linux

package gemm_test

import (
	"fmt"
	"slices"
	"testing"

	"ridge/native/internal/objtest"
)

// tile is the loop over k of a register tile of mr rows x nv vectors: per unit of k mr*nv
// multiply-adds and as many of the further instructions in math, nv loads of B and mr broadcasts of A.
func tile(name, load, broadcast string, mr, nv, others int, math ...string) objtest.Loop {
	l := objtest.Loop{File: name + "_amd64.c", Define: alone, Symbol: "tile_" + name, Main: map[string]int{},
		Loads: map[string]int{load + "/m": nv, broadcast + "/m": mr}, Others: others}
	for _, m := range math {
		l.Main[m] = mr * nv
	}
	return l
}

// exact is tile on gemm_exact.h, of mr rows. The first tile of a panel also copies each unit of B, 128 bytes by way of general registers, and asks
// for lines of B. The tile that packs another panel beside copies so much for four units. Both count among the others.
func exact(name, load, broadcast string, mr int, math string) []objtest.Loop {
	plain, fresh, beside := tile(name, load, broadcast, mr, 2, 7, math), tile(name, load, broadcast, mr, 2, 40, math), tile(name, load, broadcast, mr, 2, 12, math)
	plain.Symbol, fresh.Symbol, beside.Symbol = fmt.Sprintf("tile_%d_%s", mr, name), fmt.Sprintf("fresh_%d_%s", mr, name), fmt.Sprintf("beside_%d_%s", mr, name)
	return []objtest.Loop{plain, fresh, beside}
}

// low is exact with tiles of 6 rows, and their run over several panels, whose last units go by two rows: loops of four units alone are judged.
func low(name, load, broadcast string, math string) []objtest.Loop {
	loops := exact(name, load, broadcast, 6, math)
	run := loops[0]
	run.Symbol, run.Others = "run_6_"+name, 4
	loops = append(loops, run)
	for i := range loops {
		loops[i].Least = 4
	}
	return loops
}

// lying is the loop of a tile of 6 rows and 4 vectors that reads A where it lies, by two pointers. (Where a row of B is packed beside four units, gcc
// keeps a count and a pitch on the stack.)
func lying(name, load, broadcast string, math string) objtest.Loop {
	l := tile(name, load, broadcast, 6, 4, 8, math)
	l.Symbol, l.Least = "tile_6_"+name, 4
	return l
}

// spread is the loop of a tile of 14 rows whose multiply-adds all take A from memory.
func spread(name, load, math string) objtest.Loop {
	return objtest.Loop{File: name + "_amd64.c", Define: alone, Symbol: "tile_14_" + name, Main: map[string]int{math + "/m": 28},
		Loads: map[string]int{load + "/m": 2}, Others: 7}
}

// chained is the loop of four units of a tile of 14 rows on gemm_chain.h: beside its multiply-adds and broadcasts 2 loads of B a unit, 3
// instructions of the chain before, and what the compilers need for pointers and counts (gcc 7 in all, clang 13).
func chained(name, math string) objtest.Loop {
	return objtest.Loop{File: name + "_amd64.c", Define: alone, Symbol: "tile_14_" + name, Main: map[string]int{math: 28},
		Loads: map[string]int{dups + "/m": 14}, Others: 13, Least: 4}
}

// amx is the loop over 64 bytes of K of a tile of 32 x 32: four loads and four products.
func amx(name, product string) objtest.Loop {
	return objtest.Loop{File: name + "_amd64.c", Define: alone, Symbol: "tile_" + name, Main: map[string]int{product: 4},
		Loads: map[string]int{"tileloadd": 4}, Others: 7}
}

// neon is the tile of 8 rows x 3 vectors. Compilers load A and B in pairs or alone and broadcast
// by element or by an instruction, so their number is only bounded.
func neon(name, product string, others int) objtest.Loop {
	return objtest.Loop{File: name + "_arm64.c", Define: alone, Symbol: "tile_" + name, Main: map[string]int{product: 24}, Others: others}
}

// small is the loop over four k of a small product's tile of r rows x v vectors, in the file as it is built.
func small(name string, r, v, others int) objtest.Loop {
	l := tile(name, floats, "vbroadcastss", r, v, others, "vfmadd231ps")
	l.Symbol, l.Define, l.Least = fmt.Sprintf("small_%d_%d_%s", v, r, name), "", 4
	return l
}

// smallSpread is small for one vector, where the multiply-adds take A from memory.
func smallSpread(name string, r, others int) objtest.Loop {
	l := small(name, r, 1, others)
	l.Main, l.Loads = map[string]int{"vfmadd231ps/m": r}, map[string]int{floats + "/m": 1}
	return l
}

// half is smallSpread for half a vector, behind v vectors (0 or 1).
func half(name string, r, v, others int) objtest.Loop {
	l := smallSpread(name, r*(v+1), others)
	l.Symbol, l.Loads = fmt.Sprintf("half_%d_%d_%s", 2*v+1, r, name), map[string]int{floats + "/m": v + 1}
	return l
}

// pair is the loop over four k of a tile of r rows by pairs of k: two or three vectors of B from two rows, kind as of pair_tile.
func pair(name string, kind, r, others int) objtest.Loop {
	return objtest.Loop{File: name + "_amd64.c", Symbol: fmt.Sprintf("pair_%d_%d_%s", kind, r, name), Main: map[string]int{"vfmadd231ps": r * (kind/2 + 2)},
		Loads: map[string]int{"vpbroadcastq|vbroadcastsd/m": r, "vmovups|vmovaps/m": 2 * (kind/2 + 1)}, Others: others, Least: 2}
}

const (
	alone  = "GEMM_TILE_ALONE" // leaves out all but the tile: compiling the rest takes seconds
	floats = "vmovaps|vmovups"
	bytes  = "vmovdqu|vmovdqu8|vmovdqu32|vmovdqu64|vmovdqa|vmovdqa64|vmovups"
	dups   = "vpbroadcastd|vbroadcastss"
)

// Of variants that share their tile's text and instructions one stands for all. The multiply-add tiles have four units in a turn or one.
func TestTilesHoldTheirMultiplyAddsInRegisters(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles every tile with every compiler")
	}
	objtest.AMD64(t, slices.Concat(
		exact("gemm_fp32_avx512_14x32", floats, "vbroadcastss", 14, "vfmadd231ps"),
		exact("gemm_fp64_avx512_14x16", "vmovaps|vmovups|vmovapd|vmovupd", "vbroadcastsd", 14, "vfmadd231pd"),
		exact("gemm_bf16_avx512bf16_14x32", bytes+"|vmovaps|vmovdqa32", dups, 14, "vdpbf16ps")[:1],
		exact("gemm_int8_avx512vnni_14x32", bytes+"|vmovaps|vmovdqa32", dups, 14, "vpdpbusd")[:1],
		low("gemm_fp32_avx2_6x16", floats, "vbroadcastss", "vfmadd231ps"),
		low("gemm_fp64_avx2_6x8", floats+"|vmovapd|vmovupd", "vbroadcastsd", "vfmadd231pd"),
		[]objtest.Loop{
			lying("gemm_fp32_avx512intel_6x64", floats, "vbroadcastss", "vfmadd231ps"),
			lying("gemm_fp64_avx512intel_6x32", floats+"|vmovapd|vmovupd", "vbroadcastsd", "vfmadd231pd"),
			chained("gemm_fp16_avx512fp16_14x32", "vfmadd231ph"),
			spread("gemm_fp32_avx512fp16_14x32", floats, "vfmadd231ps"),
			spread("gemm_fp64_avx512fp16_14x16", floats+"|vmovapd|vmovupd", "vfmadd231pd"),
			small("gemm_fp32_avx2_6x16", 6, 2, 4),
			small("gemm_fp32_avx2_6x16", 4, 3, 4),
			small("gemm_fp32_avx512_14x32", 3, 4, 4),
			smallSpread("gemm_fp32_avx512_14x32", 12, 4),
			half("gemm_fp32_avx512_14x32", 8, 0, 4),
			half("gemm_fp32_avx512_14x32", 12, 1, 4),
			small("gemm_fp32_avx512intel_14x32", 12, 2, 4),
			small("gemm_fp32_avx512intel_14x32", 3, 4, 8), // 4 of them ask for lines of B
			pair("gemm_fp32_avx512intel_14x32", 1, 12, 9),
			pair("gemm_fp32_avx512intel_14x32", 2, 8, 12),
			tile("gemm_int8_avx2_6x16", bytes, dups, 6, 2, 5, "vpmaddwd", "vpaddd"),
			tile("gemm_u8s8_avxvnni_6x16", bytes, dups, 6, 2, 5, "vpdpbusd"),
			amx("gemm_bf16_amx_32x32", "tdpbf16ps"),
			amx("gemm_fp16_amx_32x32", "tdpfp16ps"),
			amx("gemm_int8_amx_32x32", "tdpbssd"),
		}))
	objtest.ARM64(t, []objtest.Loop{
		neon("gemm_fp32_neon_8x12", "fmla", 12),
		neon("gemm_fp64_neon_8x6", "fmla", 12),
		neon("gemm_int8_dotprod_8x12", "sdot", 23),
		neon("gemm_u8s8_i8mm_8x12", "usdot", 23),
	})
}
