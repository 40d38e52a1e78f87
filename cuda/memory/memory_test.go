//go:build cuda && linux && cgo

package memory_test

import (
	"testing"

	"ridge/cuda"
	"ridge/cuda/cudatest"
	"ridge/goharness/op"
	"ridge/goharness/record"
)

func TestMain(m *testing.M) { cudatest.Main(m) }

// Sizes around the pack of 16 bytes, the tile of a block and more tiles than blocks (4 multiprocessors).
func TestStreamKernelsMatchTheExpectation(t *testing.T) {
	var ops []op.Op
	for _, n := range []string{"0", "1", "3", "4", "5", "1023", "4096", "4097", "70001"} {
		for _, d := range []record.DType{record.FP32, record.FP64} {
			for _, name := range []string{"stream_copy", "stream_scale", "stream_add", "stream_triad", "axpy"} {
				ops = append(ops, cudatest.Op(t, name, d, "n="+n))
			}
		}
	}
	for _, shape := range []string{"rows=1,cols=7", "rows=3,cols=1000", "rows=130,cols=257"} {
		for _, d := range []record.DType{record.FP32, record.BF16} {
			for _, name := range []string{"copy", "fill", "add_scalar"} {
				ops = append(ops, cudatest.Op(t, name, d, shape))
			}
		}
	}
	cudatest.All(t, cuda.New(), ops)
}
