package gemm

import (
	"fmt"
	"math"

	"ridge/cuda/kernel"
	"ridge/goharness/op"
)

// gated is an op as a gated product whose operands' rows begin at multiples of 16 bytes.
func gated(o op.Op, b []kernel.Buffer) (*op.SwiGLU, error) {
	s, ok := o.(*op.SwiGLU)
	if !ok {
		return nil, fmt.Errorf("op %s is no gated product", o.Name())
	}
	return s, whole(b[:3])
}

// gatedArgs are sizes and pointers of an entry of swiglu.
func gatedArgs(s *op.SwiGLU, b []kernel.Buffer) []kernel.Arg {
	return append(kernel.Ints(s.M, s.N, s.K), kernel.Ptr(b[0]), kernel.Ptr(b[1]), kernel.Ptr(b[2]), kernel.Ptr(b[3]))
}

// gatedSkinnyCols are the columns of Y of a block of swiglu_skinny.cuh.
const gatedSkinnyCols = 16

// swigluSkinny plans swiglu of few rows: one launch that reads both weights once.
func swigluSkinny(kernelName string) planner {
	return func(o op.Op, b []kernel.Buffer, d kernel.Device) (kernel.Plan, error) {
		s, err := gated(o, b)
		if err != nil {
			return kernel.Plan{}, err
		}
		rows, blocks, warps := leastOf(skinnyRows, s.M), ceil(s.N, gatedSkinnyCols), int64(8)
		if rows == 16 && s.D.Size() == 4 {
			warps = 6
		}
		switch {
		case s.M > rows:
			return kernel.Plan{}, kernel.Shape("m=%d: at most %d rows are taken", s.M, rows)
		case s.M == 0 || s.N == 0:
			return kernel.Plan{}, kernel.Shape("m=%d n=%d: there is nothing to multiply", s.M, s.N)
		case s.K > math.MaxInt32:
			return kernel.Plan{}, kernel.Shape("k=%d: steps are counted with 32 bits", s.K)
		case blocks > kernel.MaxGrid:
			return kernel.Plan{}, kernel.Shape("n=%d: at most %d tiles of %d columns are taken", s.N, int64(kernel.MaxGrid), gatedSkinnyCols)
		}
		l := kernel.Launch{Entry: fmt.Sprintf("%s_rows%d", kernelName, rows), Grid: [3]int64{blocks, 1, 1}, Block: [3]int64{32 * warps, 1, 1},
			Shared: warps * rows * 2 * gatedSkinnyCols * 4, Args: gatedArgs(s, b)}
		if l.Shared > int64(d.SharedMax) {
			return kernel.Plan{}, kernel.Shape("a block takes %d bytes of shared memory, this device gives %d", l.Shared, d.SharedMax)
		}
		return kernel.Plan{Launches: []kernel.Launch{l}}, nil
	}
}
