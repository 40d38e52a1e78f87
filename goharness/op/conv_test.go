package op_test

import (
	"math"
	"strings"
	"testing"

	"ridge/goharness/op"
	"ridge/goharness/record"
)

func build(t *testing.T, name, params string) (op.Op, error) {
	t.Helper()
	p := map[string]string{}
	for _, f := range strings.Fields(params) {
		k, v, _ := strings.Cut(f, "=")
		p[k] = v
	}
	return op.Builtin().New(name, p, record.FP32)
}

func TestConvCountsWorkAndBytesAsTheReference(t *testing.T) {
	for _, c := range []struct {
		params       string
		flops, bytes int64
	}{
		{"n=1 c=64 h=56 w=56 k=128 pad=1", 2 * 56 * 56 * 128 * 64 * 9, 4 * (64*56*56 + 128*64*9 + 128*56*56)},
		{"n=2 c=8 h=10 w=10 k=8 groups=8 stride=2 pad=1", 2 * 2 * 25 * 8 * 9, 4 * (2*8*100 + 8*9 + 2*8*25)},
		{"n=1 c=2 h=5 w=6 k=3 r=1 bias=1 act=relu residual=1", 2*30*3*2 + 3*30*3, 4 * (60 + 6 + 3 + 90 + 90)},
		{"n=1 c=3 h=9 w=9 k=2 r=2 s=3 dilation=2", 2 * 7 * 5 * 2 * 3 * 6, 4 * (243 + 36 + 70)},
	} {
		o, err := build(t, "conv2d", c.params)
		if err != nil {
			t.Errorf("%s: %v", c.params, err)
			continue
		}
		if o.FLOPs() != c.flops || o.Bytes() != c.bytes {
			t.Errorf("%s: FLOP %d, bytes %d, want %d, %d", c.params, o.FLOPs(), o.Bytes(), c.flops, c.bytes)
		}
	}
}

// Pairs of an output and a tap that see the image, counted one by one.
func TestTheLeastWorkOfAConvolutionLeavesOutThePadding(t *testing.T) {
	for _, c := range []struct {
		params string
		flops  int64 // 0: as counted here
	}{
		{"n=1 c=64 h=56 w=56 k=128", 2 * 54 * 54 * 128 * 64 * 9},
		{"n=3 c=16 h=7 w=7 k=5 pad=1", 2 * 3 * 5 * 16 * 19 * 19},
		{"n=1 c=256 h=14 w=14 k=256 pad=1 bias=1 act=relu", 2*256*256*40*40 + 2*14*14*256},
		{"n=1 c=8 h=6 w=9 k=8 groups=8 stride=2 pad=1", 0},
		{"n=2 c=3 h=11 w=12 k=4 r=7 s=5 stride=3 pad=4", 0},
		{"n=2 c=3 h=11 w=12 k=4 r=3 s=4 dilation=3 pad=5", 0},
		{"n=1 c=1 h=1 w=1 k=1 pad=3", 0},
		{"n=1 c=1 h=2 w=3 k=1 r=1 pad=4 stride=4", 0},
		{"n=0 c=1 h=2 w=3 k=1 r=1 pad=4 stride=4", 0},
	} {
		o, err := build(t, "conv2d", c.params)
		if err != nil {
			t.Fatalf("%s: %v", c.params, err)
		}
		v := o.(*op.Conv)
		sees := func(n, outputs, taps int64) (pairs int64) {
			for i := range outputs {
				for r := range taps {
					if at := i*v.Stride + r*v.Dilation - v.Pad; at >= 0 && at < n {
						pairs++
					}
				}
			}
			return pairs
		}
		want := v.FLOPs() - 2*v.N*v.K*v.C/v.Groups*(v.Ho*v.R*v.Wo*v.S-sees(v.H, v.Ho, v.R)*sees(v.W, v.Wo, v.S))
		if got := op.LeastFLOPs(o); got != want || c.flops != 0 && got != c.flops {
			t.Errorf("%s: at least %d FLOP, counted %d, want %d", c.params, got, want, c.flops)
		}
	}
}

func TestConvRefusesWhatHasNoOutput(t *testing.T) {
	for params, want := range map[string]string{
		"n=1 c=1 h=2 w=9 k=1":                            "the output is empty",
		"n=1 c=1 h=9 w=4 k=1 dilation=2":                 "padded input width is 4",
		"n=1 c=4 h=9 w=9 k=6 groups=4":                   "groups=4 must divide",
		"n=1 c=1 h=9 w=9 k=1 r=1000000 dilation=1000000": "the output is empty",
		"n=1 c=1 h=9 w=9 k=1 requant=1":                  "only the sums of int8",
	} {
		if _, err := build(t, "conv2d", params); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", params, err, want)
		}
	}
}

