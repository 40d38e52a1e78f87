package gemm

import (
	"fmt"
	"math"
	"slices"

	"ridge/cuda/kernel"
	"ridge/goharness/op"
	"ridge/goharness/record"
)

// wgmmaTile is a tile of an entry of gemm_wgmma.cuh. cost is its time where the tensor cores or, of the narrow one, the second-level cache bind; in clusters, of
// whose blocks each takes a tile, what gemm_wgmma.cuh predicts that a third less of that cache's traffic saves.
type wgmmaTile struct {
	suffix string
	cols   int64
	blocks int64 // of a cluster, one below the other; 1: none
	cost   float64
	full   float64 // where all multiprocessors have one and the second-level cache binds then; 0: it is in cost
}

var wgmmaTiles = []wgmmaTile{{suffix: "", cols: 256, blocks: 1, cost: 2}, {suffix: "_cluster", cols: 256, blocks: 2, cost: 1.9}, {suffix: "_narrow", cols: 128, blocks: 1, cost: 1.1}}

// Of 16 bits there is a tile of 64 columns too, whose stages shared memory binds (56 KB read and written at 128 bytes a cycle, 437 cycles of which 512 are 1) and, where most multiprocessors ask at once, the second-level
// cache (24 KB each, 3.2 MB at an H200's 8.56 TB/s, 720 cycles at 1.9 GHz). Its end is half as long too. Not yet measured.
var wgmmaTiles16 = append([]wgmmaTile{{suffix: "_slim", cols: 64, blocks: 1, cost: 0.86, full: 1.41}}, wgmmaTiles...)

// Of gemm_fp32_sm90_3xtf32.cu.
var wgmmaTiles3xTF32 = []wgmmaTile{{suffix: "", cols: 128, blocks: 1, cost: 1}}

// Clusters are a kernel's own choice from so many rounds of tiles and stages of k on: in a single round, or where the end of a tile takes a third of its time, there is less to
// gain than a cluster's start costs. A search may choose them wherever there is a second row of tiles.
const clusterRounds, clusterStages = 2, 8

// Of WgmmaTile: ROWS, the bytes of k of a stage, THREADS, SHARED, and the most bytes of its mbarriers.
const wgmmaRows, wgmmaDepth, wgmmaThreads, wgmmaShared, wgmmaBarriers = 128, 128, 384, 1024 + 196608 + 8*4096, 128

// wgmmaTilesOf are the tiles of a precision's entries.
func wgmmaTilesOf(d record.DType) []wgmmaTile {
	if d.Size() == 2 {
		return wgmmaTiles16
	}
	return wgmmaTiles
}

// wgmma plans gemm and linear on Hopper's tensor cores.
func wgmma(o op.Op, b []kernel.Buffer, d kernel.Device) (kernel.Plan, error) {
	return wgmmaPlan("gemm_"+string(o.DType())+"_sm90", wgmmaTilesOf(o.DType()), o, b, d)
}

// Of WgmmaTile: a box of C that leaves by TMA.
const wgmmaBoxCols, wgmmaBoxRows = 64, 16

// wgmmaStored plans the same with stores of C by TMA.
func wgmmaStored(o op.Op, b []kernel.Buffer, d kernel.Device) (kernel.Plan, error) {
	g, ok := o.(*op.Gemm)
	if !ok {
		return kernel.Plan{}, fmt.Errorf("op %s is no matrix product", o.Name())
	}
	c := b[len(b)-1:]
	if err := whole(c); err != nil {
		return kernel.Plan{}, err
	}
	p, err := wgmmaPlan("gemm_"+string(o.DType())+"_sm90_tma", wgmmaTilesOf(o.DType()), o, b, d)
	if err != nil {
		return p, err
	}
	boxes, err := operandMap(c[0], g, g.N, g.M, wgmmaBoxCols, wgmmaBoxRows)
	p.Launches[0].Args = slices.Insert(p.Launches[0].Args, 2, boxes)
	return p, err
}

// wgmma3xTF32 plans fp32 as three products of tf32.
func wgmma3xTF32(o op.Op, b []kernel.Buffer, d kernel.Device) (kernel.Plan, error) {
	return wgmmaPlan("gemm_fp32_sm90_3xtf32", wgmmaTiles3xTF32, o, b, d)
}

// wgmmaPlan is one launch of an entry kernel[_requant]_nn|nt[tile] for all products.
func wgmmaPlan(kernelName string, list []wgmmaTile, o op.Op, b []kernel.Buffer, d kernel.Device) (kernel.Plan, error) {
	g, err := wgmmaTakes(o, b, d)
	if err != nil {
		return kernel.Plan{}, err
	}
	tile, blocks := wgmmaGrid(list, g, d)
	if tile.cols == 0 {
		reason := "there is no tile"
		if d.TileCols != 0 {
			reason += fmt.Sprintf(" of %d columns", d.TileCols)
		}
		if d.Cluster > 1 {
			reason += fmt.Sprintf(" in clusters of %d for m=%d on %d multiprocessors", d.Cluster, g.M, d.SMs)
		}
		return kernel.Plan{}, kernel.Shape("%s", reason)
	}
	x, c := bind(b), b[len(b)-1]
	args, err := wgmmaOperands(g, b, tile.cols/tile.blocks)
	if err != nil {
		return kernel.Plan{}, err
	}
	args = append(args, kernel.Ints(g.M, g.N, g.K)...)
	batch := kernel.Ints(g.Batch, c.Tensor.LD(), g.M*c.Tensor.LD())
	switch {
	case g.Requant:
		args = append(args, kernel.Int(c.Tensor.LD()), activation(g.Act), x.bias, x.scale, x.c)
	case !g.D.Float():
		args = append(append(args, batch...), x.bias, x.c)
	default:
		args = append(append(args, batch...), activation(g.Act), kernel.Float(g.Alpha), kernel.Float(float64(g.Beta)), x.d, x.bias, x.c)
	}
	l := wgmmaLaunch(kernelName+requantised(g)+stored(g)+tile.suffix, blocks, args)
	if tile.blocks > 1 {
		l.Cluster = [3]int64{tile.blocks, 1, 1}
	}
	return kernel.Plan{Launches: []kernel.Launch{l}}, nil
}

