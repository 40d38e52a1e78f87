package gemm

import (
	"fmt"
	"math"

	"ridge/cuda/kernel"
	"ridge/goharness/op"
)

// gated is an op as a gated product whose operands' rows begin at multiples of 16 bytes.
func gated(o op.Op, b []kernel.Buffer) (*op.SwiGLU, error) {
	s, ok := o.(*op.SwiGLU)
	if !ok {
		return nil, fmt.Errorf("op %s is no gated product", o.Name())
	}
	return s, whole(b[:3])
}

// gatedArgs are sizes and pointers of an entry of swiglu.
func gatedArgs(s *op.SwiGLU, b []kernel.Buffer) []kernel.Arg {
	return append(kernel.Ints(s.M, s.N, s.K), kernel.Ptr(b[0]), kernel.Ptr(b[1]), kernel.Ptr(b[2]), kernel.Ptr(b[3]))
}

// Tiles of swiglu_mma.cuh, whose columns are those of gate and up.
var (
	swigluTiles       = []kernel.MmaTile{{Suffix: "", Rows: 128, Cols: 128, Warps: 4, Cost: 1}, {Suffix: "_wide", Rows: 128, Cols: 256, Warps: 8, Cost: 1.85}}
	swigluTiles3xTF32 = []kernel.MmaTile{{Suffix: "", Rows: 128, Cols: 128, Warps: 8, Cost: 1}}
)

// swigluMma plans swiglu on tensor cores: one launch of tiles.
func swigluMma(kernelName string, list []kernel.MmaTile) planner {
	return func(o op.Op, b []kernel.Buffer, d kernel.Device) (kernel.Plan, error) {
		s, err := gated(o, b)
		if err != nil {
			return kernel.Plan{}, err
		}
		tile, tiles, err := kernel.PickMmaTile(list, s.M, 2*s.N, 1, d)
		if err != nil {
			return kernel.Plan{}, err
		}
		return kernel.Plan{Launches: []kernel.Launch{{Entry: kernelName + tile.Suffix, Grid: [3]int64{tiles, 1, 1}, Block: tile.Block(), Shared: tile.Shared(), Args: gatedArgs(s, b)}}}, nil
	}
}

// A multiprocessor takes so many warps of swiglu_splitk.cuh's tiles at once.
const gatedSplitWarps = 8

// swigluSplitK plans swiglu of few tiles on tensor cores: parts of k of both products side by side, then their sums and what is made of them. Where one launch of tiles fills more than half
// the multiprocessors it is left to that, but for up to 64 rows, of which its tiles would be half empty.
func swigluSplitK(kernelName string, list []kernel.MmaTile) planner {
	return func(o op.Op, b []kernel.Buffer, d kernel.Device) (kernel.Plan, error) {
		s, err := gated(o, b)
		if err != nil {
			return kernel.Plan{}, err
		}
		tile := list[len(list)-1]
		for i := len(list) - 1; i >= 0 && s.M <= list[i].Rows; i-- {
			tile = list[i]
		}
		tiles, err := tile.Tiles(s.M, s.N)
		if err != nil {
			return kernel.Plan{}, err
		}
		step := 64 / s.D.Size()
		stages := ceil(s.K, step)
		parts := max(1, min(int64(d.SMs)*gatedSplitWarps/tile.Warps/(2*tiles), stages/splitStages))
		switch whole, err := swigluTiles[0].Tiles(s.M, 2*s.N); {
		case err != nil:
			return kernel.Plan{}, err
		case s.M > list[1].Rows && (parts < 2 || 2*whole > int64(d.SMs)):
			return kernel.Plan{}, kernel.Shape("m=%d n=%d k=%d: %d tiles of %d stages on %d multiprocessors leave nothing to split", s.M, s.N, s.K, whole, stages, d.SMs)
		case s.M > maxZ:
			return kernel.Plan{}, kernel.Shape("m=%d: at most %d rows are summed", s.M, maxZ)
		case tile.Shared() > int64(d.SharedMax):
			return kernel.Plan{}, kernel.Shape("a block takes %d bytes of shared memory, this device gives %d", tile.Shared(), d.SharedMax)
		}
		per := ceil(stages, parts) * step
		parts = ceil(s.K, per) // none is empty
		first := kernel.Launch{Entry: kernelName + tile.Suffix, Grid: [3]int64{tiles, parts, 2}, Block: tile.Block(), Shared: tile.Shared(),
			Args: append(kernel.Ints(s.M, s.N, s.K, per), kernel.Ptr(b[0]), kernel.Ptr(b[1]), kernel.Ptr(b[2]), kernel.Work(0))}
		second := one(kernelName+"_sum", [3]int64{kernel.Blocks(s.N, 256, 0), max(1, s.M), 1}, append(kernel.Ints(s.M, s.N, parts), kernel.Work(0), kernel.Ptr(b[3])))
		return kernel.Plan{Workspace: 2 * parts * s.M * s.N * 4, Launches: []kernel.Launch{first, second}}, nil
	}
}

