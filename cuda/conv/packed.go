package conv

import (
	"slices"

	"ridge/cuda/kernel"
	"ridge/goharness/op"
)

// A multiprocessor gets packedBlocks blocks of the product, a part of the window at least packedStages stages of 64 bytes.
const packedBlocks, packedStages = 2, 4

// packed plans conv2d on tensor cores for what does not lie as they want it: x and w are packed in the workspace first.
func packed(o op.Op, b []kernel.Buffer, d kernel.Device) (kernel.Plan, error) {
	c, tiles, err := mmaTakes(o)
	if err != nil {
		return kernel.Plan{}, err
	}
	size := c.D.Size()
	each := 16 / size // channels
	units := (c.C + each - 1) / each
	switch {
	case c.Groups != 1:
		return kernel.Plan{}, kernel.Shape("groups=%d: one is taken", c.Groups)
	case c.N == 0:
		return kernel.Plan{}, kernel.Shape("n=0: there is nothing to pack")
	case c.K > 32*maxYZ:
		return kernel.Plan{}, kernel.Shape("k=%d: at most %d are taken", c.K, 32*maxYZ)
	}
	if err := mmaFits(c, units*each); err != nil {
		return kernel.Plan{}, err
	}
	pixels, taps := c.N*c.Ho*c.Wo, c.R*c.S
	tile, blocks, err := kernel.PickMmaTile(tiles, pixels, c.K, 1, d)
	if err != nil {
		return kernel.Plan{}, err
	}
	stages := (taps*units + 3) / 4
	per := max(packedStages, (stages+max(1, packedBlocks*int64(d.SMs)/blocks)-1)/max(1, packedBlocks*int64(d.SMs)/blocks))
	parts := (stages + per - 1) / per // none is empty

	entry := "conv2d_" + string(c.D) + "_sm80" + products(o) + "_packed"
	ptr := map[string]kernel.Arg{} // a missing one is a null pointer
	for _, x := range b {
		ptr[x.Tensor.Name] = kernel.Ptr(x)
	}
	ofX, ofW := c.N*c.H*c.W*units*16, c.K*taps*units*16
	x, w, sums := kernel.Work(0), kernel.Work(ofX), kernel.Work(ofX+ofW)
	pack := kernel.Launch{Entry: entry + "_pack", Grid: [3]int64{kernel.Blocks((c.N*c.H*c.W+c.K*taps)*units, 256, int64(16*max(1, d.SMs))), 1, 1}, Block: [3]int64{256, 1, 1},
		Args: append(append(kernel.Ints(c.N, c.C, c.H*c.W, c.K, taps, units), kernel.Bool(c.NHWC)), ptr["x"], ptr["w"], x, w)}
	shape := kernel.Ints(c.N, units*each, c.H, c.W, c.K, c.R, c.S, c.Ho, c.Wo, c.Stride, c.Pad, c.Dilation, 1)
	product := kernel.Launch{Grid: [3]int64{blocks, parts, 1}, Block: tile.Block(), Shared: tile.Shared()}
	act, added, end := kernel.Int(int64(slices.Index(op.Activations, c.Act))), ptr["residual"], ""
	var how []kernel.Arg
	switch {
	case c.Requant:
		added, end, how = ptr["scale"], "_requant", []kernel.Arg{act}
	case c.D.Float():
		how = []kernel.Arg{act}
	}
	if c.NHWC && parts == 1 {
		product.Entry = entry + "_nhwc" + end + tile.Suffix
		product.Args = append(append(shape, how...), x, w, ptr["bias"], added, ptr["y"])
		return kernel.Plan{Workspace: ofX + ofW, Launches: []kernel.Launch{pack, product}}, nil
	}
	product.Entry, product.Args = entry+"_parts"+tile.Suffix, append(shape, kernel.Int(per*64/size), x, w, sums)
	plane := c.Ho * c.Wo
	if c.NHWC {
		plane = 0
	}
	finish := kernel.Launch{Entry: entry + "_finish" + end, Grid: [3]int64{(pixels + 31) / 32, (c.K + 31) / 32, 1}, Block: [3]int64{256, 1, 1},
		Args: append(append(kernel.Ints(pixels, c.K, plane, parts), how...), sums, ptr["bias"], added, ptr["y"])}
	return kernel.Plan{Workspace: ofX + ofW + parts*pixels*c.K*4, Launches: []kernel.Launch{pack, product, finish}}, nil
}
