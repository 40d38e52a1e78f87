//go:build cgo && linux

package attention_test

import (
	"testing"

	"ridge/native/internal/objtest"
)

// The two products of the streaming attention: for an element of d (scores) or a key (gather), mr
// rows by three vectors of queries. By rows, for a key: six rows by nv vectors of d.
func TestAttentionProductsHoldTheirMultiplyAddsInRegisters(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles the kernels with every compiler")
	}
	product := func(file, symbol string, mr int) objtest.Loop {
		return objtest.Loop{File: file, Symbol: symbol, Main: map[string]int{"vfmadd231ps|vfmadd213ps|vfmadd132ps": 3 * mr},
			Loads: map[string]int{"vmovaps|vmovups/m": 3, "vbroadcastss/m": mr}, Others: 4, Least: 4}
	}
	rows := func(file, symbol string, nv int) objtest.Loop {
		return objtest.Loop{File: file, Symbol: symbol, Main: map[string]int{"vfmadd231ps": 6 * nv},
			Loads: map[string]int{"vmovaps|vmovups/m": nv, "vbroadcastss/m": 6}, Others: 4, Least: 4}
	}
	dots := func(symbol string) objtest.Loop {
		return objtest.Loop{File: "attention_bf16_avx512bf16_amd64.c", Symbol: symbol, Main: map[string]int{"vdpbf16ps": 24},
			Loads: map[string]int{"vmovdqu32|vmovdqu64|vmovdqa64|vmovups|vmovaps/m": 3, "vpbroadcastd|vbroadcastss/m": 8}, Others: 4, Least: 4}
	}
	objtest.AMD64(t, []objtest.Loop{
		dots("scores_3"), dots("gather_3"),
		product("attention_fp32_avx2_amd64.c", "scores_3", 4),
		product("attention_fp32_avx2_amd64.c", "gather_3", 4),
		product("attention_fp32_avx512_amd64.c", "scores_3", 8),
		product("attention_fp32_avx512_amd64.c", "gather_3", 8),
		rows("attention_fp32_avx2_amd64.c", "rows_2_6", 2),
		rows("attention_fp32_avx512_amd64.c", "rows_4_6", 4),
	})
}
