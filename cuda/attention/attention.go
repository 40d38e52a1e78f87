// Package attention is the CUDA kernels of attention and its parts.
package attention

import (
	"fmt"

	"ridge/cuda/kernel"
	"ridge/goharness/op"
	"ridge/goharness/record"
)

const ops = "attention qk_softmax softmax_v causal_softmax"

// Family lists the kernels, one line each. Bounds as on the CPU (native/attention/kernels.def). On tensor cores the
// weights are rounded to the dtype besides.
func Family() kernel.Family {
	return kernel.Family{Name: "attention", Kernels: []kernel.Kernel{
		{Name: "attention_fp32_simt", Ops: ops, DType: record.FP32, Accumulate: record.FP32, BoundC: 5, Plan: simt},
		{Name: "attention_bf16_simt", Ops: ops, DType: record.BF16, Accumulate: record.FP32, BoundC: 5, Plan: simt},
		{Name: "attention_fp32_sm80_3xtf32", Ops: "attention", DType: record.FP32, Accumulate: record.FP32, Least: 80, Among: []int{80, 90}, Rank: 1, BoundC: 5, FLOPShare: 3, Computes: record.TF32, Plan: wide},
		{Name: "attention_fp32_sm80_3xtf32_parts", Ops: "qk_softmax softmax_v", DType: record.FP32, Accumulate: record.FP32, Least: 80, Among: []int{80, 90}, Rank: 1, BoundC: 5, FLOPShare: 3, Computes: record.TF32, Plan: parts},
		{Name: "attention_bf16_sm80_parts", Ops: "qk_softmax softmax_v", DType: record.BF16, Accumulate: record.FP32, Least: 80, Rank: 1, BoundC: 5, RoundedC: 8, Plan: parts},
		{Name: "attention_bf16_sm80", Ops: "attention", DType: record.BF16, Accumulate: record.FP32, Least: 80, Rank: 1, BoundC: 5, RoundedC: 8, Plan: mma},
		{Name: "attention_bf16_sm80_decode", Ops: "attention", DType: record.BF16, Accumulate: record.FP32, Least: 80, Rank: 3, BoundC: 5, RoundedC: 8, Plan: decode},
		{Name: "attention_bf16_sm90", Ops: "attention", DType: record.BF16, Accumulate: record.FP32, Only: 90, Rank: 2, BoundC: 5, RoundedC: 8, Plan: wgmma},
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

// wide plans fp32 on tensor cores (attention_3xtf32.cuh), which are faster than the fp32 units on 8.0 and 9.0 alone.
func wide(o op.Op, b []kernel.Buffer, d kernel.Device) (kernel.Plan, error) {
	const queries, keys = 32, 128
	a, ok := o.(*op.Attention)
	if !ok {
		return kernel.Plan{}, fmt.Errorf("op %s is no attention", o.Name())
	}
	shared := (queries + 2*keys) * (4*a.Dim + 16)
	switch {
	case a.Dim != 64 && a.Dim != 128:
		return kernel.Plan{}, kernel.Shape("d=%d: 64 and 128 are taken", a.Dim)
	case a.Sq > mmaSequence || a.Skv > mmaSequence:
		return kernel.Plan{}, kernel.Shape("%d queries, %d keys: at most %d are taken", a.Sq, a.Skv, mmaSequence)
	case shared+wideStatic > int64(d.SharedMax):
		return kernel.Plan{}, kernel.Shape("a block takes %d bytes of shared memory, this device gives %d", shared+wideStatic, d.SharedMax)
	}
	for _, x := range b {
		if x.Address%16 != 0 {
			return kernel.Plan{}, kernel.Shape("%s lies at address %#x: a multiple of 16 is needed", x.Tensor.Name, x.Address)
		}
	}
	tiles, heads := (a.Sq+queries-1)/queries, op.Product(a.B, a.H)
	if tiles > 0 && heads > kernel.MaxGrid/tiles {
		return kernel.Plan{}, kernel.Shape("%d heads of %d queries: at most %d tiles of %d queries are taken", heads, a.Sq, kernel.MaxGrid, int64(queries))
	}
	l := kernel.Launch{Entry: fmt.Sprintf("attention_fp32_sm80_3xtf32_d%d", a.Dim), Grid: [3]int64{max(1, tiles*heads), 1, 1}, Block: [3]int64{256, 1, 1}, Shared: shared}
	l.Args = append(kernel.Ints(a.B, a.H, a.HKV, a.Sq, a.Skv), kernel.Bool(a.Causal), kernel.Float(a.Scale()))
	for _, x := range b {
		l.Args = append(l.Args, kernel.Ptr(x))
	}
	return kernel.Plan{Launches: []kernel.Launch{l}}, nil
}

const wideStatic = 1024 // bases and sums of its warps

// Of attention_mma.cuh: a tile's keys, and the queries and keys of a sequence that its 32-bit indices hold.
const mmaKeys, mmaSequence = 64, 1 << 29

// mmaDims are the dimensions that attention_mma.cuh has entries for, with a block's queries.
var mmaDims = map[int64]int64{64: 128, 80: 128, 96: 128, 128: 128, 256: 64}

// mma plans attention on tensor cores.
func mma(o op.Op, b []kernel.Buffer, d kernel.Device) (kernel.Plan, error) {
	a, ok := o.(*op.Attention)
	if !ok {
		return kernel.Plan{}, fmt.Errorf("op %s is no attention", o.Name())
	}
	queries, ok := mmaDims[a.Dim]
	if !ok {
		return kernel.Plan{}, kernel.Shape("d=%d: 64, 80, 96, 128 and 256 are taken", a.Dim)
	}
	if a.Sq > mmaSequence || a.Skv > mmaSequence {
		return kernel.Plan{}, kernel.Shape("%d queries, %d keys: at most %d are taken", a.Sq, a.Skv, mmaSequence)
	}
	for _, x := range b {
		if x.Address%16 != 0 {
			return kernel.Plan{}, kernel.Shape("%s lies at address %#x: a multiple of 16 is needed", x.Tensor.Name, x.Address)
		}
	}
	tiles, heads := (a.Sq+queries-1)/queries, a.B*a.H
	if tiles > 0 && heads > kernel.MaxGrid/tiles {
		return kernel.Plan{}, kernel.Shape("%d heads of %d queries: at most %d tiles of %d queries are taken", heads, a.Sq, kernel.MaxGrid, queries)
	}
	l := kernel.Launch{Entry: fmt.Sprintf("attention_%s_sm80_d%d", a.D, a.Dim), Grid: [3]int64{max(1, tiles*heads), 1, 1}, Block: [3]int64{128, 1, 1},
		Shared: (queries + 2*mmaKeys) * ((a.Dim + 63) / 64 * 128)}
	if l.Shared > int64(d.SharedMax) {
		return kernel.Plan{}, kernel.Shape("a block takes %d bytes of shared memory, this device gives %d", l.Shared, d.SharedMax)
	}
	l.Args = append(kernel.Ints(a.B, a.H, a.HKV, a.Sq, a.Skv), kernel.Bool(a.Causal), kernel.Float(a.Scale()))
	for _, x := range b {
		l.Args = append(l.Args, kernel.Ptr(x))
	}
	return kernel.Plan{Launches: []kernel.Launch{l}}, nil
}
