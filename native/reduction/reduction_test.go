//go:build cgo && linux

package reduction_test

import (
	"fmt"
	"testing"

	"ridge/goharness/op"
	"ridge/goharness/record"
	"ridge/native"
	"ridge/native/kerneltest"
)

func params(kv ...any) map[string]string {
	p := map[string]string{}
	for i := 0; i+1 < len(kv); i += 2 {
		p[kv[i].(string)] = fmt.Sprint(kv[i+1])
	}
	return p
}

func TestReductionKernelsMatchTheExpectation(t *testing.T) {
	var ops []op.Op
	for _, d := range []record.DType{record.FP64, record.FP32, record.BF16} {
		for _, name := range []string{"sum", "mean", "max", "min"} {
			for _, dim := range []string{"all", "0", "1"} {
				shapes := [][2]int{{1, 1}, {1, 7}, {11, 3}, {67, 41}}
				if name == "sum" {
					// 3 threads × 1,024 columns switch dim 0 to columns; 9,001 elements are
					// several blocks of a run.
					shapes = append(shapes, [2]int{0, 5}, [2]int{5, 0}, [2]int{9, 3079}, [2]int{2, 9001}, [2]int{1031, 2})
				}
				for _, s := range shapes {
					ops = append(ops, kerneltest.Op(t, name, d, params("rows", s[0], "cols", s[1], "dim", dim)))
				}
			}
		}
	}
	kerneltest.All(t, native.New(), ops)
}

func TestSoftmaxAndNormKernelsMatchTheExpectation(t *testing.T) {
	var ops []op.Op
	for _, d := range []record.DType{record.FP32, record.BF16} {
		for _, s := range [][2]int{{0, 5}, {5, 0}, {1, 1}, {3, 7}, {19, 37}, {9, 131}, {67, 2}} {
			for _, dim := range []string{"0", "1"} {
				ops = append(ops, kerneltest.Op(t, "softmax", d, params("rows", s[0], "cols", s[1], "dim", dim)))
			}
			for _, name := range []string{"layer_norm", "rms_norm"} {
				ops = append(ops, kerneltest.Op(t, name, d, params("rows", s[0], "cols", s[1])))
			}
		}
		ops = append(ops, kerneltest.Op(t, "softmax", d, params("rows", 2, "cols", 4241, "dim", "1")),
			kerneltest.Op(t, "softmax", d, params("rows", 2, "cols", 1201, "dim", "0")))
	}
	kerneltest.All(t, native.New(), ops)
}
