//go:build cgo && linux

package kerneltest

import (
	"math"
	"math/rand/v2"
	"testing"
)

// Corner is a sum with a scale at which some other way to requantise gives another byte.
type Corner struct {
	Why   string
	Sum   int32
	Scale float32
}

// Right is the byte as ridge_requant.h has it.
func (c Corner) Right(relu bool) int8 {
	v := math.RoundToEven(float64(float32(c.Sum) * c.Scale))
	if relu {
		v = max(v, 0)
	}
	return int8(max(-128, min(127, v)))
}

// Corners are ties, saturation, products beyond what a type holds, and products that a fused multiply-add
// would round another way.
func Corners(t *testing.T) []Corner {
	t.Helper()
	var out []Corner
	for n := int32(-301); n <= 301; n += 2 {
		out = append(out, Corner{"half of an odd number: ties, and what saturates", n, 0.5})
	}
	out = append(out, Corner{"largest sum", math.MaxInt32, 1}, Corner{"smallest sum", math.MinInt32, 1},
		Corner{"product beyond int32", 1 << 30, 3}, Corner{"product beyond int32", -1 << 30, 3},
		Corner{"product beyond fp32", math.MaxInt32, 3e38}, Corner{"product beyond fp32", math.MinInt32, 3e38},
		Corner{"2^24+1 becomes 2^24 in fp32", 1<<24 + 1, 2.5 * 0x1p-24}, Corner{"2^24+3 becomes 2^24+4", 1<<24 + 3, 2.5 * 0x1p-24},
		Corner{"smallest scale", math.MaxInt32, math.SmallestNonzeroFloat32}, Corner{"scale 0", 77, 0}, Corner{"sum 0", 0, 1})
	// Products that one rounding to fp32 takes to a half: unrounded, as in a fused multiply-add, they lie beside it.
	rng := rand.New(rand.NewPCG(1, 2))
	for fused, tries := 0, 0; fused < 200; tries++ {
		if tries > 1e6 {
			t.Fatalf("only %d products that fusing would change", fused)
		}
		sum := int32(rng.IntN(1<<24)) - 1<<23
		if sum == 0 {
			continue
		}
		c := Corner{"product that fp32 rounds to a half", sum, float32((float64(rng.IntN(127)) + 0.5) / math.Abs(float64(sum)))}
		if float64(c.Right(false)) != math.RoundToEven(float64(sum)*float64(c.Scale)) {
			out, fused = append(out, c), fused+1
		}
	}
	return out
}
