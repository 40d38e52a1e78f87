package op

import (
	"math"
	"strconv"
	"testing"

	"ridge/goharness/record"
)

// tensorCore adds products up as cutoff.go says of Hopper's; the sum begins anew every promote k.
func tensorCore(products []float64, promote int) float64 {
	keep := func(x float64, leading int) float64 { q := math.Ldexp(1, leading-13); return math.Trunc(x/q) * q }
	leading := func(x float64) int { _, e := math.Frexp(x); return e - 1 }
	var total, c float64
	for k := 0; k < len(products); k += cutStep {
		if k%promote == 0 {
			total, c = total+c, 0
		}
		step := products[k:min(k+cutStep, len(products))]
		top := math.Abs(c)
		for _, p := range step {
			top = max(top, math.Abs(p))
		}
		if top == 0 {
			continue
		}
		c = keep(c, leading(top))
		for _, p := range step {
			c += keep(p, leading(top))
		}
		if c != 0 {
			c = keep(c, leading(c))
		}
	}
	return total + c
}

// fp8Unit of the bound of gemm_fp8_e4m3_sm90 (cuda/gemm/gemm.go): how many of Expectation.Rounded it allows.
const fp8Unit = 1

// What tensor cores lose stays inside the bound at every depth if sums are promoted every 128 k. Where they are left alone it is several times as much from 1024 on, and from 16384 on it also shows
// through the rounding of C to bf16.
func TestTheBoundOfFP8HoldsWithPromotionAndNotWithout(t *testing.T) {
	u := record.FP8E4M3.Unit()
	for _, k := range []int64{1, 2, 16, 32, 33, 64, 128, 160, 1024, 4096, 16384} {
		rows := max(4, min(256, 2048*64/k/16))
		o, err := Builtin().New("gemm", map[string]string{"m": strconv.FormatInt(rows, 10), "n": "16", "k": strconv.FormatInt(k, 10), "tb": "1"}, record.FP8E4M3)
		if err != nil {
			t.Fatal(err)
		}
		in := NewInputs(5, false, o.Tensors())
		var worst, alone float64
		outside := 0
		for i := range rows * 16 {
			products := make([]float64, k)
			for j := range products {
				products[j] = in.At(0, i/16*k+int64(j)) * in.At(1, i%16*k+int64(j))
			}
			e := o.Expect(in, 2, i)
			allowed := fp8Unit*u*e.Rounded + record.BF16.Unit()*math.Abs(e.Value)
			if e.Rounded > 0 {
				worst = max(worst, math.Abs(tensorCore(products, promoteEvery)-e.Value)/(u*e.Rounded))
				alone = max(alone, math.Abs(tensorCore(products, 1<<40)-e.Value)/(u*e.Rounded))
			}
			if got := Round(record.BF16, tensorCore(products, 1<<40)); math.Abs(got-e.Value) > allowed {
				outside++
			}
		}
		t.Logf("k=%d, %d elements: %.2f units lost at most, %.2f without promotion, which %d elements show", k, rows*16, worst, alone, outside)
		if worst > 0.6*fp8Unit {
			t.Errorf("k=%d: %g units are lost, the bound is %d of them", k, worst, fp8Unit)
		}
		if k >= 1024 && alone < 1.5*fp8Unit {
			t.Errorf("k=%d: %g units are lost without promotion", k, alone)
		}
		if k == 16384 && outside == 0 || k <= promoteEvery && outside > 0 {
			t.Errorf("k=%d: %d of %d elements show that nothing was promoted", k, outside, rows*16)
		}
	}
}

// The unit of a row's projection is that of its elements together.
func TestTheProjectionOfFP8LosesWhatItsElementsDo(t *testing.T) {
	o, err := Builtin().New("gemm", map[string]string{"m": "3", "n": "400", "k": "300", "alpha": "-2"}, record.FP8E4M3)
	if err != nil {
		t.Fatal(err)
	}
	g := o.(*Gemm)
	in, x := NewInputs(5, false, g.Tensors()), make([]float64, g.N)
	for i := range x {
		x[i] = float64(1 - i%2*2)
	}
	for row, e := range g.Project(in, 2, x) {
		var squares float64
		for col := range g.N {
			squares += math.Pow(g.Expect(in, 2, int64(row)*g.N+col).Rounded, 2)
		}
		if r := e.Rounded / math.Sqrt(squares); r < 0.9 || r > 1.6 {
			t.Errorf("row %d: a unit of %g, of its elements %g", row, e.Rounded, math.Sqrt(squares))
		}
	}
}
