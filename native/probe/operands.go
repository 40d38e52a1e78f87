//go:build cgo && linux

package probe

import (
	"encoding/binary"

	"ridge/goharness/op"
	"ridge/goharness/record"
)

// layout says how a peak kernel reads its four operand registers a0, a1, b0, b1.
type layout struct {
	register int64 // bytes of one register (of one tile)
	chains   int64
	kind     kind
	aMask    int64 // |a| is 1 + up to aMask
	bMask    int64
}

type kind int

const (
	lanes  kind = iota // every lane adds the sum of the products of its own elements
	pairs              // x*(-1) + b, x*(-1) - b: a multiplication and an addition per lane and half step
	madd               // as lanes, of 8-bit numbers stored in 16 bits; a multiplication and an addition
	matrix             // acc[2,2] += a[2,K]·b[2,K]ᵀ
	tile               // acc[16,16] += A[16,K]·B[K,16], a0 and b0 alone, B with groups of 4 bytes of one column together
)

// layoutOf describes the kernel of a row. The magnitudes keep the sum of a whole chunk
// exact: |a·b| summed over a chunk's steps stays below 2^53 over all lanes for fp64, 2^24
// per lane for fp32 accumulators and 2^31 for int32.
func layoutOf(p *op.Peak) layout {
	l := layout{register: 16, chains: 24, aMask: 7, bMask: 7}
	switch p.Row.ISA {
	case "portable":
		l.register, l.chains, l.kind = p.Row.DType.Size(), 12, pairs
	case "sse2":
		l.chains, l.kind = 14, pairs
	case "avx2", "avxvnni":
		l.register, l.chains = 32, 12
	case "avx512", "avx512fp16", "avx512bf16", "avx512vnni":
		l.register = 64
	case "amx":
		l.register, l.chains, l.kind, l.aMask, l.bMask = 1024, 2, tile, 3, 3
	case "bf16arm", "i8mm":
		l.kind = matrix
	case "sve":
		l.register = p.VL / 8
	}
	switch {
	case p.Row.DType == record.FP64:
		l.aMask, l.bMask = 0xfff, 0xfff
	case p.Row.DType == record.FP16 && l.kind == lanes:
		l.aMask, l.bMask = 0, 0 // a half-precision accumulator counts to 2048
	case !p.Row.DType.Float():
		l.aMask, l.bMask = 63, 31
	}
	if p.Row.DType == record.INT8 {
		switch p.Row.ISA {
		case "avx2":
			l.chains, l.kind = 8, madd
		case "avx512":
			l.chains, l.kind = 16, madd
		}
	}
	return l
}

// elements of one register.
func (l layout) elements(d record.DType) int64 {
	if l.kind == madd {
		return l.register / 2
	}
	return l.register / d.Size()
}

// value is element i of operand register reg (a0, a1, b0, b1 = 0..3): a mixed magnitude,
// negative in odd elements except where a is unsigned. Equal elements of a and b have
// equal signs, so that all products are positive.
func (l layout) value(d record.DType, reg int, i int64) int64 {
	if l.kind == pairs {
		if reg < 2 {
			return -1
		}
		return 1 + i&l.bMask
	}
	mask := l.aMask
	if reg >= 2 {
		mask = l.bMask
	}
	h := (uint64(reg)<<32 + uint64(i) + 1) * 0x9E3779B97F4A7C15
	v := 1 + int64(h>>40)&mask
	if i%2 == 1 && d != record.U8S8 {
		v = -v
	}
	return v
}

// encode writes the four registers one after the other.
func (l layout) encode(d record.DType, dst []byte) {
	n := l.elements(d)
	size := l.register / n
	for reg := 0; reg < 4; reg++ {
		if l.kind == madd {
			for i := int64(0); i < n; i++ {
				binary.LittleEndian.PutUint16(dst[int64(reg)*l.register+i*size:], uint16(int16(l.value(d, reg, i))))
			}
			continue
		}
		stored := d
		if d == record.U8S8 {
			stored = record.INT8
			if reg < 2 {
				stored = record.UINT8
			}
		}
		for i := int64(0); i < n; i++ {
			op.Encode(stored, dst[int64(reg)*l.register+i*size:], float64(l.value(d, reg, i)))
		}
	}
}

// step is one instruction of every chain (of pairs: a multiplication and an addition):
// what it adds to the sum over all lanes of all accumulators, and the instructions in it.
// Chain c uses a[c%2] and b[c/2%2], so each of the four products has a quarter of the chains; chains of tiles all use a0 and b0.
func (l layout) step(d record.DType) (sum float64, instructions int64) {
	n := l.elements(d)
	a := func(i int64) int64 { return l.value(d, 0, i) + l.value(d, 1, i) }
	b := func(i int64) int64 { return l.value(d, 2, i) + l.value(d, 3, i) }
	var s int64
	switch l.kind {
	case pairs: // after an even number of steps x is minus their number times b
		for i := int64(0); i < n; i++ {
			s -= l.value(d, 2, i)
		}
		if l.register < 16 { // in C both are one instruction
			return float64(s * l.chains), l.chains
		}
		return float64(s * l.chains), 2 * l.chains
	case lanes, madd:
		for i := int64(0); i < n; i++ {
			s += a(i) * b(i)
		}
	case matrix:
		k := n / 2
		for i := int64(0); i < k; i++ {
			s += (a(i) + a(k+i)) * (b(i) + b(k+i))
		}
	case tile:
		pack := 4 / d.Size() // consecutive k of one column
		k := n / 16
		for i := int64(0); i < k; i++ {
			var rows, cols int64
			for r := int64(0); r < 16; r++ {
				rows += l.value(d, 0, r*k+i)
				cols += l.value(d, 2, i/pack*16*pack+r*pack+i%pack)
			}
			s += rows * cols
		}
		return float64(s * l.chains), l.chains
	}
	if l.kind == madd {
		return float64(s * l.chains / 4), 2 * l.chains
	}
	return float64(s * l.chains / 4), l.chains
}
