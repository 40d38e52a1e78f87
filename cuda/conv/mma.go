package conv

import (
	"fmt"

	"ridge/cuda/kernel"
	"ridge/goharness/op"
)

// Tiles of conv_mma.cuh: pixels × channels.
var mmaTiles = []kernel.MmaTile{{Suffix: "", Rows: 128, Cols: 128, Warps: 4, Cost: 1}, {Suffix: "_slim", Rows: 128, Cols: 64, Warps: 4, Cost: 0.6}}

// What the 16- and 32-bit numbers of conv_mma.cuh hold: the side of a padded image and of a window, pixels and channels of y, and units of 16 bytes of x.
const mmaSide, mmaPixels = 1 << 15, 1 << 31

// mma plans conv2d on tensor cores.
func mma(o op.Op, b []kernel.Buffer, d kernel.Device) (kernel.Plan, error) {
	c, ok := o.(*op.Conv)
	if !ok {
		return kernel.Plan{}, fmt.Errorf("op %s is no convolution", o.Name())
	}
	depth, per := c.C/c.Groups*c.D.Size(), c.K/c.Groups
	switch pixels := op.Product(c.N, c.Ho, c.Wo); {
	case !c.NHWC:
		return kernel.Plan{}, kernel.Shape("layout=nchw: nhwc is taken")
	case per < directChannels:
		return kernel.Plan{}, kernel.Shape("%d output channels a group: %d and more are taken", per, directChannels)
	case depth%16 != 0:
		return kernel.Plan{}, kernel.Shape("%d bytes of channels a group: a multiple of 16 is needed", depth)
	case max(c.H, c.W)+2*c.Pad >= mmaSide || op.Product(max(c.R, c.S), c.Dilation) >= mmaSide:
		return kernel.Plan{}, kernel.Shape("a padded image of %d x %d, %d x %d taps %d apart: sides below %d are taken", c.H+2*c.Pad, c.W+2*c.Pad, c.R, c.S, c.Dilation, mmaSide)
	case pixels >= mmaPixels || per >= mmaPixels || op.Product(c.N, c.H, c.W, c.C, c.D.Size())/16 >= mmaPixels:
		return kernel.Plan{}, kernel.Shape("%d images of %d x %d, %d output channels a group: below %d output pixels and channels and 16 times as many bytes of x are taken",
			c.N, c.H, c.W, per, int64(mmaPixels))
	case c.Groups > maxYZ:
		return kernel.Plan{}, kernel.Shape("groups=%d: at most %d are taken", c.Groups, maxYZ)
	}
	for _, x := range b[:2] {
		if x.Address%16 != 0 {
			return kernel.Plan{}, kernel.Shape("%s lies at address %#x: a multiple of 16 is needed", x.Tensor.Name, x.Address)
		}
	}
	tile, tiles, err := kernel.PickMmaTile(mmaTiles, c.N*c.Ho*c.Wo, per, c.Groups, d)
	if err != nil {
		return kernel.Plan{}, err
	}
	l := launch("conv2d_"+string(c.D)+"_sm80", c, b, [3]int64{tiles, 1, c.Groups})
	l.Entry, l.Block, l.Shared = l.Entry+tile.Suffix, tile.Block(), tile.Shared()
	return kernel.Plan{Launches: []kernel.Launch{l}}, nil
}