func TestAttentionCountsExactlyTheVisiblePairs(t *testing.T) {
	for _, c := range []struct {
		params string
		pairs  int64
	}{
		{"b=1 heads=1 sq=5 d=4", 25}, {"b=1 heads=1 sq=5 d=4 causal=1", 15}, {"b=1 heads=1 sq=3 skv=7 d=4 causal=1", 5 + 6 + 7},
		{"b=1 heads=1 sq=7 skv=3 d=4 causal=1", 1 + 2 + 3}, {"b=2 heads=4 kv_heads=2 sq=1 skv=9 d=4 causal=1", 8 * 9},
	} {
		o, err := build(t, "attention", c.params)
		if err != nil {
			t.Errorf("%s: %v", c.params, err)
			continue
		}
		if want := c.pairs * (4*4 + 6); o.FLOPs() != want {
			t.Errorf("%s: FLOP %d, want %d", c.params, o.FLOPs(), want)
		}
	}
	if _, err := build(t, "attention", "b=1 heads=6 kv_heads=4 sq=5 d=4"); err == nil {
		t.Error("kv_heads=4 with heads=6 was accepted")
	}
}

func TestTheSameCaseHasOneSpelling(t *testing.T) {
	for _, c := range [][3]string{
		{"conv2d", "n=1 c=1 h=9 w=9 k=1 r=3", "n=1 c=1 h=9 w=9 k=1 r=3 s=3"},
		{"attention", "b=1 heads=2 sq=5 d=4", "b=1 heads=2 kv_heads=2 sq=5 skv=5 d=4"},
	} {
		a, err := build(t, c[0], c[1])
		if err != nil {
			t.Fatal(err)
		}
		b, err := build(t, c[0], c[2])
		if err != nil {
			t.Fatal(err)
		}
		for i, p := range a.Params() {
			if p != b.Params()[i] {
				t.Errorf("%s: parameter %v and %v", c[0], p, b.Params()[i])
			}
		}
	}
}

func int8Conv(t *testing.T, params string) (op.Op, error) {
	t.Helper()
	p := map[string]string{}
	for _, f := range strings.Fields(params) {
		k, v, _ := strings.Cut(f, "=")
		p[k] = v
	}
	return op.Builtin().New("conv2d", p, record.INT8)
}

func TestOnlyRequantisedIntegersHaveReLU(t *testing.T) {
	const shape = "n=1 c=2 h=5 w=6 k=3 r=1 "
	for params, want := range map[string]string{
		"act=relu": "no activation", "act=gelu requant=1": "expected none or relu", "residual=1 requant=1": "adds no residual",
		"act=relu requant=1": "", "bias=1 requant=1": "", "residual=1 bias=1": "",
	} {
		if _, err := int8Conv(t, shape+params); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", params, err, want)
		}
	}
	for params, want := range map[string][2]int64{ // FLOP, bytes
		"":                          {2 * 30 * 3 * 2, 60 + 6 + 4*90},
		"requant=1":                 {2*30*3*2 + 30*3, 60 + 6 + 4*3 + 90},
		"requant=1 bias=1 act=relu": {2*30*3*2 + 3*30*3, 60 + 6 + 4*3 + 4*3 + 90},
	} {
		o, err := int8Conv(t, shape+params)
		if err != nil {
			t.Fatal(err)
		}
		if o.FLOPs() != want[0] || o.Bytes() != want[1] {
			t.Errorf("%s: FLOP %d, bytes %d, want %v", params, o.FLOPs(), o.Bytes(), want)
		}
	}
}

// What the inputs of a requantised convolution must show: in integer mode sums whose scaled value is a half, which
// halves away from zero would round otherwise; in random mode the width of int8, with a few outputs saturated.
func TestRequantisedInputsShowRoundingAndSaturation(t *testing.T) {
	for _, shape := range []string{"n=1 c=32 h=20 w=20 k=40 r=1", "n=1 c=64 h=12 w=12 k=40", "n=1 c=64 h=12 w=12 k=64 groups=64", "n=1 c=3 h=30 w=30 k=16 r=7 bias=1"} {
		o, err := int8Conv(t, shape+" requant=1")
		if err != nil {
			t.Fatal(err)
		}
		ts := o.Tensors()
		out := len(ts) - 1
		count := func(integer bool, f func(v float64) bool) float64 {
			in, n := op.NewInputs(1, integer, ts), 0
			for i := range ts[out].Elements() {
				if f(o.Expect(in, out, i).Value) {
					n++
				}
			}
			return float64(n) / float64(ts[out].Elements())
		}
		if ties := count(true, func(v float64) bool { return math.RoundToEven(v) != math.Round(v) }); ties < 0.02 {
			t.Errorf("%s: %.1f %% of the integer outputs are ties that show halves rounded away from zero, expected 2 %%", shape, 100*ties)
		}
		saturated := count(false, func(v float64) bool { return math.Abs(v) > 128 })
		wide := count(false, func(v float64) bool { return math.Abs(v) > 32 })
		if saturated < 0.001 || saturated > 0.1 || wide < 0.25 || wide > 0.9 {
			t.Errorf("%s: %.2f %% of the outputs saturate, %.0f %% are beyond ±32", shape, 100*saturated, 100*wide)
		}
	}
}
