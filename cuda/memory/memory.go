// Package memory is the CUDA kernels that only move data, or calculate once or twice on the way.
package memory

import (
	"fmt"

	"ridge/cuda/kernel"
	"ridge/goharness/op"
	"ridge/goharness/record"
)

// Family lists the kernels, one line each. Bounds as on the CPU (native/memory/kernels.def): moves
// round nothing; triad and axpy round the product, when it is not fused, and the sum.
func Family() kernel.Family {
	return kernel.Family{Name: "memory", Kernels: []kernel.Kernel{
		{Name: "stream_fp32_simt", Ops: "copy stream_copy fill add_scalar stream_scale stream_add stream_triad axpy", DType: record.FP32, Accumulate: record.FP32, BoundC: 1, IntExact: true, Plan: stream},
		{Name: "stream_fp64_simt", Ops: "stream_copy stream_scale stream_add stream_triad axpy", DType: record.FP64, Accumulate: record.FP64, BoundC: 2, IntExact: true, Plan: stream},
		{Name: "stream_bf16_simt", Ops: "copy fill add_scalar", DType: record.BF16, Accumulate: record.FP32, BoundC: 1, IntExact: true, Plan: stream},
		{Name: "dot_fp32_simt", Ops: "dot", DType: record.FP32, Accumulate: record.FP32, BoundC: 2, IntExact: true, Plan: dot},
		{Name: "dot_fp64_simt", Ops: "dot", DType: record.FP64, Accumulate: record.FP64, BoundC: 2, IntExact: true, Plan: dot},
		{Name: "transpose_fp32_simt", Ops: "transpose layout", DType: record.FP32, Accumulate: record.FP32, IntExact: true, Plan: transpose},
		{Name: "transpose_bf16_simt", Ops: "transpose layout", DType: record.BF16, Accumulate: record.FP32, IntExact: true, Plan: transpose},
		{Name: "transpose_int8_simt", Ops: "layout", DType: record.INT8, Accumulate: record.INT8, IntExact: true, Plan: transpose},
		{Name: "bandwidth_fp32_simt", Ops: "bandwidth", DType: record.FP32, Accumulate: record.FP32, BoundC: 1, IntExact: true, Plan: bandwidth},
		{Name: "chase_int64_simt", Ops: "chase", DType: record.INT64, Accumulate: record.INT64, IntExact: true, Plan: chase},
		{Name: "copy_fp32_engine", Ops: "copy_h2d copy_d2h", DType: record.FP32, Accumulate: record.FP32, IntExact: true, Engine: true, Plan: hostCopy},
	}}
}

// hostCopy crosses the link to the host.
func hostCopy(_ op.Op, b []kernel.Buffer, _ kernel.Device) (kernel.Plan, error) {
	return kernel.Plan{Launches: []kernel.Launch{{Copy: &kernel.Copy{To: b[1], From: b[0]}}}}, nil
}

// entries of a stream kernel by op.
var entries = map[string]string{"copy": "copy", "stream_copy": "copy", "fill": "fill", "add_scalar": "add_scalar",
	"stream_scale": "scale", "stream_add": "add", "stream_triad": "triad", "axpy": "axpy"}

func stream(o op.Op, b []kernel.Buffer, d kernel.Device) (kernel.Plan, error) {
	y := b[len(b)-1]
	n := y.Tensor.Elements()
	in := []kernel.Arg{kernel.Null(), kernel.Null()}
	for i := range b[:len(b)-1] {
		in[i] = kernel.Ptr(b[i])
	}
	return kernel.Plan{Launches: []kernel.Launch{{
		Entry: "stream_" + string(o.DType()) + "_simt_" + entries[o.Name()], Block: [3]int64{256, 1, 1},
		Grid: [3]int64{kernel.MapGrid(n, o.DType().Size()), 1, 1}, Args: []kernel.Arg{kernel.Int(n), in[0], in[1], kernel.Ptr(y), kernel.Float(op.StreamScalar)}}}}, nil
}

func transpose(o op.Op, b []kernel.Buffer, _ kernel.Device) (kernel.Plan, error) {
	var rows, cols, batch int64
	switch x := o.(type) {
	case *op.Transpose:
		rows, cols, batch = x.Rows, x.Cols, 1
	case *op.Layout:
		rows, cols = x.Matrix()
		batch = max(1, x.N)
		if x.N == 0 {
			rows = 0
		}
	default:
		return kernel.Plan{}, fmt.Errorf("op %s is no transposition", o.Name())
	}
	l := kernel.Launch{Entry: "transpose_" + string(o.DType()) + "_simt", Block: [3]int64{32, 8, 1},
		Args: []kernel.Arg{kernel.Int(rows), kernel.Int(cols), kernel.Ptr(b[0]), kernel.Ptr(b[1])}}
	high, wide, size := int64(32), int64(32), o.DType().Size()
	if size > 1 && (rows*size|cols*size|int64(b[0].Address|b[1].Address))%16 == 0 {
		l.Entry, l.Block = l.Entry+"_packs", [3]int64{128 * size, 1, 1} // PACK_THREADS of transpose.cuh
		high, wide = 64, 64
	}
	tiles := kernel.Blocks(rows, high, 0) * kernel.Blocks(cols, wide, 0)
	if tiles > kernel.MaxGrid || batch > 65535 {
		return kernel.Plan{}, kernel.Shape("%d matrices of %d tiles of %d x %d: at most 65535 of %d are taken", batch, tiles, high, wide, kernel.MaxGrid)
	}
	l.Grid = [3]int64{tiles, 1, batch}
	return kernel.Plan{Launches: []kernel.Launch{l}}, nil
}

