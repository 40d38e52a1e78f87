//go:build cgo && linux

package gemm

import (
	"ridge/goharness/op"
	"ridge/native/kernel"
)

// aloneMACs are the multiply-adds up to which one thread is done before two have shared them and met. On a Zen 4 whose two CPUs share a cache
// a step of the team takes 0.08 µs without work: 8x8x8 in fp32 39 ns alone and 102 shared, 16x16x16 86 and 150, 20x20x20 249 and 220;
// fp64 40 and 112, 195 and 209; bf16 8x8x8 300 and 350, int8 280 and 340. Where the CPUs share none a step takes 0.2 to 0.4 µs.
const aloneMACs = 4096

// Alone reports whether one thread does a product before a team would have met after it.
func Alone(o op.Op, k kernel.Kernel) bool {
	g, ok := o.(*op.Gemm)
	if !ok || k.ISA == 0 || g.Batch > 1 { // portable code is slower than its counts tell, and so are many products
		return false
	}
	return float64(g.M)*float64(g.N)*float64(g.K) <= aloneMACs
}
