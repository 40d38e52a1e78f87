//go:build cgo && linux

package conv_test

import (
	"fmt"
	"math"
	"testing"
	"unsafe"

	"ridge/goharness/op"
	"ridge/goharness/record"
	"ridge/native/conv"
	"ridge/native/kernel"
	"ridge/native/kerneltest"
	"ridge/native/team"
)

// onChosen runs a kernel with two threads on operands that set fills (n elements at p) and gives y's bytes; false where the kernel does
// not support the shape.
func onChosen(t *testing.T, k kernel.Kernel, o op.Op, set func(name string, p unsafe.Pointer, n int64)) ([]byte, bool) {
	t.Helper()
	var bufs []kernel.Buffer
	var out []byte
	for _, x := range o.Tensors() {
		p := kernel.Alloc(uintptr(x.StorageBytes()))
		defer kernel.Free(p)
		bufs = append(bufs, kernel.Buffer{Ptr: p, Tensor: x})
		set(x.Name, p, x.Elements())
		if x.Name == "y" {
			out = unsafe.Slice((*byte)(p), x.StorageBytes())
		}
	}
	a, err := conv.Bind(o, bufs)
	if err != nil {
		t.Fatal(err)
	}
	defer kernel.Free(a)
	if !k.Supports(a) {
		return nil, false
	}
	const threads = 2
	n := k.WorkspaceBytes(a, threads)
	raw := kernel.Alloc(uintptr(n + 64))
	defer kernel.Free(raw)
	work := unsafe.Add(raw, 64-uintptr(raw)%64)
	tm, err := team.New(threads, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tm.Close()
	l := team.NewList([][]team.Step{{{Fn: k.Fn, Args: a, Workspace: work, WorkspaceBytes: n}}})
	defer l.Free()
	if err := tm.Run(l, 1); err != nil {
		t.Fatalf("%s: %v", k.Name, err)
	}
	return append([]byte(nil), out...), true
}

// The sums that the epilogue sees: infinities, NaN, numbers whose exponential or square overflows, signed zeros, the edge where the
// vector forms stop (-88).
var specials = []float64{math.Inf(-1), math.Inf(1), math.NaN(), -1e30, 1e30, -1e10, 1e10, -1000, 1000, -89, -88, -87, 88, 0, 1, -1, -3}

// limit is the activation where its formula meets infinity.
func limit(act string, x float64) float64 {
	if act != "none" && x < -80 {
		return 0
	}
	if act != "none" && x > 80 {
		return x
	}
	return op.Activate(act, x)
}

// Each channel's sum is one special value, come in as bias or as residual (all products are 0), in whole vectors and tails.
func TestEveryEpilogueKeepsInfinitiesAndNaN(t *testing.T) {
	n := len(specials)
	for _, d := range []record.DType{record.FP32, record.BF16} {
		for _, shape := range []string{fmt.Sprintf("c=3 h=5 w=7 k=%d pad=1", 2*n+1), fmt.Sprintf("c=8 h=3 w=9 k=%d r=1", 2*n), // a tail; 1x1
			fmt.Sprintf("c=%[1]d h=5 w=19 k=%[1]d groups=%[1]d pad=1", 2*n), "c=64 h=16 w=16 k=32 pad=1", fmt.Sprintf("c=8 h=5 w=19 k=%d groups=2 pad=1", 2*n)} { // depthwise; Winograd; groups
			for _, layout := range []string{"nchw", "nhwc"} {
				for _, act := range op.Activations {
					for _, by := range []string{"bias", "residual"} {
						text := fmt.Sprintf("n=1 %s=1 layout=%s act=%s %s", by, layout, act, shape)
						o := kerneltest.Op(t, "conv2d", d, params(text)).(*op.Conv)
						checkSpecials(t, o, text, by, act)
					}
				}
			}
		}
	}
}

func checkSpecials(t *testing.T, o *op.Conv, text, by, act string) {
	t.Helper()
	size, ran := int(o.D.Size()), 0
	channel := func(i int) int {
		if o.NHWC {
			return i % int(o.K)
		}
		return i / int(o.Ho*o.Wo)
	}
	for _, k := range conv.Family().Kernels {
		if !k.Implements("conv2d", o.D) || !kernel.Detect().Has(k.ISA) {
			continue
		}
		y, ok := onChosen(t, k, o, func(name string, p unsafe.Pointer, n int64) {
			b := unsafe.Slice((*byte)(p), n*int64(size))
			for i := range int(n) {
				v := 0.0
				switch {
				case name == "x":
					v = 1
				case name == by && by == "bias":
					v = specials[i%len(specials)]
				case name == by:
					v = specials[channel(i)%len(specials)]
				}
				op.Encode(o.D, b[i*size:], v)
			}
		})
		if !ok {
			continue
		}
		ran++
		for i := 0; i < len(y)/size; i++ {
			in := op.Round(o.D, specials[channel(i)%len(specials)])
			got, want := op.Decode(o.D, y[i*size:]), limit(act, in)
			if math.IsNaN(want) && math.IsNaN(got) || got == want || math.Abs(got-want) <= 1e-2*math.Abs(want)+1e-6 {
				continue
			}
			t.Errorf("%s %s %s, sum %g by %s: %g, want %g", k.Name, o.D, text, in, by, got, want)
			break
		}
	}
	if ran < 2 {
		t.Errorf("%s: %d kernels ran", text, ran)
	}
}
