package conv

import (
	"fmt"
	"math"
	"slices"

	"ridge/cuda/kernel"
	"ridge/goharness/op"
	"ridge/goharness/record"
)

// wgmmaTile is a tile of an entry of conv_wgmma.cuh: its channels; the parts of the window, whose blocks are a cluster; and the microseconds of a stage where the tensor cores bind,
// as measured on an H200 of one tile alone (of three products, of bytes too).
type wgmmaTile struct {
	suffix      string
	cols, parts int64
	stage       float64
}

// wgmmaWhole are the tiles that sum whole windows, wgmmaParts those that share them. Of bytes there is no wgmma of 64 columns here. Left out since others were faster on an H200: clusters
// that share filters, two parts, and most pairs of columns and parts.
var (
	wgmmaWhole = map[record.DType][]wgmmaTile{
		record.BF16: {{"", 256, 1, 0.57}, {"_narrow", 128, 1, 0.29}, {"_slim", 64, 1, 0.145}},
		record.INT8: {{"", 256, 1, 0.57}, {"_narrow", 128, 1, 0.29}},
		record.FP32: {{"", 128, 1, 1.27}},
	}
	wgmmaParts = map[record.DType][]wgmmaTile{
		record.BF16: {{"_4", 256, 4, 0.57}, {"_slim_4", 64, 4, 0.145}, {"_slim_8", 64, 8, 0.145}},
		record.INT8: {{"_4", 256, 4, 0.57}, {"_narrow_4", 128, 4, 0.29}, {"_narrow_8", 128, 8, 0.29}},
		record.FP32: {{"_4", 128, 4, 1.27}, {"_8", 128, 8, 1.27}},
	}
)

// What else takes time: bytes of stages that the second-level cache delivers in a microsecond; microseconds of the end of a tile and of each of its columns; of a tile in parts, and of
// each megabyte of their sums on the way to that cache and back. Fitted to the times of ResNet-50's layers on an H200, 32 images and one.
const wgmmaCacheRate, wgmmaEndCost, wgmmaColumnCost, wgmmaPartsCost, wgmmaSumsCost = 10.5e6, 0.3, 0.0115, 1.2, 0.25

// One of so many multiprocessors has no place in a cluster: 132 of an H200 hold 32 clusters of four, 98 of which take four rounds.
const wgmmaIdle = 33

// Of WgmmaTile (ridge_wgmma_tile.cuh): ROWS, bytes of channels of a stage, THREADS, SHARED with the bytes of its mbarriers.
const wgmmaRows, wgmmaDepth, wgmmaThreads, wgmmaShared, wgmmaBarriers = 128, 128, 384, 1024 + 196608 + 8*4096, 128

// pixelView is what wgmma sees of a convolution: an image of output pixels, and the strides of x, in pixels, from one to the next.
type pixelView struct {
	n, h, w     int64 // of y
	xh, xw      int64 // of x
	right, down int64
	image       int64
	halves      int64 // 1: of every other pixel, so that there are views from the next column and row on too
}

// wgmma plans conv2d on Hopper's tensor cores.
func wgmma(o op.Op, b []kernel.Buffer, d kernel.Device) (kernel.Plan, error) {
	return wgmmaPlan("conv2d_"+string(o.DType())+"_sm90"+products(o), wgmmaWhole[o.DType()], nil, false, o, b, d)
}

// wgmmaSplitK plans it for few tiles, whose windows the blocks of a cluster share; what whole tiles do sooner is refused.
func wgmmaSplitK(o op.Op, b []kernel.Buffer, d kernel.Device) (kernel.Plan, error) {
	return wgmmaPlan("conv2d_"+string(o.DType())+"_sm90"+products(o)+"_splitk", wgmmaParts[o.DType()], wgmmaWhole[o.DType()], false, o, b, d)
}

