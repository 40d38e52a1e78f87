package op

import (
	"encoding/binary"
	"math"
	"sort"
	"testing"

	"pgregory.net/rapid"

	"ridge/goharness/record"
)

// finite lists every finite value of a 16-bit format in rising order, by decoding all 65,536
// patterns, and checks on the way that each pattern encodes to itself.
func finite(t *testing.T, d record.DType) []float64 {
	t.Helper()
	var out []float64
	var b, back [2]byte
	for p := 0; p < 1<<16; p++ {
		binary.LittleEndian.PutUint16(b[:], uint16(p))
		v := Decode(d, b[:])
		if math.IsNaN(v) {
			Encode(d, back[:], v)
			if !math.IsNaN(Decode(d, back[:])) {
				t.Fatalf("%s: NaN %#04x does not stay one", d, p)
			}
			continue
		}
		Encode(d, back[:], v)
		if back != b {
			t.Fatalf("%s: pattern %#04x (%g) encodes as %#x", d, p, v, back)
		}
		if Round(d, v) != v {
			t.Fatalf("%s: %g is a value of the format but rounds to %g", d, v, Round(d, v))
		}
		if !math.IsInf(v, 0) && !(v == 0 && p == 0x8000) {
			out = append(out, v)
		}
	}
	sort.Float64s(out)
	return out
}

// nearest is round-to-nearest-even by search among all values of the format.
func nearest(d record.DType, all []float64, x float64) float64 {
	top := all[len(all)-1]
	limit := top + (top-all[len(all)-2])/2 // half a step above the largest: rounds to infinity
	if math.Abs(x) >= limit {
		return math.Inf(int(math.Copysign(1, x)))
	}
	i := sort.SearchFloat64s(all, x)
	switch {
	case i == 0:
		return all[0]
	case i == len(all):
		return top
	}
	lo, hi := all[i-1], all[i]
	mid := lo + (hi-lo)/2 // exact: both have few bits
	switch {
	case x < mid:
		return lo
	case x > mid:
		return hi
	}
	var b [2]byte
	Encode(d, b[:], lo)
	if b[0]&1 == 0 {
		return lo
	}
	return hi
}

func TestSixteenBitRoundingIsNearestEvenOverAllPatterns(t *testing.T) {
	for _, d := range []record.DType{record.FP16, record.BF16} {
		all := finite(t, d)
		check := func(t interface{ Fatalf(string, ...any) }, x float64) {
			if got, want := Round(d, x), nearest(d, all, x); got != want {
				t.Fatalf("Round(%s, %g) = %g, expected %g", d, x, got, want)
			}
			var b [2]byte
			Encode(d, b[:], x)
			if got := Decode(d, b[:]); got != Round(d, x) {
				t.Fatalf("%s: %g is stored as %g, expected %g", d, x, got, Round(d, x))
			}
		}
		for i := 0; i+1 < len(all); i++ { // every tie and its neighbours
			mid := all[i] + (all[i+1]-all[i])/2
			for _, x := range []float64{mid, math.Nextafter(mid, all[i]), math.Nextafter(mid, all[i+1])} {
				check(t, x)
			}
		}
		rapid.Check(t, func(t *rapid.T) {
			bits := rapid.Uint64().Draw(t, "bits")
			x := math.Float64frombits(bits)
			if math.IsNaN(x) || math.IsInf(x, 0) {
				return
			}
			check(t, x)
			check(t, float64(math.Float32frombits(uint32(bits>>32)&0x7f7fffff)))
		})
	}
}

func TestIntegersRoundToEvenAndSaturate(t *testing.T) {
	for _, c := range []struct {
		d       record.DType
		x, want float64
	}{
		{record.INT8, 2.5, 2}, {record.INT8, -3.5, -4}, {record.INT8, 200, 127}, {record.INT8, -200, -128},
		{record.UINT8, -1, 0}, {record.UINT8, 255.5, 255}, {record.UINT8, 0.5, 0}, {record.INT32, 3e9, math.MaxInt32},
		{record.INT32, -3e9, math.MinInt32}, {record.INT64, 1.5, 2},
	} {
		b := make([]byte, 8)
		Encode(c.d, b, c.x)
		if got := Decode(c.d, b); got != c.want || Round(c.d, c.x) != c.want {
			t.Errorf("%s: %g rounds to %g and is stored as %g, expected %g", c.d, c.x, Round(c.d, c.x), got, c.want)
		}
	}
}

