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

// piece is the fewest elements of a line worth a block of its own.
const piece = 4096

// parts cuts lines of n elements until there are 8 blocks a multiprocessor.
func parts(blocks, n int64, d kernel.Device) int64 {
	want := int64(8*d.SMs) / max(1, blocks)
	return min(max(1, want), max(1, n/piece))
}

// tallParts cuts columns until there is a block for each multiprocessor, which its 8 loads a thread fill; a second launch costs more than a few idle ones.
func tallParts(blocks, n int64, d kernel.Device) int64 {
	return min(max(1, int64(d.SMs)/max(1, blocks)), max(1, n/piece))
}

// lines reduces rows, columns or all elements, in two launches where a line has several parts.
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
	divisor := []kernel.Arg{}
	if partial == 8 {
		divisor = append(divisor, kernel.Float(1))
		if o.Name() == "mean" {
			divisor[0] = kernel.Float(float64(n))
		}
	}
	first := kernel.Launch{Entry: entry + "rows" + name, Grid: [3]int64{count, parts(count, n, d), 1}, Block: [3]int64{rowThreads(n*o.DType().Size(), 128, 256), 1, 1},
		Args: []kernel.Arg{kernel.Ptr(x), kernel.Work(0), kernel.Ptr(y), kernel.Int(n)}}
	if r.Dim == 0 {
		c := columns(r.Cols, o.DType(), d, x)
		first.Entry, first.Block[0] = entry+"cols"+c.suffix+name, 512
		first.Grid = [3]int64{c.blocks, tallParts(c.blocks, c.perBlock*n, d), 1}
		first.Args = append(first.Args, kernel.Int(r.Cols), kernel.Int(c.width))
	}
	first.Args = append(first.Args, divisor...)
	several := first.Grid[1]
	if several == 1 {
		return kernel.Plan{Launches: []kernel.Launch{first}}, nil
	}
	threads := int64(32) // one for each part, as far as that goes: a thread that loops waits for each
	for threads < several && threads < 256 {
		threads *= 2
	}
	last := kernel.Launch{Entry: entry + "parts" + name, Grid: [3]int64{count, 1, 1}, Block: [3]int64{threads, 1, 1},
		Args: append([]kernel.Arg{kernel.Work(0), kernel.Ptr(y), kernel.Int(several)}, divisor...)}
	return kernel.Plan{Launches: []kernel.Launch{first, last}, Workspace: partial * count * several}, nil
}

// heldPacks of 16 bytes are in a thread's registers (HELD of held.cuh).
const heldPacks = 4

// rowThreads is as many as hold a row of that many bytes, a power of two from least to most.
func rowThreads(bytes, least, most int64) int64 {
	t := least
	for t < most && t*heldPacks*16 < bytes {
		t *= 2
	}
	return t
}

// aligned says whether all begin at multiples of 16 bytes, and so do rows of cols elements.
func aligned(cols int64, b ...kernel.Buffer) bool {
	for _, x := range b {
		if x.Address%16 != 0 || cols*x.Tensor.DType.Size()%16 != 0 {
			return false
		}
	}
	return true
}

// columnBlocks is who takes which columns (columns.cuh).
type columnBlocks struct {
	suffix                  string
	width, perBlock, blocks int64
}

// columns gives a block 128 bytes of a row, less where that leaves multiprocessors without a block: a sector of 32 at least.
func columns(cols int64, d record.DType, dev kernel.Device, b ...kernel.Buffer) columnBlocks {
	if !aligned(cols, b...) {
		return columnBlocks{"_unaligned", 32, 32, kernel.Blocks(cols, 32, 0)}
	}
	run := 16 / d.Size()
	c := columnBlocks{width: 8}
	for c.width > 2 && kernel.Blocks(cols, c.width*run, 0) < int64(dev.SMs) {
		c.width /= 2
	}
	c.perBlock = c.width * run
	c.blocks = kernel.Blocks(cols, c.perBlock, 0)
	return c
}

