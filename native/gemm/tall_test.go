//go:build cgo && linux

package gemm_test

import (
	"testing"

	"ridge/goharness/op"
	"ridge/goharness/record"
	"ridge/native"
	"ridge/native/kerneltest"
)

// Many rows and few columns of 16-bit formats (gemm_dots_tall.h): every number of columns that goes this way and one more; rows of A in whole groups of four
// and twelve and not, more of them than sums are kept for, and of threads' shares; K of whole vectors of 8 to 32 elements, odd, and of several blocks; both orders of B, a B that
// is turned and one that is not; pitches, ends of the product and batches.
func TestFewColumnsGoByDotProductsAlongK(t *testing.T) {
	var ops []op.Op
	for _, d := range []record.DType{record.FP16, record.BF16} {
		add := func(m, n, k int, more ...string) {
			ops = append(ops, kerneltest.Op(t, "gemm", d, shape(m, n, k, more...)))
		}
		for n := 1; n <= 13; n++ {
			add(25+n, n, 254+n)
			add(27, n, 300+n, "tb", "1")
		}
		for i, k := range []int{17, 31, 32, 33, 63, 64, 65, 96, 127, 1025, 2240} {
			add(9+i, 1, k)
			add(19+i, 3, k, "tb", "1")
			add(49, 4, k, "ldc", "7", "lda", "2251", "ldb", "9")
		}
		add(245, 2, 129)
		add(500, 5, 160)
		add(131, 8, 259, "tb", "1")
		add(30, 9, 500)
		add(29, 12, 2500) // the widest that is turned
		add(37, 1, 4200)
		add(23, 6, 270, "batch", "5")
		add(70, 3, 150, "batch", "2", "tb", "1")
		add(41, 7, 290, "alpha", "-3", "beta", "1")
		ops = append(ops, kerneltest.Op(t, "gemm", d, shape(41, 7, 290, "ldc", "7"))) // C is one run
	}
	for _, act := range []string{"none", "gelu"} {
		ops = append(ops, kerneltest.Op(t, "linear", record.BF16, shape(90, 5, 264, "bias", "1", "act", act)))
	}
	kerneltest.All(t, native.New(), ops)
}

// Small products whose rows of A lie one behind another, and not, so that they are widened as one run or each; K shorter than a vector; columns that end within one.
func TestRowsOf16BitsAreWidenedAsOneRun(t *testing.T) {
	var ops []op.Op
	for _, d := range []record.DType{record.FP16, record.BF16} {
		for i, k := range []int{1, 3, 7, 8, 15, 17, 24} {
			for _, n := range []int{15, 24, 33, 47} {
				ops = append(ops, kerneltest.Op(t, "gemm", d, shape(61+i, n, k)), kerneltest.Op(t, "gemm", d, shape(50, n, k, "lda", "29", "ldc", "50")))
			}
		}
		ops = append(ops, kerneltest.Op(t, "gemm", d, shape(1100, 24, 9)), kerneltest.Op(t, "gemm", d, shape(300, 40, 300)))
	}
	kerneltest.All(t, native.New(), ops)
}
