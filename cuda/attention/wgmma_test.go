package attention

import (
	"reflect"
	"testing"

	"ridge/cuda/kernel"
	"ridge/cuda/plantest"
	"ridge/goharness/record"
)

// One block for 192 queries, at d = 256 for 128, or one for a part of their keys; what has no tensor map or no entry goes to the tier below.
func TestHopperTakesTheAttentionItCan(t *testing.T) {
	h200 := kernel.Device{Capability: 90, SMs: 132, SharedMax: 232448, L2Bytes: 50 << 20}
	plantest.Launches(t, "attention", wgmma, []plantest.Case{
		{DType: record.BF16, Params: "b=2 heads=3 sq=193 d=64", Device: h200, Entry: "attention_bf16_sm90_d64", Blocks: 12, Shared: 158720},
		{DType: record.BF16, Params: "b=1 heads=16 sq=1024 d=128 causal=1", Device: h200, Entry: "attention_bf16_sm90_d128", Blocks: 96, Shared: 175104},
		{DType: record.BF16, Params: "b=1 heads=4 kv_heads=2 sq=129 skv=7 d=256", Device: h200, Entry: "attention_bf16_sm90_d256", Blocks: 8, Shared: 230400},
		{DType: record.BF16, Params: "b=1 heads=1 sq=9 d=96", Device: h200, Entry: "d=96: 64, 128 and 256 are taken"},
		{DType: record.BF16, Params: "b=1 heads=1 sq=9 d=64", Device: h200, Shift: 2, Entry: "q lies at address 0x2"},
		{DType: record.BF16, Params: "b=0 heads=1 sq=9 d=64", Device: h200, Entry: "an empty tensor has no tensor map"},
		{DType: record.BF16, Params: "b=1 heads=1 sq=0 skv=5 d=64", Device: h200, Entry: "an empty tensor has no tensor map"},
		{DType: record.BF16, Params: "b=1 heads=1 sq=9 d=128", Device: kernel.Device{SharedMax: 166912}, Entry: "a block takes 175208 bytes"},
		{DType: record.BF16, Params: "b=1 heads=1 sq=9 skv=536870913 d=64", Device: h200, Entry: "536870913 keys"},
		{DType: record.BF16, Params: "b=1 heads=2147483648 sq=9 d=64", Device: h200, Entry: "at most 2147483647 tiles"},
	})
}

// Each head is a matrix of its own, so that rows behind its end are zeros.
func TestHopperMapsEachHead(t *testing.T) {
	p := plantest.Plan(t, "attention", record.BF16, "b=3 heads=4 kv_heads=2 sq=100 skv=70 d=128", 4096, wgmma, kernel.Device{SharedMax: 232448})
	for i, w := range []kernel.TensorMap{
		{DType: record.BF16, Address: 4096, Dims: []uint64{128, 100, 12}, Strides: []uint64{256, 25600}, Box: []uint32{64, 192, 1}},
		{DType: record.BF16, Address: 4096, Dims: []uint64{128, 70, 6}, Strides: []uint64{256, 17920}, Box: []uint32{64, 80, 1}},
		{DType: record.BF16, Address: 4096, Dims: []uint64{128, 70, 6}, Strides: []uint64{256, 17920}, Box: []uint32{64, 80, 1}},
	} {
		if got := p.Launches[0].Args[i].Map; got == nil || !reflect.DeepEqual(*got, w) {
			t.Errorf("operand %d has %+v, want %+v", i, got, w)
		}
	}
}

// Causal heads take turns as far as their k and v fit into the second-level cache, in sets of as many.
func TestCausalHeadsTakeTurnsWithinTheCache(t *testing.T) {
	for params, want := range map[string]uint64{
		"b=1 heads=32 sq=8192 d=128":                      1,
		"b=1 heads=32 sq=8192 d=128 causal=1":             11, // 12 of 4 MiB fit: three sets
		"b=1 heads=16 sq=8192 d=64 causal=1":              16,
		"b=1 heads=32 kv_heads=8 sq=8192 d=128 causal=1":  32,
		"b=1 heads=4 sq=8192 d=128 causal=1":              4,
		"b=1 heads=4 sq=1048576 d=128 causal=1":           1,
		"b=2 heads=16 kv_heads=16 sq=512 d=64 causal=1":   32,
		"b=1 heads=8 kv_heads=1 sq=524288 d=64 causal=1":  1,
		"b=1 heads=8 kv_heads=1 sq=65536 d=64 causal=1":   8,
		"b=64 heads=2 kv_heads=1 sq=16384 d=128 causal=1": 12,
	} {
		p := plantest.Plan(t, "attention", record.BF16, params, 4096, wgmma, kernel.Device{SMs: 132, SharedMax: 232448, L2Bytes: 50 << 20})
		if got := p.Launches[0].Args[9].Bits; got != want {
			t.Errorf("%s: %d heads take turns, want %d", params, got, want)
		}
	}
}

// The blocks of the last round, or all where they are few, are parted by their keys; the second launch brings the parts together.
func TestBlocksThatDoNotFillTheDeviceShareTheirKeys(t *testing.T) {
	h200 := kernel.Device{SMs: 132, SharedMax: 232448, L2Bytes: 50 << 20}
	for params, want := range map[string]keyShare{
		"b=1 heads=16 sq=8192 d=64":          {660, 4, 16, 112}, // 688 blocks of 64 tiles
		"b=1 heads=16 sq=8192 d=64 causal=1": {688, 1, 64, 0},
		"b=1 heads=16 sq=8192 d=128":         {660, 4, 26, 112}, // of 103 tiles
		"b=1 heads=16 sq=8192 d=256":         {1024, 1, 103, 0}, // 100 blocks in the last round
		"b=8 heads=1 sq=512 d=64":            {24, 1, 4, 0},
		"b=1 heads=32 sq=1 skv=8192 d=128":   {0, 4, 26, 128},
		"b=1 heads=1 sq=64 skv=65536 d=64":   {0, 64, 8, 64},
		"b=1 heads=2 sq=1000 d=128 causal=1": {0, 7, 2, 84},
		"b=1 heads=132 sq=192 skv=8192 d=64": {132, 1, 64, 0},
		"b=1 heads=132 sq=192 skv=0 d=64":    {132, 1, 2, 0},
	} {
		p := plantest.Plan(t, "attention", record.BF16, params, 4096, wgmma, h200)
		a := p.Launches[0].Args
		got := keyShare{int64(a[12].Bits), int64(a[13].Bits), int64(a[14].Bits), int64(a[15].Bits)}
		if got != want || len(p.Launches) != 1+int(min(1, want.count)) || p.Launches[0].Grid[0] != want.whole+want.count || (p.Workspace > 0) != (want.count > 0) {
			t.Errorf("%s: %+v in %d launches of %v blocks, %d bytes, want %+v", params, got, len(p.Launches), p.Launches[0].Grid, p.Workspace, want)
		}
	}
}
