package fusion

import (
	"ridge/goharness/op"
	"ridge/goharness/record"
)

// requantizeConvPatterns is an int8 convolution that stores bytes against one that stores int32 sums, which requantize then scales.
// Both give the same bits.
func requantizeConvPatterns() []Pattern {
	p := convBase()
	p.Name, p.Doc = "Conv2d_Requantize", "y = saturate(round(scale[k]*float32(conv(x, w) + bias[k]))), int8"
	p.Operators, p.DTypes, p.Build = []string{"conv2d", "requantize"}, []record.DType{record.INT8}, convRequantize
	return []Pattern{p}
}

func convRequantize(v op.Values, d record.DType) (Pair, error) {
	b := newOps(d)
	sums, fused := convWith(b, v, "bias", 1), convWith(b, v, "bias", 1, "requant", 1)
	if b.err != nil {
		return Pair{}, b.err
	}
	rows, inner := sums.N, op.Product(sums.Ho, sums.Wo)
	if sums.NHWC {
		rows, inner = op.Product(rows, inner), 1
	}
	scale := b.new("requantize", "rows", rows, "cols", sums.K, "inner", inner)
	if b.err != nil {
		return Pair{}, b.err
	}
	ref := &expected{Op: fused, name: "Conv2d_Requantize", params: v.List()}
	return Pair{Unfused: chain(ref, []stage{{op: sums, bind: []string{"x", "w", "bias"}}, {op: scale, bind: []string{"", "scale"}}}), Fused: single(ref, fused)}, nil
}
