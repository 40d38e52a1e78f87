package conv

import (
	"fmt"
	"math"
	"slices"

	"ridge/cuda/kernel"
	"ridge/goharness/op"
	"ridge/goharness/record"
)

// leavingTiles are the entries of conv_pointwise.cuh and conv_boxes.cuh, whose y leaves by TMA: of floats and int32, and of requantised bytes. Stages take what they take in wgmmaWhole.
var (
	leavingTiles = map[record.DType][]wgmmaTile{
		record.BF16: {{"", 256, 1, 0.57}, {"_narrow", 128, 1, 0.29}, {"_slim", 64, 1, 0.145}},
		record.INT8: {{"_narrow", 128, 1, 0.29}, {"_slim", 64, 1, 0.145}},
		record.FP32: {{"", 128, 1, 1.27}},
	}
	leavingRequant = []wgmmaTile{{"", 256, 1, 0.57}, {"_narrow", 128, 1, 0.29}}
)

// Microseconds of the end of a tile and of each byte of a row of it, predicted from the instructions; and of a residual that a tile waits for, which tiles of four panels of y do since there is no room to ask
// for it a tile earlier. None of it has been measured.
const leavingEndCost, leavingByteCost, leavingResidualCost = 0.2, 0.0015, 1.0

// Of TmaConv (conv_tma.cuh): bytes of y in a row of a panel, rows of one of a warp, panels; of shared memory of the panels of all warps, and of mbarriers at most.
const leavingPanel, leavingRows, leavingRing, leavingStaging, leavingBarriers = 128, 16, 4, 65536, 384

// leavingShared is TmaConv's dynamic shared memory with such tiles: 1024 to begin at a multiple of that, as many stages as there is room for, and panels.
func leavingShared(t wgmmaTile, copies int64) int64 {
	stage := (wgmmaRows + copies*t.cols) * wgmmaDepth
	return 1024 + (232448-2048-leavingStaging)/stage*stage + leavingStaging
}

// leaving is what convolutions whose y leaves by TMA have of their op: the tiles, the bytes of an element of y, and the copies of filters in a stage.
func leaving(c *op.Conv) (list []wgmmaTile, out, copies int64) {
	switch {
	case c.Requant:
		return leavingRequant, 1, 1
	case c.D == record.INT8:
		return leavingTiles[c.D], 4, 1
	case c.D == record.FP32:
		return leavingTiles[c.D], 4, 2
	}
	return leavingTiles[c.D], c.D.Size(), 1
}

// leavingEnd are the last arguments: whether there is a residual, the activation, bias and scale.
func leavingEnd(c *op.Conv, act kernel.Arg, ptr map[string]kernel.Arg) []kernel.Arg {
	switch {
	case c.Requant:
		return []kernel.Arg{act, ptr["bias"], ptr["scale"]}
	case c.D.Float():
		return []kernel.Arg{kernel.Bool(c.Residual), act, ptr["bias"]}
	}
	return []kernel.Arg{kernel.Bool(c.Residual), ptr["bias"]}
}

