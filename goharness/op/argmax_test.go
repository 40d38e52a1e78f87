package op_test

import (
	"testing"

	"ridge/goharness/op"
	"ridge/goharness/record"
)

func TestArgmaxExpectsTheFirstOfTheLargest(t *testing.T) {
	for _, dim := range []string{"all", "0", "1"} {
		o, err := op.Builtin().New("argmax", map[string]string{"rows": "7", "cols": "5", "dim": dim}, record.FP32)
		if err != nil {
			t.Fatal(err)
		}
		in := op.NewInputs(3, true, o.Tensors()) // integers from -3 to 3: ties everywhere
		at := func(r, c int64) float64 { return in.At(0, r*5+c) }
		y := o.Tensors()[1]
		if y.DType != record.INT64 || o.Bytes() != 35*4+8*y.Elements() {
			t.Errorf("dim %s: y is %s, %d bytes", dim, y.DType, o.Bytes())
		}
		for i := range y.Elements() {
			var line []float64
			switch dim {
			case "all":
				for k := range int64(35) {
					line = append(line, at(k/5, k%5))
				}
			case "0":
				for r := range int64(7) {
					line = append(line, at(r, i))
				}
			case "1":
				for c := range int64(5) {
					line = append(line, at(i, c))
				}
			}
			want := 0
			for k, v := range line {
				if v > line[want] {
					want = k
				}
			}
			if got := o.Expect(in, 1, i).Value; got != float64(want) {
				t.Errorf("dim %s, output %d of %v: %g, want %d", dim, i, line, got, want)
			}
		}
	}
}
