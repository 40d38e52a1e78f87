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

// Products of bytes that do not pack A (gemm_dot_narrow.h): tiles of every height and width, columns that fill their last vector or end in it; K of whole
// units and with one to three bytes more, below a vector and beyond it; more rows than a block's; both orders of B; pitches, batches, a bias
// and bytes as results; few rows of many columns, which threads share, and many, of which they share rows.
func TestNarrowProductsOfBytesReadAWhereItLies(t *testing.T) {
	var ops []op.Op
	for _, d := range []record.DType{record.INT8, record.U8S8} {
		add := func(m, n, k int, more ...string) {
			ops = append(ops, kerneltest.Op(t, "gemm", d, shape(m, n, k, more...)))
		}
		for m := 2; m <= 17; m++ {
			for _, n := range []int{3 + m%14, 17 + m%16, 33 + m%16, 49 + m%16} {
				add(m, n, 4+m*n%13, "tb", fmt.Sprint(n%2), "ldc", fmt.Sprint(n+m%3))
			}
		}
		for i, k := range []int{4, 5, 6, 7, 8, 63, 64, 65, 66, 67, 127, 130, 259} {
			add(9, 19-i, k, "tb", "1", "lda", fmt.Sprint(k+i), "ldb", fmt.Sprint(k+i%4))
			add(9, 16+i, k, "tb", "0", "lda", fmt.Sprint(k+i%3), "ldb", "31")
		}
		for n := 1; n <= 16; n++ { // rows one behind another, stored whole but for a tile's last
			add(n, n, 9)
			add(17+n, n, 6+n, "tb", "1")
		}
		add(49, 5, 70, "tb", "1")
		add(97, 66, 21)
		add(130, 1, 21, "tb", "1")
		add(7, 130, 77)
		add(9, 193, 61, "tb", "1")
		add(17, 16, 1100, "tb", "1")
		add(10, 30, 38, "batch", "3")
		add(10, 30, 38, "batch", "8", "tb", "1")
	}
	for i, requant := range []string{"0", "1", "0", "1"} {
		ops = append(ops, kerneltest.Op(t, "linear", record.INT8, shape(18+i, 13+20*i, 45, "requant", requant, "bias", fmt.Sprint(i/2), "act", map[string]string{"0": "none", "1": "relu"}[requant])))
	}
	kerneltest.All(t, native.New(), ops)
}
