//go:build cgo && linux

package gemm_test

import (
	"fmt"
	"testing"

	"ridge/goharness/op"
	"ridge/goharness/record"
	"ridge/native"
	"ridge/native/kerneltest"
)

// Rows of A where they lie against panels of B (gemm_panels.h), packed beforehand: tiles of every height and of one to four vectors, whose last one is whole,
// a part of a vector or the only one; K of a few steps and beyond a block of the packed loops; both orders of B, pitches, factors and activations.
func TestPackedPanelsMeetRowsOfAWhereTheyLie(t *testing.T) {
	var ops []op.Op
	for _, d := range []record.DType{record.FP64, record.FP32} {
		lanes := 64 / int(d.Size())
		add := func(m, n, k int, more ...string) {
			ops = append(ops, kerneltest.Op(t, "gemm", d, shape(m, n, k, append(more, "packed", "1")...)))
		}
		for m := 1; m <= 17; m++ {
			for v := range 4 {
				if kerneltest.Sparse() && (m+v)%3 > 0 {
					continue
				}
				add(m, lanes*v+1+(5*m+v)%lanes, 1+m*(v+3)%19, "tb", fmt.Sprint(v%2), "ldc", fmt.Sprint(lanes*(v+1)+m%3), "lda", "24")
			}
		}
		add(25, 5*lanes+3, 300, "tb", "1")
		add(49, 2*lanes+1, 517)
		add(31, 9*lanes+1, 33)
		add(10, 4*lanes, 270, "alpha", "-2", "beta", "1", "ldc", "75")
	}
	for i, act := range op.Activations {
		ops = append(ops, kerneltest.Op(t, "linear", record.FP32, shape(5+3*i, 21+20*i, 40, "act", act, "packed", "1", "bias", fmt.Sprint(i%2))))
	}
	kerneltest.All(t, native.New(), ops)
}

// The same where each thread packs B: K is short and C larger than L2. And what stays with packed A: more columns than that gains by, more of B than L2 holds.
func TestShortKWritesALargeCInLongRuns(t *testing.T) {
	var ops []op.Op
	for _, d := range []record.DType{record.FP64, record.FP32} {
		size := int(d.Size())
		add := func(m, n, k int, more ...string) {
			ops = append(ops, kerneltest.Op(t, "gemm", d, shape(m, n, k, more...)))
		}
		n := 1<<20/130/size + 9 // over L2 for 130 rows
		add(130, n, 5)
		add(131, n, 9, "tb", "1", "ldb", "11", "ldc", fmt.Sprint(n+3))
		add(130, n, 4, "beta", "1", "alpha", "3")
		add(40, 259, 270, "packed", "1")
		if !testing.Short() {
			add(1030, 150, 32)
			add(9, 1<<20/900/size*3/2+64, 900, "packed", "1")
		}
	}
	kerneltest.All(t, native.New(), ops)
}

// Up to 16 rows against rows of B a page apart: one tile of all rows, of as many vectors as leaves room for them.
func TestFewRowsReadBOnceWhereItsRowsLiePagesApart(t *testing.T) {
	var ops []op.Op
	for _, d := range []record.DType{record.FP64, record.FP32} {
		lanes := 64 / int(d.Size())
		for m := 5; m <= 17; m++ {
			ops = append(ops, kerneltest.Op(t, "gemm", d, shape(m, lanes*(m%7)+m%5+1, 19+m, "ldb", fmt.Sprint(64*lanes+m%3))))
		}
	}
	kerneltest.All(t, native.New(), ops)
}