// boxes plans whole windows whose y leaves by TMA (conv_boxes.cuh): 16 bytes of output channels or a multiple, all tensors at multiples of 16 bytes.
func boxes(o op.Op, b []kernel.Buffer, d kernel.Device) (kernel.Plan, error) {
	c, ok := o.(*op.Conv)
	if !ok {
		return kernel.Plan{}, fmt.Errorf("op %s is no convolution", o.Name())
	}
	tiles, _, _ := leaving(c)
	return wgmmaPlan("conv2d_"+string(c.D)+"_sm90"+products(o)+"_boxes", tiles, nil, true, o, b, d)
}

// wgmmaPlan is one launch of an entry kernel_nhwc[_requant][tile] or, where y leaves by TMA, kernel[_requant][tile]; a tile of rivals that is done sooner is left to them.
func wgmmaPlan(kernelName string, tiles, rivals []wgmmaTile, leaves bool, o op.Op, b []kernel.Buffer, d kernel.Device) (kernel.Plan, error) {
	c, ok := o.(*op.Conv)
	if !ok {
		return kernel.Plan{}, fmt.Errorf("op %s is no convolution", o.Name())
	}
	pointwise := c.R == 1 && c.S == 1 && c.Pad == 0
	size, most := c.D.Size(), int64(math.MaxInt32)
	// Fewer channels would leave more than half of a stage or of a tile empty: the tier below takes them.
	leastIn, leastOut := wgmmaDepth/size/2, int64(33)
	_, out, copies := leaving(c)
	if c.D == record.INT8 && (!leaves || c.Requant) {
		leastOut = 65 // at 64 the tier below took half the time on an H200; sums of bytes that leave by TMA have tiles of 64 channels
	}
	switch {
	case !c.NHWC:
		return kernel.Plan{}, kernel.Shape("layout=nchw: nhwc is taken")
	case c.Groups != 1:
		return kernel.Plan{}, kernel.Shape("groups=%d: one is taken", c.Groups)
	case c.N == 0:
		return kernel.Plan{}, kernel.Shape("n=0: an empty tensor has no tensor map")
	case c.Stride > 2 && !pointwise:
		return kernel.Plan{}, kernel.Shape("stride=%d with a window of %d x %d and pad=%d: strides above 2 are taken with one tap and pad=0", c.Stride, c.R, c.S, c.Pad)
	case c.Stride == 2 && !pointwise && min(c.H, c.W) < 2:
		return kernel.Plan{}, kernel.Shape("stride=2 on an image of %d x %d: there are no odd pixels", c.H, c.W)
	case c.C < leastIn || c.C*size%16 != 0:
		return kernel.Plan{}, kernel.Shape("c=%d: %d and more are taken, in multiples of 16 bytes", c.C, leastIn)
	case leaves && (c.K < leastOut || c.K*out%16 != 0):
		return kernel.Plan{}, kernel.Shape("k=%d: %d and more are taken, in multiples of 16 bytes of y", c.K, leastOut)
	case c.K < leastOut:
		return kernel.Plan{}, kernel.Shape("k=%d: %d and more are taken", c.K, leastOut)
	case op.Product(c.N, c.H, c.W, c.C) >= 1<<38 || op.Product(c.K, c.R, c.S, c.C) >= 1<<38:
		return kernel.Plan{}, kernel.Shape("x of %d elements, filters of %d: fewer than 2^38 are taken", op.Product(c.N, c.H, c.W, c.C), op.Product(c.K, c.R, c.S, c.C))
	case op.Product(c.N, c.Ho, c.Wo) > most || max(c.C, c.K, c.H+2*c.Pad, c.W+2*c.Pad) > most || op.Product(c.R, c.S) > most:
		return kernel.Plan{}, kernel.Shape("%d output pixels, c=%d, k=%d, a padded image of %d x %d: tiles have 32-bit coordinates",
			op.Product(c.N, c.Ho, c.Wo), c.C, c.K, c.H+2*c.Pad, c.W+2*c.Pad)
	case op.Product(c.N, c.Ho, c.Wo, (c.K+63)/64) > most || op.Product(c.R, c.S, (c.C*size+wgmmaDepth-1)/wgmmaDepth)*8 > most:
		return kernel.Plan{}, kernel.Shape("%d output pixels of %d channels from %d x %d taps of %d: tiles and stages have 32-bit numbers", op.Product(c.N, c.Ho, c.Wo), c.K, c.R, c.S, c.C)
	case wgmmaShared+wgmmaBarriers > d.SharedMax:
		return kernel.Plan{}, kernel.Shape("a block takes %d bytes of shared memory, this device gives %d", wgmmaShared+wgmmaBarriers, d.SharedMax)
	}
	for i, x := range b {
		if (i < 2 || leaves) && x.Address%16 != 0 {
			return kernel.Plan{}, kernel.Shape("%s lies at address %#x: a multiple of 16 is needed", x.Tensor.Name, x.Address)
		}
	}
	p := pixelView{n: c.N, h: c.Ho, w: c.Wo, xh: c.H, xw: c.W, right: 1, down: c.W, image: c.H * c.W}
	switch {
	case pointwise && c.Stride == 1: // pixels are rows of a matrix
		p = pixelView{n: 1, h: 1, w: c.N * c.H * c.W, xh: 1, xw: c.N * c.H * c.W, right: 1, down: c.N * c.H * c.W, image: c.N * c.H * c.W}
	case pointwise:
		p.xh, p.xw, p.right, p.down = c.Ho, c.Wo, c.Stride, c.Stride*c.W
	case c.Stride == 2:
		p.xh, p.xw, p.right, p.down, p.halves = (c.H+1)/2, (c.W+1)/2, 2, 2*c.W, 1
	}
	bn, bh, bw, down := box(p.n, p.h, p.w)
	stages := c.R * c.S * ((c.C*size + wgmmaDepth - 1) / wgmmaDepth)
	tile, time := wgmmaPick(tiles, down, c.K, stages, d)
	shared := int64(wgmmaShared)
	if leaves {
		tile, time = leavingPick(tiles, down, stages, c, out, d)
		shared = leavingShared(tile, copies)
	}
	if tile.cols == 0 {
		return kernel.Plan{}, kernel.Shape("there is no tile of %d columns for %d tiles of pixels of %d stages on %d multiprocessors", d.TileCols, down, stages, d.SMs)
	}
	if rival, least := wgmmaPick(rivals, down, c.K, stages, d); d.TileCols == 0 && rival.cols != 0 && least <= time {
		return kernel.Plan{}, kernel.Shape("%d tiles of pixels of %d channels and %d stages: whole windows are summed sooner on %d multiprocessors", down, c.K, stages, d.SMs)
	}
	all := down * ((c.K + tile.cols - 1) / tile.cols)
	blocks, workspace := all*tile.parts, all*tile.parts*wgmmaRows*tile.cols*4
	if tile.parts == 1 {
		blocks, workspace = min(all, max(1, int64(d.SMs))), 0
	}
	pixel := uint64(c.C * size)
	x := func(right, down int64) kernel.Arg { // from that column and row on
		right, down = right*p.halves, down*p.halves
		xw, xh := p.xw, p.xh
		if p.halves == 1 {
			xw, xh = (c.W-right+1)/2, (c.H-down+1)/2
		}
		return kernel.Map(kernel.TensorMap{DType: c.D, Address: b[0].Address + uint64(down*c.W+right)*pixel, Dims: []uint64{uint64(c.C), uint64(xw), uint64(xh), uint64(p.n)},
			Strides: []uint64{uint64(p.right) * pixel, uint64(p.down) * pixel, uint64(p.image) * pixel}, Box: []uint32{uint32(wgmmaDepth / size), uint32(bw), uint32(bh), uint32(bn)}})
	}
	taps := uint64(c.R * c.S)
	filters := kernel.TensorMap{DType: c.D, Address: b[1].Address, Dims: []uint64{uint64(c.C), taps, uint64(c.K)},
		Strides: []uint64{pixel, taps * pixel}, Box: []uint32{uint32(wgmmaDepth / size), 1, uint32(tile.cols)}}
	ptr := map[string]kernel.Arg{} // a missing one is a null pointer
	for _, t := range b {
		ptr[t.Tensor.Name] = kernel.Ptr(t)
	}
	args := append([]kernel.Arg{x(0, 0), x(1, 0), x(0, 1), x(1, 1), kernel.Map(filters)},
		kernel.Ints(p.n, p.h, p.w, c.K, c.C, c.R, c.S, c.Pad, c.Dilation, bn, bh, bw, p.halves)...)
	parts := kernel.Null()
	if tile.parts > 1 {
		parts = kernel.Work(0)
	}
	entry, added := kernelName, ptr["residual"]
	if !leaves {
		entry, args = entry+"_nhwc", append(args, parts)
	}
	if c.Requant {
		entry, added = entry+"_requant", ptr["scale"]
	}
	act := kernel.Int(int64(slices.Index(op.Activations, c.Act)))
	if leaves {
		named := map[string]kernel.Buffer{}
		for _, t := range b {
			named[t.Tensor.Name] = t
		}
		y := func(t kernel.Buffer) kernel.Arg {
			pixel := uint64(c.K * out)
			return kernel.Map(kernel.TensorMap{DType: t.Tensor.DType, Address: t.Address, Dims: []uint64{uint64(c.K), uint64(p.w), uint64(p.h), uint64(p.n)},
				Strides: []uint64{pixel, uint64(p.w) * pixel, uint64(p.h*p.w) * pixel}, Box: []uint32{uint32(leavingPanel / out), uint32(bw), uint32(bh), uint32(bn)}})
		}
		maps := []kernel.Arg{y(named["y"]), y(named["y"])} // the second one's place stays unused without a residual
		if c.Residual {
			maps[1] = y(named["residual"])
		}
		args = slices.Insert(args, 5, maps...)
		args = append(args, leavingEnd(c, act, ptr)...)
	} else {
		if c.D.Float() || c.Requant {
			args = append(args, act)
		}
		args = append(args, ptr["bias"], added, ptr["y"])
	}
	l := kernel.Launch{Entry: entry + tile.suffix, Grid: [3]int64{blocks, 1, 1}, Block: [3]int64{wgmmaThreads, 1, 1}, Shared: shared, Args: args}
	if tile.parts > 1 {
		l.Cluster = [3]int64{tile.parts, 1, 1}
	}
	return kernel.Plan{Workspace: workspace, Launches: []kernel.Launch{l}}, nil
}

