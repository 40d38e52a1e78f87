package gemm

import (
	"ridge/cuda/kernel"
	"ridge/goharness/op"
)

// What splitting costs, counted in stages of 128 × 128 as DRAM delivers them (16 KB a multiprocessor, 0.45 µs): the second launch and filling the ring; of
// each tile that a multiprocessor takes its end; of each tile's sums, 64 KB, the way to L2 and back, shared by all. Not yet measured.
const wgmmaLaunchCost, wgmmaEndCost, wgmmaSumsCost = 6.0, 1.0, 8.0

// wgmmaSplitK plans gemm and linear of few tiles on Hopper's tensor cores: parts of k side by side, then their sum.
func wgmmaSplitK(o op.Op, b []kernel.Buffer, d kernel.Device) (kernel.Plan, error) {
	return wgmmaSplitPlan("gemm_"+string(o.DType())+"_sm90_splitk", o, b, d)
}

// wgmmaSplitK3xTF32 plans fp32 as three products of tf32.
func wgmmaSplitK3xTF32(o op.Op, b []kernel.Buffer, d kernel.Device) (kernel.Plan, error) {
	return wgmmaSplitPlan("gemm_fp32_sm90_3xtf32_splitk", o, b, d)
}

func wgmmaSplitPlan(kernelName string, o op.Op, b []kernel.Buffer, d kernel.Device) (kernel.Plan, error) {
	g, err := wgmmaTakes(o, b, d)
	if err != nil {
		return kernel.Plan{}, err
	}
	if g.Batch > 1 {
		return kernel.Plan{}, kernel.Shape("batch=%d: one product is taken", g.Batch)
	}
	parts := wgmmaParts(g, d)
	if parts < 2 {
		return kernel.Plan{}, kernel.Shape("m=%d n=%d k=%d: %d tiles of %d stages on %d multiprocessors leave nothing to split", g.M, g.N, g.K, wgmmaNarrow(g), wgmmaStages(g), d.SMs)
	}
	args, err := wgmmaOperands(g, b, wgmmaNarrowCols)
	if err != nil {
		return kernel.Plan{}, err
	}
	per := ceil(wgmmaStages(g), parts)
	parts = ceil(wgmmaStages(g), per) // none is empty
	args = append(append(args, kernel.Ints(g.M, g.N, g.K, per)...), kernel.Work(0))
	first := wgmmaLaunch(kernelName+stored(g), min(int64(max(1, d.SMs)), wgmmaNarrow(g)*parts), args)
	return kernel.Plan{Workspace: parts * g.M * g.N * 4, Launches: []kernel.Launch{first, sumOfParts(kernelName, g, b, parts)}}, nil
}

const wgmmaNarrowCols = 128 // of splitk_wgmma.cuh

func ceil(n, per int64) int64 { return (n + per - 1) / per }

// wgmmaNarrow is how many narrow tiles cover C, wgmmaStages how many stages the depth has.
func wgmmaNarrow(g *op.Gemm) int64 { return ceil(g.M, wgmmaRows) * ceil(g.N, wgmmaNarrowCols) }
func wgmmaStages(g *op.Gemm) int64 {
	return ceil(g.K*g.Tensors()[0].DType.Size(), wgmmaDepth)
}

// wgmmaParts is the number of parts of k that are done first; 1: it is not worth it. Tiles times parts are taken by the multiprocessors in rounds.
func wgmmaParts(g *op.Gemm, d kernel.Device) int64 {
	tiles, stages, sms := wgmmaNarrow(g), wgmmaStages(g), int64(max(1, d.SMs))
	if tiles > 2*sms || g.M > maxZ { // a row is a block of the second launch
		return 1
	}
	full := float64(g.M) * float64(g.N) / float64(wgmmaRows*wgmmaNarrowCols) // tiles, by their elements
	best, least := int64(1), float64(ceil(tiles, sms))*(float64(stages)+wgmmaEndCost)
	for parts := int64(2); parts <= min(stages, 2*sms); parts++ {
		rounds := float64(ceil(tiles*parts, sms))
		if t := rounds*(float64(ceil(stages, parts))+wgmmaEndCost) + wgmmaLaunchCost + wgmmaSumsCost*full*float64(parts)/float64(sms); t < least {
			best, least = parts, t
		}
	}
	return best
}
