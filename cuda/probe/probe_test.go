//go:build cuda && linux && cgo

package probe_test

import (
	"fmt"
	"testing"

	"ridge/cuda"
	"ridge/cuda/cudatest"
	"ridge/goharness/op"
	"ridge/goharness/record"
)

func TestMain(m *testing.M) { cudatest.Main(m) }

// One chunk in part, several, and one more than the warps of a block; counters are carried on where they would lose exactness.
func TestPeaksExecuteExactlyTheDeclaredInstructions(t *testing.T) {
	var ops []op.Op
	for _, r := range op.PeakRows() {
		if r.ISA != "simt" {
			continue
		}
		for _, n := range []int64{op.PeakUnit, r.Chunk + op.PeakUnit} {
			ops = append(ops, cudatest.Op(t, "peak", r.DType, fmt.Sprintf("isa=simt,instructions=%d", n)))
		}
	}
	if len(ops) != 8 {
		t.Fatalf("%d peaks, want two of each of four precisions", len(ops))
	}
	cudatest.All(t, cuda.New(), ops)
}

func TestALaunchReachesTheDevice(t *testing.T) {
	cudatest.All(t, cuda.New(), []op.Op{cudatest.Op(t, "dispatch", record.FP64, "")})
}
