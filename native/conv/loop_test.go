//go:build cgo && linux

package conv_test

import (
	"fmt"
	"testing"

	"ridge/native/internal/objtest"
)

// tile is the loop over elements of the indirect convolution's full register tile: mr*nv
// multiply-adds and as many of the further instructions in math, nv loads of the panel, mr broadcasts
// of pixels. Pixels have a pointer each, and four elements share a turn.
func tile(file, symbol, load, broadcast string, mr, nv, others int, math ...string) objtest.Loop {
	l := objtest.Loop{File: file, Symbol: symbol, Main: map[string]int{math[0]: mr * nv},
		Loads: map[string]int{load + "/m": nv, broadcast + "/m": mr}, Others: others}
	for _, m := range math[1:] {
		l.Loads[m] = mr * nv
	}
	return l
}

// whole is the loop of a full tile of 7 pixels and 64 channels, whose sums take all registers but four: the last of the panel's vectors is read by its
// seven multiplications.
func whole(file, load, math string) objtest.Loop {
	l := tile(file, "tile_7_4", load, "vbroadcastss", 7, 4, 5, math)
	l.Loads[load+"/m"] = 3
	return l
}

// edges are the loops of such a tile at the image's edge, of 7 pixels and of the 6 that are inside, two elements a turn: a unit is a pixel.
func edges(file, math string) objtest.Loop {
	return objtest.Loop{File: file, Symbol: "tile_edges", Main: map[string]int{math: 4}, Loads: map[string]int{"vbroadcastss/m": 1}, Others: 2, Least: 12}
}

// unrolled is l with loops of four elements alone: the tail, and what a compiler makes of the last three elements, are not judged.
func unrolled(l objtest.Loop) objtest.Loop {
	l.Least = 4
	return l
}

// stem is the loop of a full tile of the stem's products at a position (conv_winograd_stem_tile.h): a turn is a phase, of as many elements as there are channels,
// each with nv vectors of U and a broadcast of every row of V.
func stem(file, load string, mr, nv, channels, others int) objtest.Loop {
	return objtest.Loop{File: file, Symbol: fmt.Sprintf("stem_%d_%d", mr, channels), Main: map[string]int{"vfmadd231ps|vfmadd132ps|vfmadd213ps": mr * nv * channels},
		Loads: map[string]int{load + "/m": nv * channels, "vbroadcastss/m": mr * channels}, Others: others, Units: 1}
}

func TestConvolutionTilesHoldTheirMultiplyAddsInRegisters(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles the tiles with every compiler")
	}
	const (
		floats = "vmovaps|vmovups"
		ints   = "vmovdqu|vmovdqa|vmovdqu8|vmovdqu32|vmovdqu64|vmovdqa64|vmovups|vmovaps"
		dups   = "vpbroadcastd|vbroadcastss"
	)
	objtest.AMD64(t, []objtest.Loop{
		unrolled(tile("conv2d_fp32_avx2_indirect_amd64.c", "tile_6_2", floats, "vbroadcastss", 6, 2, 4, "vfmadd231ps|vfmadd213ps|vfmadd132ps")),
		unrolled(tile("conv2d_fp32_avx2_indirect_amd64.c", "twos_six", floats, "vbroadcastss", 6, 2, 4, "vfmadd231ps")),
		whole("conv2d_fp32_avx512_indirect_amd64.c", floats, "vfmadd231ps"),
		edges("conv2d_fp32_avx512_indirect_amd64.c", "vfmadd231ps"),
		unrolled(tile("conv2d_fp32_avx512intel_indirect_amd64.c", "tile_6_4", floats, "vbroadcastss", 6, 4, 6, "vfmadd231ps")),
		tile("conv2d_int8_avx2_indirect_amd64.c", "tile_6_2", ints, dups, 6, 2, 5, "vpmaddwd", "vpaddd"),
		whole("conv2d_int8_avx512vnni_indirect_amd64.c", ints, "vpdpbusd"),
		whole("conv2d_bf16_avx512bf16_indirect_amd64.c", ints, "vdpbf16ps"),
		edges("conv2d_bf16_avx512bf16_indirect_amd64.c", "vdpbf16ps"),
		tile("conv2d_bf16_avx512bf16_amd64.c", "ridge_micro_8_3", ints, dups, 8, 3, 11, "vdpbf16ps"), // clang steps eight pointers

		stem("conv2d_fp32_avx512_winograd37s2_amd64.c", floats, 10, 2, 3, 10), // gcc moves six sums from register to register
		stem("conv2d_fp32_avx512_winograd37s2_amd64.c", floats, 10, 2, 4, 9),
		stem("conv2d_fp32_avx512intel_winograd37s2_amd64.c", floats, 6, 4, 3, 11), // seven sums
		unrolled(tile("conv2d_fp32_avx512intel_winograd43_amd64.c", "tile_6_4", floats, "vbroadcastss", 6, 4, 5, "vfmadd231ps|vfmadd213ps|vfmadd132ps")),
		stem("conv2d_fp32_avx2_winograd37s2_amd64.c", floats, 6, 2, 3, 5), // of four channels gcc keeps one sum of twelve on the stack
		stem("conv2d_bf16_avx512bf16_winograd37s2_amd64.c", floats, 10, 2, 3, 10),
	})
}
