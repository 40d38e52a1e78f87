//go:build cuda && linux && cgo

package attention_test

import (
	"strings"
	"testing"

	"ridge/cuda"
	"ridge/cuda/cudatest"
	"ridge/goharness/op"
	"ridge/goharness/record"
)

func TestMain(m *testing.M) { cudatest.Main(m) }

// Tails of queries and keys (64), of dimensions (32 of a score, 128 of an output), several heads, groups of heads, masks with more
// and fewer keys than queries, queries that see nothing.
func TestAttentionMatchesTheExpectation(t *testing.T) {
	var ops []op.Op
	for _, d := range []record.DType{record.FP32, record.BF16} {
		for _, shape := range []string{
			"b=0,heads=1,sq=3,d=4", "b=1,heads=1,sq=0,skv=3,d=4", "b=1,heads=1,sq=1,d=1", "b=2,heads=3,sq=17,d=20", "b=1,heads=1,sq=65,skv=130,d=33",
			"b=1,heads=4,kv_heads=2,sq=9,skv=70,d=64", "b=1,heads=2,sq=70,d=40,causal=1", "b=1,heads=2,kv_heads=1,sq=5,skv=90,d=16,causal=1",
			"b=1,heads=1,sq=90,skv=5,d=16,causal=1", "b=1,heads=1,sq=3,skv=9,d=150",
		} {
			ops = append(ops, cudatest.Op(t, "attention", d, shape))
		}
	}
	cudatest.All(t, cuda.New(), ops)
}

// Every dimension; blocks of 128 queries (d = 256: 64), warps of 32 (16) and tiles of 64 keys, whole and in part; no keys, no queries; masks that begin before,
// in and behind a tile, and queries that see nothing; groups of heads.
func TestAttentionOnTensorCoresMatchesTheExpectation(t *testing.T) {
	var ops []op.Op
	for _, shape := range []string{
		"b=0,heads=1,sq=3", "b=1,heads=1,sq=0,skv=3", "b=1,heads=1,sq=1", "b=1,heads=1,sq=128,skv=64", "b=2,heads=3,sq=17", "b=1,heads=1,sq=130,skv=150",
		"b=1,heads=4,kv_heads=2,sq=9,skv=70", "b=1,heads=1,sq=200,causal=1", "b=1,heads=2,kv_heads=1,sq=40,skv=200,causal=1", "b=1,heads=1,sq=150,skv=5,causal=1",
	} {
		for _, d := range []string{",d=64", ",d=80", ",d=96", ",d=128", ",d=256"} {
			ops = append(ops, cudatest.Op(t, "attention", record.BF16, shape+d))
		}
	}
	t.Setenv("RIDGE_FAKE_CAPABILITY", "8.0") // 9.0 has kernels of its own
	cudatest.Taken(t, cuda.New(), "sm80", ops)
}

// fp32 as three products of tf32: blocks of 32 queries, tiles of 128 keys in parts of 32, whole and in part; parts that see no key; masks as above.
func TestAttentionOfFP32OnTensorCoresMatchesTheExpectation(t *testing.T) {
	var ops []op.Op
	for _, shape := range []string{
		"b=0,heads=1,sq=3", "b=1,heads=1,sq=0,skv=3", "b=1,heads=1,sq=1", "b=1,heads=1,sq=32,skv=128", "b=2,heads=3,sq=17", "b=1,heads=1,sq=40,skv=300",
		"b=1,heads=4,kv_heads=2,sq=9,skv=150", "b=1,heads=1,sq=150,causal=1", "b=1,heads=2,kv_heads=1,sq=40,skv=200,causal=1", "b=1,heads=1,sq=70,skv=5,causal=1",
	} {
		for _, d := range []string{",d=64", ",d=128"} {
			ops = append(ops, cudatest.Op(t, "attention", record.FP32, shape+d))
		}
	}
	cudatest.Taken(t, cuda.New(), "sm80_3xtf32", ops)
}

