package op

// window slides along one dimension of a convolution's input: output o sees with tap r the input o·stride + r·dilation − pad, if there is one.
type window struct{ inputs, outputs, taps, stride, pad, dilation int64 }

// of a tap: the outputs from first to before end see an input with it, output o the input at + o·stride.
func (w window) of(tap int64) (at, first, end int64) {
	at = tap*w.dilation - w.pad
	return at, ceilDiv(-at, w.stride), min(w.outputs, ceilDiv(w.inputs-at, w.stride))
}

// pairs counts those of an output and a tap that see an input.
func (w window) pairs() (n int64) {
	for r := range w.taps {
		_, first, end := w.of(r)
		n += max(0, end-first)
	}
	return n
}

// mostWindow: of a dimension with more inputs or taps all inputs count as seen, for to find the others takes as long as there are of them.
const mostWindow = 1 << 20

// seen lists the inputs that some output sees; nil where that is all of them.
func (w window) seen() []int64 {
	if max(w.inputs, w.taps) > mostWindow {
		return nil
	}
	// Tap r−apart sees from output o+ahead what tap r sees from o: of all taps but the first ones only the last outputs see anything new.
	divisor := w.stride // the greatest common one
	for a := w.dilation; a != 0; {
		divisor, a = a, divisor%a
	}
	apart, ahead := w.stride/divisor, w.dilation/divisor
	seen, n := make([]bool, w.inputs), int64(0)
	for r := range w.taps {
		at, first, end := w.of(r)
		if r >= apart {
			first = max(first, w.outputs-ahead)
		}
		for o := first; o < end; o++ {
			seen[at+o*w.stride] = true
			n++
		}
	}
	if n == w.inputs {
		return nil
	}
	list := make([]int64, 0, n)
	for i, is := range seen {
		if is {
			list = append(list, int64(i))
		}
	}
	return list
}

// ceilDiv of a positive b; negative a give at most 0.
func ceilDiv(a, b int64) int64 {
	if a <= 0 {
		return 0
	}
	return (a + b - 1) / b
}
