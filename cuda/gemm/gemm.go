// Package gemm is the CUDA kernels of matrix products.
package gemm

import (
	"fmt"
	"slices"

	"ridge/cuda/kernel"
	"ridge/goharness/op"
	"ridge/goharness/record"
)

// Family lists the kernels, one line each. Bounds as on the CPU (native/gemm/kernels.def); int32 sums are exact. Tensor cores cut fp32 sums
// off instead of rounding them (cuda/model/src/tensor.cc): so calculated, the error of random inputs grows from 5 at K = 1024 and 13 at
// 4096 to 20 at 16384, in units of u·Σ|a||b|. 3×TF32 rounds its sums on the fp32 units and has their bound (ridge_mma_tf32.cuh), else it would not be preferred to them. Of fp8 they keep 14 bits: what 128 k
// lose, RoundedC allows (goharness/op/cutoff.go).
func Family() kernel.Family {
	return kernel.Family{Name: "gemm", Kernels: []kernel.Kernel{
		{Name: "gemm_fp64_simt", Ops: "gemm", DType: record.FP64, Accumulate: record.FP64, BoundC: 6, IntExact: true, Plan: simt},
		{Name: "gemm_fp32_simt", Ops: "gemm linear", DType: record.FP32, Accumulate: record.FP32, BoundC: 6, IntExact: true, Plan: simtFP32},
		{Name: "gemm_fp16_simt", Ops: "gemm", DType: record.FP16, Accumulate: record.FP32, BoundC: 6, IntExact: true, Plan: simt},
		{Name: "gemm_bf16_simt", Ops: "gemm linear", DType: record.BF16, Accumulate: record.FP32, BoundC: 6, IntExact: true, Plan: simt},
		{Name: "gemm_int8_simt", Ops: "gemm linear", DType: record.INT8, Accumulate: record.INT32, IntExact: true, Plan: simt},
		{Name: "gemm_u8s8_simt", Ops: "gemm", DType: record.U8S8, Accumulate: record.INT32, IntExact: true, Plan: simt},
		{Name: "gemm_tf32_simt", Ops: "gemm linear", DType: record.TF32, Accumulate: record.FP32, BoundC: 6, IntExact: true, Plan: simt},
		{Name: "gemm_fp8_e4m3_simt", Ops: "gemm linear", DType: record.FP8E4M3, Accumulate: record.FP32, BoundC: 6, IntExact: true, Plan: simt},
		{Name: "gemm_tf32_sm80", Ops: "gemm linear", DType: record.TF32, Accumulate: record.FP32, Least: 80, Rank: 1, BoundC: 24, IntExact: true, Plan: mma},
		{Name: "gemm_fp32_sm80_3xtf32", Ops: "gemm linear", DType: record.FP32, Accumulate: record.FP32, Least: 80, Among: []int{80, 90}, Rank: 1, BoundC: 6, IntExact: true, FLOPShare: 3, Computes: record.TF32, Plan: mma3xTF32},
		{Name: "gemm_tf32_sm90", Ops: "gemm linear", DType: record.TF32, Accumulate: record.FP32, Only: 90, Rank: 2, BoundC: 24, IntExact: true, Plan: wgmma},
		{Name: "gemm_fp32_sm90_3xtf32", Ops: "gemm linear", DType: record.FP32, Accumulate: record.FP32, Only: 90, Rank: 2, BoundC: 6, IntExact: true, FLOPShare: 3, Computes: record.TF32, Plan: wgmma3xTF32},
		{Name: "gemm_fp8_e4m3_sm90", Ops: "gemm linear", DType: record.FP8E4M3, Accumulate: record.FP32, Only: 90, Rank: 2, BoundC: 6, RoundedC: 1, IntExact: true, Plan: wgmma},
		{Name: "gemm_fp64_sm80", Ops: "gemm", DType: record.FP64, Accumulate: record.FP64, Least: 80, Rank: 1, BoundC: 6, IntExact: true, Plan: mma},
		{Name: "gemm_fp16_sm80", Ops: "gemm", DType: record.FP16, Accumulate: record.FP32, Least: 80, Rank: 1, BoundC: 24, IntExact: true, Plan: mma},
		{Name: "gemm_bf16_sm80", Ops: "gemm linear", DType: record.BF16, Accumulate: record.FP32, Least: 80, Rank: 1, BoundC: 24, IntExact: true, Plan: mma},
		{Name: "gemm_int8_sm80", Ops: "gemm linear", DType: record.INT8, Accumulate: record.INT32, Least: 80, Rank: 1, IntExact: true, Plan: mma},
		{Name: "gemm_u8s8_sm80", Ops: "gemm", DType: record.U8S8, Accumulate: record.INT32, Least: 80, Rank: 1, IntExact: true, Plan: mma},
		{Name: "gemm_fp64_sm80_unaligned", Ops: "gemm", DType: record.FP64, Accumulate: record.FP64, Least: 80, Rank: 1, BoundC: 6, IntExact: true, Plan: unaligned},
		{Name: "gemm_fp16_sm80_unaligned", Ops: "gemm", DType: record.FP16, Accumulate: record.FP32, Least: 80, Rank: 1, BoundC: 24, IntExact: true, Plan: unaligned},
		{Name: "gemm_bf16_sm80_unaligned", Ops: "gemm linear", DType: record.BF16, Accumulate: record.FP32, Least: 80, Rank: 1, BoundC: 24, IntExact: true, Plan: unaligned},
		{Name: "gemm_int8_sm80_unaligned", Ops: "gemm linear", DType: record.INT8, Accumulate: record.INT32, Least: 80, Rank: 1, IntExact: true, Plan: unaligned},
		{Name: "gemm_u8s8_sm80_unaligned", Ops: "gemm", DType: record.U8S8, Accumulate: record.INT32, Least: 80, Rank: 1, IntExact: true, Plan: unaligned},
		{Name: "gemm_fp16_sm80_splitk", Ops: "gemm", DType: record.FP16, Accumulate: record.FP32, Least: 80, Rank: 3, BoundC: 24, IntExact: true, Plan: splitK},
		{Name: "gemm_bf16_sm80_splitk", Ops: "gemm linear", DType: record.BF16, Accumulate: record.FP32, Least: 80, Rank: 3, BoundC: 24, IntExact: true, Plan: splitK},
		{Name: "gemm_int8_sm80_splitk", Ops: "gemm linear", DType: record.INT8, Accumulate: record.INT32, Least: 80, Rank: 3, IntExact: true, Plan: splitK},
		{Name: "gemm_fp32_sm80_3xtf32_splitk", Ops: "gemm linear", DType: record.FP32, Accumulate: record.FP32, Least: 80, Among: []int{80, 90}, Rank: 3, BoundC: 6, IntExact: true, FLOPShare: 3, Computes: record.TF32, Plan: splitK3xTF32},
		{Name: "gemm_fp16_sm90_splitk", Ops: "gemm", DType: record.FP16, Accumulate: record.FP32, Only: 90, Rank: 4, BoundC: 24, IntExact: true, Plan: wgmmaSplitK},
		{Name: "gemm_bf16_sm90_splitk", Ops: "gemm linear", DType: record.BF16, Accumulate: record.FP32, Only: 90, Rank: 4, BoundC: 24, IntExact: true, Plan: wgmmaSplitK},
		{Name: "gemm_int8_sm90_splitk", Ops: "gemm linear", DType: record.INT8, Accumulate: record.INT32, Only: 90, Rank: 4, IntExact: true, Plan: wgmmaSplitK},
		{Name: "gemm_tf32_sm90_splitk", Ops: "gemm linear", DType: record.TF32, Accumulate: record.FP32, Only: 90, Rank: 4, BoundC: 24, IntExact: true, Plan: wgmmaSplitK},
		{Name: "gemm_fp8_e4m3_sm90_splitk", Ops: "gemm linear", DType: record.FP8E4M3, Accumulate: record.FP32, Only: 90, Rank: 4, BoundC: 6, RoundedC: 1, IntExact: true, Plan: wgmmaSplitK},
		{Name: "gemm_fp32_sm90_3xtf32_splitk", Ops: "gemm linear", DType: record.FP32, Accumulate: record.FP32, Only: 90, Rank: 4, BoundC: 6, IntExact: true, FLOPShare: 3, Computes: record.TF32, Plan: wgmmaSplitK3xTF32},
		{Name: "gemm_bf16_sm80_skinny", Ops: "gemm linear", DType: record.BF16, Accumulate: record.FP32, Least: 80, Rank: 5, BoundC: 24, IntExact: true, Plan: skinny},
		{Name: "gemm_fp16_sm80_skinny", Ops: "gemm", DType: record.FP16, Accumulate: record.FP32, Least: 80, Rank: 5, BoundC: 24, IntExact: true, Plan: skinny},
		{Name: "gemm_int8_sm80_skinny", Ops: "gemm linear", DType: record.INT8, Accumulate: record.INT32, Least: 80, Rank: 5, IntExact: true, Plan: skinny},
		{Name: "gemm_tf32_sm80_skinny", Ops: "gemm linear", DType: record.TF32, Accumulate: record.FP32, Least: 80, Rank: 5, BoundC: 24, IntExact: true, Plan: skinny},
		{Name: "gemm_fp32_sm80_3xtf32_skinny", Ops: "gemm linear", DType: record.FP32, Accumulate: record.FP32, Least: 80, Rank: 5, BoundC: 6, IntExact: true, FLOPShare: 3, Computes: record.TF32, Plan: skinny3xTF32},
		{Name: "gemm_bf16_sm90_skinny", Ops: "gemm linear", DType: record.BF16, Accumulate: record.FP32, Only: 90, Rank: 6, BoundC: 24, IntExact: true, Plan: skinnyRing},
		{Name: "gemm_fp16_sm90_skinny", Ops: "gemm", DType: record.FP16, Accumulate: record.FP32, Only: 90, Rank: 6, BoundC: 24, IntExact: true, Plan: skinnyRing},
		{Name: "swiglu_bf16_sm80", Ops: "swiglu", DType: record.BF16, Accumulate: record.FP32, Least: 80, Rank: 1, BoundC: 24, IntExact: true, Plan: mmaSwiglu},
		{Name: "mlp_bf16_sm80", Ops: "mlp", DType: record.BF16, Accumulate: record.FP32, Least: 80, Rank: 1, BoundC: 24, RoundedC: 8, Plan: mmaMLP},
		{Name: "gemm_bf16_sm90", Ops: "gemm linear", DType: record.BF16, Accumulate: record.FP32, Only: 90, Rank: 2, BoundC: 24, IntExact: true, Plan: wgmma},
		{Name: "gemm_fp16_sm90", Ops: "gemm", DType: record.FP16, Accumulate: record.FP32, Only: 90, Rank: 2, BoundC: 24, IntExact: true, Plan: wgmma},
		{Name: "gemm_int8_sm90", Ops: "gemm linear", DType: record.INT8, Accumulate: record.INT32, Only: 90, Rank: 2, IntExact: true, Plan: wgmma},
		{Name: "gemm_u8s8_sm90", Ops: "gemm", DType: record.U8S8, Accumulate: record.INT32, Only: 90, Rank: 2, IntExact: true, Plan: wgmma},
		{Name: "gemm_tf32_sm90_across", Ops: "gemm", DType: record.TF32, Accumulate: record.FP32, Only: 90, Rank: 2, BoundC: 24, IntExact: true, Plan: across},
		{Name: "gemm_fp32_sm90_3xtf32_across", Ops: "gemm", DType: record.FP32, Accumulate: record.FP32, Only: 90, Rank: 2, BoundC: 6, IntExact: true, FLOPShare: 3, Computes: record.TF32, Plan: across3xTF32},
		{Name: "gemm_fp8_e4m3_sm90_across", Ops: "gemm", DType: record.FP8E4M3, Accumulate: record.FP32, Only: 90, Rank: 2, BoundC: 6, RoundedC: 1, IntExact: true, Plan: across},
		{Name: "gemm_int8_sm90_across", Ops: "gemm", DType: record.INT8, Accumulate: record.INT32, Only: 90, Rank: 2, IntExact: true, Plan: across},
		{Name: "gemm_u8s8_sm90_across", Ops: "gemm", DType: record.U8S8, Accumulate: record.INT32, Only: 90, Rank: 2, IntExact: true, Plan: across},
		{Name: "swiglu_fp32_simt", Ops: "swiglu", DType: record.FP32, Accumulate: record.FP32, BoundC: 6, IntExact: true, Plan: swiglu},
		{Name: "swiglu_bf16_simt", Ops: "swiglu", DType: record.BF16, Accumulate: record.FP32, BoundC: 6, IntExact: true, Plan: swiglu},
		{Name: "mlp_fp32_simt", Ops: "mlp", DType: record.FP32, Accumulate: record.FP32, BoundC: 6, IntExact: true, Plan: mlp},
		{Name: "mlp_bf16_simt", Ops: "mlp", DType: record.BF16, Accumulate: record.FP32, BoundC: 6, IntExact: true, Plan: mlp},
		{Name: "gemv_fp32_simt", Ops: "gemv", DType: record.FP32, Accumulate: record.FP32, BoundC: 6, IntExact: true, Plan: gemv},
		{Name: "gemv_fp64_simt", Ops: "gemv", DType: record.FP64, Accumulate: record.FP64, BoundC: 6, IntExact: true, Plan: gemv},
	}}
}

