// Package attention is the CUDA kernels of attention and its parts.
package attention

import (
	"fmt"

	"ridge/cuda/kernel"
	"ridge/goharness/op"
	"ridge/goharness/record"
)

const ops = "attention qk_softmax softmax_v causal_softmax"

// Family lists the kernels, one line each. Bounds as on the CPU (native/attention/kernels.def); expf errs by 2 ulp here: 3.
func Family() kernel.Family {
	return kernel.Family{Name: "attention", Kernels: []kernel.Kernel{
		{Name: "attention_fp32_simt", Ops: ops, DType: record.FP32, Accumulate: record.FP32, BoundC: 3, Plan: simt},
		{Name: "attention_bf16_simt", Ops: ops, DType: record.BF16, Accumulate: record.FP32, BoundC: 3, Plan: simt},
	}}
}

const (
	queries, columns = 64, 128 // of a block of attention_simt.cuh
	maxYZ            = 65535
)

func simt(o op.Op, b []kernel.Buffer, _ kernel.Device) (kernel.Plan, error) {
	l := kernel.Launch{Entry: "attention_" + string(o.DType()) + "_simt_" + o.Name(), Block: [3]int64{256, 1, 1}}
	var heads, sq, dim int64
	switch a := o.(type) {
	case *op.Attention:
		heads, sq, dim = a.B*a.H, a.Sq, a.Dim
		l.Args = append(kernel.Ints(a.B, a.H, a.HKV, a.Sq, a.Skv, a.Dim), kernel.Bool(a.Causal), kernel.Float(a.Scale()))
	case *op.AttentionPart:
		heads, sq, dim = a.B, a.S, a.Dim
		switch o.Name() {
		case "causal_softmax":
			l.Args = kernel.Ints(a.B*a.S, a.S)
		case "qk_softmax":
			l.Args, dim = append(kernel.Ints(a.B, a.S, a.Dim), kernel.Float(a.Scale())), 1 // one block for all of d
		default:
			l.Args = append(kernel.Ints(a.B, a.S, a.Dim), kernel.Float(a.Scale()))
		}
	default:
		return kernel.Plan{}, fmt.Errorf("op %s is no attention", o.Name())
	}
	for _, x := range b {
		l.Args = append(l.Args, kernel.Ptr(x))
	}
	tiles, slices := (sq+queries-1)/queries, (dim+columns-1)/columns
	if tiles > 0 && heads > kernel.MaxGrid/tiles || slices > maxYZ {
		return kernel.Plan{}, kernel.Shape("%d heads of %d queries and %d dimensions: at most %d tiles of %d queries and %d slices of %d dimensions are taken",
			heads, sq, dim, kernel.MaxGrid, queries, maxYZ, columns)
	}
	l.Grid = [3]int64{max(1, tiles*heads), slices, 1}
	if o.Name() == "causal_softmax" {
		l.Grid = [3]int64{kernel.Blocks(heads*sq, 1, 0), 1, 1}
	}
	return kernel.Plan{Launches: []kernel.Launch{l}}, nil
}
