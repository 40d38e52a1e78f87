//go:build cgo && linux

package gemm_test

import (
	"testing"

	"ridge/goharness/op"
	"ridge/goharness/record"
	"ridge/native"
	"ridge/native/kerneltest"
)

// Matrix tiles (gemm_tiles.h) of more rows than go as few: K of one block of 16 steps or a part of it, of two and three blocks; strips of two tiles
// and a last one of one, whole ones whose sums go straight to C and cut ones; either order of B, also packed beforehand.
func TestMatrixTilesHaveLongBlocksOfKForManyRows(t *testing.T) {
	b := kerneltest.Only(native.New(), "_amx_")
	var ops []op.Op
	for _, d := range []record.DType{record.BF16, record.FP16, record.INT8, record.U8S8} {
		if len(kerneltest.Names(b, kerneltest.Op(t, "gemm", d, shape(1, 1, 1)))) == 0 {
			continue // neither such a CPU nor the models
		}
		long := 16 * 64 / int(d.Size()) // K of such a block
		for i, s := range [][3]int{{112, 64, long}, {144, 96, long - 30}, {130, 70, long + 17}, {99, 33, 2*long + 5}, {128, 64, 2 * long}} {
			order := []string{"tb", []string{"0", "1"}[i%2]}
			ops = append(ops, kerneltest.Op(t, "gemm", d, shape(s[0], s[1], s[2], order...)),
				kerneltest.Op(t, "gemm", d, shape(s[0], s[1], s[2], append(order, "packed", "1")...)))
		}
	}
	if len(ops) == 0 {
		t.Skip("no kernel on matrix tiles runs here")
	}
	kerneltest.All(t, b, ops)
}

// Blocks of hidden rows of an MLP, the last of few rows: its blocks of K are as the weights were packed for all rows.
func TestMatrixTilesReadWeightsThatWerePackedForMoreRows(t *testing.T) {
	b := kerneltest.Only(native.New(), "_amx_")
	o := kerneltest.Op(t, "mlp", record.BF16, shape(100, 35, 5, "h", "66000", "packed", "1"))
	if len(kerneltest.Names(b, o)) == 0 {
		t.Skip("no kernel on matrix tiles runs here")
	}
	kerneltest.All(t, b, []op.Op{o})
}
