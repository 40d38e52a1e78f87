//go:build cgo && linux

package gemm

import (
	"ridge/goharness/op"
	"ridge/goharness/record"
	"ridge/native/kernel"
)

// aloneMACs are the multiply-adds up to which one thread is done before two have shared them and met. On a Zen 4 whose two CPUs share a cache
// a step of the team takes 0.08 µs without work: 8x8x8 in fp32 39 ns alone and 102 shared, 16x16x16 86 and 150, 20x20x20 249 and 220;
// fp64 40 and 112, 195 and 209; bf16 8x8x8 300 and 350, int8 280 and 340. Where the CPUs share none a step takes 0.2 to 0.4 µs.
// fp32 on cores with AVX512-FP16 is done later, where its columns fill vectors and B stays in the L1 cache: on an Emerald Rapids whose two CPUs are a virtual
// machine's, ns alone and shared, 20x20x20 171 and 398, 24x24x24 235 and 410, 32x32x32 397 and 460, 128x16x16 469 and 573; but 64x8x64 826 and 767,
// 1x128x256 1042 and 919; fp64 20x20x20 236 and 432, 24x24x24 518 and 484.
const (
	aloneMACs      = 4096
	aloneMACsFP32  = 32768 // of columns rounded up to vectors
	aloneLanesFP32 = 16
	aloneOfB       = 8192 // elements
	aloneMACsFP64  = 8000
)

// Alone reports whether one thread does a product before a team would have met after it.
func Alone(o op.Op, k kernel.Kernel) bool {
	g, ok := o.(*op.Gemm)
	if !ok || k.ISA == 0 || g.Batch > 1 { // portable code is slower than its counts tell, and so are many products
		return false
	}
	macs := float64(g.M) * float64(g.N) * float64(g.K)
	if k.ISA.Has(isaFP16) {
		switch k.DType {
		case record.FP32:
			columns := float64((g.N + aloneLanesFP32 - 1) / aloneLanesFP32 * aloneLanesFP32)
			return macs <= aloneMACs || float64(g.M)*columns*float64(g.K) <= aloneMACsFP32 && float64(g.N)*float64(g.K) <= aloneOfB
		case record.FP64:
			return macs <= aloneMACsFP64
		}
	}
	return macs <= aloneMACs
}
