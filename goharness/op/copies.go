package op

import "ridge/goharness/record"

// CopySpecs declares the copies between the host and a device with memory of its own: copy_h2d brings page-locked memory of the host to the
// device, copy_d2h the other way. The bytes that cross the link between them count, once.
func CopySpecs() []Spec {
	spec := func(name, doc string) Spec {
		return Spec{
			Name: name, Family: "memory", Suite: "bandwidth", Item: "copy", Metric: "gbps",
			Doc: "y = a, " + doc + ". Only devices with memory of their own have it",
			Params: []ParamSpec{
				{Name: "bytes", Doc: "bytes to copy, in whole numbers of 4 bytes", Min: 4, Max: maxDim},
			},
			DTypes: []record.DType{record.FP32},
			New: func(v Values, _ record.DType) (Op, error) {
				return &HostCopy{ToDevice: name == "copy_h2d", N: v.Int("bytes") / 4, params: v.List()}, nil
			},
		}
	}
	return []Spec{
		spec("copy_h2d", "a in page-locked memory of the host and y on the device"),
		spec("copy_d2h", "a on the device and y in page-locked memory of the host"),
	}
}

// HostCopy is y = a of N fp32 numbers across the link between host and device.
type HostCopy struct {
	ToDevice bool
	N        int64
	params   []record.Param
}

// Name says the direction.
func (c *HostCopy) Name() string {
	if c.ToDevice {
		return "copy_h2d"
	}
	return "copy_d2h"
}

func (c *HostCopy) Params() []record.Param   { return c.params }
func (c *HostCopy) DType() record.DType      { return record.FP32 }
func (c *HostCopy) Accumulate() record.DType { return record.FP32 }
func (c *HostCopy) Items() int64             { return 1 }

// Tensors: a and y, one of them the host's.
func (c *HostCopy) Tensors() []Tensor {
	return []Tensor{
		{Name: "a", Role: In, DType: record.FP32, Dims: []int64{c.N}, Host: c.ToDevice},
		{Name: "y", Role: Out, DType: record.FP32, Dims: []int64{c.N}, Host: !c.ToDevice},
	}
}

// FLOPs is 0.
func (c *HostCopy) FLOPs() int64 { return 0 }

// Bytes cross the link once.
func (c *HostCopy) Bytes() int64 { return Product(4, c.N) }

// IntegerExact: a move.
func (c *HostCopy) IntegerExact() (bool, string) { return true, "" }

// Expect is the same element.
func (c *HostCopy) Expect(in *Inputs, _ int, i int64) Expectation {
	return Expectation{Value: in.At(0, i)}
}
