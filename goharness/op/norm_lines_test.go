package op

import (
	"math"
	"testing"

	"ridge/goharness/record"
)

// One op is asked about other inputs between: what it remembers of a line is of the inputs that it was asked about.
func TestNormsRememberLinesOfTheirInputsAlone(t *testing.T) {
	for _, c := range []struct {
		name   string
		params map[string]string
	}{
		{"softmax", map[string]string{"rows": "5", "cols": "7", "dim": "1"}},
		{"softmax", map[string]string{"rows": "5", "cols": "7", "dim": "0"}},
		{"layer_norm", map[string]string{"rows": "5", "cols": "7"}},
		{"rms_norm", map[string]string{"rows": "5", "cols": "7"}},
		{"add_layer_norm", map[string]string{"rows": "5", "cols": "7"}},
		{"add_rms_norm", map[string]string{"rows": "5", "cols": "7"}},
	} {
		b := Builtin()
		remembers, err := b.New(c.name, c.params, record.FP32)
		if err != nil {
			t.Fatal(err)
		}
		out := len(remembers.Tensors()) - 1
		for _, seed := range []uint64{1, 2, 1} {
			for _, integer := range []bool{false, true} {
				in := NewInputs(seed, integer, remembers.Tensors())
				var sum float64
				for i := int64(0); i < 35; i++ {
					fresh, err := b.New(c.name, c.params, record.FP32)
					if err != nil {
						t.Fatal(err)
					}
					got, want := remembers.Expect(in, out, i), fresh.Expect(in, out, i)
					if got != want || math.IsNaN(got.Value) {
						t.Fatalf("%s %v seed %d integer %v element %d: %+v, of an op that remembers nothing %+v", c.name, c.params, seed, integer, i, got, want)
					}
					sum += got.Value
				}
				if lines := map[string]float64{"1": 5, "0": 7}[c.params["dim"]]; c.name == "softmax" && math.Abs(sum-lines) > 1e-12 {
					t.Errorf("softmax along dim %s: the sums of its lines are %v in all, want %v", c.params["dim"], sum, lines)
				}
			}
		}
	}
}
