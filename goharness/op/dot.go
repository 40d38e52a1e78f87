package op

import "math"

// dot is Σ x·w of an expectation, with Σ |x·w| and Σ (x·w)², each as four sums that a CPU adds at the same time: one sum waits for every addition before.
type dot struct{ sum, mag, squares float64 }

// add adds the products of x and w, which are of one length.
func (d *dot) add(x, w []float64) {
	var s0, s1, s2, s3, m0, m1, m2, m3, q0, q1, q2, q3 float64 // an array would lie in memory, and each addition wait for a store
	w = w[:len(x)]
	k := 0
	for ; k+4 <= len(x); k += 4 {
		p0, p1, p2, p3 := x[k]*w[k], x[k+1]*w[k+1], x[k+2]*w[k+2], x[k+3]*w[k+3]
		s0, s1, s2, s3 = s0+p0, s1+p1, s2+p2, s3+p3
		m0, m1, m2, m3 = m0+math.Abs(p0), m1+math.Abs(p1), m2+math.Abs(p2), m3+math.Abs(p3)
		q0, q1, q2, q3 = q0+p0*p0, q1+p1*p1, q2+p2*p2, q3+p3*p3
	}
	for ; k < len(x); k++ {
		p := x[k] * w[k]
		s0, m0, q0 = s0+p, m0+math.Abs(p), q0+p*p
	}
	d.sum, d.mag, d.squares = d.sum+(s0+s1+(s2+s3)), d.mag+(m0+m1+(m2+m3)), d.squares+(q0+q1+(q2+q3))
}

// addNarrow is add without the squares, for elements that are kept as fp32.
func (d *dot) addNarrow(x []float64, w []float32) {
	var s0, s1, s2, s3, m0, m1, m2, m3 float64
	w = w[:len(x)]
	k := 0
	for ; k+4 <= len(x); k += 4 {
		p0, p1, p2, p3 := x[k]*float64(w[k]), x[k+1]*float64(w[k+1]), x[k+2]*float64(w[k+2]), x[k+3]*float64(w[k+3])
		s0, s1, s2, s3 = s0+p0, s1+p1, s2+p2, s3+p3
		m0, m1, m2, m3 = m0+math.Abs(p0), m1+math.Abs(p1), m2+math.Abs(p2), m3+math.Abs(p3)
	}
	for ; k < len(x); k++ {
		p := x[k] * float64(w[k])
		s0, m0 = s0+p, m0+math.Abs(p)
	}
	d.sum, d.mag = d.sum+(s0+s1+(s2+s3)), d.mag+(m0+m1+(m2+m3))
}

// dotBlock elements of two operands are made at a time: on the stack, not the heap. Fewer than dotFew are made one by one.
const (
	dotBlock = 256
	dotFew   = 8
)

// addSpans adds the products of n elements of input a from aStart and of input b from bStart, each with its step.
func (d *dot) addSpans(in *Inputs, a int, aStart, aStep int64, b int, bStart, bStep, n int64) {
	if n < dotFew {
		for k := range n {
			p := in.At(a, aStart+k*aStep) * in.At(b, bStart+k*bStep)
			d.sum, d.mag, d.squares = d.sum+p, d.mag+math.Abs(p), d.squares+p*p
		}
		return
	}
	var x, w [dotBlock]float64
	for k := int64(0); k < n; k += dotBlock {
		m := min(dotBlock, n-k)
		in.Span(a, aStart+k*aStep, aStep, x[:m])
		in.Span(b, bStart+k*bStep, bStep, w[:m])
		d.add(x[:m], w[:m])
	}
}
