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

func TestTranspositionsMatchTheExpectation(t *testing.T) {
	var ops []op.Op
	for _, d := range []record.DType{record.FP32, record.BF16} {
		for _, shape := range []string{"rows=0,cols=3", "rows=3,cols=0", "rows=1,cols=1", "rows=32,cols=32", "rows=33,cols=70", "rows=100,cols=5", "rows=8,cols=8", "rows=64,cols=64", "rows=72,cols=200", "rows=264,cols=136"} {
			ops = append(ops, cudatest.Op(t, "transpose", d, shape))
		}
	}
	for _, d := range []record.DType{record.FP32, record.BF16, record.INT8} {
		for _, shape := range []string{"n=0,c=3,h=2,w=2", "n=2,c=35,h=5,w=7", "n=3,c=24,h=4,w=10", "n=1,c=3,h=9,w=9"} {
			ops = append(ops, cudatest.Op(t, "layout", d, shape), cudatest.Op(t, "layout", d, shape+",to=nchw"))
		}
	}
	cudatest.All(t, cuda.New(), ops)
}

// One piece and several: 1024 elements each.
func TestDotProductsMatchTheExpectation(t *testing.T) {
	var ops []op.Op
	for _, d := range []record.DType{record.FP32, record.FP64} {
		for _, n := range []string{"0", "1", "255", "5000", "40000"} {
			ops = append(ops, cudatest.Op(t, "dot", d, "n="+n))
		}
	}
	cudatest.All(t, cuda.New(), ops)
}

// Less than a pack, tails, the four packs that a thread takes at once (64 KiB a block), more than one pass; of reads groups of blocks that share the passes.
func TestBandwidthProbesMatchTheExpectation(t *testing.T) {
	var ops []op.Op
	for _, access := range op.Accesses {
		for _, shape := range []string{"bytes=0", "bytes=12", "bytes=4100", "bytes=1000000,passes=1", "bytes=30000,passes=5", "bytes=8192,passes=19", "bytes=9004,passes=3", "bytes=70000,passes=4", "bytes=200012,passes=3", "bytes=262144,passes=2"} {
			ops = append(ops, cudatest.Op(t, "bandwidth", record.FP32, "access="+access+","+shape))
		}
	}
	cudatest.All(t, cuda.New(), ops)
}

func TestAChaseEndsWhereItsCycleLeads(t *testing.T) {
	var ops []op.Op
	for _, shape := range []string{"bytes=64,steps=0", "bytes=64,steps=3", "bytes=6400,steps=77", "bytes=6400,steps=1000"} {
		ops = append(ops, cudatest.Op(t, "chase", record.INT64, shape))
	}
	cudatest.All(t, cuda.New(), ops)
}

// One number, and a tail.
func TestCopiesBetweenHostAndDeviceMoveEveryByte(t *testing.T) {
	var ops []op.Op
	for _, name := range []string{"copy_h2d", "copy_d2h"} {
		for _, p := range []string{"bytes=4", "bytes=40012"} {
			ops = append(ops, cudatest.Op(t, name, record.FP32, p))
		}
	}
	cudatest.All(t, cuda.New(), ops)
}
