package op

import (
	"math"
	"sort"
	"testing"

	"ridge/goharness/record"
)

func TestTF32RoundsToTenBitsAndToEvenAtTies(t *testing.T) {
	for _, c := range []struct{ x, want float64 }{
		{0, 0}, {1, 1}, {-3, -3}, {1 + 0x1p-10, 1 + 0x1p-10}, {1 + 0x1p-11, 1}, {-1 - 0x1p-11, -1}, {1 + 3*0x1p-11, 1 + 0x1p-9}, {1 + 0x1p-11 + 0x1p-23, 1 + 0x1p-10},
		{1 + 0x1p-11 - 0x1p-23, 1}, {2 - 0x1p-11, 2}, {2 - 0x1p-10, 2 - 0x1p-10}, {0x1p-149, 0}, {0x1p-136, 0x1p-136}, {0x1p-137, 0}, {3 * 0x1p-137, 0x1p-135},
		{math.MaxFloat32, math.Inf(1)}, {-math.MaxFloat32, math.Inf(-1)}, {math.Inf(1), math.Inf(1)},
	} {
		if got := Round(record.TF32, c.x); got != c.want {
			t.Errorf("Round(tf32, %g) = %g, want %g", c.x, got, c.want)
		}
	}
	for _, c := range [][2]float64{{1 + 0x1p-11, 0x1p-10}, {-3 + 0x1p-10, 0x1p-9}, {1, 0}, {1 + 0x1p-11 + 0x1p-23, 0}, {0, 0}, {math.Inf(1), 0}} {
		if got := tieTF32(c[0]); got != c[1] {
			t.Errorf("tieTF32(%g) = %g, want %g", c[0], got, c[1])
		}
	}
	if !math.IsNaN(Round(record.TF32, math.NaN())) {
		t.Error("NaN does not stay one")
	}
	if u := record.TF32.Unit(); math.Abs(Round(record.TF32, 1.4142135)-1.4142135) > 1.4142135*u {
		t.Errorf("sqrt(2) moves by more than u = %g", u)
	}
}

// All 256 patterns, and rounding by search among them.
func TestFP8RoundsToTheNearestOfItsNumbersAndSaturates(t *testing.T) {
	var all []float64
	for p := range 256 {
		b := []byte{byte(p)}
		v := Decode(record.FP8E4M3, b)
		var back [1]byte
		Encode(record.FP8E4M3, back[:], v)
		if math.IsNaN(v) != (p&0x7f == 0x7f) || !math.IsNaN(v) && back != [1]byte(b) || math.IsNaN(v) && back[0]&0x7f != 0x7f {
			t.Errorf("pattern %#02x is %g, which encodes as %#02x", p, v, back)
		}
		if !math.IsNaN(v) && p != 0x80 {
			all = append(all, v)
		}
	}
	sort.Float64s(all)
	if len(all) != 253 || all[0] != -448 || all[252] != 448 || Decode(record.FP8E4M3, []byte{1}) != 0x1p-9 {
		t.Fatalf("%d numbers from %g to %g", len(all), all[0], all[len(all)-1])
	}
	for i := 1; i < len(all); i++ {
		lo, hi := all[i-1], all[i]
		mid := (lo + hi) / 2
		for x, want := range map[float64][]float64{lo: {lo}, math.Nextafter(mid, lo): {lo}, math.Nextafter(mid, hi): {hi}, mid: {lo, hi}} {
			got := Round(record.FP8E4M3, x)
			var b [1]byte
			Encode(record.FP8E4M3, b[:], got)
			if got != want[0] && got != want[len(want)-1] || len(want) == 2 && got != 0 && b[0]&1 != 0 {
				t.Errorf("%g rounds to %g (%#02x), want one of %v with an even pattern", x, got, b, want)
			}
		}
	}
	for _, c := range [][2]float64{{464, 448}, {1e9, 448}, {-1e9, -448}, {math.Inf(1), 448}} {
		if got := Round(record.FP8E4M3, c[0]); got != c[1] {
			t.Errorf("%g rounds to %g, want %g", c[0], got, c[1])
		}
	}
}

// The operands of a product at tf32 are rounded once, D and bias are not; both ways to the expectation agree.
func TestATF32ProductRoundsItsOperandsAndNothingElse(t *testing.T) {
	for _, p := range []map[string]string{{"m": "3", "n": "4", "k": "37", "beta": "1"}, {"m": "3", "n": "4", "k": "37", "tb": "1", "alpha": "-2", "beta": "1", "batch": "2"}} {
		o, err := Builtin().New("gemm", p, record.TF32)
		if err != nil {
			t.Fatal(err)
		}
		full, err := Builtin().New("gemm", p, record.FP32)
		if err != nil {
			t.Fatal(err)
		}
		g := o.(*Gemm)
		in := NewInputs(5, false, g.Tensors())
		x := []float64{1, -1, -1, 1}
		sums := g.Project(in, 3, x)
		for row := range g.Batch * g.M {
			var sum, slack float64
			for col := range g.N {
				e, unrounded := g.Expect(in, 3, row*g.N+col), full.Expect(in, 3, row*g.N+col)
				if d := math.Abs(e.Value - unrounded.Value); d == 0 || d > 2.01*record.TF32.Unit()*e.Magnitude {
					t.Errorf("row %d column %d: %g, of unrounded operands %g", row, col, e.Value, unrounded.Value)
				}
				sum += e.Value * x[col]
				slack += e.Tiny
			}
			if ties := sums[row].Tiny; ties > slack || slack > 3*0x1p-10*sums[row].Magnitude {
				t.Errorf("row %d: ties move the projection by %g, its elements by %g in all", row, ties, slack)
			}
			if math.Abs(sum-sums[row].Value) > 1e-12*sums[row].Magnitude {
				t.Errorf("row %d: the projection expects %g, its elements sum to %g", row, sums[row].Value, sum)
			}
		}
	}
}

// What an fp32 that was not rounded gives, as tensor cores cut it off, lies outside of any bound of a kernel on tensor cores.
func TestATF32ProductTellsACutOffOperand(t *testing.T) {
	o, err := Builtin().New("gemm", map[string]string{"m": "8", "n": "8", "k": "64", "tb": "1"}, record.TF32)
	if err != nil {
		t.Fatal(err)
	}
	in, outside := NewInputs(5, false, o.Tensors()), 0
	cut := func(x float64) float64 { return float64(math.Float32frombits(math.Float32bits(float32(x)) &^ 0x1fff)) }
	for i := range int64(64) {
		var sum float64
		for k := range int64(64) {
			sum += cut(in.At(0, i/8*64+k)) * cut(in.At(1, i%8*64+k))
		}
		e := o.Expect(in, 2, i)
		if math.Abs(sum-e.Value) > 24*record.FP32.Unit()*e.Magnitude+record.FP32.Unit()*math.Abs(e.Value)+e.Tiny {
			outside++
		}
	}
	if outside < 48 {
		t.Errorf("%d of 64 elements show that operands were cut off", outside)
	}
}
