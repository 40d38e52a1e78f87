package gemm

import (
	"fmt"

	"ridge/cuda/kernel"
	"ridge/goharness/op"
	"ridge/goharness/record"
)

// Of unaligned_mma.cuh.
var looseTile = kernel.MmaTile{Rows: 128, Cols: 128, Warps: 8, Cost: 1}

// unaligned plans gemm and linear on tensor cores for rows that begin anywhere, by the widest copies that both operands allow.
func unaligned(o op.Op, b []kernel.Buffer, d kernel.Device) (kernel.Plan, error) {
	g, ok := o.(*op.Gemm)
	if !ok {
		return kernel.Plan{}, fmt.Errorf("op %s is no matrix product", o.Name())
	}
	size := g.D.Size()
	width := int64(8)
	for _, x := range b[:2] {
		for width > size && (int64(x.Address%8)%width != 0 || x.Tensor.LD()*size%width != 0) {
			width /= 2
		}
	}
	if width < 4 {
		width = size // cp.async has no 2 bytes
	}
	tile := looseTile
	if g.D == record.FP64 {
		tile = mmaTilesFP64[0]
	}
	tile.Suffix = fmt.Sprintf("_by%d", width)
	return mmaPlan("gemm_"+string(g.D)+"_sm80_unaligned", g, b, []kernel.MmaTile{tile}, d)
}
