package gemm

import (
	"fmt"
	"math"

	"ridge/cuda/kernel"
	"ridge/goharness/op"
)

// Rows of C that an entry of skinny_mma.cuh takes, the fewest first; and columns of a block, of the wide and the narrow one (B stored [N,K] has one alone).
var skinnyRows = []int64{8, 16}

const skinnyCols, skinnyNarrowCols = 64, 32

// skinny plans gemm and linear of few rows: one launch that reads B once.
func skinny(o op.Op, b []kernel.Buffer, d kernel.Device) (kernel.Plan, error) {
	return skinnyPlan("gemm_"+string(o.DType())+"_sm80_skinny", o, b, d)
}

// skinny3xTF32 plans fp32 as three products of tf32.
func skinny3xTF32(o op.Op, b []kernel.Buffer, d kernel.Device) (kernel.Plan, error) {
	return skinnyPlan("gemm_fp32_sm80_3xtf32_skinny", o, b, d)
}

func skinnyPlan(kernelName string, o op.Op, b []kernel.Buffer, d kernel.Device) (kernel.Plan, error) {
	g, ok := o.(*op.Gemm)
	if !ok {
		return kernel.Plan{}, fmt.Errorf("op %s is no matrix product", o.Name())
	}
	rows := leastOf(skinnyRows, g.M)
	switch {
	case g.Batch > 1:
		return kernel.Plan{}, kernel.Shape("batch=%d: one product is taken", g.Batch)
	case g.M > rows:
		return kernel.Plan{}, kernel.Shape("m=%d: at most %d rows are taken", g.M, rows)
	case g.M == 0 || g.N == 0:
		return kernel.Plan{}, kernel.Shape("m=%d n=%d: there is nothing to multiply", g.M, g.N)
	case g.K > math.MaxInt32:
		return kernel.Plan{}, kernel.Shape("k=%d: steps are counted with 32 bits", g.K)
	}
	if err := whole(b[:2]); err != nil {
		return kernel.Plan{}, err
	}
	size := b[0].Tensor.DType.Size()
	suffix, cols := "_narrow", int64(skinnyNarrowCols)
	switch {
	case size == 4 || g.TransB:
		suffix = ""
	case ceil(g.N, skinnyCols) >= int64(d.SMs)*7/8: // a wide one for each multiprocessor
		suffix, cols = "", skinnyCols
	}
	if ceil(g.N, cols) > kernel.MaxGrid {
		return kernel.Plan{}, kernel.Shape("n=%d: at most %d tiles of %d columns are taken", g.N, int64(kernel.MaxGrid), cols)
	}
	warps := int64(16)
	if size == 4 && rows == 16 {
		warps = 12
	}
	x, c := bind(b), b[len(b)-1]
	args := kernel.Ints(g.M, g.N, g.K, b[0].Tensor.LD(), b[1].Tensor.LD(), c.Tensor.LD())
	switch {
	case g.Requant:
		args = append(args, activation(g.Act), x.a, x.b, x.bias, x.scale, x.c)
	case !g.D.Float():
		args = append(args, x.a, x.b, x.bias, x.c)
	default:
		args = append(args, activation(g.Act), kernel.Float(g.Alpha), kernel.Float(float64(g.Beta)), x.a, x.b, x.d, x.bias, x.c)
	}
	l := kernel.Launch{Entry: fmt.Sprintf("%s%s%s%s_rows%d", kernelName, requantised(g), stored(g), suffix, rows), Grid: [3]int64{ceil(g.N, cols), 1, 1},
		Block: [3]int64{32 * warps, 1, 1}, Shared: warps * rows * cols * 4, Args: args}
	if l.Shared > int64(d.SharedMax) {
		return kernel.Plan{}, kernel.Shape("a block takes %d bytes of shared memory, this device gives %d", l.Shared, d.SharedMax)
	}
	return kernel.Plan{Launches: []kernel.Launch{l}}, nil
}

// leastOf is the least of a rising list that is no less than n, or its last.
func leastOf(list []int64, n int64) int64 {
	for _, x := range list {
		if n <= x {
			return x
		}
	}
	return list[len(list)-1]
}