// maxZ is the most blocks along z of a grid.
const maxZ = 65535

// tiles of rows × cols that cover an output, as a grid, with one output for each of batch along z.
func tiles(m, n, batch, rows, cols int64) ([3]int64, error) {
	down, across := (m+rows-1)/rows, (n+cols-1)/cols
	switch {
	case down > 0 && across > kernel.MaxGrid/down:
		return [3]int64{}, kernel.Shape("m=%d n=%d: at most %d tiles of %d x %d are taken", m, n, int64(kernel.MaxGrid), rows, cols)
	case batch > maxZ:
		return [3]int64{}, kernel.Shape("batch=%d: at most %d products are taken", batch, maxZ)
	}
	return [3]int64{max(1, down*across), 1, max(1, batch)}, nil
}

// one launch of 256 threads.
func one(entry string, grid [3]int64, args []kernel.Arg) kernel.Launch {
	return kernel.Launch{Entry: entry, Grid: grid, Block: [3]int64{256, 1, 1}, Args: args}
}

// operands are the buffers of a product by what they are for; a null pointer where there is none.
type operands struct{ a, b, d, bias, scale, c kernel.Arg }

func bind(b []kernel.Buffer) operands {
	var o operands
	for _, x := range b {
		switch x.Tensor.Name {
		case "a":
			o.a = kernel.Ptr(x)
		case "b":
			o.b = kernel.Ptr(x)
		case "d":
			o.d = kernel.Ptr(x)
		case "bias":
			o.bias = kernel.Ptr(x)
		case "scale":
			o.scale = kernel.Ptr(x)
		case "c":
			o.c = kernel.Ptr(x)
		}
	}
	return o
}

