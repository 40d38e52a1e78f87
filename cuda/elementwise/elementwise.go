// Package elementwise is the CUDA kernels of functions of one or two elements, and of an element and
// its channel.
package elementwise

import (
	"fmt"

	"ridge/cuda/kernel"
	"ridge/goharness/op"
	"ridge/goharness/record"
)

const (
	unary  = "relu gelu gelu_tanh sigmoid tanh exp sqrt_abs sin cos silu scale"
	binary = "add multiply add_relu"
	chans  = "bias_add batch_norm"
)

// Family lists the kernels, one line each. Binary and channel kernels are bound as on the CPU. Of the
// unary functions erfcf errs most, by 8 half-ulps (4 ulp); two products of gelu add 2. Its magnitude is
// at least 2|y|, so that 5 allows 11.
func Family() kernel.Family {
	return kernel.Family{Name: "elementwise", Kernels: []kernel.Kernel{
		{Name: "unary_fp32_simt", Ops: unary, DType: record.FP32, Accumulate: record.FP32, BoundC: 5, IntExact: true, Plan: unaryPlan},
		{Name: "unary_bf16_simt", Ops: unary, DType: record.BF16, Accumulate: record.FP32, BoundC: 5, IntExact: true, Plan: unaryPlan},
		{Name: "binary_fp32_simt", Ops: binary, DType: record.FP32, Accumulate: record.FP32, BoundC: 3, IntExact: true, Plan: binaryPlan},
		{Name: "binary_bf16_simt", Ops: binary, DType: record.BF16, Accumulate: record.FP32, BoundC: 3, IntExact: true, Plan: binaryPlan},
		{Name: "channel_fp32_simt", Ops: chans, DType: record.FP32, Accumulate: record.FP32, BoundC: 3, IntExact: true, Plan: channelPlan},
		{Name: "channel_bf16_simt", Ops: chans, DType: record.BF16, Accumulate: record.FP32, BoundC: 3, IntExact: true, Plan: channelPlan},
		{Name: "requantize_int8_simt", Ops: "requantize", DType: record.INT8, Accumulate: record.FP32, IntExact: true, Plan: requantizePlan},
	}}
}

// launch of a class of kernels over n elements.
func launch(class string, o op.Op, n int64, d kernel.Device, args ...kernel.Arg) kernel.Launch {
	return kernel.Launch{Entry: class + "_" + string(o.DType()) + "_simt_" + o.Name(), Block: [3]int64{256, 1, 1},
		Grid: [3]int64{kernel.MapGrid(n, o.DType().Size()), 1, 1}, Args: append([]kernel.Arg{kernel.Int(n)}, args...)}
}

func unaryPlan(o op.Op, b []kernel.Buffer, d kernel.Device) (kernel.Plan, error) {
	e, ok := o.(*op.Elementwise)
	if !ok {
		return kernel.Plan{}, fmt.Errorf("op %s is no function of an element", o.Name())
	}
	l := launch("unary", o, b[1].Tensor.Elements(), d, kernel.Ptr(b[0]), kernel.Ptr(b[1]), kernel.Float(e.Factor))
	return kernel.Plan{Launches: []kernel.Launch{l}}, nil
}

func binaryPlan(o op.Op, b []kernel.Buffer, d kernel.Device) (kernel.Plan, error) {
	l := launch("binary", o, b[2].Tensor.Elements(), d, kernel.Ptr(b[0]), kernel.Ptr(b[1]), kernel.Ptr(b[2]))
	return kernel.Plan{Launches: []kernel.Launch{l}}, nil
}

// pieceLimit is the elements of one launch of a channel kernel.
const pieceLimit = 1 << 31

// channelPlan launches whole periods of channels, so many that their elements stay below the limit.
func channelPlan(o op.Op, b []kernel.Buffer, d kernel.Device) (kernel.Plan, error) {
	c, ok := o.(*op.PerChannel)
	if !ok {
		return kernel.Plan{}, fmt.Errorf("op %s is no per-channel op", o.Name())
	}
	var last []kernel.Arg
	if o.Name() == "batch_norm" {
		last = append(last, kernel.Float(c.Eps))
	}
	return pieces(c.Layout(), b, func(n int64, args []kernel.Arg) kernel.Launch {
		return launch("channel", o, n, d, append(args, last...)...)
	})
}

// pieces makes a launch of n elements for each piece, with the arguments channels, inner, a, the vectors and y.
func pieces(l op.ChannelLayout, b []kernel.Buffer, launch func(n int64, args []kernel.Arg) kernel.Launch) (kernel.Plan, error) {
	a, y := b[0], b[len(b)-1]
	n, period := y.Tensor.Elements(), max(1, l.Channels)*max(1, l.Inner)
	if period >= pieceLimit {
		return kernel.Plan{}, kernel.Shape("%d elements of all channels together: fewer than 2^31 are taken", period)
	}
	var p kernel.Plan
	for from := int64(0); from == 0 || from < n; from += pieceLimit / period * period {
		at := func(x kernel.Buffer) kernel.Arg { return kernel.Uint(x.Address + uint64(from*x.Tensor.DType.Size())) }
		args := append(kernel.Ints(max(1, l.Channels), max(1, l.Inner)), at(a))
		for _, v := range b[1 : len(b)-1] {
			args = append(args, kernel.Ptr(v))
		}
		p.Launches = append(p.Launches, launch(min(n-from, pieceLimit/period*period), append(args, at(y))))
	}
	return p, nil
}

func requantizePlan(o op.Op, b []kernel.Buffer, d kernel.Device) (kernel.Plan, error) {
	r, ok := o.(*op.Requantize)
	if !ok {
		return kernel.Plan{}, fmt.Errorf("op %s is no requantisation", o.Name())
	}
	relu := kernel.Bool(r.Act == "relu") // enum ACT_* of ridge_act.cuh: none and relu are 0 and 1
	return pieces(r.Layout(), b, func(n int64, args []kernel.Arg) kernel.Launch {
		return kernel.Launch{Entry: "requantize_int8_simt", Block: [3]int64{256, 1, 1}, Grid: [3]int64{kernel.Blocks(n, 256, int64(16*d.SMs)), 1, 1},
			Args: append(append(kernel.Ints(n), args...), relu)}
	})
}
