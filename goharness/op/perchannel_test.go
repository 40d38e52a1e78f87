package op

import (
	"math"
	"math/rand/v2"
	"testing"

	"ridge/goharness/record"
)

// The fold is tried on a 1×1 convolution (a matrix product) with a bias and statistics far
// from 0 and 1, where a forgotten mean, bias or epsilon shows.
func TestFoldBatchNormGivesTheSameAsNormalizingAfterTheConvolution(t *testing.T) {
	const in, out, eps = 7, 5, 1e-3
	rng := rand.New(rand.NewPCG(1, 2))
	vec := func(n int, lo, hi float64) []float64 {
		v := make([]float64, n)
		for i := range v {
			v[i] = lo + (hi-lo)*rng.Float64()
		}
		return v
	}
	w, gamma, beta := vec(in*out, -1, 1), vec(out, -2, 2), vec(out, -1, 1)
	mean, variance, x := vec(out, -3, 3), vec(out, 0.01, 4), vec(in, -1, 1)
	for name, bias := range map[string][]float64{"with bias": vec(out, -2, 2), "without bias": nil} {
		wf, bf, err := FoldBatchNorm(w, bias, gamma, beta, mean, variance, eps)
		if err != nil {
			t.Fatal(err)
		}
		for o := range out {
			conv, folded := 0.0, bf[o]
			if bias != nil {
				conv = bias[o]
			}
			for i := range in {
				conv += w[o*in+i] * x[i]
				folded += wf[o*in+i] * x[i]
			}
			want := (conv-mean[o])/math.Sqrt(variance[o]+eps)*gamma[o] + beta[o]
			if math.Abs(folded-want) > 1e-12*(1+math.Abs(want)) {
				t.Errorf("%s, channel %d: folded %g, want %g", name, o, folded, want)
			}
		}
	}
}

func TestFoldBatchNormRefusesVectorsThatDoNotFit(t *testing.T) {
	one, two := []float64{1}, []float64{1, 1}
	for name, call := range map[string]func() error{
		"weights not a multiple": func() error {
			_, _, err := FoldBatchNorm([]float64{1, 2, 3}, nil, two, two, two, two, 1e-5)
			return err
		},
		"short mean":        func() error { _, _, err := FoldBatchNorm(two, nil, two, two, one, two, 1e-5); return err },
		"short bias":        func() error { _, _, err := FoldBatchNorm(two, one, two, two, two, two, 1e-5); return err },
		"no channels":       func() error { _, _, err := FoldBatchNorm(nil, nil, nil, nil, nil, nil, 1e-5); return err },
		"negative variance": func() error { _, _, err := FoldBatchNorm(one, nil, one, one, one, []float64{-1}, 1e-5); return err },
	} {
		if call() == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestMemoryBoundOpsCountBytesAndFLOPAsTheReferenceDoes(t *testing.T) {
	for _, c := range []struct {
		op    string
		d     record.DType
		extra map[string]string
		bytes int64
		flops int64
	}{
		{"add", record.FP32, nil, 3 * 4 * 6, 6},
		{"relu", record.BF16, nil, 2 * 2 * 6, 6},
		{"gelu", record.FP32, nil, 2 * 4 * 6, 48},
		{"scale", record.FP32, map[string]string{"s": "-2"}, 2 * 4 * 6, 6},
		{"bias_add", record.FP32, nil, (2*6 + 3) * 4, 6},
		{"sum", record.FP64, nil, (6 + 1) * 8, 6},
		{"mean", record.FP32, map[string]string{"dim": "0"}, (6 + 3) * 4, 9},
		{"max", record.FP32, map[string]string{"dim": "1"}, (6 + 2) * 4, 6},
		{"softmax", record.BF16, map[string]string{"dim": "0"}, 2 * 6 * 2, 30},
		{"layer_norm", record.FP32, nil, (2*6 + 2*3) * 4, 42},
		{"rms_norm", record.FP32, nil, (2*6 + 3) * 4, 24},
	} {
		p := map[string]string{"rows": "2", "cols": "3"}
		for k, v := range c.extra {
			p[k] = v
		}
		o, err := Builtin().New(c.op, p, c.d)
		if err != nil {
			t.Fatal(err)
		}
		if o.Bytes() != c.bytes || o.FLOPs() != c.flops {
			t.Errorf("%s: %d bytes and %d FLOP, want %d and %d", c.op, o.Bytes(), o.FLOPs(), c.bytes, c.flops)
		}
	}
}

func TestReductionsOfNothing(t *testing.T) {
	if _, err := Builtin().New("mean", map[string]string{"rows": "0", "cols": "3"}, record.FP32); err == nil {
		t.Error("mean of no rows: no error")
	}
	o, err := Builtin().New("sum", map[string]string{"rows": "0", "cols": "3"}, record.FP32)
	if err != nil {
		t.Fatal(err)
	}
	if e := o.Expect(NewInputs(1, false, o.Tensors()), 1, 0); e.Value != 0 {
		t.Errorf("sum of nothing: %g", e.Value)
	}
}
