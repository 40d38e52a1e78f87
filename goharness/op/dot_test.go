package op

import (
	"math"
	"testing"

	"ridge/goharness/record"
)

// Small whole numbers, so that every order of addition gives the same sums.
func TestADotProductIsTheSumOfItsProducts(t *testing.T) {
	in := NewInputs(5, true, []Tensor{{Name: "a", DType: record.FP32, Dims: []int64{1 << 20}, IntRange: 4}, {Name: "b", DType: record.FP32, Dims: []int64{1 << 20}, IntRange: 4}})
	for _, n := range []int64{0, 1, 3, dotFew - 1, dotFew, dotFew + 1, 63, dotBlock - 1, dotBlock, dotBlock + 3, 3*dotBlock + 2} {
		for _, step := range []int64{1, 49} {
			want := dot{sum: 2, mag: 3, squares: 5}
			for k := range n {
				p := in.At(0, 11+k*step) * in.At(1, 7+k)
				want.sum, want.mag, want.squares = want.sum+p, want.mag+math.Abs(p), want.squares+p*p
			}
			got := dot{sum: 2, mag: 3, squares: 5}
			got.addSpans(in, 0, 11, step, 1, 7, 1, n)
			x, w := make([]float64, n), make([]float32, n)
			in.Span(0, 11, step, x)
			for k := range w {
				w[k] = float32(in.At(1, 7+int64(k)))
			}
			narrow := dot{sum: 2, mag: 3, squares: want.squares}
			narrow.addNarrow(x, w)
			if got != want || narrow != want {
				t.Errorf("%d products, step %d: %v, of fp32 %v, want %v", n, step, got, narrow, want)
			}
			if n > 3 && (want.sum == 2 || want.mag == 3 || want.squares == 5) {
				t.Errorf("%d products, step %d: nothing was added", n, step)
			}
		}
	}
}
