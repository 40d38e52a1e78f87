//go:build cuda && linux && cgo

package attention_test

import (
	"slices"
	"strings"
	"testing"

	"ridge/cuda/attention"
	"ridge/cuda/cudatest"
	"ridge/goharness/op"
	"ridge/goharness/record"
	"ridge/internal/attentiontest"
)

// special has shapes of every kernel: few queries and queries that see nothing, keys of one block, of a block's warps and of several blocks, scores in registers and calculated twice.
func special(t *testing.T) attentiontest.Platform {
	d := cudatest.Device(t)
	ran, every, cases := map[string]bool{}, 3, 0
	if testing.Short() {
		every = 7
	}
	on := attentiontest.Platform{Least: 1, Kernels: func(o op.Op) []string { return cudatest.Names(t, d, o) },
		Skip:   func() bool { cases++; return cases%every != 0 },
		Splits: func(kernel string) bool { return strings.Contains(kernel, "3xtf32") },
		Apply: func(kernel string, o op.Op, in [][]float64) ([]float64, error) {
			named, ts := map[string][]float64{}, o.Tensors()
			for i, values := range in {
				named[ts[i].Name] = values
			}
			out, err := cudatest.Apply(d, kernel, o, 0, named)
			if out != nil {
				ran[kernel] = true
			}
			return out[ts[len(ts)-1].Name], err
		}}
	attentions := []string{"b=1,heads=1,sq=4,d=8", "b=1,heads=1,sq=7,skv=3,d=32,causal=1", "b=1,heads=2,kv_heads=1,sq=3,skv=70,d=64,causal=1", "b=1,heads=1,sq=3,skv=270,d=64", "b=1,heads=1,sq=9,skv=5,d=64,causal=1",
		"b=1,heads=1,sq=5,skv=100,d=128,causal=1", "b=1,heads=1,sq=5,skv=90,d=256,causal=1"}
	parts, twice := []string{"b=1,s=4,d=8", "b=1,s=37,d=32", "b=1,s=72,d=64"}, "b=1,s=520,d=64"
	if !testing.Short() {
		parts = append(parts, twice)
	}
	for _, d := range []record.DType{record.FP32, record.BF16} {
		for _, s := range attentions {
			on.Ops = append(on.Ops, cudatest.Op(t, "attention", d, s))
		}
		for _, s := range parts {
			on.Ops = append(on.Ops, cudatest.Op(t, "qk_softmax", d, s), cudatest.Op(t, "softmax_v", d, s))
		}
		on.Ops = append(on.Ops, cudatest.Op(t, "causal_softmax", d, "b=1,s=4"), cudatest.Op(t, "causal_softmax", d, "b=1,s=70"))
	}
	t.Cleanup(func() {
		var all, seen []string
		for _, k := range attention.Family().Kernels {
			all = append(all, k.Name)
		}
		for k := range ran {
			seen = append(seen, k)
		}
		slices.Sort(all)
		slices.Sort(seen)
		if strings.Contains(t.Name(), "huge_scores") && !slices.Equal(all, seen) {
			t.Errorf("kernels that ran: %v, of %v", seen, all)
		}
	})
	return on
}

func TestAttentionOfSpecialValues(t *testing.T) { attentiontest.Run(t, special) }