// On Hopper's tensor cores: blocks of 192 queries (d = 256: 128), tiles of 80 keys (d = 64: 128), one, several and more than a ring of stages, whole and in
// part; blocks that share their keys, on the model's four multiprocessors; masks that begin before, in and behind a tile and a block, queries that see nothing; groups of heads; more and fewer keys than queries.
func TestAttentionOnHopperMatchesTheExpectation(t *testing.T) {
	var ops []op.Op
	for d, shapes := range map[string][]string{
		",d=64": {
			"b=1,heads=1,sq=1", "b=2,heads=3,sq=17", "b=1,heads=1,sq=192,skv=128", "b=1,heads=2,sq=200,skv=300", "b=1,heads=4,kv_heads=2,sq=9,skv=270", "b=1,heads=1,sq=65,skv=1290",
			"b=1,heads=1,sq=400,causal=1", "b=2,heads=2,kv_heads=1,sq=40,skv=300,causal=1", "b=1,heads=3,sq=330,skv=60,causal=1", "b=1,heads=1,sq=128,skv=640,causal=1",
		},
		",d=128": {
			"b=1,heads=1,sq=1", "b=2,heads=3,sq=17", "b=1,heads=1,sq=192,skv=80", "b=1,heads=2,sq=200,skv=300", "b=1,heads=4,kv_heads=2,sq=9,skv=270", "b=1,heads=1,sq=65,skv=1040", "b=1,heads=5,sq=20,skv=700",
			"b=1,heads=1,sq=300,causal=1", "b=2,heads=2,kv_heads=1,sq=40,skv=300,causal=1", "b=1,heads=3,sq=330,skv=60,causal=1",
		},
		",d=256": {
			"b=1,heads=1,sq=1", "b=1,heads=2,sq=130,skv=170", "b=1,heads=4,kv_heads=2,sq=9,skv=80", "b=1,heads=1,sq=65,skv=500", "b=1,heads=1,sq=200,causal=1",
			"b=1,heads=2,kv_heads=1,sq=40,skv=200,causal=1", "b=1,heads=1,sq=330,skv=60,causal=1",
		},
	} {
		for _, shape := range shapes {
			ops = append(ops, cudatest.Op(t, "attention", record.BF16, shape+d))
		}
	}
	cudatest.Taken(t, cuda.New(), "sm90", ops)
}

func TestPartsOfAttentionMatchTheExpectation(t *testing.T) {
	var ops []op.Op
	for _, d := range []record.DType{record.FP32, record.BF16} {
		for _, name := range []string{"qk_softmax", "softmax_v"} {
			for _, shape := range []string{"b=0,s=3,d=4", "b=2,s=0,d=4", "b=1,s=1,d=1", "b=3,s=37,d=20", "b=1,s=70,d=140"} {
				ops = append(ops, cudatest.Op(t, name, d, shape))
			}
		}
		for _, shape := range []string{"b=0,s=3", "b=2,s=0", "b=1,s=1", "b=3,s=37", "b=1,s=300"} {
			ops = append(ops, cudatest.Op(t, "causal_softmax", d, shape))
		}
	}
	cudatest.All(t, cuda.New(), ops)
}

// Products' operands as lanes read them, for every dimension. Scores in registers: one to eight warps share 16 queries' keys, one to four of them 32 keys each, eight up to 64; scores
// twice: blocks of 64 (fp32: 32) queries, whole and in part; keys that end within a warp's and before it.
func TestPartsOfAttentionOnTensorCoresMatchTheExpectation(t *testing.T) {
	var ops []op.Op
	for _, dtype := range []record.DType{record.FP32, record.BF16} {
		for _, name := range []string{"qk_softmax", "softmax_v"} {
			for _, shape := range []string{"b=0,s=8,d=64", "b=1,s=0,d=64", "b=1,s=8,d=64", "b=1,s=128,d=64", "b=1,s=200,d=64", "b=2,s=40,d=80", "b=1,s=72,d=80", "b=1,s=264,d=96",
				"b=2,s=16,d=96", "b=2,s=104,d=128", "b=1,s=520,d=64"} {
				ops = append(ops, cudatest.Op(t, name, dtype, shape))
			}
		}
	}
	cudatest.Taken(t, cuda.New(), "parts", ops)
}

// On a device that such shapes do not fill: blocks of 16 queries all the same.
func TestFewPartsOfAttentionOnTensorCoresMatchTheExpectation(t *testing.T) {
	t.Setenv("RIDGE_FAKE_SMS", "132")
	var ops []op.Op
	for _, dtype := range []record.DType{record.FP32, record.BF16} {
		for _, shape := range []string{"qk_softmax b=1,s=520,d=80", "softmax_v b=1,s=296,d=80", "softmax_v b=1,s=264,d=128"} {
			name, params, _ := strings.Cut(shape, " ")
			ops = append(ops, cudatest.Op(t, name, dtype, params))
		}
	}
	cudatest.Taken(t, cuda.New(), "parts", ops)
}

// One to sixteen queries of a head of k and v, in one block and in parts that a second launch puts together; warps without keys; keys that end before, at and in a tile; masks in the
// last keys, and queries that see none of a warp's or a part's.
func TestAttentionOfFewQueriesMatchesTheExpectation(t *testing.T) {
	var ops []op.Op
	for _, shape := range []string{
		"b=1,heads=1,sq=1,skv=64", "b=3,heads=4,sq=1,skv=67", "b=1,heads=1,sq=1,skv=1000", "b=1,heads=16,kv_heads=1,sq=1,skv=641", "b=2,heads=6,kv_heads=2,sq=5,skv=200,causal=1",
		"b=1,heads=1,sq=16,skv=1152,causal=1", "b=1,heads=2,kv_heads=1,sq=8,skv=449,causal=1", "b=1,heads=5,kv_heads=5,sq=3,skv=130",
	} {
		for _, d := range []string{",d=64", ",d=80", ",d=96", ",d=128"} {
			ops = append(ops, cudatest.Op(t, "attention", record.BF16, shape+d))
		}
	}
	cudatest.Taken(t, cuda.New(), "decode", ops)
}
