//go:build cgo && linux

package conv_test

import (
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
		tile("conv2d_fp32_avx2_indirect_amd64.c", "tile_6_2", floats, "vbroadcastss", 6, 2, 4, "vfmadd231ps|vfmadd213ps|vfmadd132ps"),
		tile("conv2d_fp32_avx512_indirect_amd64.c", "tile_8_2", floats, "vbroadcastss", 8, 2, 4, "vfmadd231ps|vfmadd213ps|vfmadd132ps"),
		tile("conv2d_int8_avx2_indirect_amd64.c", "tile_6_2", ints, dups, 6, 2, 5, "vpmaddwd", "vpaddd"),
		tile("conv2d_int8_avx512vnni_indirect_amd64.c", "tile_8_2", ints, dups, 8, 2, 4, "vpdpbusd"),
		tile("conv2d_bf16_avx512bf16_indirect_amd64.c", "tile_8_2", ints, dups, 8, 2, 4, "vdpbf16ps"),
		tile("conv2d_bf16_avx512bf16_amd64.c", "ridge_micro_8_3", ints, dups, 8, 3, 11, "vdpbf16ps"), // clang steps eight pointers
	})
}