// Of skinny_wgmma.cuh: rows of A's boxes, bytes of all stages, and blocks of a cluster. Where skinnyRingCols wide tiles are fewer than half the multiprocessors, blocks
// share k, else A.
var skinnyRingRows = []int64{16, 32, 64, 128}

const skinnyRingCols, skinnyRingBytes, skinnyRingBlocks = 64, 204800, 2

// What a device keeps of B in its second-level cache for the next launch: this share of the cache, of a B that is at most skinnyKeepOf times as large as the cache.
const skinnyKeep, skinnyKeepOf = 0.6, 4

func kept(bytes int64, d kernel.Device) bool { return float64(bytes) <= skinnyKeep*float64(d.L2Bytes) }

// skinnyRing plans gemm and linear of up to 128 rows on Hopper's tensor cores: one launch that reads B once.
func skinnyRing(o op.Op, b []kernel.Buffer, d kernel.Device) (kernel.Plan, error) {
	g, err := wgmmaTakes(o, b, d)
	if err != nil {
		return kernel.Plan{}, err
	}
	rows := leastOf(skinnyRingRows, g.M)
	switch {
	case g.Batch > 1:
		return kernel.Plan{}, kernel.Shape("batch=%d: one product is taken", g.Batch)
	case g.M > rows:
		return kernel.Plan{}, kernel.Shape("m=%d: at most %d rows are taken", g.M, rows)
	case d.SMs < skinnyRingBlocks:
		return kernel.Plan{}, kernel.Shape("clusters of %d blocks on %d multiprocessors", skinnyRingBlocks, d.SMs)
	case g.N <= 2048 && (g.M <= 8 || g.TransB && g.M <= 16) || g.M <= 8 && g.TransB && kept(g.N*g.K*b[1].Tensor.DType.Size(), d):
		return kernel.Plan{}, kernel.Shape("m=%d n=%d: so little is sooner done past shared memory", g.M, g.N)
	}
	suffix, cols, parts := "", int64(skinnyRingCols), int64(1)
	if skinnyRingBlocks*ceil(g.N, skinnyRingCols) <= int64(d.SMs) {
		suffix, parts = "_parts", skinnyRingBlocks
	}
	shares := skinnyRingBlocks / parts // of A
	size := b[0].Tensor.DType.Size()
	step := uint32(wgmmaDepth / size)
	x, err := operandMap(b[0], g, g.K, g.M, step, uint32(rows/shares))
	if err != nil {
		return kernel.Plan{}, err
	}
	along, lines, boxLines := g.N, g.K, step // a swizzled row of 128 bytes along columns
	if g.TransB {
		along, lines, boxLines = g.K, g.N, uint32(cols)
	}
	y, err := operandMap(b[1], g, along, lines, step, boxLines)
	if err != nil {
		return kernel.Plan{}, err
	}
	x.Map.Lines, y.Map.Lines = 128, 128
	p, c := bind(b), b[len(b)-1]
	keep := int64(0) // columns
	if g.N*g.K*size <= skinnyKeepOf*d.L2Bytes {
		keep = int64(skinnyKeep*float64(d.L2Bytes)) / (g.K * size)
	}
	args := append([]kernel.Arg{x, y}, kernel.Ints(g.M, g.N, g.K, keep, c.Tensor.LD())...)
	args = append(args, activation(g.Act), kernel.Float(g.Alpha), kernel.Float(float64(g.Beta)), p.d, p.bias, p.c)
	stage := (rows + cols) * wgmmaDepth
	l := kernel.Launch{Entry: fmt.Sprintf("gemm_%s_sm90_skinny%s%s_rows%d", g.D, stored(g), suffix, rows), Grid: [3]int64{ceil(ceil(g.N, cols)*parts, skinnyRingBlocks) * skinnyRingBlocks, 1, 1},
		Block: [3]int64{128*max(1, rows/64) + 32, 1, 1}, Cluster: [3]int64{skinnyRingBlocks, 1, 1}, Shared: 1024 + skinnyRingBytes/stage*stage, Args: args}
	return kernel.Plan{Launches: []kernel.Launch{l}}, nil
}
