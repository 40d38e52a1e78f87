//go:build cgo && linux

package elementwise_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"ridge/goharness/backend"
	"ridge/goharness/op"
	"ridge/goharness/record"
	"ridge/native"
	"ridge/native/elementwise"
	"ridge/native/kerneltest"
)

func TestRequantizeKernelsMatchTheExpectation(t *testing.T) {
	var ops []op.Op
	for _, act := range []string{"none", "relu"} {
		for _, s := range [][3]int{{0, 5, 1}, {5, 0, 1}, {1, 1, 1}, {300, 1, 1}, {33, 3, 1}, {13, 37, 1}, {2, 1031, 1}, {2, 3, 7}, {1, 5, 129}, {3, 17, 49}} {
			ops = append(ops, kerneltest.Op(t, "requantize", record.INT8, params("rows", s[0], "cols", s[1], "inner", s[2], "act", act)))
		}
	}
	kerneltest.All(t, native.New(), ops)
}

// corner is a sum with a scale at which some other way to requantise gives another byte.
type corner struct {
	why   string
	sum   int32
	scale float32
}

// right is the byte as ridge_requant.h has it.
func (c corner) right(relu bool) int8 {
	v := math.RoundToEven(float64(float32(c.sum) * c.scale))
	if relu {
		v = max(v, 0)
	}
	return int8(max(-128, min(127, v)))
}

func corners(t *testing.T) []corner {
	var out []corner
	for n := int32(-301); n <= 301; n += 2 {
		out = append(out, corner{"half of an odd number: ties, and what saturates", n, 0.5})
	}
	out = append(out, corner{"largest sum", math.MaxInt32, 1}, corner{"smallest sum", math.MinInt32, 1},
		corner{"product beyond int32", 1 << 30, 3}, corner{"product beyond int32", -1 << 30, 3},
		corner{"product beyond fp32", math.MaxInt32, 3e38}, corner{"product beyond fp32", math.MinInt32, 3e38},
		corner{"2^24+1 becomes 2^24 in fp32", 1<<24 + 1, 2.5 * 0x1p-24}, corner{"2^24+3 becomes 2^24+4", 1<<24 + 3, 2.5 * 0x1p-24},
		corner{"smallest scale", math.MaxInt32, math.SmallestNonzeroFloat32}, corner{"scale 0", 77, 0}, corner{"sum 0", 0, 1})
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
		c := corner{"product that fp32 rounds to a half", sum, float32((float64(rng.IntN(127)) + 0.5) / math.Abs(float64(sum)))}
		if float64(c.right(false)) != math.RoundToEven(float64(sum)*float64(c.scale)) {
			out, fused = append(out, c), fused+1
		}
	}
	return out
}

func TestEveryRequantizeKernelTreatsCornersAsWritten(t *testing.T) {
	all := corners(t)
	sums, scales := make([]int32, len(all)), make([]float32, len(all))
	for i, c := range all {
		sums[i], scales[i] = c.sum, c.scale
	}
	names := kerneltest.Names(native.New(), kerneltest.Op(t, "requantize", record.INT8, params("rows", 1, "cols", 1)))
	if len(names) < 2 {
		t.Errorf("kernels: %v", names)
	}
	for _, name := range names {
		for _, how := range [][2]bool{{false, false}, {true, false}, {false, true}, {true, true}} {
			got, err := elementwise.ApplyRequantize(name, sums, scales, how[0], how[1])
			if err != nil {
				t.Error(err)
				continue
			}
			for i, c := range all {
				if want := c.right(how[0]); got[i] != want {
					t.Errorf("%s, relu %v, planes %v: %s: sum %d, scale %g: %d, want %d", name, how[0], how[1], c.why, c.sum, c.scale, got[i], want)
				}
			}
		}
	}
}

func TestNonTemporalRequantizeTakesAndPassesLargeArrays(t *testing.T) {
	if testing.Short() {
		t.Skip("fills arrays of 70 MiB")
	}
	b := native.New()
	dev, err := b.Open("cpu", backend.OpenOptions{CPUs: []int{-1, -1}, Affinity: "none"})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = dev.Close() }()
	large := kerneltest.Op(t, "requantize", record.INT8, params("rows", (64<<20)/(5*1031)+2, "cols", 1031))
	small := kerneltest.Op(t, "requantize", record.INT8, params("rows", 3, "cols", 1031))
	for _, k := range kerneltest.Names(b, large) {
		if len(k) < 3 || k[len(k)-3:] != "_nt" {
			continue
		}
		if err := kerneltest.One(dev, large, k, 1); err != nil {
			t.Errorf("%s: %v", k, err)
		}
		var unsupported *backend.UnsupportedError
		if err := kerneltest.One(dev, small, k, 0); !errors.As(err, &unsupported) {
			t.Errorf("%s on a small array: got %v, expected it to refuse", k, err)
		}
	}
}
