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

func TestPartsOfAttentionMatchTheExpectation(t *testing.T) {
	var ops []op.Op
	for _, d := range []record.DType{record.FP32, record.BF16} {
		for _, s := range [][3]int{{0, 5, 8}, {1, 1, 1}, {3, 7, 17}, {2, 32, 64}, {1, 65, 40}, {2, 130, 33}, {1, 300, 64}, {2, 131, 96}, {2, 65, 96}, {1, 127, 64}, {1, 50, 256}, {1, 1024, 32}, {1, 1030, 64}} {
			p := map[string]string{"b": fmt.Sprint(s[0]), "s": fmt.Sprint(s[1]), "d": fmt.Sprint(s[2])}
			ops = append(ops, kerneltest.Op(t, "qk_softmax", d, p), kerneltest.Op(t, "softmax_v", d, p))
			delete(p, "d")
			ops = append(ops, kerneltest.Op(t, "causal_softmax", d, p))
		}
	}
	kerneltest.All(t, native.New(), ops)
}

// Weights of more than 64 MiB in whole lines are stored past the caches, which only such a size shows.
func TestWeightsThatOutgrowTheCachesMatchTheExpectation(t *testing.T) {
	if testing.Short() {
		t.Skip("70 MiB of weights for every kernel")
	}
	kerneltest.All(t, native.New(), []op.Op{
		kerneltest.Op(t, "qk_softmax", record.FP32, map[string]string{"b": "1", "s": "4224", "d": "4"}),
		kerneltest.Op(t, "qk_softmax", record.BF16, map[string]string{"b": "2", "s": "4224", "d": "4"}),
		kerneltest.Op(t, "causal_softmax", record.FP32, map[string]string{"b": "1", "s": "4224"}),
		kerneltest.Op(t, "causal_softmax", record.BF16, map[string]string{"b": "2", "s": "4224"}),
	})
}
