package op

import (
	"math"
	"sync/atomic"

	"ridge/goharness/record"
)

// Inputs are a function, not data: element i of tensor t under a seed is a pure function of
// (seed, t, i), rounded once to the tensor's dtype. Every platform has a fill kernel that
// gives the same bits (native/include/ridge_fill.h), so large inputs are made on the device
// and an expectation recomputes just the elements it needs.
type Inputs struct {
	Seed    uint64
	Integer bool // small integers instead of the random fill
	tensors []Tensor
	keys    []uint64
	made    []*made
}

// made holds all elements of a small tensor, once more of them were asked for than there are: where whole outputs are compared each is needed many times.
type made struct {
	most   int64 // elements of the tensor; 0: too many to keep
	asked  atomic.Int64
	values atomic.Pointer[[]float64]
}

// mostMade bounds the elements that are kept of a tensor: 4 MiB of float64.
const mostMade = 1 << 19

func newMade(t *Tensor) *made {
	m := &made{most: t.Elements()}
	if m.most > mostMade {
		m.most = 0
	}
	return m
}

// elements gives what is kept of input tensor t, nil where it is not, and counts n that are asked for.
func (in *Inputs) elements(t int, n int64) []float64 {
	m := in.made[t]
	if m.most == 0 {
		return nil
	}
	if v := m.values.Load(); v != nil {
		return *v
	}
	if now := m.asked.Add(n); now <= m.most || now-n > m.most {
		return nil // not yet worth it, or another is making them
	}
	all := make([]float64, m.most)
	in.span(t, 0, 1, all)
	m.values.Store(&all)
	return all
}

// NewInputs describes the inputs of an op or program whose tensors are ts, in order. The
// tensor's number in ts selects its random stream.
func NewInputs(seed uint64, integer bool, ts []Tensor) *Inputs {
	in := &Inputs{Seed: seed, Integer: integer, tensors: ts}
	for n := range ts {
		in.keys = append(in.keys, Key(seed, n))
		in.made = append(in.made, newMade(&ts[n]))
	}
	return in
}

// Bind gives the inputs as one step of a program sees them: names maps the step op's
// tensors to tensors of the program.
func (in *Inputs) Bind(names []string) *Inputs {
	out := &Inputs{Seed: in.Seed, Integer: in.Integer}
	for _, want := range names {
		for i, t := range in.tensors {
			if t.Name == want {
				out.tensors = append(out.tensors, t)
				out.keys = append(out.keys, in.keys[i])
				out.made = append(out.made, in.made[i])
			}
		}
	}
	return out
}

// Tensor returns the description of tensor number t.
func (in *Inputs) Tensor(t int) Tensor { return in.tensors[t] }

// At is the value of logical element i of input tensor t.
func (in *Inputs) At(t int, i int64) float64 {
	if v := in.elements(t, 1); uint64(i) < uint64(len(v)) {
		return v[i]
	}
	return FillValue(in.keys[t], in.Integer, &in.tensors[t], i)
}

// Span writes elements start, start+step, … of input tensor t to dst. It gives what At gives,
// several times faster for the random fills of fp64, fp32 and bf16: their values have 24
// significant bits, so only bf16 rounds.
func (in *Inputs) Span(t int, start, step int64, dst []float64) {
	n := int64(len(dst))
	v := in.elements(t, n)
	if last := start + (n-1)*step; n == 0 || uint64(start) >= uint64(len(v)) || uint64(last) >= uint64(len(v)) {
		in.span(t, start, step, dst)
		return
	}
	if step == 1 {
		copy(dst, v[start:])
		return
	}
	for k := range dst {
		dst[k] = v[start+int64(k)*step]
	}
}

