//go:build cgo && linux

package attention_test

import (
	"fmt"
	"testing"

	"ridge/goharness/op"
	"ridge/goharness/record"
	"ridge/internal/attentiontest"
	"ridge/native"
	"ridge/native/attention"
	"ridge/native/kerneltest"
)

// special has every op of the family at shapes of every way through the kernels: few queries (one, several, with a part of a vector
// of keys), blocks in one loop and in two, several blocks, queries that see nothing, tiles and no tiles.
func special(t *testing.T) attentiontest.Platform {
	on := attentiontest.Platform{Least: 2, Apply: attention.Family().Apply, Kernels: func(o op.Op) []string { return kerneltest.Names(native.New(), o) }}
	for _, d := range []record.DType{record.FP32, record.BF16} {
		for _, s := range []map[string]string{
			shape(1, 1, 0, 4, 4, 8, 0), shape(1, 1, 0, 1, 37, 32, 0), shape(1, 1, 0, 1, 37, 40, 0), shape(1, 2, 1, 2, 37, 72, 1), shape(1, 2, 1, 1, 37, 24, 1), shape(1, 1, 0, 1, 37, 12, 0),
			shape(1, 2, 1, 3, 70, 64, 1), shape(1, 1, 0, 4, 2, 8, 1), shape(1, 1, 0, 7, 3, 32, 1),
			shape(1, 1, 0, 20, 37, 40, 0), shape(1, 1, 0, 20, 70, 64, 1), shape(1, 1, 0, 50, 40, 64, 1), shape(1, 1, 0, 17, 270, 64, 0),
		} {
			on.Ops = append(on.Ops, kerneltest.Op(t, "attention", d, s))
		}
		for _, s := range [][2]int{{4, 8}, {37, 32}, {70, 64}, {270, 32}} {
			p := map[string]string{"b": "1", "s": fmt.Sprint(s[0]), "d": fmt.Sprint(s[1])}
			on.Ops = append(on.Ops, kerneltest.Op(t, "qk_softmax", d, p), kerneltest.Op(t, "softmax_v", d, p))
			delete(p, "d")
			on.Ops = append(on.Ops, kerneltest.Op(t, "causal_softmax", d, p))
		}
	}
	return on
}

func TestAttentionOfSpecialValues(t *testing.T) { attentiontest.Run(t, special) }
