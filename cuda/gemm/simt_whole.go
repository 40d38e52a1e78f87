package gemm

import (
	"ridge/cuda/kernel"
	"ridge/goharness/op"
)

// The tile of gemm_fp32_simt.cu's entries for whole rows (SimtTile), its stages, the k of one, and the words from row to row of it.
const simtRows, simtCols, simtThreads, simtStages, simtStep, simtPitch = 128, 64, 128, 3, 16, 20

// simtFP32 plans gemm and linear at fp32: rows at multiples of 16 bytes by gemm_simt_whole.cuh, others as simt does.
func simtFP32(o op.Op, b []kernel.Buffer, d kernel.Device) (kernel.Plan, error) {
	g, ok := o.(*op.Gemm)
	if !ok || whole(b[:2]) != nil {
		return simt(o, b, d)
	}
	grid, err := tiles(g.M, g.N, g.Batch, simtRows, simtCols)
	if err != nil {
		return kernel.Plan{}, err
	}
	stage := int64(simtRows*simtPitch + simtCols*simtStep)
	if g.TransB {
		stage = (simtRows + simtCols) * simtPitch
	}
	l := kernel.Launch{Entry: "gemm_fp32_simt" + stored(g), Grid: grid, Block: [3]int64{simtThreads, 1, 1}, Shared: 4 * simtStages * stage, Args: arguments(g, b)}
	return kernel.Plan{Launches: []kernel.Launch{l}}, nil
}
