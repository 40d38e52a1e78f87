package elementwise

import (
	"testing"

	"ridge/cuda/kernel"
	"ridge/goharness/op"
	"ridge/goharness/record"
)

func TestChannelKernelsTakeLargeTensorsInPiecesOfWholePeriods(t *testing.T) {
	for _, tc := range []struct {
		rows, cols string
		want       []uint64 // elements of each launch
	}{
		{"0", "7", []uint64{0}},
		{"1000", "1000", []uint64{1000000}},
		{"3000000", "1000", []uint64{2147483000, 852517000}},
		{"4", "2147483649", nil},
	} {
		o, err := op.Builtin().New("bias_add", map[string]string{"rows": tc.rows, "cols": tc.cols}, record.FP32)
		if err != nil {
			t.Fatal(err)
		}
		var b []kernel.Buffer
		for i, x := range o.Tensors() {
			b = append(b, kernel.Buffer{Address: uint64(i+1) << 40, Tensor: x})
		}
		p, err := channelPlan(o, b, kernel.Device{SMs: 132})
		if (err != nil) != (tc.want == nil) || len(p.Launches) != len(tc.want) {
			t.Fatalf("%s x %s: %d launches, %v", tc.rows, tc.cols, len(p.Launches), err)
		}
		var from uint64
		for i, l := range p.Launches {
			if l.Args[0].Bits != tc.want[i] || l.Args[3].Bits != 1<<40+4*from || l.Args[4].Bits != 2<<40 || l.Args[5].Bits != 3<<40+4*from {
				t.Errorf("%s x %s: launch %d: %+v, want %d elements from %d", tc.rows, tc.cols, i, l.Args, tc.want[i], from)
			}
			from += tc.want[i]
		}
	}
}