// span makes the elements that Span gives.
func (in *Inputs) span(t int, start, step int64, dst []float64) {
	tt := &in.tensors[t]
	scale := 0.0
	switch tt.Fill {
	case FillUniform, FillBalanced:
		scale = 1
	case FillWide:
		scale = 8
	case FillWeights:
		scale = math.Ldexp(1, -int(tt.IntRange))
	}
	plain := tt.DType == record.FP32 || tt.DType == record.FP64
	if in.Integer && tt.Fill == FillBalanced && tt.DType != record.UINT8 {
		b := newBalanced(in.keys[t], tt)
		for k := range dst {
			dst[k] = b.at(start + int64(k)*step)
		}
		return
	}
	at, by := in.keys[t]+(uint64(start)+1)*0x9E3779B97F4A7C15, uint64(step)*0x9E3779B97F4A7C15
	if r := intRange(tt); in.Integer && tt.DType != record.UINT8 && (tt.Fill == FillUniform || tt.Fill == FillWide || tt.Fill == FillWeights) {
		for k := range dst {
			dst[k] = float64(int64((mix64(at)>>32)*uint64(2*r+1)>>32) - r)
			at += by
		}
		return
	}
	if in.Integer || scale == 0 || !plain && tt.DType != record.BF16 {
		for k := range dst {
			dst[k] = FillValue(in.keys[t], in.Integer, tt, start+int64(k)*step)
		}
		return
	}
	for k := range dst {
		dst[k] = (float64(mix64(at)>>40)*0x1p-23 - 1) * scale
		at += by
	}
	if plain {
		return
	}
	for k, v := range dst {
		b := math.Float32bits(float32(v))
		b += 0x7fff + b>>16&1 // to nearest, ties to even
		dst[k] = float64(math.Float32frombits(b &^ 0xffff))
	}
}

// Key is the start of tensor number t's random stream (SplitMix64 over seed and t).
func Key(seed uint64, t int) uint64 { return mix64(seed ^ mix64(uint64(t)+1)) }

// mix64 is the finaliser of SplitMix64 (Steele, Lea, Flood 2014; Stafford's variant 13).
func mix64(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}

// intRange is the largest magnitude of a tensor's integers.
func intRange(t *Tensor) int64 {
	if t.IntRange == 0 || t.Fill == FillWeights {
		return 3
	}
	return t.IntRange
}

// FillValue is element i of a tensor whose stream starts at key.
func FillValue(key uint64, integer bool, t *Tensor, i int64) float64 {
	if t.Fill == FillChase {
		return float64(chaseNext(key, t.Elements()/ChaseStride, i))
	}
	h := mix64(key + (uint64(i)+1)*0x9E3779B97F4A7C15)
	if t.Fill == FillScales {
		return Round(t.DType, scaleValue(h, integer, t.IntRange))
	}
	if integer {
		r := intRange(t)
		switch {
		case t.DType == record.UINT8:
			return float64((h >> 32) * uint64(r+1) >> 32)
		case t.Fill == FillPositive:
			return float64(1 + (h>>32)*uint64(r)>>32)
		case t.Fill == FillBalanced:
			return newBalanced(key, t).at(i)
		}
		return float64(int64((h>>32)*uint64(2*r+1)>>32) - r)
	}
	switch t.Fill {
	case FillBytes:
		if t.DType == record.UINT8 {
			return float64(h >> 56)
		}
		return float64(int8(h >> 56))
	case FillPositive:
		return Round(t.DType, 0.5+float64(h>>41)*0x1p-23)
	case FillWide:
		return Round(t.DType, (float64(h>>40)*0x1p-23-1)*8)
	case FillWeights:
		return Round(t.DType, math.Ldexp(float64(h>>40)*0x1p-23-1, -int(t.IntRange)))
	}
	return Round(t.DType, float64(h>>40)*0x1p-23-1)
}

// scaleValue is a scale near 2^-e.
func scaleValue(h uint64, integer bool, e int64) float64 {
	if integer {
		return math.Ldexp(0.5, -int((h>>32)*3>>32))
	}
	return math.Ldexp(0.5+float64(h>>41)*0x1p-23, -int(e))
}

