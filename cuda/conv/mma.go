package conv

import (
	"fmt"

	"ridge/cuda/kernel"
	"ridge/goharness/op"
	"ridge/goharness/record"
)

// Tiles of conv_mma.cuh: pixels × channels.
var (
	mmaTiles      = []kernel.MmaTile{{Suffix: "", Rows: 128, Cols: 128, Warps: 4, Cost: 1}, {Suffix: "_slim", Rows: 128, Cols: 64, Warps: 4, Cost: 0.6}}
	mmaTilesFloat = []kernel.MmaTile{{Suffix: "", Rows: 128, Cols: 128, Warps: 8, Cost: 1}, {Suffix: "_slim", Rows: 128, Cols: 64, Warps: 4, Cost: 0.6}}
)

// What the 16- and 32-bit numbers of conv_mma.cuh hold: the side of a padded image and of a window, pixels and channels of y, and units of 16 bytes of x.
const mmaSide, mmaPixels = 1 << 15, 1 << 31

// mma plans conv2d on tensor cores.
func mma(o op.Op, b []kernel.Buffer, d kernel.Device) (kernel.Plan, error) {
	c, tiles, err := mmaTakes(o)
	if err != nil {
		return kernel.Plan{}, err
	}
	switch depth := c.C / c.Groups * c.D.Size(); {
	case !c.NHWC:
		return kernel.Plan{}, kernel.Shape("layout=nchw: nhwc is taken")
	case depth%16 != 0:
		return kernel.Plan{}, kernel.Shape("%d bytes of channels a group: a multiple of 16 is needed", depth)
	case c.Groups > maxYZ:
		return kernel.Plan{}, kernel.Shape("groups=%d: at most %d are taken", c.Groups, maxYZ)
	}
	if err := mmaFits(c, c.C); err != nil {
		return kernel.Plan{}, err
	}
	for _, x := range b[:2] {
		if x.Address%16 != 0 {
			return kernel.Plan{}, kernel.Shape("%s lies at address %#x: a multiple of 16 is needed", x.Tensor.Name, x.Address)
		}
	}
	tile, blocks, err := kernel.PickMmaTile(tiles, c.N*c.Ho*c.Wo, c.K/c.Groups, c.Groups, d)
	if err != nil {
		return kernel.Plan{}, err
	}
	l := launch("conv2d_"+string(c.D)+"_sm80"+products(o), c, b, [3]int64{blocks, 1, c.Groups})
	l.Entry, l.Block, l.Shared = l.Entry+tile.Suffix, tile.Block(), tile.Shared()
	return kernel.Plan{Launches: []kernel.Launch{l}}, nil
}

// products is what a kernel's name says of how tensor cores multiply fp32.
func products(o op.Op) string {
	if o.DType() == record.FP32 {
		return "_3xtf32"
	}
	return ""
}

// mmaTakes refuses what has too few outputs.
func mmaTakes(o op.Op) (*op.Conv, []kernel.MmaTile, error) {
	c, ok := o.(*op.Conv)
	if !ok {
		return nil, nil, fmt.Errorf("op %s is no convolution", o.Name())
	}
	if per := c.K / c.Groups; per < directChannels {
		return nil, nil, kernel.Shape("%d output channels a group: %d and more are taken", per, directChannels)
	}
	if c.D != record.FP32 {
		return c, mmaTiles, nil
	}
	return c, mmaTilesFloat, nil
}

// mmaFits refuses what the numbers of conv_mma.cuh do not hold, with x of so many channels.
func mmaFits(c *op.Conv, channels int64) error {
	switch pixels, per := op.Product(c.N, c.Ho, c.Wo), c.K/c.Groups; {
	case max(c.H, c.W)+2*c.Pad >= mmaSide || op.Product(max(c.R, c.S), c.Dilation) >= mmaSide:
		return kernel.Shape("a padded image of %d x %d, %d x %d taps %d apart: sides below %d are taken", c.H+2*c.Pad, c.W+2*c.Pad, c.R, c.S, c.Dilation, mmaSide)
	case pixels >= mmaPixels || per >= mmaPixels || op.Product(c.N, c.H, c.W, channels, c.D.Size())/16 >= mmaPixels:
		return kernel.Shape("%d images of %d x %d, %d output channels a group: below %d output pixels and channels and 16 times as many bytes of x are taken",
			c.N, c.H, c.W, per, int64(mmaPixels))
	}
	return nil
}
