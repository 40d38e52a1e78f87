package gemm

import (
	"fmt"

	"ridge/cuda/kernel"
	"ridge/goharness/op"
)

// Tiles of splitk_mma.cuh, the lowest first.
var splitTiles = []kernel.MmaTile{
	{Suffix: "_rows32", Rows: 32, Cols: 128, Warps: 4}, {Suffix: "_rows64", Rows: 64, Cols: 128, Warps: 4}, {Suffix: "", Rows: 128, Cols: 128, Warps: 4},
}

// Those of gemm_fp32_sm80_3xtf32_splitk.cu.
var splitTiles3xTF32 = []kernel.MmaTile{
	{Suffix: "_rows32", Rows: 32, Cols: 128, Warps: 4}, {Suffix: "_rows64", Rows: 64, Cols: 128, Warps: 8}, {Suffix: "", Rows: 128, Cols: 128, Warps: 8},
}

// A multiprocessor gets splitBlocks blocks, a part at least splitStages stages of 64 bytes of k.
const splitBlocks, splitStages = 2, 8

// splitK plans gemm and linear of few tiles on tensor cores: parts of k side by side, then their sum.
func splitK(o op.Op, b []kernel.Buffer, d kernel.Device) (kernel.Plan, error) {
	return splitPlan("gemm_"+string(o.DType())+"_sm80_splitk", splitTiles, o, b, d)
}

// splitK3xTF32 plans fp32 as three products of tf32 where mma3xTF32 does.
func splitK3xTF32(o op.Op, b []kernel.Buffer, d kernel.Device) (kernel.Plan, error) {
	return splitPlan("gemm_fp32_sm80_3xtf32_splitk", splitTiles3xTF32, o, b, d)
}

func splitPlan(kernelName string, list []kernel.MmaTile, o op.Op, b []kernel.Buffer, d kernel.Device) (kernel.Plan, error) {
	g, ok := o.(*op.Gemm)
	if !ok {
		return kernel.Plan{}, fmt.Errorf("op %s is no matrix product", o.Name())
	}
	if g.Batch > 1 {
		return kernel.Plan{}, kernel.Shape("batch=%d: one product is taken", g.Batch)
	}
	if d.Capability == 90 && (b[1].Tensor.DType.Size() == 2 || g.TransB) && (g.M > wgmmaRows || wgmmaParts(g, d) < 2) {
		return kernel.Plan{}, kernel.Shape("m=%d n=%d k=%d: more than %d rows, and what tiles fill, are left to wgmma on this device", g.M, g.N, g.K, wgmmaRows)
	}
	if err := whole(b[:2]); err != nil {
		return kernel.Plan{}, err
	}
	tile := list[len(list)-1]
	for i := len(list) - 1; i >= 0 && g.M <= list[i].Rows; i-- {
		tile = list[i]
	}
	tiles, err := tile.Tiles(g.M, g.N)
	if err != nil {
		return kernel.Plan{}, err
	}
	if tile.Shared() > int64(d.SharedMax) {
		return kernel.Plan{}, kernel.Shape("a block takes %d bytes of shared memory, this device gives %d", tile.Shared(), d.SharedMax)
	}
	step := 64 / b[0].Tensor.DType.Size()
	stages := (g.K + step - 1) / step
	parts := min(splitBlocks*int64(d.SMs)/tiles, stages/splitStages)
	if parts < 2 {
		return kernel.Plan{}, kernel.Shape("m=%d n=%d k=%d: %d tiles of %d stages on %d multiprocessors leave nothing to split", g.M, g.N, g.K, tiles, stages, d.SMs)
	}
	per := (stages + parts - 1) / parts * step
	parts = (g.K + per - 1) / per // none is empty

	x := bind(b)
	args := append(kernel.Ints(g.M, g.N, g.K, per, b[0].Tensor.LD(), b[1].Tensor.LD()), x.a, x.b, kernel.Work(0))
	first := kernel.Launch{Entry: kernelName + stored(g) + tile.Suffix, Grid: [3]int64{tiles, parts, 1}, Block: tile.Block(), Shared: tile.Shared(), Args: args}
	return kernel.Plan{Workspace: parts * g.M * g.N * 4, Launches: []kernel.Launch{first, sumOfParts(kernelName, g, b, parts)}}, nil
}

// sumOfParts is the second launch: it adds the parts in the workspace up and does the epilogue.
func sumOfParts(entry string, g *op.Gemm, b []kernel.Buffer, parts int64) kernel.Launch {
	x := bind(b)
	args := kernel.Ints(g.M, g.N, b[len(b)-1].Tensor.LD(), parts)
	switch {
	case g.Requant:
		args = append(args, activation(g.Act), kernel.Work(0), x.bias, x.scale, x.c)
	case !g.D.Float():
		args = append(args, kernel.Work(0), x.bias, x.c)
	default:
		args = append(args, activation(g.Act), kernel.Float(g.Alpha), kernel.Float(float64(g.Beta)), kernel.Work(0), x.d, x.bias, x.c)
	}
	return one(entry+"_sum"+requantised(g), [3]int64{kernel.Blocks(g.N, 256, 0), max(1, g.M), 1}, args)
}
