package gemm

import (
	"fmt"
	"math"

	"ridge/cuda/kernel"
	"ridge/goharness/op"
)

// skinnyTile is the shape of an entry of skinny_mma.cuh: the columns of a block, and its warps side by side and along k.
type skinnyTile struct {
	suffix         string
	cols, side, kw int64
}

// Rows of C that an entry takes, the fewest first.
var skinnyRows = []int64{8, 16}

// skinny plans gemm and linear of few rows: one launch that reads B once.
func skinny(o op.Op, b []kernel.Buffer, d kernel.Device) (kernel.Plan, error) {
	return skinnyPlan("gemm_"+string(o.DType())+"_sm80_skinny", o, b, d)
}

// skinny3xTF32 plans fp32 as three products of tf32.
func skinny3xTF32(o op.Op, b []kernel.Buffer, d kernel.Device) (kernel.Plan, error) {
	return skinnyPlan("gemm_fp32_sm80_3xtf32_skinny", o, b, d)
}

func skinnyPlan(kernelName string, o op.Op, b []kernel.Buffer, d kernel.Device) (kernel.Plan, error) {
	g, ok := o.(*op.Gemm)
	if !ok {
		return kernel.Plan{}, fmt.Errorf("op %s is no matrix product", o.Name())
	}
	rows := int64(0)
	for i := len(skinnyRows) - 1; i >= 0 && g.M <= skinnyRows[i]; i-- {
		rows = skinnyRows[i]
	}
	switch {
	case g.Batch > 1:
		return kernel.Plan{}, kernel.Shape("batch=%d: one product is taken", g.Batch)
	case rows == 0:
		return kernel.Plan{}, kernel.Shape("m=%d: at most %d rows are taken", g.M, skinnyRows[len(skinnyRows)-1])
	case g.M == 0 || g.N == 0:
		return kernel.Plan{}, kernel.Shape("m=%d n=%d: there is nothing to multiply", g.M, g.N)
	case g.K > math.MaxInt32:
		return kernel.Plan{}, kernel.Shape("k=%d: steps are counted with 32 bits", g.K)
	}
	if err := whole(b[:2]); err != nil {
		return kernel.Plan{}, err
	}
	suffix, cols, warps := "", int64(64), int64(16)
	if ceil(g.N, cols) < int64(d.SMs) {
		suffix, cols = "_narrow", 32
	}
	if ceil(g.N, cols) > kernel.MaxGrid {
		return kernel.Plan{}, kernel.Shape("n=%d: at most %d tiles of %d columns are taken", g.N, int64(kernel.MaxGrid), cols)
	}
	kw := int64(16)
	if g.TransB && cols == 64 {
		kw = 8
	}
	x, c := bind(b), b[len(b)-1]
	args := kernel.Ints(g.M, g.N, g.K, b[0].Tensor.LD(), b[1].Tensor.LD(), c.Tensor.LD())
	switch {
	case g.Requant:
		args = append(args, activation(g.Act), x.a, x.b, x.bias, x.scale, x.c)
	case !g.D.Float():
		args = append(args, x.a, x.b, x.bias, x.c)
	default:
		args = append(args, activation(g.Act), kernel.Float(g.Alpha), kernel.Float(float64(g.Beta)), x.a, x.b, x.d, x.bias, x.c)
	}
	l := kernel.Launch{Entry: fmt.Sprintf("%s%s%s%s_rows%d", kernelName, requantised(g), stored(g), suffix, rows), Grid: [3]int64{ceil(g.N, cols), 1, 1},
		Block: [3]int64{32 * warps, 1, 1}, Shared: kw * rows * cols * 4, Args: args}
	if l.Shared > int64(d.SharedMax) {
		return kernel.Plan{}, kernel.Shape("a block takes %d bytes of shared memory, this device gives %d", l.Shared, d.SharedMax)
	}
	return kernel.Plan{Launches: []kernel.Launch{l}}, nil
}
