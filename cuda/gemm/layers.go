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

// mmaMLP is two products on tensor cores with the hidden features in the workspace, rounded to the op's precision.
func mmaMLP(o op.Op, b []kernel.Buffer, d kernel.Device) (kernel.Plan, error) {
	p, ok := o.(*op.MLP)
	if !ok {
		return kernel.Plan{}, fmt.Errorf("op %s is no multi-layer perceptron", o.Name())
	}
	if err := whole([]kernel.Buffer{b[0], b[1], b[3]}); err != nil {
		return kernel.Plan{}, err
	}
	entry := "mlp_" + string(p.D) + "_sm80_"
	linear := func(part string, n, k int64, act string, a, w, bias, c kernel.Arg) (kernel.Launch, error) {
		tile, tiles, err := kernel.PickMmaTile(mmaTiles, p.M, n, 1, d)
		return kernel.Launch{Entry: entry + part + tile.Suffix, Grid: [3]int64{tiles, 1, 1}, Block: tile.Block(), Shared: tile.Shared(),
			Args: append(kernel.Ints(p.M, n, k, k, k, n, 0, 0, 0), activation(act), kernel.Float(1), kernel.Float(0), a, w, kernel.Null(), bias, c)}, err
	}
	hidden, err := linear("hidden", p.H, p.K, p.Act, kernel.Ptr(b[0]), kernel.Ptr(b[1]), kernel.Ptr(b[2]), kernel.Work(0))
	if err != nil {
		return kernel.Plan{}, err
	}
	out, err := linear("out", p.N, p.H, "none", kernel.Work(0), kernel.Ptr(b[3]), kernel.Ptr(b[4]), kernel.Ptr(b[5]))
	return kernel.Plan{Workspace: p.D.Size() * p.M * p.H, Launches: []kernel.Launch{hidden, out}}, err
}