// gatedSkinnyCols are the columns of Y of a block of swiglu_skinny.cuh.
const gatedSkinnyCols = 16

// swigluSkinny plans swiglu of few rows: one launch that reads both weights once.
func swigluSkinny(kernelName string) planner {
	return func(o op.Op, b []kernel.Buffer, d kernel.Device) (kernel.Plan, error) {
		s, err := gated(o, b)
		if err != nil {
			return kernel.Plan{}, err
		}
		rows, blocks, warps := leastOf(skinnyRows, s.M), ceil(s.N, gatedSkinnyCols), int64(8)
		if rows == 16 && s.D.Size() == 4 {
			warps = 6
		}
		switch {
		case s.M > rows:
			return kernel.Plan{}, kernel.Shape("m=%d: at most %d rows are taken", s.M, rows)
		case s.M == 0 || s.N == 0:
			return kernel.Plan{}, kernel.Shape("m=%d n=%d: there is nothing to multiply", s.M, s.N)
		case s.K > math.MaxInt32:
			return kernel.Plan{}, kernel.Shape("k=%d: steps are counted with 32 bits", s.K)
		case blocks > kernel.MaxGrid:
			return kernel.Plan{}, kernel.Shape("n=%d: at most %d tiles of %d columns are taken", s.N, int64(kernel.MaxGrid), gatedSkinnyCols)
		}
		l := kernel.Launch{Entry: fmt.Sprintf("%s_rows%d", kernelName, rows), Grid: [3]int64{blocks, 1, 1}, Block: [3]int64{32 * warps, 1, 1},
			Shared: warps * rows * 2 * gatedSkinnyCols * 4, Args: gatedArgs(s, b)}
		if l.Shared > int64(d.SharedMax) {
			return kernel.Plan{}, kernel.Shape("a block takes %d bytes of shared memory, this device gives %d", l.Shared, d.SharedMax)
		}
		return kernel.Plan{Launches: []kernel.Launch{l}}, nil
	}
}

// Of swiglu_wgmma.cuh: columns of Y of a block of skinny_wgmma.cuh's loop, whose other half of columns is up's.
const gatedRingCols, gatedRingWideCols = skinnyRingCols / 2, skinnyRingCols