func TestFeistelInverseUndoesForward(t *testing.T) {
	for _, n := range []uint64{1, 2, 3, 7, 64, 1000} {
		rapid.Check(t, func(t *rapid.T) {
			f := newFeistel(rapid.Uint64().Draw(t, "key"), n)
			hit := make([]bool, n)
			for x := uint64(0); x < n; x++ {
				y := f.forward(x)
				if y >= n || hit[y] {
					t.Fatalf("n=%d: %d maps to %d, outside or for the second time", n, x, y)
				}
				hit[y] = true
				if back := f.inverse(y); back != x {
					t.Fatalf("n=%d: the inverse of %d is %d, expected %d", n, y, back, x)
				}
			}
		})
	}
}

func TestLargeFeistelInverseUndoesForward(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Uint64Range(1, 1<<40).Draw(t, "n")
		x := rapid.Uint64Range(0, n-1).Draw(t, "x")
		f := newFeistel(rapid.Uint64().Draw(t, "key"), n)
		if y := f.forward(x); y >= n || f.inverse(y) != x {
			t.Fatalf("n=%d: %d maps to %d and back to %d", n, x, y, f.inverse(y))
		}
	})
}

func TestIntegerExpectationsWrapAsInt32(t *testing.T) {
	for x, want := range map[float64]float64{
		0: 0, -7: -7, math.MaxInt32: math.MaxInt32, math.MaxInt32 + 1: math.MinInt32, math.MinInt32 - 1: math.MaxInt32,
		1 << 32: 0, -3<<31 - 5: math.MinInt32 - 5 + 1<<32,
	} {
		if got := wrapInt32(x); got != want {
			t.Errorf("wrapInt32(%.0f) = %.0f, want %.0f", x, got, want)
		}
	}
	// Sums that may wrap are not linear: no projection.
	for k, want := range map[string]bool{"65793": true, "65794": false} {
		o, err := Builtin().New("gemm", map[string]string{"m": "0", "n": "2", "k": k}, record.U8S8)
		if err != nil {
			t.Fatal(err)
		}
		if got := o.(Projector).Project(NewInputs(1, false, o.Tensors()), 2, []float64{1, -1}) != nil; got != want {
			t.Errorf("k=%s: projection %v, want %v", k, got, want)
		}
	}
}

// Runs within rows, over their ends and with a pitch: what Decode gives of each element, for every dtype that is stored.
func TestElementsAreDecodedInRunsAsOneByOne(t *testing.T) {
	for _, d := range []record.DType{record.FP64, record.FP32, record.TF32, record.FP16, record.BF16, record.FP8E4M3, record.INT8, record.UINT8, record.INT32, record.INT64} {
		for _, pitch := range []int64{0, 9} {
			x := Tensor{Name: "x", DType: d, Dims: []int64{5, 7}, Pitch: pitch}
			mem := make([]byte, x.StorageBytes())
			for i := range x.Elements() {
				Encode(d, mem[x.Offset(i)*d.Size():], float64(i%50))
			}
			for from := range x.Elements() {
				for n := range x.Elements() - from + 1 {
					dst := make([]float64, n)
					DecodeElements(x, mem, from, dst)
					for i, got := range dst {
						if want := Decode(d, mem[x.Offset(from+int64(i))*d.Size():]); got != want || want != Round(d, float64((from+int64(i))%50)) {
							t.Fatalf("%s pitch %d: element %d of a run from %d is %v, want %v", d, pitch, i, from, got, want)
						}
					}
				}
			}
		}
	}
}
