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
		if r.ISA != "simt" && r.ISA != "ex2" && r.ISA != "mma" && r.ISA != "wgmma" {
			continue
		}
		if r.ISA == "wgmma" && r.DType.Float() { // half a million sums an instruction in the model; 672 are more than sums of fp8 count
			ops = append(ops, cudatest.Op(t, "peak", r.DType, fmt.Sprintf("isa=%s,instructions=%d", r.ISA, op.PeakUnit)))
			continue
		}
		for _, n := range []int64{op.PeakUnit, r.Chunk + op.PeakUnit} {
			ops = append(ops, cudatest.Op(t, "peak", r.DType, fmt.Sprintf("isa=%s,instructions=%d", r.ISA, n)))
		}
	}
	if len(ops) != 30 {
		t.Fatalf("%d peaks, want two of each of thirteen rows and one of each of four", len(ops))
	}
	cudatest.All(t, cuda.New(), ops)
}

// Less than a pack for each thread, tails, and more than the 48 KiB that need no permission.
func TestEveryWordOfSharedMemoryIsReadInEveryPass(t *testing.T) {
	var ops []op.Op
	for _, p := range []string{"blocks=1,bytes=16,passes=1", "blocks=3,bytes=8208,passes=5", "blocks=2,bytes=100016,passes=3"} {
		ops = append(ops, cudatest.Op(t, "shared_memory", record.INT32, p))
	}
	cudatest.All(t, cuda.New(), ops)
}

func TestALaunchReachesTheDevice(t *testing.T) {
	cudatest.All(t, cuda.New(), []op.Op{cudatest.Op(t, "dispatch", record.FP64, ""), cudatest.Op(t, "dispatch_graph", record.FP64, ""), cudatest.Op(t, "dispatch_priority", record.FP64, ""), cudatest.Op(t, "dispatch_persistent", record.FP64, "")})
}