func softmax(o op.Op, b []kernel.Buffer, d kernel.Device) (kernel.Plan, error) {
	n, ok := o.(*op.Norm)
	if !ok {
		return kernel.Plan{}, fmt.Errorf("op %s is no softmax", o.Name())
	}
	entry := "softmax_" + string(o.DType()) + "_simt_"
	args := []kernel.Arg{kernel.Ptr(b[0]), kernel.Ptr(b[1])}
	if n.Dim == 0 {
		l := kernel.Launch{Args: append(args, kernel.Int(n.Rows), kernel.Int(n.Cols))}
		c := columns(n.Cols, o.DType(), d, b...)
		l.Entry, l.Block = entry+"cols"+c.suffix, [3]int64{512, 1, 1}
		if held, threads := heldColumns(n, b); threads > 0 {
			c = held
			l.Entry, l.Block[0] = entry+"cols_held", threads
		}
		l.Grid, l.Args = [3]int64{c.blocks, 1, 1}, append(l.Args, kernel.Int(c.width))
		return kernel.Plan{Launches: []kernel.Launch{l}}, nil
	}
	return rowLaunch(entry+"rows", n.Rows, n.Cols, 1024, b, append(args, kernel.Ints(n.Rows, n.Cols)...)), nil
}

// heldColumns gives a block a sector of 32 bytes of each row and threads that hold four runs of its columns each, at most twice that; 0: they do not fit.
func heldColumns(n *op.Norm, b []kernel.Buffer) (columnBlocks, int64) {
	const tall, width, most = 8, 2, 512 // TALL of softmax.cuh
	if !aligned(n.Cols, b...) {
		return columnBlocks{}, 0
	}
	if n.Rows*width > most*tall {
		return columnBlocks{}, 0
	}
	threads := int64(32)
	for threads < most && threads*tall/2 < width*n.Rows {
		threads *= 2
	}
	run := 16 / n.D.Size()
	return columnBlocks{"", width, width * run, kernel.Blocks(n.Cols, width*run, 0)}, threads
}

func norm(o op.Op, b []kernel.Buffer, d kernel.Device) (kernel.Plan, error) {
	n, ok := o.(*op.Norm)
	if !ok {
		return kernel.Plan{}, fmt.Errorf("op %s is no norm", o.Name())
	}
	return normPlan("norm", o, b, n.Rows, n.Cols, n.Eps, 1024), nil
}

func addNorm(o op.Op, b []kernel.Buffer, d kernel.Device) (kernel.Plan, error) {
	n, ok := o.(*op.AddNorm)
	if !ok {
		return kernel.Plan{}, fmt.Errorf("op %s is no norm of a sum", o.Name())
	}
	return normPlan("add_norm", o, b, n.Rows, n.Cols, n.Eps, 512), nil
}

func normPlan(class string, o op.Op, b []kernel.Buffer, rows, cols int64, eps float64, most int64) kernel.Plan {
	var args []kernel.Arg
	for _, x := range b {
		args = append(args, kernel.Ptr(x))
	}
	return rowLaunch(class+"_"+string(o.DType())+"_simt_"+o.Name(), rows, cols, most, b, append(args, kernel.Int(rows), kernel.Int(cols), kernel.Float(eps)))
}

// rowLaunch has a block for each row, which holds it where most threads can.
func rowLaunch(entry string, rows, cols, most int64, b []kernel.Buffer, args []kernel.Arg) kernel.Plan {
	l := kernel.Launch{Entry: entry, Grid: [3]int64{kernel.Blocks(rows, 1, 0), 1, 1}, Block: [3]int64{256, 1, 1}, Args: args}
	if bytes := cols * b[0].Tensor.DType.Size(); aligned(cols, b...) && bytes <= most*heldPacks*16 {
		l.Entry, l.Block[0] = entry+"_held", rowThreads(bytes, 128, most)
	}
	return kernel.Plan{Launches: []kernel.Launch{l}}
}
