package conv

import (
	"fmt"
	"math"
	"slices"

	"ridge/cuda/kernel"
	"ridge/goharness/op"
	"ridge/goharness/record"
)

// wgmmaTiles are the entries of conv_wgmma.cuh: channels of a tile, and its time where the tensor cores or, of the narrow one, the second-level cache or, of the slim one, shared memory bind.
type wgmmaTile struct {
	suffix string
	cols   int64
	cost   float64
}

var wgmmaTiles = []wgmmaTile{{"", 256, 2}, {"_narrow", 128, 1.1}, {"_slim", 64, 0.875}}

// Of bytes: there is no wgmma of 64 columns for them here.
var wgmmaTilesBytes = wgmmaTiles[:2]

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
	c, ok := o.(*op.Conv)
	if !ok {
		return kernel.Plan{}, fmt.Errorf("op %s is no convolution", o.Name())
	}
	pointwise := c.R == 1 && c.S == 1 && c.Pad == 0
	size, most, tiles := c.D.Size(), int64(math.MaxInt32), wgmmaTiles
	if c.D == record.INT8 {
		tiles = wgmmaTilesBytes
	}
	// Fewer channels would leave more than half of a stage or of a tile empty: the tier below takes them.
	leastIn, leastOut := wgmmaDepth/size/2, tiles[len(tiles)-1].cols/2+1
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
	case c.K < leastOut:
		return kernel.Plan{}, kernel.Shape("k=%d: %d and more are taken", c.K, leastOut)
	case op.Product(c.N, c.H, c.W, c.C) >= 1<<38 || op.Product(c.K, c.R, c.S, c.C) >= 1<<38:
		return kernel.Plan{}, kernel.Shape("x of %d elements, filters of %d: fewer than 2^38 are taken", op.Product(c.N, c.H, c.W, c.C), op.Product(c.K, c.R, c.S, c.C))
	case op.Product(c.N, c.Ho, c.Wo) > most || max(c.C, c.K, c.H+2*c.Pad, c.W+2*c.Pad) > most || op.Product(c.R, c.S) > most:
		return kernel.Plan{}, kernel.Shape("%d output pixels, c=%d, k=%d, a padded image of %d x %d: tiles have 32-bit coordinates",
			op.Product(c.N, c.Ho, c.Wo), c.C, c.K, c.H+2*c.Pad, c.W+2*c.Pad)
	case wgmmaShared+wgmmaBarriers > d.SharedMax:
		return kernel.Plan{}, kernel.Shape("a block takes %d bytes of shared memory, this device gives %d", wgmmaShared+wgmmaBarriers, d.SharedMax)
	}
	for _, x := range b[:2] {
		if x.Address%16 != 0 {
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
	tile, blocks := tiles[0], int64(0)
	for i, least := 0, 0.0; i < len(tiles); i++ {
		t, sms := tiles[i], int64(max(1, d.SMs))
		all := down * ((c.K + t.cols - 1) / t.cols)
		if time := float64((all+sms-1)/sms) * t.cost; i == 0 || time < least {
			tile, blocks, least = t, min(all, sms), time
		}
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
	entry, added := "conv2d_"+string(c.D)+"_sm90_nhwc", ptr["residual"]
	if c.Requant {
		entry, added = entry+"_requant", ptr["scale"]
	}
	if c.D.Float() || c.Requant {
		args = append(args, kernel.Int(int64(slices.Index(op.Activations, c.Act))))
	}
	args = append(args, ptr["bias"], added, ptr["y"])
	return kernel.Plan{Launches: []kernel.Launch{{Entry: entry + tile.suffix, Grid: [3]int64{blocks, 1, 1},
		Block: [3]int64{wgmmaThreads, 1, 1}, Shared: wgmmaShared, Args: args}}}, nil
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
