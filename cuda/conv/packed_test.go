package conv

import (
	"testing"

	"ridge/cuda/kernel"
	"ridge/cuda/plantest"
	"ridge/goharness/record"
)

// x and w are packed first; parts of the window where tiles fill few multiprocessors; nhwc in one part is finished by the product.
func TestConvolutionsArePackedMultipliedAndFinished(t *testing.T) {
	a100 := kernel.Device{Capability: 80, SMs: 108, SharedMax: 166912}
	for _, tc := range []struct {
		dtype         record.DType
		params        string
		device        kernel.Device
		entries       []string
		blocks, parts int64 // of the product
		workspace     int64
	}{
		{record.BF16, "n=1 c=256 h=14 w=14 k=512 pad=1", h200, []string{"_pack", "_parts_slim", "_finish"}, 16, 15, 196*256*2 + 512*9*256*2 + 15*196*512*4},
		{record.BF16, "n=32 c=3 h=224 w=224 k=64 r=7 stride=2 pad=3 layout=nhwc", a100, []string{"_pack", "_nhwc_slim"}, 3136, 1, 32*224*224*16 + 64*49*16},
		{record.INT8, "n=1 c=3 h=8 w=8 k=16 requant=1", a100, []string{"_pack", "_parts_slim", "_finish_requant"}, 1, 1, 64*16 + 16*9*16 + 36*16*4},
	} {
		p := plantest.Plan(t, "conv2d", tc.dtype, tc.params, 4096, packed, tc.device)
		if len(p.Launches) != len(tc.entries) || p.Workspace != tc.workspace {
			t.Errorf("%s %s: %d launches, %d bytes, want %d and %d", tc.dtype, tc.params, len(p.Launches), p.Workspace, len(tc.entries), tc.workspace)
			continue
		}
		for i, l := range p.Launches {
			if want := "conv2d_" + string(tc.dtype) + "_sm80_packed" + tc.entries[i]; l.Entry != want {
				t.Errorf("%s %s: launch %d is %s, want %s", tc.dtype, tc.params, i, l.Entry, want)
			}
		}
		if g := p.Launches[1].Grid; g != [3]int64{tc.blocks, tc.parts, 1} {
			t.Errorf("%s %s: the product has %v blocks, want %d of %d parts", tc.dtype, tc.params, g, tc.blocks, tc.parts)
		}
	}
	plantest.Launches(t, "conv2d", packed, []plantest.Case{
		{DType: record.BF16, Params: "n=1 c=64 h=8 w=8 k=64 groups=2", Device: h200, Entry: "groups=2"},
		{DType: record.BF16, Params: "n=0 c=64 h=8 w=8 k=64", Device: h200, Entry: "n=0"},
		{DType: record.BF16, Params: "n=1 c=64 h=8 w=8 k=8", Device: h200, Entry: "8 output channels a group"},
		{DType: record.BF16, Params: "n=1 c=64 h=32766 w=8 k=64 pad=1", Device: h200, Entry: "a padded image of 32768 x 10"},
	})
}
