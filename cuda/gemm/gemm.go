// Package gemm is the CUDA kernels of matrix products.
package gemm

import (
	"fmt"
	"slices"

	"ridge/cuda/kernel"
	"ridge/goharness/op"
	"ridge/goharness/record"
)

// Family lists the kernels, one line each. Bounds as on the CPU (native/gemm/kernels.def).
func Family() kernel.Family {
	return kernel.Family{Name: "gemm", Kernels: []kernel.Kernel{
		{Name: "gemm_fp32_simt", Ops: "gemm linear", DType: record.FP32, Accumulate: record.FP32, BoundC: 6, IntExact: true, Plan: simt},
		{Name: "gemm_bf16_simt", Ops: "gemm linear", DType: record.BF16, Accumulate: record.FP32, BoundC: 6, IntExact: true, Plan: simt},
		{Name: "gemv_fp32_simt", Ops: "gemv", DType: record.FP32, Accumulate: record.FP32, BoundC: 6, IntExact: true, Plan: gemv},
		{Name: "gemv_fp64_simt", Ops: "gemv", DType: record.FP64, Accumulate: record.FP64, BoundC: 6, IntExact: true, Plan: gemv},
	}}
}

const tile = 128

// maxYZ is the most blocks along y and z of a grid.
const maxYZ = 65535

func simt(o op.Op, b []kernel.Buffer, _ kernel.Device) (kernel.Plan, error) {
	g, ok := o.(*op.Gemm)
	if !ok {
		return kernel.Plan{}, fmt.Errorf("op %s is no matrix product", o.Name())
	}
	rows := kernel.Blocks(g.M, tile, 0)
	if rows > maxYZ || g.Batch > maxYZ {
		return kernel.Plan{}, kernel.Shape("m=%d batch=%d: at most %d rows and %d products are taken", g.M, g.Batch, maxYZ*tile, maxYZ)
	}
	a, bb, c := b[0], b[1], b[len(b)-1]
	d, bias, next := kernel.Null(), kernel.Null(), 2
	if g.Beta != 0 {
		d, next = kernel.Ptr(b[next]), next+1
	}
	if g.Bias {
		bias = kernel.Ptr(b[next])
	}
	matrix := func(x kernel.Buffer) int64 { return x.Tensor.Dims[len(x.Tensor.Dims)-2] * x.Tensor.LD() }
	return kernel.Plan{Launches: []kernel.Launch{{Entry: "gemm_" + string(o.DType()) + "_simt",
		Grid: [3]int64{kernel.Blocks(g.N, tile, 0), rows, g.Batch}, Block: [3]int64{256, 1, 1},
		Args: []kernel.Arg{kernel.Int(g.M), kernel.Int(g.N), kernel.Int(g.K), kernel.Int(a.Tensor.LD()), kernel.Int(bb.Tensor.LD()), kernel.Int(c.Tensor.LD()),
			kernel.Int(matrix(a)), kernel.Int(matrix(bb)), kernel.Int(matrix(c)), kernel.Bool(g.TransB), kernel.Int(int64(slices.Index(op.Activations, g.Act))),
			kernel.Float(g.Alpha), kernel.Float(float64(g.Beta)), kernel.Ptr(a), kernel.Ptr(bb), d, bias, kernel.Ptr(c)}}}}, nil
}

// gemv takes a warp for each row.
func gemv(o op.Op, b []kernel.Buffer, d kernel.Device) (kernel.Plan, error) {
	g, ok := o.(*op.Gemv)
	if !ok {
		return kernel.Plan{}, fmt.Errorf("op %s is no matrix-vector product", o.Name())
	}
	return kernel.Plan{Launches: []kernel.Launch{{Entry: "gemv_" + string(o.DType()) + "_simt",
		Grid: [3]int64{kernel.Blocks(g.M, 8, int64(16*d.SMs)), 1, 1}, Block: [3]int64{256, 1, 1},
		Args: []kernel.Arg{kernel.Int(g.M), kernel.Int(g.N), kernel.Ptr(b[0]), kernel.Ptr(b[1]), kernel.Ptr(b[2])}}}}, nil
}
