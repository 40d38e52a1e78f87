// Package reduction is the CUDA kernels that reduce lines of a matrix: sums, means, extrema, softmax
// and norms.
package reduction

import (
	"fmt"

	"ridge/cuda/kernel"
	"ridge/goharness/op"
	"ridge/goharness/record"
)

const (
	reduce = "sum mean max min"
	norms  = "layer_norm rms_norm"
	sums   = "add_layer_norm add_rms_norm"
)

// Family lists the kernels, one line each. Bounds as on the CPU (native/reduction/kernels.def); expf
// errs by 2 ulp here: 3 for softmax, which calls it for the element and for the sum.
func Family() kernel.Family {
	return kernel.Family{Name: "reduction", Kernels: []kernel.Kernel{
		{Name: "reduce_fp32_simt", Ops: reduce, DType: record.FP32, Accumulate: record.FP32, BoundC: 4, IntExact: true, Plan: lines},
		{Name: "reduce_bf16_simt", Ops: reduce, DType: record.BF16, Accumulate: record.FP32, BoundC: 4, IntExact: true, Plan: lines},
		{Name: "reduce_fp64_simt", Ops: reduce, DType: record.FP64, Accumulate: record.FP64, BoundC: 4, IntExact: true, Plan: lines},
		{Name: "softmax_fp32_simt", Ops: "softmax", DType: record.FP32, Accumulate: record.FP32, BoundC: 3, Plan: softmax},
		{Name: "softmax_bf16_simt", Ops: "softmax", DType: record.BF16, Accumulate: record.FP32, BoundC: 3, Plan: softmax},
		{Name: "norm_fp32_simt", Ops: norms, DType: record.FP32, Accumulate: record.FP32, BoundC: 2, Plan: norm},
		{Name: "norm_bf16_simt", Ops: norms, DType: record.BF16, Accumulate: record.FP32, BoundC: 2, Plan: norm},
		{Name: "add_norm_fp32_simt", Ops: sums, DType: record.FP32, Accumulate: record.FP32, BoundC: 2, Plan: addNorm},
		{Name: "add_norm_bf16_simt", Ops: sums, DType: record.BF16, Accumulate: record.FP32, BoundC: 2, Plan: addNorm},
		{Name: "argmax_fp64_simt", Ops: "argmax", DType: record.FP64, Accumulate: record.FP64, IntExact: true, Plan: lines},
		{Name: "argmax_fp32_simt", Ops: "argmax", DType: record.FP32, Accumulate: record.FP32, IntExact: true, Plan: lines},
		{Name: "argmax_bf16_simt", Ops: "argmax", DType: record.BF16, Accumulate: record.FP32, IntExact: true, Plan: lines},
	}}
}

// piece is the fewest elements of a line worth a block of 256 threads of its own.
const piece = 4096

// parts cuts lines of n elements until there are 8 blocks a multiprocessor.
func parts(blocks, n int64, d kernel.Device) int64 {
	want := int64(8*d.SMs) / max(1, blocks)
	return min(max(1, want), max(1, n/piece), 1024)
}