// balanced is the integer fill of what is summed up: none of the n numbers is 0, and for n > 1
// they sum to exactly 0. So the sum and the mean of all of them are exact in every format,
// however coarse, and whatever a kernel leaves out shows: one number always, and of an even n
// any odd count; other parts unless they happen to sum to 0 (two numbers: 1 in r+1).
// All are odd numbers of -r..r, one negated for each: i goes with c-i modulo n, where c lies
// at no border that kernels or threads share work by, so that no head and tail or two tails
// cancel. An n that is odd leaves one index f alone; f-1, f, f+1 are then -3, 2, 1.
type balanced struct {
	key             uint64
	n, c, alone, r1 int64 // alone: f, or -1; r1: the count of odd numbers in -r..r
}

func newBalanced(key uint64, t *Tensor) balanced {
	n, r := t.Elements(), t.IntRange
	if r == 0 {
		r = 3
	}
	b := balanced{key: key, n: n, alone: -1, r1: (r - 1) | 1 + 1}
	if n == 0 {
		return b
	}
	c := n - n/3 - n/19
	if n%2 == 0 {
		b.c = (c | 1) % n
	} else {
		b.alone = c % n
		b.c = 2 * b.alone % n
	}
	return b
}

func (b balanced) at(i int64) float64 {
	j := b.c - i
	if j < 0 {
		j += b.n
	}
	if b.alone >= 0 && b.n > 1 {
		switch d := i - b.alone; {
		case d == 0:
			return 2
		case d == 1 || d == 1-b.n:
			return 1
		case d == -1 || d == b.n-1:
			return -3
		}
	}
	h := mix64(b.key + (uint64(min(i, j))+1)*0x9E3779B97F4A7C15)
	v := float64(2*int64((h>>32)*uint64(b.r1)>>32) - (b.r1 - 1))
	if j < i {
		return -v
	}
	return v
}

// ChaseStride is the int64 elements between two links of a pointer chase: one 64-byte line.
const ChaseStride = 8

// chaseNext is the content of element i of a chase tensor: in the first word of every line
// the element index of the next line on one cycle through all lines in random order.
func chaseNext(key uint64, lines, i int64) int64 {
	if i%ChaseStride != 0 || i/ChaseStride >= lines {
		return 0
	}
	f := newFeistel(key, uint64(lines))
	pos := f.inverse(uint64(i / ChaseStride))
	return int64(f.forward((pos+1)%uint64(lines))) * ChaseStride
}

// ChaseAfter is the element index reached after steps links from element 0.
func ChaseAfter(key uint64, lines, steps int64) int64 {
	f := newFeistel(key, uint64(lines))
	pos := (f.inverse(0) + uint64(steps)) % uint64(lines)
	return int64(f.forward(pos)) * ChaseStride
}

// feistel is a permutation of [0, n): four Feistel rounds over 2·half bits, walked until
// the value falls inside the range.
type feistel struct {
	key, n uint64
	half   uint
	mask   uint64
}

func newFeistel(key, n uint64) feistel {
	half := uint(1)
	for uint64(1)<<(2*half) < n {
		half++
	}
	return feistel{key, n, half, 1<<half - 1}
}

func (f feistel) round(r int, x uint64) uint64 {
	return mix64(f.key+uint64(r)*0x9E3779B97F4A7C15+x) & f.mask
}

func (f feistel) forward(x uint64) uint64 {
	for {
		l, r := x>>f.half, x&f.mask
		for i := 0; i < 4; i++ {
			l, r = r, l^f.round(i, r)
		}
		if x = l<<f.half | r; x < f.n {
			return x
		}
	}
}

func (f feistel) inverse(x uint64) uint64 {
	for {
		l, r := x>>f.half, x&f.mask
		for i := 3; i >= 0; i-- {
			l, r = r^f.round(i, l), l
		}
		if x = l<<f.half | r; x < f.n {
			return x
		}
	}
}
