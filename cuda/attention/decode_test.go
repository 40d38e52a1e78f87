package attention

import (
	"testing"

	"ridge/cuda/kernel"
	"ridge/cuda/plantest"
	"ridge/goharness/record"
)

func TestFewQueriesOfManyKeysAreTakenWhereTheyAre(t *testing.T) {
	h200 := kernel.Device{Capability: 90, SMs: 132, SharedMax: 232448}
	plantest.Launches(t, "attention", decode, []plantest.Case{
		{DType: record.BF16, Params: "b=1 heads=32 sq=1 skv=8192 d=128", Device: h200, Entry: "attention_bf16_sm80_decode_d128", Blocks: 256, Shared: 98304},
		{DType: record.BF16, Params: "b=300 heads=2 kv_heads=1 sq=8 skv=64 d=80", Device: h200, Entry: "attention_bf16_sm80_decode_d80", Blocks: 300, Shared: 61440},
		{DType: record.BF16, Params: "b=1 heads=17 kv_heads=1 sq=1 skv=8192 d=64", Device: h200, Entry: "17 queries share a head of k and v: 1 to 16 are taken"},
		{DType: record.BF16, Params: "b=1 heads=1 sq=0 skv=8192 d=64", Device: h200, Entry: "0 queries share a head of k and v: 1 to 16 are taken"},
		{DType: record.BF16, Params: "b=0 heads=1 sq=1 skv=8192 d=64", Device: h200, Entry: "b=0"},
		{DType: record.BF16, Params: "b=1 heads=1 sq=1 skv=63 d=64", Device: h200, Entry: "63 keys: 64 to 536870912 are taken"},
		{DType: record.BF16, Params: "b=1 heads=1 sq=1 skv=536870913 d=64", Device: h200, Entry: "536870913 keys"},
		{DType: record.BF16, Params: "b=1 heads=1 sq=1 skv=64 d=256", Device: h200, Entry: "d=256: [64 80 96 128] are taken"},
		{DType: record.BF16, Params: "b=1 heads=1 sq=1 skv=64 d=64", Device: h200, Shift: 2, Entry: "q lies at address 0x2"},
		{DType: record.BF16, Params: "b=1 heads=1 sq=1 skv=64 d=128", Device: kernel.Device{SharedMax: 98304}, Entry: "a block takes 98816 bytes"},
		{DType: record.BF16, Params: "b=2147483648 heads=1 sq=1 skv=64 d=64", Device: h200, Entry: "at most 2147483647 blocks"},
	})
}

// Blocks that fill the multiprocessors, where there are keys enough for them to be worth a second launch.
func TestBlocksShareTheKeysOfFewQueries(t *testing.T) {
	h200 := kernel.Device{SMs: 132, SharedMax: 232448}
	for params, want := range map[string][2]uint64{ // parts, and tiles of 64 keys of each
		"b=1 heads=32 sq=1 skv=8192 d=128":            {8, 16},
		"b=1 heads=32 kv_heads=8 sq=1 skv=8192 d=128": {32, 4},
		"b=1 heads=16 sq=1 skv=8192 d=64":             {32, 4},
		"b=1 heads=1 sq=16 skv=131072 d=128":          {256, 8},
		"b=264 heads=1 sq=1 skv=8192 d=128":           {1, 128},
		"b=32 heads=32 kv_heads=8 sq=1 skv=512 d=128": {1, 8},
		"b=1 heads=8 sq=2 skv=130 d=64":               {1, 3},
	} {
		p := plantest.Plan(t, "attention", record.BF16, params, 4096, decode, h200)
		a := p.Launches[0].Args
		if got := [2]uint64{a[3].Bits, a[4].Bits}; got != want || len(p.Launches) != 1+int(min(1, want[0]-1)) || (p.Workspace > 0) != (want[0] > 1) {
			t.Errorf("%s: parts and tiles %v in %d launches of %v blocks, %d bytes, want %v", params, got, len(p.Launches), p.Launches[0].Grid, p.Workspace, want)
		}
	}
}