// lines reduces rows, columns or all elements in two launches.
func lines(o op.Op, b []kernel.Buffer, d kernel.Device) (kernel.Plan, error) {
	var r *op.Reduction
	entry, partial := "reduce_"+string(o.DType())+"_simt_", int64(8) // bytes of a part
	name := map[string]string{"sum": "_sum", "mean": "_sum", "max": "_max", "min": "_min"}[o.Name()]
	switch x := o.(type) {
	case *op.Reduction:
		r = x
	case *op.Argmax:
		r, entry, partial = &x.Reduction, "argmax_"+string(o.DType())+"_simt_", 16
	default:
		return kernel.Plan{}, fmt.Errorf("op %s is no reduction", o.Name())
	}
	x, y := b[0], b[1]
	count, n := int64(1), r.Rows*r.Cols // lines and their length
	switch r.Dim {
	case 0:
		count, n = r.Cols, r.Rows
	case 1:
		count, n = r.Rows, r.Cols
	}
	if count == 0 {
		return kernel.Plan{}, kernel.Shape("no line to reduce: the output is empty")
	}
	first := kernel.Launch{Entry: entry + "rows" + name, Grid: [3]int64{count, parts(count, n, d), 1}, Block: [3]int64{256, 1, 1},
		Args: []kernel.Arg{kernel.Ptr(x), kernel.Work(0), kernel.Int(n)}}
	if r.Dim == 0 {
		blocks := kernel.Blocks(count, 32, 0)
		first.Entry, first.Block = entry+"cols"+name, [3]int64{32, 8, 1}
		first.Grid = [3]int64{blocks, parts(blocks, 32*n, d), 1}
		first.Args = append(first.Args, kernel.Int(r.Cols))
	}
	divisor := 1.0
	if o.Name() == "mean" {
		divisor = float64(n)
	}
	last := kernel.Launch{Entry: entry + "parts" + name, Grid: [3]int64{kernel.Blocks(count, 256, int64(8*d.SMs)), 1, 1}, Block: [3]int64{256, 1, 1},
		Args: []kernel.Arg{kernel.Work(0), kernel.Ptr(y), kernel.Int(count), kernel.Int(first.Grid[1])}}
	if partial == 8 {
		last.Args = append(last.Args, kernel.Float(divisor))
	}
	return kernel.Plan{Launches: []kernel.Launch{first, last}, Workspace: partial * count * first.Grid[1]}, nil
}

func softmax(o op.Op, b []kernel.Buffer, d kernel.Device) (kernel.Plan, error) {
	n, ok := o.(*op.Norm)
	if !ok {
		return kernel.Plan{}, fmt.Errorf("op %s is no softmax", o.Name())
	}
	l := kernel.Launch{Entry: "softmax_" + string(o.DType()) + "_simt_rows", Grid: [3]int64{kernel.Blocks(n.Rows, 1, 0), 1, 1}, Block: [3]int64{256, 1, 1},
		Args: []kernel.Arg{kernel.Ptr(b[0]), kernel.Ptr(b[1]), kernel.Int(n.Rows), kernel.Int(n.Cols)}}
	if n.Dim == 0 {
		l.Entry, l.Block = "softmax_"+string(o.DType())+"_simt_cols", [3]int64{32, 8, 1}
		l.Grid[0] = kernel.Blocks(n.Cols, 32, 0)
	}
	return kernel.Plan{Launches: []kernel.Launch{l}}, nil
}

func norm(o op.Op, b []kernel.Buffer, d kernel.Device) (kernel.Plan, error) {
	n, ok := o.(*op.Norm)
	if !ok {
		return kernel.Plan{}, fmt.Errorf("op %s is no norm", o.Name())
	}
	return rowsOf("norm", o, b, n.Rows, n.Cols, n.Eps), nil
}

func addNorm(o op.Op, b []kernel.Buffer, d kernel.Device) (kernel.Plan, error) {
	n, ok := o.(*op.AddNorm)
	if !ok {
		return kernel.Plan{}, fmt.Errorf("op %s is no norm of a sum", o.Name())
	}
	return rowsOf("add_norm", o, b, n.Rows, n.Cols, n.Eps), nil
}

// rowsOf launches a block of 256 threads for each row.
func rowsOf(class string, o op.Op, b []kernel.Buffer, rows, cols int64, eps float64) kernel.Plan {
	var args []kernel.Arg
	for _, x := range b {
		args = append(args, kernel.Ptr(x))
	}
	args = append(args, kernel.Int(rows), kernel.Int(cols), kernel.Float(eps))
	return kernel.Plan{Launches: []kernel.Launch{{Entry: class + "_" + string(o.DType()) + "_simt_" + o.Name(),
		Grid: [3]int64{kernel.Blocks(rows, 1, 0), 1, 1}, Block: [3]int64{256, 1, 1}, Args: args}}}
}
