//go:build cgo && linux

package gemm_test

import (
	"math/rand/v2"
	"strings"
	"testing"

	"ridge/goharness/op"
	"ridge/goharness/record"
	"ridge/native"
	"ridge/native/kerneltest"
)

// Tiles that pack B themselves (gemm_own.h): more rows than MC, so that B is packed again for the rest, whole groups
// of panels and a part of one, two blocks of K of which the last ends within a unit of 2 or 4, and every height.
func TestTilesPackTheirOwnPanelsOfB(t *testing.T) {
	var ops []op.Op
	for _, d := range []record.DType{record.FP64, record.FP32, record.FP16, record.BF16} {
		ops = append(ops, kerneltest.Op(t, "gemm", d, shape(131, 41, 515)))
	}
	ops = append(ops, kerneltest.Op(t, "gemm", record.FP32, shape(15, 165, 258, "ldb", "167", "beta", "1")),
		kerneltest.Op(t, "gemm", record.BF16, shape(9, 133, 1027, "alpha", "2")))
	for _, d := range []record.DType{record.INT8, record.U8S8} {
		ops = append(ops, kerneltest.Op(t, "gemm", d, shape(259, 33, 67)), kerneltest.Op(t, "gemm", d, shape(9, 130, 1027)))
	}
	kerneltest.AllWith(t, native.New(), ops, packed)
}

// Tiles that pack beside their multiply-adds have room for a quarter of their own units: where K is a few units, or the next block has more than
// this one, a row of tiles has no room for a panel, and one tile alone has nobody to pack beside.
func TestTilesPackNoMoreBesideThanTheyHaveRoomFor(t *testing.T) {
	var ops []op.Op
	for _, d := range []record.DType{record.INT8, record.U8S8} {
		for _, s := range [][3]int{{12, 300, 3}, {40, 300, 14}, {48, 300, 30}, {14, 260, 1}} {
			ops = append(ops, kerneltest.Op(t, "gemm", d, shape(s[0], s[1], s[2])))
		}
	}
	for _, s := range [][3]int{{12, 300, 1}, {40, 300, 7}, {48, 300, 15}} {
		for _, d := range []record.DType{record.BF16, record.FP16, record.FP32, record.FP64} {
			ops = append(ops, kerneltest.Op(t, "gemm", d, shape(s[0], s[1], s[2])))
		}
	}
	rng := rand.New(rand.NewPCG(1, 2))
	trials := 24
	if testing.Short() {
		trials = 4
	}
	for range trials {
		for _, d := range []record.DType{record.BF16, record.INT8, record.FP32} {
			ops = append(ops, kerneltest.Op(t, "gemm", d, shape(5+rng.IntN(56), 129+rng.IntN(200), 1+rng.IntN(70))))
		}
	}
	kerneltest.All(t, native.New(), ops)
	b := native.New()
	dev := open(t, b, 1)
	o := kerneltest.Remember(kerneltest.Op(t, "gemm", record.FP32, shape(48, 300, 850))) // the last block of K is much shorter
	for _, k := range kerneltest.Names(b, o) {
		if strings.HasSuffix(k, "_portable") || testing.Short() && strings.HasSuffix(k, "_model") {
			continue
		}
		if err := kerneltest.With(dev, o, k, map[string]int64{"kc": 64}); err != nil {
			t.Errorf("%s %s: %v", k, kerneltest.Describe(o), err)
		}
	}
}

// Few rows against B as it lies, from a cache (rows of B not asked for on AVX2) and from memory (there one and two rows take eight rows of B at a time).
func TestFewRowsReadBFromCachesAndFromMemory(t *testing.T) {
	var ops []op.Op
	for _, d := range []record.DType{record.FP32, record.FP64, record.BF16} {
		for i, m := range []int{1, 2, 3, 6} {
			ops = append(ops, kerneltest.Op(t, "gemm", d, shape(m, 1030+i, 261+i)))
		}
	}
	// Threads share columns: up to 32 rows against more than L2 holds of B.
	ops = append(ops, kerneltest.Op(t, "gemm", record.FP32, shape(20, 135, 600)), kerneltest.Op(t, "gemm", record.FP64, shape(17, 70, 600)))
	if !testing.Short() { // 2059 rows: eight at a time, and three are left
		ops = append(ops, kerneltest.Op(t, "gemm", record.FP32, shape(20, 303, 900)))
		ops = append(ops, kerneltest.Op(t, "gemm", record.FP32, shape(1, 2101, 2059)), kerneltest.Op(t, "gemm", record.FP32, shape(2, 2101, 2059)),
			kerneltest.Op(t, "gemm", record.FP64, shape(1, 1051, 2059)), kerneltest.Op(t, "gemm", record.FP64, shape(2, 1051, 2059)))
	}
	kerneltest.All(t, native.New(), ops)
}

// Threads share K where they would have few columns each, or where L2 holds B between products: sums of each for all columns, added up. Rows of C
// that end within a vector, chunks of 512 columns of fp32 and less than a vector beyond them, and what ends a sum.
func TestFewRowsShareKWhereColumnsAreFewOrL2HoldsB(t *testing.T) {
	var ops []op.Op
	for _, d := range []record.DType{record.FP64, record.FP32, record.FP16, record.BF16} {
		ops = append(ops, kerneltest.Op(t, "gemm", d, shape(1, 131, 701)), kerneltest.Op(t, "gemm", d, shape(3, 76, 1030, "beta", "1", "alpha", "-2")),
			kerneltest.Op(t, "gemm", d, shape(4, 150, 795, "ldb", "157", "ldc", "151")), kerneltest.Op(t, "gemm", d, shape(2, 1, 40000)))
	}
	if !testing.Short() {
		ops = append(ops, kerneltest.Op(t, "gemm", record.FP32, shape(1, 1030, 900)), kerneltest.Op(t, "gemm", record.FP64, shape(4, 523, 800)))
	}
	kerneltest.AllWith(t, native.New(), ops, packed)
}

// From a thousand rows on (tiles of 14 rows; of 6 from 288 of fp32 and of what is widened to it, 144 of fp64) the team packs B once for all.
func TestManyRowsShareThePanelsOfB(t *testing.T) {
	ops := []op.Op{
		kerneltest.Op(t, "gemm", record.FP32, shape(1030, 35, 40)), kerneltest.Op(t, "gemm", record.FP32, shape(1030, 35, 40, "packed", "1")),
		kerneltest.Op(t, "gemm", record.INT8, shape(4100, 40, 20)), kerneltest.Op(t, "gemm", record.BF16, shape(2060, 40, 20)),
		kerneltest.Op(t, "gemm", record.INT8, shape(4100, 40, 20, "packed", "1")), kerneltest.Op(t, "gemm", record.BF16, shape(2060, 40, 20, "packed", "1")),
		kerneltest.Op(t, "gemm", record.BF16, shape(300, 70, 600)), kerneltest.Op(t, "gemm", record.FP16, shape(300, 70, 600)), // three blocks of K, sums in the workspace
	}
	if !testing.Short() {
		for _, d := range []record.DType{record.FP32, record.FP64} {
			for _, packed := range []string{"0", "1"} {
				ops = append(ops, kerneltest.Op(t, "gemm", d, shape(1030, 35, 260, "packed", packed)), kerneltest.Op(t, "gemm", d, shape(1030, 4200, 3, "packed", packed)),
					kerneltest.Op(t, "gemm", d, shape(1030, 70, 270, "packed", packed, "beta", "1", "ldc", "73")))
			}
		}
	}
	kerneltest.AllWith(t, native.New(), ops, packed)
}