// dot sums pieces of at least 1024 elements, at most 8 blocks a multiprocessor.
func dot(o op.Op, b []kernel.Buffer, d kernel.Device) (kernel.Plan, error) {
	n, entry := b[0].Tensor.Elements(), "dot_"+string(o.DType())+"_simt_"
	pieces := kernel.Blocks(n, 1024, int64(8*d.SMs))
	return kernel.Plan{Workspace: 8 * pieces, Launches: []kernel.Launch{
		{Entry: entry + "pieces", Grid: [3]int64{pieces, 1, 1}, Block: [3]int64{256, 1, 1},
			Args: []kernel.Arg{kernel.Int(n), kernel.Ptr(b[0]), kernel.Ptr(b[1]), kernel.Work(0)}},
		{Entry: entry + "sum", Grid: [3]int64{1, 1, 1}, Block: [3]int64{256, 1, 1},
			Args: []kernel.Arg{kernel.Work(0), kernel.Int(pieces), kernel.Ptr(b[2])}},
	}}, nil
}

// bandwidth has two blocks of 512 threads a multiprocessor, fewer when there is less than a pack of 16 bytes for each thread. Of reads there are then
// several groups of blocks, which read the whole array each and share the passes. What is written in a single pass, as working sets beyond the caches are, has a
// block for each 512 packs: started in order, they stay near each other in memory (ridge_map.cuh).
func bandwidth(o op.Op, b []kernel.Buffer, d kernel.Device) (kernel.Plan, error) {
	w, ok := o.(*op.Bandwidth)
	if !ok {
		return kernel.Plan{}, fmt.Errorf("op %s is no bandwidth probe", o.Name())
	}
	const entry = "bandwidth_fp32_simt_"
	l := kernel.Launch{Entry: entry + w.Access, Grid: [3]int64{kernel.Blocks(w.N, 4*512, int64(2*d.SMs)), 1, 1}, Block: [3]int64{512, 1, 1}}
	y := kernel.Ptr(b[len(b)-1])
	if w.Access == "read" {
		sharing := l.Grid[0]
		l.Grid[0] *= max(1, min(w.Passes, 2*int64(d.SMs)/sharing)) // groups that share the passes
		l.Args = append(kernel.Ints(w.N, w.Passes, sharing), kernel.Ptr(b[0]), kernel.Work(0))
		sum := kernel.Launch{Entry: entry + "sum", Grid: [3]int64{1, 1, 1}, Block: [3]int64{32, 1, 1}, Args: []kernel.Arg{kernel.Work(0), kernel.Int(l.Grid[0]), y}}
		return kernel.Plan{Workspace: 8 * l.Grid[0], Launches: []kernel.Launch{l, sum}}, nil
	}
	in := []kernel.Arg{kernel.Null(), kernel.Null()}
	for i := range b[:len(b)-1] {
		in[i] = kernel.Ptr(b[i])
	}
	if w.Access == "update" {
		in[0] = y
	}
	l.Args = append(kernel.Ints(w.N, w.Passes), in[0], in[1], y)
	if w.Passes == 1 {
		l.Entry, l.Grid[0], l.Args = entry+"once_"+w.Access, kernel.Blocks(w.N, 4*512, 0), append(kernel.Ints(w.N), in[0], in[1], y)
	}
	return kernel.Plan{Launches: []kernel.Launch{l}}, nil
}

func chase(o op.Op, b []kernel.Buffer, _ kernel.Device) (kernel.Plan, error) {
	c, ok := o.(*op.Chase)
	if !ok {
		return kernel.Plan{}, fmt.Errorf("op %s is no pointer chase", o.Name())
	}
	return kernel.Plan{Launches: []kernel.Launch{{Entry: "chase_int64_simt", Grid: [3]int64{1, 1, 1}, Block: [3]int64{1, 1, 1},
		Args: []kernel.Arg{kernel.Ptr(b[0]), kernel.Ptr(b[1]), kernel.Int(c.Lines * op.ChaseStride), kernel.Int(c.Steps)}}}}, nil
}
