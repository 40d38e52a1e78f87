package gemm

import (
	"fmt"

	"ridge/cuda/kernel"
	"ridge/goharness/op"
	"ridge/goharness/record"
)

// Tiles of gemm_mma.cuh. The wide tile reads a quarter less of L2 and of shared memory.
var (
	mmaTiles     = []kernel.MmaTile{{Suffix: "", Rows: 128, Cols: 128, Warps: 4, Cost: 1}, {Suffix: "_wide", Rows: 128, Cols: 256, Warps: 8, Cost: 1.85}}
	mmaTilesFP64 = []kernel.MmaTile{{Suffix: "", Rows: 128, Cols: 64, Warps: 4, Cost: 1}}
	mmaTilesTF32 = []kernel.MmaTile{{Suffix: "", Rows: 128, Cols: 128, Warps: 8, Cost: 1}}
	// Of gemm_fp32_sm80_3xtf32.cu: one warp a scheduler hides less.
	mmaTiles3xTF32 = []kernel.MmaTile{{Suffix: "", Rows: 128, Cols: 128, Warps: 8, Cost: 1}, {Suffix: "_small", Rows: 128, Cols: 64, Warps: 4, Cost: 0.6}}
)

// mma plans gemm and linear on tensor cores.
func mma(o op.Op, b []kernel.Buffer, d kernel.Device) (kernel.Plan, error) {
	g, ok := o.(*op.Gemm)
	if !ok {
		return kernel.Plan{}, fmt.Errorf("op %s is no matrix product", o.Name())
	}
	if err := whole(b[:2]); err != nil {
		return kernel.Plan{}, err
	}
	list := mmaTiles
	switch g.D {
	case record.FP64:
		list = mmaTilesFP64
	case record.TF32:
		list = mmaTilesTF32
	}
	return mmaPlan("gemm_"+string(g.D)+"_sm80", g, b, list, d)
}

// mma3xTF32 plans fp32 as three products of tf32. The table has it where those are faster than one on the fp32 units: the rates of the other chips'
// tensor cores say that they are not (8.6, 8.9, 12.0), or have no published figure.
func mma3xTF32(o op.Op, b []kernel.Buffer, d kernel.Device) (kernel.Plan, error) {
	g, ok := o.(*op.Gemm)
	if !ok {
		return kernel.Plan{}, fmt.Errorf("op %s is no matrix product", o.Name())
	}
	if err := whole(b[:2]); err != nil {
		return kernel.Plan{}, err
	}
	return mmaPlan("gemm_fp32_sm80_3xtf32", g, b, mmaTiles3xTF32, d)
}

// whole refuses operands whose rows do not begin at multiples of 16 bytes.
func whole(b []kernel.Buffer) error {
	for _, x := range b {
		if pitch := x.Tensor.LD() * x.Tensor.DType.Size(); x.Address%16 != 0 || pitch%16 != 0 {
			return kernel.Shape("rows of %s lie %d bytes apart from address %#x: both must be multiples of 16", x.Tensor.Name, pitch, x.Address)
		}
	}
	return nil
}

// mmaPlan is one launch of an entry kernel[_requant]_nn|nt[tile] for all products.
func mmaPlan(kernelName string, g *op.Gemm, b []kernel.Buffer, list []kernel.MmaTile, d kernel.Device) (kernel.Plan, error) {
	tile, tiles, err := kernel.PickMmaTile(list, g.M, g.N, g.Batch, d)
	switch {
	case err != nil:
		return kernel.Plan{}, err
	case g.Batch > maxZ:
		return kernel.Plan{}, kernel.Shape("batch=%d: at most %d products are taken", g.Batch, maxZ)
	}
	l := kernel.Launch{Entry: kernelName + requantised(g) + stored(g) + tile.Suffix, Grid: [3]int64{tiles, 1, max(1, g.Batch)}, Block: tile.Block(),
		Shared: tile.Shared(), Args: arguments(g, b)}
	return kernel.Plan{Launches: []kernel.Launch{l}}, nil
}

// requantised and stored are what the names of entries say of the epilogue and of how B lies.
func requantised(g *op.Gemm) string {
	if g.Requant {
		return "_requant"
	}
	return ""
}

func stored(g *op.Gemm) string {
	if g.TransB {
		return "_nt"
	}
	return "_nn"
}
