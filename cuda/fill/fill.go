// Package fill makes input tensors on the device, bit-equal to goharness/op.FillValue.
package fill

import (
	"fmt"

	"ridge/cuda/kernel"
	"ridge/goharness/op"
	"ridge/goharness/record"
)

// Image is the source file of the fill kernels.
const Image = "fill_simt"

// Guard is the poisoned bytes kept before and after every buffer's storage.
const Guard = 64

// PoisonByte is the byte that pattern 0 or 1 fills memory with, as on the CPU (native/fill).
func PoisonByte(pattern int) byte {
	if pattern == 1 {
		return 0x7f
	}
	return 0xff
}

// dtypes as fill_simt.cu numbers them.
var dtypes = map[record.DType]int64{record.FP64: 0, record.FP32: 1, record.FP16: 2, record.BF16: 3,
	record.INT8: 4, record.UINT8: 5, record.INT32: 6, record.INT64: 7, record.FP8E4M3: 8}

// Launch fills the logical elements of a tensor from the stream that starts at key.
func Launch(b kernel.Buffer, key uint64, integer bool, d kernel.Device) (kernel.Launch, error) {
	t := b.Tensor
	dt, ok := dtypes[t.DType]
	switch {
	case !ok:
		return kernel.Launch{}, fmt.Errorf("fill tensor %s: no storage format for %s", t.Name, t.DType)
	case t.Fill == op.FillScales && t.DType != record.FP32:
		return kernel.Launch{}, fmt.Errorf("fill tensor %s of %s: scales are fp32", t.Name, t.DType)
	case t.Fill == op.FillChase && (t.DType != record.INT64 || t.Rows() > 1):
		return kernel.Launch{}, fmt.Errorf("fill tensor %s of %s%v: a pointer chase is one row of int64", t.Name, t.DType, t.Dims)
	}
	grid := [3]int64{kernel.Blocks(t.Elements(), 256, int64(32*d.SMs)), 1, 1}
	if t.Fill == op.FillChase {
		return kernel.Launch{Entry: "fill_simt_chase", Grid: grid, Block: [3]int64{256, 1, 1},
			Args: []kernel.Arg{kernel.Ptr(b), kernel.Int(t.Elements()), kernel.Uint(key)}}, nil
	}
	span := t.IntRange
	if span == 0 && t.Fill != op.FillScales && t.Fill != op.FillWeights || integer && t.Fill == op.FillWeights {
		span = 3
	}
	return kernel.Launch{Entry: "fill_simt", Grid: grid, Block: [3]int64{256, 1, 1},
		Args: []kernel.Arg{kernel.Ptr(b), kernel.Int(t.Rows()), kernel.Int(t.Row()), kernel.Int(t.LD()), kernel.Uint(key),
			kernel.Int(span), kernel.Int(dt), kernel.Int(int64(t.Fill)), kernel.Bool(integer)}}, nil
}
