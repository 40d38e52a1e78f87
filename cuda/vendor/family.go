// Package vendor is NVIDIA's own libraries as baselines for ridge's kernels, where they are installed. Nothing links with them: they are looked up at
// run time, one of an unknown version is refused, and nothing depends on one being there. A further library is a C file, its kernels here and an
// entry in libraries (host.go).
package vendor

import (
	"fmt"
	"strings"

	"ridge/cuda/kernel"
	"ridge/goharness/backend"
	"ridge/goharness/op"
	"ridge/goharness/record"
)

// Names of the libraries: of matrix products, and of convolutions.
const (
	CuBLASLt = "cublaslt"
	CuDNN    = "cudnn"
)

// Ways lists the libraries and how each may serve a program.
func Ways() []backend.LibraryWays {
	var out []backend.LibraryWays
	for _, name := range []string{CuBLASLt, CuDNN} {
		out = append(out, backend.LibraryWays{Name: name, Unfused: []string{name}, Fused: []string{name + " fused"}})
	}
	return out
}

// Family lists the libraries' kernels, which are picked by their name or for a way of using a library (backend.PrepareOptions.Library):
//
//	cublaslt_matmul_D       C = alpha·A·op(B) + beta·D                gemm, linear
//	cublaslt_matmul_post_D  act(A·op(B) + bias) by its epilogue       linear; relu and gelu_tanh, the only GELU that it has
//	cudnn_conv2d_D          conv(x, w), with its bias or without      conv2d
//	cudnn_conv2d_post_D     act(conv(x, w) + bias + residual)         conv2d; relu or none
//
// Bounds: sums of tensor cores as ridge's kernels have them (package gemm); others 8, as for libraries on the CPU, which leaves room for another order; convolutions
// in fp32 24, as ridge's own by Winograd, which is among cuDNN's algorithms.
func Family() kernel.Family {
	f := kernel.Family{Name: "vendor"}
	for _, t := range []struct {
		d, accumulate record.DType
		bound         float64
		rounded       float64
		linear        bool
	}{
		{record.FP64, record.FP64, 8, 0, false}, {record.FP32, record.FP32, 8, 0, true}, {record.TF32, record.FP32, 24, 0, true}, {record.FP16, record.FP32, 24, 0, false},
		{record.BF16, record.FP32, 24, 0, true}, {record.FP8E4M3, record.FP32, 8, 1, true}, {record.INT8, record.INT32, 0, 0, true},
	} {
		k := kernel.Kernel{Name: CuBLASLt + "_matmul_" + string(t.d), Ops: "gemm", DType: t.d, Accumulate: t.accumulate, Rank: -1, BoundC: t.bound, RoundedC: t.rounded, IntExact: true,
			Library: CuBLASLt, Plan: matmul(false)}
		if t.linear {
			k.Ops = "gemm linear"
		}
		f.Kernels = append(f.Kernels, k)
		if t.linear && t.d.Float() {
			k.Name, k.Ops, k.Plan = CuBLASLt+"_matmul_post_"+string(t.d), "linear", matmul(true)
			f.Kernels = append(f.Kernels, k)
		}
	}
	for _, t := range []struct {
		d     record.DType
		bound float64
	}{{record.FP32, 24}, {record.BF16, 24}} {
		k := kernel.Kernel{Name: CuDNN + "_conv2d_" + string(t.d), Ops: "conv2d", DType: t.d, Accumulate: record.FP32, Rank: -1, BoundC: t.bound, Library: CuDNN, Plan: conv2d(false)}
		f.Kernels = append(f.Kernels, k)
		k.Name, k.Plan = CuDNN+"_conv2d_post_"+string(t.d), conv2d(true)
		f.Kernels = append(f.Kernels, k)
	}
	return f
}

// Serves reports whether a kernel belongs to a way of using its library.
func Serves(way string, k kernel.Kernel) bool {
	name, variant, _ := strings.Cut(way, " ")
	return k.Library != "" && k.Library == name && (variant == "fused") == strings.Contains(k.Name, "_post_")
}

// workspace that a product may use: what NVIDIA recommends for Hopper (cuBLAS documentation, cublasSetWorkspace).
const workspace = 32 << 20

// convWorkspace that a convolution may use: algorithms that ask for more are passed over.
const convWorkspace = 256 << 20

// epilogues by activation.
var epilogues = map[string]kernel.Epilogue{"none": kernel.EpilogueNone, "relu": kernel.EpilogueReLU, "gelu_tanh": kernel.EpilogueGELUTanh}