// swigluRing plans swiglu of 17 to 128 rows on Hopper's tensor cores: one launch that reads both weights once.
func swigluRing(o op.Op, b []kernel.Buffer, d kernel.Device) (kernel.Plan, error) {
	s, err := gated(o, b)
	if err != nil {
		return kernel.Plan{}, err
	}
	if _, err = wgmmaTakes(&op.Gemm{M: s.M, N: s.N, K: s.K, Batch: 1, TransB: true, D: s.D}, b, d); err != nil {
		return kernel.Plan{}, err
	}
	rows := leastOf(skinnyRingRows, s.M)
	switch {
	case s.M > rows:
		return kernel.Plan{}, kernel.Shape("m=%d: at most %d rows are taken", s.M, rows)
	case rows == skinnyRingRows[0]:
		return kernel.Plan{}, kernel.Shape("m=%d: so little is sooner done past shared memory", s.M)
	case d.SMs < skinnyRingBlocks:
		return kernel.Plan{}, kernel.Shape("clusters of %d blocks on %d multiprocessors", skinnyRingBlocks, d.SMs)
	}
	suffix, cols, parts := "", int64(gatedRingCols), int64(1)
	rounds := func(cols int64) int64 { return ceil(ceil(s.N, cols), int64(d.SMs)) }
	switch {
	case skinnyRingBlocks*ceil(s.N, gatedRingCols) <= int64(d.SMs):
		suffix, parts = "_parts", skinnyRingBlocks
	case gatedRingWideCols*rounds(gatedRingWideCols) <= gatedRingCols*rounds(gatedRingCols): // which reads A half as often
		suffix, cols = "_wide", gatedRingWideCols
	}
	maps, err := gatedMaps(s, b, rows*parts/skinnyRingBlocks, cols) // where blocks do not share k, they share X
	if err != nil {
		return kernel.Plan{}, err
	}
	for i := range maps {
		maps[i].Map.Lines = 128
	}
	size := s.D.Size()
	keep := int64(0) // columns of either weight
	if 2*s.N*s.K*size <= skinnyKeepOf*d.L2Bytes {
		keep = int64(skinnyKeep*float64(d.L2Bytes)) / (2 * s.K * size)
	}
	stage := (rows + 2*cols) * wgmmaDepth
	l := kernel.Launch{Entry: fmt.Sprintf("swiglu_%s_sm90_skinny%s_rows%d", s.D, suffix, rows), Grid: [3]int64{ceil(ceil(s.N, cols)*parts, skinnyRingBlocks) * skinnyRingBlocks, 1, 1},
		Block: [3]int64{128*max(1, rows/64) + 32, 1, 1}, Cluster: [3]int64{skinnyRingBlocks, 1, 1}, Shared: 1024 + skinnyRingBytes/stage*stage,
		Args: append(append(maps, kernel.Ints(s.M, s.N, s.K, keep)...), kernel.Ptr(b[3]))}
	return kernel.Plan{Launches: []kernel.Launch{l}}, nil
}

// Of swiglu_wgmma_tile.cuh: tiles whose columns are those of gate and up.
var (
	swigluWgmmaTiles       = []wgmmaTile{{suffix: "", cols: 256, blocks: 1, cost: 2}, {suffix: "_narrow", cols: 128, blocks: 1, cost: 1.1}}
	swigluWgmmaTiles3xTF32 = []wgmmaTile{{suffix: "", cols: 128, blocks: 1, cost: 1}}
)

// swigluWgmma plans swiglu on Hopper's tensor cores: one launch of blocks that take tiles in turn.
func swigluWgmma(kernelName string, list []wgmmaTile) planner {
	return func(o op.Op, b []kernel.Buffer, d kernel.Device) (kernel.Plan, error) {
		s, err := gated(o, b)
		if err != nil {
			return kernel.Plan{}, err
		}
		g, err := wgmmaTakes(&op.Gemm{M: s.M, N: 2 * s.N, K: s.K, Batch: 1, TransB: true, D: s.D}, b, d)
		if err != nil {
			return kernel.Plan{}, err
		}
		tile, blocks := wgmmaGrid(list, g, d)
		if tile.cols == 0 {
			return kernel.Plan{}, kernel.Shape("there is no tile of %d columns in clusters of %d", d.TileCols, d.Cluster)
		}
		maps, err := gatedMaps(s, b, wgmmaRows, tile.cols/2)
		if err != nil {
			return kernel.Plan{}, err
		}
		return kernel.Plan{Launches: []kernel.Launch{wgmmaLaunch(kernelName+tile.suffix, blocks, append(append(maps, kernel.Ints(s.M, s.N, s.K)...), kernel.Ptr(b[3])))}}, nil
	}
}

// gatedMaps are the tensor maps of X and of both weights, for boxes of so many rows and columns of 128 bytes.
func gatedMaps(s *op.SwiGLU, b []kernel.Buffer, rows, cols int64) ([]kernel.Arg, error) {
	g, maps := &op.Gemm{Batch: 1, D: s.D}, make([]kernel.Arg, 3)
	for i := range maps {
		lines, box := s.N, cols
		if i == 0 {
			lines, box = s.M, rows
		}
		var err error
		if maps[i], err = operandMap(b[i], g, s.K, lines, uint32(wgmmaDepth/s.D.Size()), uint32(box)); err != nil {
			return nil, err
		}
	}
	return maps, nil
}