// simt plans gemm and linear.
func simt(o op.Op, b []kernel.Buffer, _ kernel.Device) (kernel.Plan, error) {
	g, ok := o.(*op.Gemm)
	if !ok {
		return kernel.Plan{}, fmt.Errorf("op %s is no matrix product", o.Name())
	}
	cols := int64(128)
	if g.D == record.FP64 {
		cols = 64
	}
	grid, err := tiles(g.M, g.N, g.Batch, 128, cols)
	if err != nil {
		return kernel.Plan{}, err
	}
	args := arguments(g, b, kernel.Bool(g.TransB))
	return kernel.Plan{Launches: []kernel.Launch{one("gemm_"+string(g.D)+"_simt"+requantised(g), grid, args)}}, nil
}

// arguments of an entry of gemm and linear: sizes and pitches, what batches need, how B lies where the entry takes both ways, the epilogue, pointers.
func arguments(g *op.Gemm, b []kernel.Buffer, transposed ...kernel.Arg) []kernel.Arg {
	x, c := bind(b), b[len(b)-1]
	matrix := func(t kernel.Buffer) int64 { return t.Tensor.Dims[len(t.Tensor.Dims)-2] * t.Tensor.LD() }
	args := kernel.Ints(g.M, g.N, g.K, b[0].Tensor.LD(), b[1].Tensor.LD(), c.Tensor.LD())
	if !g.Requant {
		args = append(args, kernel.Ints(matrix(b[0]), matrix(b[1]), matrix(c))...)
	}
	args = append(args, transposed...)
	switch {
	case g.Requant:
		return append(args, activation(g.Act), x.a, x.b, x.bias, x.scale, x.c)
	case !g.D.Float():
		return append(args, x.a, x.b, x.bias, x.c)
	}
	return append(args, activation(g.Act), kernel.Float(g.Alpha), kernel.Float(float64(g.Beta)), x.a, x.b, x.d, x.bias, x.c)
}

