package attention

import (
	"errors"
	"strings"
	"testing"

	"ridge/cuda/kernel"
	"ridge/goharness/op"
	"ridge/goharness/record"
)

func TestTensorCoresTakeTheAttentionTheyCan(t *testing.T) {
	h200 := kernel.Device{Capability: 90, SMs: 132, SharedMax: 232448}
	for _, tc := range []struct {
		params string
		device kernel.Device
		shift  uint64
		entry  string // or the reason
		blocks int64
		shared int64
	}{
		{"b=2 heads=3 sq=129 d=64", h200, 0, "attention_bf16_sm80_d64", 12, 32768},
		{"b=1 heads=4 sq=1024 d=128 causal=1", h200, 0, "attention_bf16_sm80_d128", 32, 65536},
		{"b=1 heads=1 sq=0 d=64", h200, 0, "attention_bf16_sm80_d64", 1, 32768},
		{"b=1 heads=1 sq=9 d=80", h200, 0, "d=80: 64 and 128 are taken", 0, 0},
		{"b=1 heads=1 sq=9 d=64", h200, 2, "q lies at address 0x2", 0, 0},
		{"b=1 heads=1 sq=9 d=128", kernel.Device{SharedMax: 49152}, 0, "a block takes 65536 bytes", 0, 0},
		{"b=1 heads=1 sq=9 skv=536870913 d=64", h200, 0, "536870913 keys", 0, 0},
		{"b=1 heads=2147483648 sq=9 d=64", h200, 0, "at most 2147483647 tiles", 0, 0},
	} {
		values := map[string]string{}
		for _, p := range strings.Fields(tc.params) {
			k, v, _ := strings.Cut(p, "=")
			values[k] = v
		}
		o, err := op.Builtin().New("attention", values, record.BF16)
		if err != nil {
			t.Fatal(err)
		}
		var b []kernel.Buffer
		for _, x := range o.Tensors() {
			b = append(b, kernel.Buffer{Address: tc.shift, Tensor: x})
		}
		p, err := mma(o, b, tc.device)
		if tc.blocks == 0 {
			var shape *kernel.ShapeError
			if !errors.As(err, &shape) || !strings.Contains(err.Error(), tc.entry) {
				t.Errorf("%s: %v, want a shape error with %q", tc.params, err, tc.entry)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", tc.params, err)
			continue
		}
		if l := p.Launches[0]; l.Entry != tc.entry || l.Grid[0] != tc.blocks || l.Shared != tc.shared {
			t.Errorf("%s: %s, %v blocks, %d bytes shared, want %s, %d, %d", tc.params, l.Entry, l.Grid, l.Shared, tc.entry, tc.blocks, tc.shared)
		}
	}
}
