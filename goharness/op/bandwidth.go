package op

import (
	"fmt"
	"math"
	"sync"

	"ridge/goharness/record"
)

// Accesses of the bandwidth probe, in the order of RIDGE_ACCESS_* in
// native/include/ridge_memory.h. nt_ forms store around the caches.
var Accesses = []string{"read", "write", "nt_write", "copy", "nt_copy", "triad", "nt_triad", "update"}

// BandwidthSpec declares bandwidth, the probe behind the memory ceilings: passes runs over
// a working set of the given bytes (all arrays and threads together), each thread on its
// own contiguous part.
func BandwidthSpec() Spec {
	return Spec{
		Name: "bandwidth", Family: "memory", Suite: "bandwidth", Item: "pass over the working set", Metric: "gbps",
		Doc: "read: y = sum of the 32-bit words of a, wrapping, over all passes; write: y = 3 + pass; copy: y = a, its bits XORed " +
			"with the pass; triad: y = a + (3 + pass)*b; passes count from 0; nt_: non-temporal stores; update: y in place, the first pass writes 3, " +
			"each further one adds its number less one to the bits. " +
			"Bytes as STREAM counts them (no write-allocate) x passes",
		Params: []ParamSpec{
			{Name: "access", Doc: "how the working set is used", Enum: Accesses},
			{Name: "bytes", Doc: "working set of all arrays and threads together", Max: maxDim},
			{Name: "passes", Doc: "runs over the working set in one launch", Default: "1", Min: 1, Max: 1 << 22},
		},
		DTypes: []record.DType{record.FP32},
		New: func(v Values, d record.DType) (Op, error) {
			b := &Bandwidth{Access: v.Str("access"), Passes: v.Int("passes"), params: v.List()}
			switch b.Access {
			case "read", "write", "nt_write", "update":
				b.Arrays = 1
			case "copy", "nt_copy":
				b.Arrays = 2
			case "triad", "nt_triad":
				b.Arrays = 3
			default:
				return nil, fmt.Errorf("access %q has no arrays", b.Access)
			}
			b.N = v.Int("bytes") / (4 * b.Arrays)
			return b, nil
		},
	}
}

// Bandwidth runs Passes times over Arrays fp32 arrays of N elements each.
type Bandwidth struct {
	Access            string
	Arrays, N, Passes int64
	params            []record.Param
}

func (b *Bandwidth) Name() string             { return "bandwidth" }
func (b *Bandwidth) Params() []record.Param   { return b.params }
func (b *Bandwidth) DType() record.DType      { return record.FP32 }
func (b *Bandwidth) Accumulate() record.DType { return record.FP32 }
func (b *Bandwidth) Items() int64             { return b.Passes }

// Tensors: the arrays read, then y: the array written, or for read one int32.
func (b *Bandwidth) Tensors() []Tensor {
	in := func(name string) Tensor { return Tensor{Name: name, Role: In, DType: record.FP32, Dims: []int64{b.N}} }
	y := Tensor{Name: "y", Role: Out, DType: record.FP32, Dims: []int64{b.N}}
	switch {
	case b.Access == "read":
		return []Tensor{in("a"), {Name: "y", Role: Out, DType: record.INT32, Dims: []int64{1}}}
	case b.Access == "update": // its bits need not be a number
		return []Tensor{{Name: "y", Role: Out, DType: record.INT32, Dims: []int64{b.N}}}
	case b.Arrays == 2:
		return []Tensor{in("a"), y}
	case b.Arrays == 3:
		return []Tensor{in("a"), in("b"), y}
	}
	return []Tensor{y}
}

// FLOPs is 2 an element and pass for triad, else 0 (the sum of read is only its proof).
func (b *Bandwidth) FLOPs() int64 {
	if b.Arrays == 3 {
		return Product(2, b.N, b.Passes)
	}
	return 0
}

// Bytes is the working set times the passes, for update read and written in all but the first.
func (b *Bandwidth) Bytes() int64 {
	if b.Access == "update" {
		return Product(4, b.N, 2*b.Passes-1)
	}
	return Product(4, b.Arrays, b.N, b.Passes)
}

// IntegerExact: read adds bit patterns, copy flips some; the factor of triad's integers of
// at most 3 is at most 2^22 + 2.
func (b *Bandwidth) IntegerExact() (bool, string) { return true, "" }

// Expect: for read the wrapping sum of all words, which no order of reading changes and
// which shows every pass; for the others what the last pass writes, which depends on its
// number: a run of fewer passes leaves other values.
func (b *Bandwidth) Expect(in *Inputs, out int, i int64) Expectation {
	last := b.Passes - 1
	switch {
	case b.Access == "read":
		return Expectation{Value: float64(int32(b.sumOfWords(in) * uint32(b.Passes)))}
	case b.Access == "update": // the sum of 0 ... passes-2: each pass shows
		sum := uint64(last) * uint64(max(0, last-1)) / 2
		return Expectation{Value: float64(int32(math.Float32bits(StreamScalar) + uint32(sum)))}
	case b.Arrays == 2:
		bits := math.Float32bits(float32(in.At(0, i))) ^ uint32(last)
		return Expectation{Value: float64(math.Float32frombits(bits))}
	case b.Arrays == 3:
		x, y := in.At(1, i), in.At(0, i)
		return Expectation{Value: math.FMA(float64(StreamScalar+last), x, y), Magnitude: math.Abs(float64(StreamScalar+last)*x) + math.Abs(y)}
	}
	return Expectation{Value: float64(StreamScalar + last)}
}

// sumOfWords shares the work: the one output element needs every input.
func (b *Bandwidth) sumOfWords(in *Inputs) uint32 {
	var mu sync.Mutex
	var sum uint32
	InParts(b.N, 1, func(from, to int64) {
		var s uint32
		var words [1024]float64
		for ; from < to; from += int64(len(words)) {
			some := words[:min(int64(len(words)), to-from)]
			in.Span(0, from, 1, some)
			for _, x := range some {
				s += math.Float32bits(float32(x))
			}
		}
		mu.Lock()
		defer mu.Unlock()
		sum += s
	})
	return sum
}
