//go:build cuda && linux && cgo

package elementwise_test

import (
	"strings"
	"testing"

	"ridge/cuda"
	"ridge/cuda/cudatest"
	"ridge/goharness/op"
	"ridge/goharness/record"
)

func TestMain(m *testing.M) { cudatest.Main(m) }

var dtypes = []record.DType{record.FP32, record.BF16}

func TestFunctionsMatchTheExpectation(t *testing.T) {
	var ops []op.Op
	for _, name := range strings.Fields("relu gelu gelu_tanh sigmoid tanh exp sqrt_abs sin cos silu scale add multiply add_relu") {
		for _, shape := range []string{"rows=0,cols=5", "rows=1,cols=3", "rows=37,cols=129", "rows=2,cols=8200"} {
			for _, d := range dtypes {
				ops = append(ops, cudatest.Op(t, name, d, shape))
			}
		}
	}
	cudatest.All(t, cuda.New(), ops)
}

func TestRequantisationMatchesTheExpectation(t *testing.T) {
	var ops []op.Op
	for _, shape := range []string{"rows=0,cols=3", "rows=5,cols=1", "rows=33,cols=64", "rows=3,cols=7,inner=35"} {
		ops = append(ops, cudatest.Op(t, "requantize", record.INT8, shape), cudatest.Op(t, "requantize", record.INT8, shape+",act=relu"))
	}
	cudatest.All(t, cuda.New(), ops)
}

// Channels within a pack, across packs and of one element; nhwc has the channel innermost.
func TestChannelKernelsMatchTheExpectation(t *testing.T) {
	var ops []op.Op
	for _, d := range dtypes {
		for _, shape := range []string{"rows=0,cols=3", "rows=5,cols=1", "rows=7,cols=13", "rows=33,cols=64"} {
			ops = append(ops, cudatest.Op(t, "bias_add", d, shape))
		}
		for _, shape := range []string{"n=2,c=3,h=5,w=7", "n=1,c=5,h=4,w=8", "n=3,c=1,h=1,w=1"} {
			ops = append(ops, cudatest.Op(t, "batch_norm", d, shape), cudatest.Op(t, "batch_norm", d, shape+",layout=nhwc"))
		}
	}
	cudatest.All(t, cuda.New(), ops)
}