// wgmmaPick is the tile of a list that is done first with so many boxes of pixels, channels and stages, and when, in microseconds. A search may have chosen its columns.
func wgmmaPick(list []wgmmaTile, down, k, stages int64, d kernel.Device) (best wgmmaTile, least float64) {
	for _, t := range list {
		places := max(1, int64(d.SMs))
		if t.parts > 1 {
			places = (places - places/wgmmaIdle) / t.parts // of clusters
		}
		if d.TileCols != 0 && t.cols != d.TileCols || places == 0 || t.parts > stages {
			continue
		}
		all := down * ((k + t.cols - 1) / t.cols)
		rounds, per := float64((all+places-1)/places), float64((stages+t.parts-1)/t.parts)
		time := rounds * (per*t.stage + wgmmaEndCost + wgmmaColumnCost*float64(t.cols))
		if t.parts > 1 {
			time += rounds*wgmmaPartsCost + wgmmaSumsCost*float64(all*(t.parts-1)*wgmmaRows*t.cols*4)/1e6
		}
		time = max(time, float64(all*stages*(wgmmaRows+t.cols)*wgmmaDepth)/wgmmaCacheRate)
		if best.cols == 0 || time < least {
			best, least = t, time
		}
	}
	return best, least
}

// box is the box of at most 128 output pixels of which the fewest cover y, and how many do; the widest of those.
func box(n, h, w int64) (bn, bh, bw, count int64) {
	for x := min(w, wgmmaRows); x > 0; x-- {
		for y := min(h, wgmmaRows/x); y > 0; y-- {
			z := min(n, wgmmaRows/(x*y))
			if all := ((w + x - 1) / x) * ((h + y - 1) / y) * ((n + z - 1) / z); count == 0 || all < count {
				bn, bh, bw, count = z, y, x, all
			}
		}
	}
	return bn, bh, bw, count
}
