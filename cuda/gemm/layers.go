package gemm

import (
	"fmt"

	"ridge/cuda/kernel"
	"ridge/goharness/op"
)

// Tiles of swiglu_mma.cuh, whose columns are those of gate and up.
var swigluTiles = []kernel.MmaTile{{Suffix: "", Rows: 128, Cols: 128, Warps: 4, Cost: 1}, {Suffix: "_wide", Rows: 128, Cols: 256, Warps: 8, Cost: 1.85}}

// mmaSwiglu plans swiglu on tensor cores.
func mmaSwiglu(o op.Op, b []kernel.Buffer, d kernel.Device) (kernel.Plan, error) {
	s, ok := o.(*op.SwiGLU)
	if !ok {
		return kernel.Plan{}, fmt.Errorf("op %s is no gated product", o.Name())
	}
	if err := whole(b[:3]); err != nil {
		return kernel.Plan{}, err
	}
	tile, tiles, err := kernel.PickMmaTile(swigluTiles, s.M, 2*s.N, 1, d)
	if err != nil {
		return kernel.Plan{}, err
	}
	args := append(kernel.Ints(s.M, s.N, s.K), kernel.Ptr(b[0]), kernel.Ptr(b[1]), kernel.Ptr(b[2]), kernel.Ptr(b[3]))
	return kernel.Plan{Launches: []kernel.Launch{{Entry: "swiglu_" + string(s.D) + "_sm80" + tile.Suffix, Grid: [3]int64{tiles, 1, 1}, Block: tile.Block(),
		Shared: tile.Shared(), Args: args}}}, nil
}
