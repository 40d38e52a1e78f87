package op

import (
	"math"
	"math/big"
	"testing"

	"ridge/goharness/record"
)

func TestSpansAreTheElementsTheyCover(t *testing.T) {
	for _, d := range []record.DType{record.FP64, record.FP32, record.FP16, record.BF16, record.INT8, record.UINT8, record.INT32} {
		for _, fill := range []Fill{FillUniform, FillPositive, FillWide, FillBytes} {
			if fill == FillBytes && d.Float() {
				continue
			}
			for _, integer := range []bool{false, true} {
				in := NewInputs(7, integer, []Tensor{{Name: "other", DType: d, Dims: []int64{9}}, {Name: "x", DType: d, Dims: []int64{1 << 20}, Fill: fill}})
				for _, c := range []struct{ start, step int64 }{{0, 1}, {12345, 1}, {3, 1023}} {
					got := make([]float64, 1000)
					in.Span(1, c.start, c.step, got)
					for k, v := range got {
						if want := in.At(1, c.start+int64(k)*c.step); v != want {
							t.Fatalf("%s fill %d integer %v: element %d is %v in the span, %v alone", d, fill, integer, c.start+int64(k)*c.step, v, want)
						}
					}
				}
			}
		}
	}
}

func TestAReductionOfManyBlocksIsThatOfItsElements(t *testing.T) {
	const rows, cols = 3, 1<<17 + 5
	for _, name := range []string{"sum", "mean", "max", "min"} {
		o, err := Builtin().New(name, map[string]string{"rows": "3", "cols": "131077"}, record.FP32)
		if err != nil {
			t.Fatal(err)
		}
		in := NewInputs(3, false, o.Tensors())
		got := o.Expect(in, 1, 0)
		best, exact, size := map[string]float64{"max": math.Inf(-1), "min": math.Inf(1)}[name], new(big.Float).SetPrec(300), new(big.Float).SetPrec(300)
		for i := int64(0); i < rows*cols; i++ {
			x := in.At(0, i)
			exact.Add(exact, big.NewFloat(x))
			size.Add(size, big.NewFloat(math.Abs(x)))
			if name == "max" && x > best || name == "min" && x < best {
				best = x
			}
		}
		want := Expectation{Value: best}
		if name == "sum" || name == "mean" {
			s, _ := exact.Float64()
			a, _ := size.Float64()
			n := map[string]float64{"sum": 1, "mean": rows * cols}[name]
			want = Expectation{Value: s / n, Magnitude: a / n}
		}
		if math.Abs(got.Value-want.Value) > 1e-15*math.Abs(want.Value) || math.Abs(got.Magnitude-want.Magnitude) > 1e-15*want.Magnitude {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
}
