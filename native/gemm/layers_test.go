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

// One to three rows (dot products), parts of tiles, several panels, blocks of K and rows, chunks of hidden features, strips of matrix tiles.
func TestSwiGLUKernelsMatchTheExpectation(t *testing.T) {
	var ops []op.Op
	for _, d := range []record.DType{record.FP32, record.BF16} {
		for _, s := range [][3]int{{0, 4, 4}, {4, 0, 4}, {1, 1, 1}, {2, 37, 35}, {3, 70, 130}, {5, 7, 270}, {29, 131, 33}, {97, 131, 270}, {1200, 5, 9}} {
			ops = append(ops, kerneltest.Op(t, "swiglu", d, shape(s[0], s[1], s[2])), kerneltest.Op(t, "swiglu", d, shape(s[0], s[1], s[2], "packed", "1")))
		}
	}
	kerneltest.All(t, native.New(), ops)
}

func TestMLPKernelsMatchTheExpectation(t *testing.T) {
	var ops []op.Op
	for _, d := range []record.DType{record.FP32, record.BF16} {
		for i, s := range [][4]int{{0, 4, 4, 4}, {4, 0, 4, 4}, {1, 1, 1, 1}, {2, 35, 33, 1050}, {3, 70, 19, 21}, {5, 7, 9, 270}, {13, 67, 270, 37}, {29, 35, 12, 600}, {97, 131, 270, 330}, {1030, 70, 5, 600}, {1200, 3, 5, 7}} {
			for _, packed := range []string{"0", "1"} {
				ops = append(ops, kerneltest.Op(t, "mlp", d, shape(s[0], s[1], s[2], "h", fmt.Sprint(s[3]), "act", op.Activations[i%5], "packed", packed)))
			}
		}
	}
	// A hidden block of more rows than matrix tiles have at a time.
	ops = append(ops, kerneltest.Op(t, "mlp", record.BF16, shape(100, 3, 5, "h", "22000", "packed", "1")))
	kerneltest.All(t, native.New(), ops)
}

// Sums of int8, and requantised: tiles and their parts, one and two blocks of K (whose sums then cannot lie in C), rows that each thread
// has to itself.
func TestInt8LinearKernelsMatchTheExpectation(t *testing.T) {
	var ops []op.Op
	for i, s := range [][3]int{{0, 4, 4}, {5, 5, 0}, {1, 1, 1}, {1, 257, 129}, {7, 13, 17}, {33, 35, 37}, {300, 3, 5}, {29, 67, 70}, {33, 35, 1100}, {2, 19, 600}, {200, 45, 61}, {13, 10, 270}} {
		for _, requant := range []string{"0", "1"} {
			p := shape(s[0], s[1], s[2], "requant", requant, "bias", fmt.Sprint((i+1)%2))
			if requant == "1" && i%3 == 0 {
				p["act"] = "relu"
			}
			ops = append(ops, kerneltest.Op(t, "linear", record.INT8, p))
		}
	}
	kerneltest.All(t, native.New(), ops)
}
