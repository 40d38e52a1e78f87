//go:build cuda && linux && cgo

package reduction_test

import (
	"testing"

	"ridge/cuda"
	"ridge/cuda/cudatest"
	"ridge/goharness/op"
	"ridge/goharness/record"
)

func TestMain(m *testing.M) { cudatest.Main(m) }

// Lines shorter than a warp, around a block of 256 threads, and long enough for several parts (4
// multiprocessors: 32 blocks wanted).
func TestReductionsMatchTheExpectation(t *testing.T) {
	var ops []op.Op
	for _, d := range []record.DType{record.FP32, record.BF16, record.FP64} {
		for _, name := range []string{"sum", "mean", "max", "min"} {
			for _, shape := range []string{"rows=1,cols=1", "rows=3,cols=31", "rows=37,cols=257", "rows=2,cols=9000"} {
				for _, dim := range []string{"all", "0", "1"} {
					ops = append(ops, cudatest.Op(t, name, d, shape+",dim="+dim))
				}
			}
			for _, shape := range []string{"rows=700,cols=40", "rows=3000,cols=8", "rows=900,cols=5"} { // the last two in several parts
				ops = append(ops, cudatest.Op(t, name, d, shape+",dim=0"))
			}
		}
	}
	cudatest.All(t, cuda.New(), ops)
}

// Small integers tie everywhere: the first must win within a thread, a warp, a block and over parts.
func TestTheFirstOfTheLargestIsFound(t *testing.T) {
	var ops []op.Op
	for _, d := range []record.DType{record.FP32, record.BF16, record.FP64} {
		for _, shape := range []string{"rows=1,cols=1", "rows=3,cols=31", "rows=37,cols=257", "rows=2,cols=9000", "rows=700,cols=40", "rows=3000,cols=8", "rows=900,cols=5"} {
			for _, dim := range []string{"all", "0", "1"} {
				ops = append(ops, cudatest.Op(t, "argmax", d, shape+",dim="+dim))
			}
		}
	}
	cudatest.All(t, cuda.New(), ops)
}

func TestNormsMatchTheExpectation(t *testing.T) {
	var ops []op.Op
	for _, d := range []record.DType{record.FP32, record.BF16} {
		for _, shape := range []string{"rows=0,cols=4", "rows=1,cols=1", "rows=5,cols=33", "rows=3,cols=1030", "rows=70,cols=40", "rows=2,cols=4104", "rows=1,cols=40000"} {
			ops = append(ops, cudatest.Op(t, "softmax", d, shape), cudatest.Op(t, "softmax", d, shape+",dim=0"),
				cudatest.Op(t, "layer_norm", d, shape), cudatest.Op(t, "rms_norm", d, shape),
				cudatest.Op(t, "add_layer_norm", d, shape), cudatest.Op(t, "add_rms_norm", d, shape))
		}
	}
	cudatest.All(t, cuda.New(), ops)
}

// Columns that a block holds whole, of one to four and of 1024 threads, and columns of more rows.
func TestSoftmaxAlongColumnsMatchesTheExpectation(t *testing.T) {
	var ops []op.Op
	for _, d := range []record.DType{record.FP32, record.BF16} {
		for _, shape := range []string{"rows=1,cols=16", "rows=100,cols=24", "rows=3000,cols=8", "rows=9000,cols=8", "rows=9000,cols=3"} {
			ops = append(ops, cudatest.Op(t, "softmax", d, shape+",dim=0"))
		}
	}
	cudatest.All(t, cuda.New(), ops)
}
