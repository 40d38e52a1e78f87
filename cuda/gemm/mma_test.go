package gemm

import (
	"errors"
	"strings"
	"testing"

	"ridge/cuda/kernel"
	"ridge/goharness/op"
	"ridge/goharness/record"
)

// Tiles by shape and device: wide ones where they are done sooner, none that the shared memory does not hold, no operand off 16 bytes.
func TestTensorTilesFollowShapeAndDevice(t *testing.T) {
	h200 := kernel.Device{Capability: 90, SMs: 132, SharedMax: 232448}
	for _, tc := range []struct {
		d      record.DType
		params string
		device kernel.Device
		shift  uint64
		entry  string // or the reason
		blocks int64
		shared int64
	}{
		{record.BF16, "m=4096 n=4096 k=64", h200, 0, "gemm_bf16_sm80_nn_wide", 512, 98304},
		{record.BF16, "m=4096 n=4096 k=64 tb=1", h200, 0, "gemm_bf16_sm80_nt_wide", 512, 98304},
		{record.BF16, "m=128 n=4096 k=64", h200, 0, "gemm_bf16_sm80_nn", 32, 65536},
		{record.BF16, "m=4096 n=4096 k=64", kernel.Device{SMs: 132, SharedMax: 65536}, 0, "gemm_bf16_sm80_nn", 1024, 65536},
		{record.BF16, "m=4096 n=4096 k=64", kernel.Device{SMs: 132, SharedMax: 49152}, 0, "a block takes 65536 bytes", 0, 0},
		{record.FP64, "m=256 n=256 k=64", h200, 0, "gemm_fp64_sm80_nn", 8, 49152},
		{record.INT8, "m=256 n=256 k=64 batch=3", h200, 0, "gemm_int8_sm80_nn", 12, 65536},
		{record.BF16, "m=256 n=256 k=64", h200, 2, "rows of a lie 128 bytes apart from address 0x2", 0, 0},
		{record.BF16, "m=256 n=252 k=64", h200, 0, "rows of b lie 504 bytes apart", 0, 0},
		{record.INT8, "m=256 n=256 k=40 tb=1", h200, 0, "rows of a lie 40 bytes apart", 0, 0},
	} {
		values := map[string]string{}
		for _, p := range strings.Fields(tc.params) {
			k, v, _ := strings.Cut(p, "=")
			values[k] = v
		}
		o, err := op.Builtin().New("gemm", values, tc.d)
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
				t.Errorf("%s %s: %v, want a shape error with %q", tc.d, tc.params, err, tc.entry)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s %s: %v", tc.d, tc.params, err)
			continue
		}
		if l := p.Launches[0]; l.Entry != tc.entry || l.Grid[0]*l.Grid[2] != tc.blocks || l.Shared != tc.shared {
			t.Errorf("%s %s: %s, %v blocks, %d bytes shared, want %s, %d, %d", tc.d, tc.params, l.Entry, l.Grid, l.Shared, tc.entry, tc.blocks, tc.shared)
		}
	}
}