// matmul plans a product; post: with bias and activation, which it must have then.
func matmul(post bool) func(op.Op, []kernel.Buffer, kernel.Device) (kernel.Plan, error) {
	return func(o op.Op, b []kernel.Buffer, _ kernel.Device) (kernel.Plan, error) {
		g, ok := o.(*op.Gemm)
		if !ok {
			return kernel.Plan{}, fmt.Errorf("op %s is no matrix product", o.Name())
		}
		epilogue, known := epilogues[g.Act]
		switch {
		case g.M == 0 || g.N == 0 || g.K == 0:
			return kernel.Plan{}, kernel.Shape("m=%d n=%d k=%d: an empty matrix has no layout", g.M, g.N, g.K)
		case max(g.M, g.N, g.K, g.Batch) >= 1<<31:
			return kernel.Plan{}, kernel.Shape("m=%d n=%d k=%d batch=%d: 32-bit sizes are taken", g.M, g.N, g.K, g.Batch)
		case g.Requant:
			return kernel.Plan{}, kernel.Shape("requant=1: it scales by one factor, not by one a column")
		case !post && (g.Bias || g.Act != "none"):
			return kernel.Plan{}, kernel.Shape("bias and activation are for the fused primitive")
		case post && (!g.Bias || !known):
			return kernel.Plan{}, kernel.Shape("bias=%v act=%s: it has a bias, alone or with relu or gelu_tanh", g.Bias, g.Act)
		}
		p := kernel.Product{DType: g.D, M: g.M, N: g.N, K: g.K, Batch: g.Batch, TransB: g.TransB, Alpha: g.Alpha, Beta: float64(g.Beta), Epilogue: epilogue, Workspace: workspace}
		for _, x := range b {
			m := kernel.Matrix{Address: x.Address, LD: x.Tensor.LD(), DType: x.Tensor.DType}
			if len(x.Tensor.Dims) > 1 {
				m.Stride = x.Tensor.Dims[len(x.Tensor.Dims)-2] * m.LD
			}
			switch x.Tensor.Name {
			case "a":
				p.A = m
			case "b":
				p.B = m
			case "c":
				p.C = m
			case "d":
				p.D = m
			case "bias":
				p.Bias = x.Address
			}
		}
		return kernel.Plan{Launches: []kernel.Launch{{Product: &p}}, Workspace: workspace}, nil
	}
}

// conv2d plans a convolution; post: with what its fused primitive adds, which needs a bias.
func conv2d(post bool) func(op.Op, []kernel.Buffer, kernel.Device) (kernel.Plan, error) {
	return func(o op.Op, b []kernel.Buffer, _ kernel.Device) (kernel.Plan, error) {
		c, ok := o.(*op.Conv)
		if !ok {
			return kernel.Plan{}, fmt.Errorf("op %s is no convolution", o.Name())
		}
		switch {
		case op.Product(c.N, c.C, c.H, c.W) == 0 || op.Product(c.K, c.R, c.S, c.Ho, c.Wo) == 0:
			return kernel.Plan{}, kernel.Shape("an empty tensor has no descriptor")
		case op.Product(c.N, c.C, c.H, c.W) >= 1<<31 || op.Product(c.N, c.K, c.Ho, c.Wo) >= 1<<31:
			return kernel.Plan{}, kernel.Shape("tensors of fewer than 2^31 elements are taken")
		case !post && (c.Residual || c.Act != "none"):
			return kernel.Plan{}, kernel.Shape("residual and activation are for the fused primitive")
		case post && (!c.Bias || c.Act != "none" && c.Act != "relu"):
			return kernel.Plan{}, kernel.Shape("bias=%v act=%s: it has a bias, and relu or no activation", c.Bias, c.Act)
		}
		// A bias in a call of its own finds any algorithm (Winograd in fp32), and a sum that bf16 has rounded: there both are one call.
		p := kernel.Convolution{Conv: c, Fused: post || c.Bias && c.D == record.BF16, Workspace: convWorkspace}
		for _, x := range b {
			switch x.Tensor.Name {
			case "x":
				p.X = x.Address
			case "w":
				p.Filter = x.Address
			case "bias":
				p.BiasAt = x.Address
			case "residual":
				p.ResidualAt = x.Address
			case "y":
				p.Y = x.Address
			}
		}
		return kernel.Plan{Launches: []kernel.Launch{{Convolution: &p}}, Workspace: convWorkspace}, nil
	}
}
