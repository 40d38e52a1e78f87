package gemm

import (
	"fmt"

	"ridge/cuda/kernel"
	"ridge/goharness/op"
	"ridge/goharness/record"
)

// acrossRows is the least M from which transposing B costs less than the kernels that take it as it lies lose; what has fewer is left to them. Counted for K = N = 4096 from what
// was measured at M = 4096 on an H200 (across.cuh): words 43 µs for 0.26 (tf32) or 0.5 (fp32) a row, bytes 17 for 0.03. fp8 has the portable tier alone besides.
var acrossRows = map[record.DType]int64{record.TF32: 256, record.FP32: 129, record.INT8: 768, record.U8S8: 768, record.FP8E4M3: 1}

// across plans gemm with B stored [K,N] on Hopper's tensor cores where they take it along k alone: B is transposed to the workspace, then multiplied.
func across(o op.Op, b []kernel.Buffer, d kernel.Device) (kernel.Plan, error) {
	return acrossPlan("gemm_"+string(o.DType())+"_sm90", wgmmaTiles, o, b, d)
}

// across3xTF32 plans fp32 as three products of tf32.
func across3xTF32(o op.Op, b []kernel.Buffer, d kernel.Device) (kernel.Plan, error) {
	return acrossPlan("gemm_fp32_sm90_3xtf32", wgmmaTiles3xTF32, o, b, d)
}

// acrossSide is the side in elements of the square that a thread of across.cuh transposes, 16 bytes; a block has acrossN of them along n, acrossK along k.
const acrossN, acrossK, acrossThreads = 8, 8, 64

// acrossPlan is two launches: kernel_across, and the kernel for B stored [N,K] on the workspace.
func acrossPlan(kernelName string, list []wgmmaTile, o op.Op, b []kernel.Buffer, d kernel.Device) (kernel.Plan, error) {
	g, ok := o.(*op.Gemm)
	if !ok {
		return kernel.Plan{}, fmt.Errorf("op %s is no matrix product", o.Name())
	}
	switch {
	case g.TransB:
		return kernel.Plan{}, kernel.Shape("B is stored [N,K], as wgmma takes it")
	case g.M < acrossRows[g.D]:
		return kernel.Plan{}, kernel.Shape("m=%d: transposing B does not pay below %d rows", g.M, acrossRows[g.D])
	case g.Batch > maxZ:
		return kernel.Plan{}, kernel.Shape("batch=%d: at most %d products are taken", g.Batch, maxZ)
	}
	if err := whole(b[:2]); err != nil {
		return kernel.Plan{}, err
	}
	side := 16 / b[1].Tensor.DType.Size()
	along := *g
	along.TransB, along.LDB = true, ceil(g.K, side)*side
	turned := append([]kernel.Buffer(nil), b...)
	turned[1] = kernel.Buffer{Tensor: along.Tensors()[1]}
	product, err := wgmmaPlan(kernelName, list, &along, turned, d)
	if err != nil {
		return kernel.Plan{}, err
	}
	second := product.Launches[0]
	second.Image, second.Args[1].Work = kernelName, true
	first := kernel.Launch{Entry: kernelName + "_across", Block: [3]int64{acrossThreads, 1, 1}, Grid: [3]int64{ceil(g.N, acrossN*side) * ceil(g.K, acrossK*side), 1, max(1, g.Batch)},
		Args: append(kernel.Ints(g.K, g.N, b[1].Tensor.LD(), g.K*b[1].Tensor.LD(), along.LDB), kernel.Ptr(b[1]), kernel.Work(0))}
	return kernel.Plan{Workspace: g.Batch * g.N * along.LDB * b[1].Tensor.DType.Size(), Launches: []kernel.Launch{first, second}}, nil
}
