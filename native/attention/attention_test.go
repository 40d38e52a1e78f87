//go:build cgo && linux

package attention_test

import (
	"fmt"
	"testing"

	"ridge/goharness/op"
	"ridge/goharness/record"
	"ridge/native"
	"ridge/native/kerneltest"
)

func shape(b, heads, kv, sq, skv, d, causal int) map[string]string {
	return map[string]string{"b": fmt.Sprint(b), "heads": fmt.Sprint(heads), "kv_heads": fmt.Sprint(kv), "sq": fmt.Sprint(sq),
		"skv": fmt.Sprint(skv), "d": fmt.Sprint(d), "causal": fmt.Sprint(causal)}
}

func TestAttentionKernelsMatchTheExpectation(t *testing.T) {
	shapes := []map[string]string{
		shape(1, 1, 0, 1, 0, 1, 0), shape(0, 2, 0, 5, 0, 8, 0), shape(2, 3, 0, 7, 0, 17, 0), shape(1, 2, 0, 65, 0, 64, 0),
		shape(1, 1, 0, 200, 0, 128, 0), shape(1, 4, 2, 13, 29, 17, 0), shape(1, 4, 1, 1, 200, 64, 0), shape(2, 2, 0, 65, 7, 1, 0),
		shape(1, 2, 0, 7, 0, 64, 1), shape(1, 1, 0, 65, 0, 17, 1), shape(1, 2, 1, 200, 0, 64, 1), shape(1, 1, 0, 7, 65, 128, 1),
		shape(1, 1, 0, 65, 7, 17, 1), shape(1, 2, 0, 1, 65, 64, 1), shape(1, 1, 0, 200, 0, 1, 1), shape(1, 1, 0, 31, 300, 40, 0),
		shape(1, 1, 0, 9, 0, 200, 0), shape(3, 2, 1, 50, 130, 33, 1),
		shape(1, 6, 2, 40, 600, 24, 1), shape(1, 2, 0, 27, 530, 36, 0),
		shape(5, 1, 0, 33, 0, 64, 0), shape(3, 2, 0, 128, 0, 64, 0), shape(1, 6, 3, 40, 0, 24, 1), shape(1, 1, 0, 250, 256, 32, 0),
		shape(2, 8, 1, 1, 1100, 64, 0), shape(1, 4, 2, 2, 700, 32, 1), shape(3, 1, 0, 1, 1500, 128, 1), shape(1, 1, 0, 7, 3, 32, 1),
	}
	var ops []op.Op
	for _, d := range []record.DType{record.FP32, record.BF16} {
		for _, s := range shapes {
			ops = append(ops, kerneltest.Op(t, "attention", d, s))
		}
	}
	kerneltest.All(t, native.New(), ops)
}
