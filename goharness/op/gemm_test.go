package op

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"ridge/goharness/record"
)

// A batch is so many products of consecutive matrices: element by element and row by row.
func TestABatchIsProductsOfConsecutiveMatrices(t *testing.T) {
	const batch, m, n, k = 3, 4, 5, 6
	for _, tb := range []int{0, 1} {
		o, err := Builtin().New("gemm", map[string]string{"m": "4", "n": "5", "k": "6", "batch": "3", "alpha": "2", "beta": "1", "tb": fmt.Sprint(tb)}, record.FP64)
		if err != nil {
			t.Fatal(err)
		}
		in := NewInputs(7, false, o.Tensors())
		x := []float64{1, -1, -1, 1, 1}
		rows := o.(Projector).Project(in, 3, x)
		if len(rows) != batch*m {
			t.Fatalf("%d rows are projected, want %d", len(rows), batch*m)
		}
		for r := range int64(batch * m) {
			z := r / m
			var sum float64
			for j := range int64(n) {
				want := in.At(2, r*n+j)
				for q := range int64(k) {
					b := z*k*n + q*n + j
					if tb == 1 {
						b = z*k*n + j*k + q
					}
					want += 2 * in.At(0, r*k+q) * in.At(1, b)
				}
				if got := o.Expect(in, 3, r*n+j).Value; math.Abs(got-want) > 1e-14 {
					t.Errorf("tb=%d row %d column %d: %v, want %v", tb, r, j, got, want)
				}
				sum += want * x[j]
			}
			if math.Abs(rows[r].Value-sum) > 1e-13 {
				t.Errorf("tb=%d row %d: its projection is %v, want %v", tb, r, rows[r].Value, sum)
			}
		}
		if o.FLOPs() != 2*batch*m*n*k || o.Bytes() != 8*batch*(m*k+k*n+2*m*n) || o.Items() != batch {
			t.Errorf("%d FLOP, %d bytes, %d items", o.FLOPs(), o.Bytes(), o.Items())
		}
	}
}

func TestOnlyABatchHasAThirdDimension(t *testing.T) {
	for batch, want := range map[string][]int64{"1": {4, 6}, "2": {2, 4, 6}} {
		o, err := Builtin().New("gemm", map[string]string{"m": "4", "n": "5", "k": "6", "batch": batch}, record.FP32)
		if err != nil {
			t.Fatal(err)
		}
		if got := o.Tensors()[0].Dims; !slices.Equal(got, want) {
			t.Errorf("batch %s: A is %v, want %v", batch, got, want)
		}
	}
	if _, err := Builtin().New("gemm", map[string]string{"m": "4", "n": "5", "k": "6", "batch": "0"}, record.FP32); err == nil {
		t.Error("a batch of none was taken")
	}
}