// activation as enum ACT_* of ridge_act.cuh.
func activation(name string) kernel.Arg { return kernel.Int(int64(slices.Index(op.Activations, name))) }

func swiglu(o op.Op, b []kernel.Buffer, _ kernel.Device) (kernel.Plan, error) {
	s, ok := o.(*op.SwiGLU)
	if !ok {
		return kernel.Plan{}, fmt.Errorf("op %s is no gated product", o.Name())
	}
	grid, err := tiles(s.M, s.N, 1, 128, 64)
	if err != nil {
		return kernel.Plan{}, err
	}
	args := append(kernel.Ints(s.M, s.N, s.K), kernel.Ptr(b[0]), kernel.Ptr(b[1]), kernel.Ptr(b[2]), kernel.Ptr(b[3]))
	return kernel.Plan{Launches: []kernel.Launch{one("swiglu_"+string(o.DType())+"_simt", grid, args)}}, nil
}

// mlp is two products with the hidden features in the workspace, in fp32.
func mlp(o op.Op, b []kernel.Buffer, _ kernel.Device) (kernel.Plan, error) {
	p, ok := o.(*op.MLP)
	if !ok {
		return kernel.Plan{}, fmt.Errorf("op %s is no multi-layer perceptron", o.Name())
	}
	first, err := tiles(p.M, p.H, 1, 128, 128)
	if err != nil {
		return kernel.Plan{}, err
	}
	second, err := tiles(p.M, p.N, 1, 128, 128)
	if err != nil {
		return kernel.Plan{}, err
	}
	linear := func(m, n, k int64, act string, a, w, bias, c kernel.Arg) []kernel.Arg {
		return append(kernel.Ints(m, n, k, k, k, n, 0, 0, 0, 1), activation(act), kernel.Float(1), kernel.Float(0), a, w, kernel.Null(), bias, c)
	}
	entry := "mlp_" + string(o.DType()) + "_simt_"
	return kernel.Plan{Workspace: 4 * p.M * p.H, Launches: []kernel.Launch{
		one(entry+"hidden", first, linear(p.M, p.H, p.K, p.Act, kernel.Ptr(b[0]), kernel.Ptr(b[1]), kernel.Ptr(b[2]), kernel.Work(0))),
		one(entry+"out", second, linear(p.M, p.N, p.H, "none", kernel.Work(0), kernel.Ptr(b[3]), kernel.Ptr(b[4]), kernel.Ptr(b[5]))),
	}}, nil
}

// gemv takes a warp for each row.
func gemv(o op.Op, b []kernel.Buffer, d kernel.Device) (kernel.Plan, error) {
	g, ok := o.(*op.Gemv)
	if !ok {
		return kernel.Plan{}, fmt.Errorf("op %s is no matrix-vector product", o.Name())
	}
	grid := [3]int64{kernel.Blocks(g.M, 8, int64(16*d.SMs)), 1, 1}
	args := append(kernel.Ints(g.M, g.N), kernel.Ptr(b[0]), kernel.Ptr(b[1]), kernel.Ptr(b[2]))
	return kernel.Plan{Launches: []kernel.Launch{one("gemv_"+string(o.DType())+"_simt", grid, args)}}, nil
}