// wgmmaTakes refuses what wgmma or TMA cannot have.
func wgmmaTakes(o op.Op, b []kernel.Buffer, d kernel.Device) (*op.Gemm, error) {
	g, ok := o.(*op.Gemm)
	if !ok {
		return nil, fmt.Errorf("op %s is no matrix product", o.Name())
	}
	switch most := int64(math.MaxInt32); {
	case g.M == 0 || g.N == 0 || g.K == 0:
		return nil, kernel.Shape("m=%d n=%d k=%d: an empty matrix has no tensor map", g.M, g.N, g.K)
	case g.M > most || g.N > most || g.K > most || g.Batch > most:
		return nil, kernel.Shape("m=%d n=%d k=%d batch=%d: tiles have 32-bit coordinates", g.M, g.N, g.K, g.Batch)
	case float64(ceil(g.M, wgmmaRows))*float64(ceil(g.N, 64))*float64(g.Batch) > float64(most):
		return nil, kernel.Shape("m=%d n=%d batch=%d: tiles are counted in 31 bits", g.M, g.N, g.Batch)
	case b[0].Tensor.DType.Size() != 2 && !g.TransB:
		return nil, kernel.Shape("B is stored [K,N]: wgmma takes %s along k alone (tb=1)", map[int64]string{1: "bytes", 4: "words"}[b[0].Tensor.DType.Size()])
	case wgmmaShared+wgmmaBarriers > d.SharedMax:
		return nil, kernel.Shape("a block takes %d bytes of shared memory, this device gives %d", wgmmaShared+wgmmaBarriers, d.SharedMax)
	}
	return g, whole(b[:2])
}

// wgmmaOperands are the tensor maps of A and B for copies of cols columns.
func wgmmaOperands(g *op.Gemm, b []kernel.Buffer, cols int64) ([]kernel.Arg, error) {
	step := uint32(wgmmaDepth / b[0].Tensor.DType.Size())
	x, err := operandMap(b[0], g, g.K, g.M, step, wgmmaRows)
	if err != nil {
		return nil, err
	}
	var y kernel.Arg
	if g.TransB {
		y, err = operandMap(b[1], g, g.K, g.N, step, uint32(cols))
	} else {
		y, err = operandMap(b[1], g, g.N, g.K, step, step) // a swizzled row of 128 bytes along columns
	}
	return []kernel.Arg{x, y}, err
}

// wgmmaLaunch of an entry on RIDGE_KERNEL_ALONE's terms.
func wgmmaLaunch(entry string, blocks int64, args []kernel.Arg) kernel.Launch {
	return kernel.Launch{Entry: entry, Grid: [3]int64{blocks, 1, 1}, Block: [3]int64{wgmmaThreads, 1, 1}, Shared: wgmmaShared, Args: args}
}

// operandMap is the tensor map of an operand of batches of lines, with tiles of box × lines.
func operandMap(t kernel.Buffer, g *op.Gemm, along, lines int64, box, boxLines uint32) (kernel.Arg, error) {
	pitch := t.Tensor.LD() * t.Tensor.DType.Size()
	if pitch >= 1<<40 || lines > (1<<40-1)/pitch {
		return kernel.Arg{}, kernel.Shape("rows of %s lie %d bytes apart and its matrices %d rows: tensor maps take strides below 2^40 bytes", t.Tensor.Name, pitch, lines)
	}
	d := t.Tensor.DType
	if g.D == record.TF32 {
		d = g.D // of fp32: rounded on the way
	}
	return kernel.Map(kernel.TensorMap{DType: d, Address: t.Address, Dims: []uint64{uint64(along), uint64(lines), uint64(g.Batch)},
		Strides: []uint64{uint64(pitch), uint64(pitch * lines)}, Box: []uint32{box, boxLines, 1}}), nil
}

// wgmmaGrid picks the tile of a list that is done first when each multiprocessor takes tiles in turn, clusters as many at once as a cluster has blocks, and the
// blocks: one a multiprocessor, no more than tiles. Where the last row of tiles has no neighbour, one block of its cluster multiplies zeros.
func wgmmaGrid(list []wgmmaTile, g *op.Gemm, d kernel.Device) (best wgmmaTile, blocks int64) {
	least := 0.0
	for _, t := range list {
		if d.TileCols != 0 && t.cols != d.TileCols || d.Cluster != 0 && t.blocks != d.Cluster {
			continue
		}
		places := max(1, int64(d.SMs)) / t.blocks // of clusters
		if t.blocks > 1 && (places == 0 || g.M <= wgmmaRows) {
			continue
		}
		all := float64(ceil(g.M, wgmmaRows*t.blocks)) * float64(ceil(g.N, t.cols)) * float64(g.Batch)
		rounds := math.Ceil(all / float64(places))
		if t.blocks > 1 && d.Cluster == 0 && (rounds < clusterRounds || wgmmaStages(g) < clusterStages) {
			continue
		}
		cost := max(t.cost, t.full*min(all, float64(places))/float64(places))
		if time := rounds * cost; best.cols == 0 || time < least {
			best, blocks, least = t, int64(min(all, float64(places)))*t.blocks, time
		}
	}
	return best, blocks
}
