package gemm

import (
	"math"

	"ridge/cuda/kernel"
	"ridge/goharness/op"
)

// simtTile is a tile of gemm_simt_whole.cuh. cost is a multiprocessor's time for it, relative to the others.
type simtTile struct {
	suffix              string
	rows, cols, threads int64
	cost                float64
}

var simtTiles = []simtTile{{suffix: "", rows: 128, cols: 256, threads: 256, cost: 4}, {suffix: "_small", rows: 128, cols: 64, threads: 128, cost: 1.15}}

// Of SimtTile: words of a row of k, and of B stored [K,N] per column, in each of its stages.
const simtStages, simtStep, simtPitch = 3, 16, 20

// shared is the bytes of a block's stages.
func (t simtTile) shared(along bool) int64 {
	b := t.cols * simtStep
	if along {
		b = t.cols * simtPitch
	}
	return 4 * simtStages * (t.rows*simtPitch + b)
}

// simtFP32 plans gemm and linear at fp32: operands in whole packs of 16 bytes by gemm_simt_whole.cuh, others as simt does.
func simtFP32(o op.Op, b []kernel.Buffer, d kernel.Device) (kernel.Plan, error) {
	g, ok := o.(*op.Gemm)
	if !ok || whole(b[:2]) != nil {
		return simt(o, b, d)
	}
	tile, err := pickSimtTile(g, d)
	if err != nil {
		return kernel.Plan{}, err
	}
	grid, err := tiles(g.M, g.N, g.Batch, tile.rows, tile.cols)
	if err != nil {
		return kernel.Plan{}, err
	}
	l := kernel.Launch{Entry: "gemm_fp32_simt" + stored(g) + tile.suffix, Grid: grid, Block: [3]int64{tile.threads, 1, 1}, Shared: tile.shared(g.TransB), Args: arguments(g, b)}
	return kernel.Plan{Launches: []kernel.Launch{l}}, nil
}

// pickSimtTile is the tile whose blocks are done first when each multiprocessor does its share one after the other.
func pickSimtTile(g *op.Gemm, d kernel.Device) (best simtTile, err error) {
	least := 0.0
	for _, t := range simtTiles {
		if d.TileCols != 0 && t.cols != d.TileCols || t.shared(g.TransB) > int64(d.SharedMax) {
			continue
		}
		all := float64(ceil(g.M, t.rows)) * float64(ceil(g.N, t.cols)) * float64(max(1, g.Batch))
		if time := math.Ceil(all/float64(max(1, d.SMs))) * t.cost; best.cols == 0 || time < least {
			best, least = t, time
		}
	}
	if best.cols == 0 {
		return best, kernel.Shape("there is no tile of %d columns that %d bytes of shared memory hold", d.TileCols, d.SharedMax)
	}
	return best, nil
}