// pointwise plans conv2d of one tap, stride 1 and no padding on Hopper's tensor cores: a plain product, whose pixels are rows of x and of y. What parts of the channels do
// sooner is left to them; whole boxes of pixels have the same stages and a slower end.
func pointwise(o op.Op, b []kernel.Buffer, d kernel.Device) (kernel.Plan, error) {
	c, ok := o.(*op.Conv)
	if !ok {
		return kernel.Plan{}, fmt.Errorf("op %s is no convolution", o.Name())
	}
	size := c.D.Size()
	list, out, copies := leaving(c)
	most := int64(math.MaxInt32)
	leastIn, leastOut := wgmmaDepth/size/2, list[len(list)-1].cols/2+1 // what fills half of a stage and of the narrowest tile
	pixels := op.Product(c.N, c.H, c.W)
	switch {
	case !c.NHWC:
		return kernel.Plan{}, kernel.Shape("layout=nchw: nhwc is taken")
	case c.Groups != 1:
		return kernel.Plan{}, kernel.Shape("groups=%d: one is taken", c.Groups)
	case c.R != 1 || c.S != 1 || c.Stride != 1 || c.Pad != 0:
		return kernel.Plan{}, kernel.Shape("a window of %d x %d, stride=%d pad=%d: one tap, stride 1 and no padding are taken", c.R, c.S, c.Stride, c.Pad)
	case c.N == 0:
		return kernel.Plan{}, kernel.Shape("n=0: an empty tensor has no tensor map")
	case c.C < leastIn || c.C*size%16 != 0:
		return kernel.Plan{}, kernel.Shape("c=%d: %d and more are taken, in multiples of 16 bytes", c.C, leastIn)
	case c.K < leastOut || c.K*out%16 != 0:
		return kernel.Plan{}, kernel.Shape("k=%d: %d and more are taken, in multiples of 16 bytes of y", c.K, leastOut)
	case pixels > most/2 || max(c.C, c.K) > most/2 || op.Product(pixels/wgmmaRows+1, c.K/64+1) > most:
		return kernel.Plan{}, kernel.Shape("%d pixels, c=%d, k=%d: tiles have 32-bit numbers", pixels, c.C, c.K)
	}
	rows, stages := (pixels+wgmmaRows-1)/wgmmaRows, (c.C*size+wgmmaDepth-1)/wgmmaDepth
	tile, time := leavingPick(list, rows, stages, c, out, d)
	if tile.cols == 0 {
		return kernel.Plan{}, kernel.Shape("there is no tile of %d columns", d.TileCols)
	}
	if shared := leavingShared(tile, copies); shared+leavingBarriers > int64(d.SharedMax) {
		return kernel.Plan{}, kernel.Shape("a block takes %d bytes of shared memory, this device gives %d", shared+leavingBarriers, d.SharedMax)
	}
	if rival, least := wgmmaPick(wgmmaParts[c.D], rows, c.K, stages, d); d.TileCols == 0 && rival.cols != 0 && least < time {
		return kernel.Plan{}, kernel.Shape("%d pixels of %d channels and %d stages: %d parts of tiles of %d channels are done sooner on %d multiprocessors",
			pixels, c.K, stages, rival.parts, rival.cols, d.SMs)
	}
	ptr := map[string]kernel.Buffer{}
	for _, x := range b {
		ptr[x.Tensor.Name] = x
		if x.Address%16 != 0 {
			return kernel.Plan{}, kernel.Shape("%s lies at address %#x: a multiple of 16 is needed", x.Tensor.Name, x.Address)
		}
	}
	lines := func(name string, along, lines, box, boxLines int64) kernel.Arg { // a matrix of lines
		x := ptr[name]
		pitch := uint64(along * x.Tensor.DType.Size())
		return kernel.Map(kernel.TensorMap{DType: x.Tensor.DType, Address: x.Address, Dims: []uint64{uint64(along), uint64(lines), 1},
			Strides: []uint64{pitch, pitch * uint64(lines)}, Box: []uint32{uint32(box), uint32(boxLines), 1}})
	}
	if op.Product(pixels, max(c.C*size, c.K*out)) >= 1<<40 || op.Product(c.K, c.C, size) >= 1<<40 {
		return kernel.Plan{}, kernel.Shape("%d pixels, c=%d, k=%d: matrices of 2^40 bytes have no tensor map", pixels, c.C, c.K)
	}
	added := "y"
	if c.Residual {
		added = "residual"
	}
	args := []kernel.Arg{lines("x", c.C, pixels, wgmmaDepth/size, wgmmaRows), lines("w", c.C, c.K, wgmmaDepth/size, tile.cols),
		lines("y", c.K, pixels, leavingPanel/out, leavingRows), lines(added, c.K, pixels, leavingPanel/out, leavingRows)}
	args = append(args, kernel.Ints(pixels, c.K, c.C)...)
	entry := "conv2d_" + string(c.D) + "_sm90" + products(o) + "_pointwise"
	if c.Requant {
		entry += "_requant"
	}
	pointers := map[string]kernel.Arg{} // a missing one is a null pointer
	for name, x := range ptr {
		pointers[name] = kernel.Ptr(x)
	}
	args = append(args, leavingEnd(c, kernel.Int(int64(slices.Index(op.Activations, c.Act))), pointers)...)
	blocks := min(rows*((c.K+tile.cols-1)/tile.cols), max(1, int64(d.SMs)))
	return kernel.Plan{Launches: []kernel.Launch{{Entry: entry + tile.suffix, Grid: [3]int64{blocks, 1, 1}, Block: [3]int64{wgmmaThreads, 1, 1},
		Shared: leavingShared(tile, copies), Args: args}}}, nil
}

// leavingPick is the tile that is done first with so many rows of tiles and stages, and when, in microseconds, on the scale of wgmmaPick: rounds of tiles bind, or the second-level cache, which stages come
// from and y goes to. A search may have chosen its columns.
func leavingPick(list []wgmmaTile, rows, stages int64, c *op.Conv, out int64, d kernel.Device) (best wgmmaTile, least float64) {
	places, y := max(1, int64(d.SMs)), c.N*c.Ho*c.Wo*c.K*out
	for _, t := range list {
		if d.TileCols != 0 && t.cols != d.TileCols {
			continue
		}
		all := rows * ((c.K + t.cols - 1) / t.cols)
		per := float64(stages)*t.stage + leavingEndCost + leavingByteCost*float64(t.cols*out)
		moved := all*stages*(wgmmaRows+t.cols)*wgmmaDepth + y
		if c.Residual {
			moved += y
			if t.cols*out > leavingRing/2*leavingPanel {
				per += leavingResidualCost
			}
		}
		time := max(float64((all+places-1)/places)*per, float64(moved)/wgmmaCacheRate)
		if best.cols == 0 || time < least {
			best, least = t, time
		}
	}
	return best, least
}
