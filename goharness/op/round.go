package op

import (
	"encoding/binary"
	"math"

	"ridge/goharness/record"
)

// Round gives the value of x after one rounding to the dtype (nearest, ties to even;
// integers and fp8 saturate). A tf32 is stored as the fp32 of the same value.
func Round(d record.DType, x float64) float64 {
	switch d {
	case record.FP64:
		return x
	case record.FP32:
		return float64(float32(x))
	case record.TF32:
		return roundTF32(float32(x))
	case record.FP8E4M3:
		return math.Min(e4m3Max, math.Max(-e4m3Max, roundTo(x, 4, -6, math.MaxFloat64)))
	case record.FP16:
		return roundTo(x, 11, -14, 65504)
	case record.BF16:
		return roundTo(x, 8, -126, 3.3895313892515355e38)
	case record.INT8:
		return clampRound(x, -128, 127)
	case record.UINT8:
		return clampRound(x, 0, 255)
	case record.INT32:
		return clampRound(x, math.MinInt32, math.MaxInt32)
	case record.INT64:
		return math.RoundToEven(x)
	}
	return x
}

// roundTF32 keeps 10 bits of the fraction. Infinities and NaN stay.
func roundTF32(x float32) float64 {
	b := math.Float32bits(x)
	if b>>23&255 != 255 {
		b = (b + 0xfff + b>>13&1) &^ 0x1fff
	}
	return float64(math.Float32frombits(b))
}

// tieTF32 is the distance of the two tf32 numbers that x lies halfway between; 0 when it lies nearer to one. Instructions differ
// in which they take: cvt.rna the larger one, copies by TMA the even one.
func tieTF32(x float64) float64 {
	b := math.Float32bits(float32(x))
	if b&0x1fff != 0x1000 || b>>23&255 == 255 {
		return 0
	}
	low := b &^ 0x1fff
	return math.Abs(float64(math.Float32frombits(low+0x2000)) - float64(math.Float32frombits(low)))
}

// wrapInt32 is the int32 that 32-bit two's complement accumulators hold for a whole number: what
// integer kernels give where a sum leaves int32. x must be exact, below 2^53.
func wrapInt32(x float64) float64 { return float64(int32(int64(x))) }

func clampRound(x, lo, hi float64) float64 {
	return math.Min(hi, math.Max(lo, math.RoundToEven(x)))
}

// roundTo rounds to p significand bits with smallest normal exponent emin.
func roundTo(x float64, p, emin int, maxFinite float64) float64 {
	b := math.Float64bits(x)
	if e := int(b>>52&0x7ff) - 1023; e >= emin && e < 1024 { // normal in both formats: what is cut off carries where it is more than half, or half of an odd one
		cut := 53 - p
		b += 1<<(cut-1) - 1 + b>>cut&1
		if r := math.Float64frombits(b &^ (1<<cut - 1)); math.Abs(r) <= maxFinite {
			return r
		}
		return math.Inf(int(math.Copysign(1, x)))
	}
	if x == 0 || math.IsNaN(x) || math.IsInf(x, 0) {
		return x
	}
	_, e := math.Frexp(x) // |x| in [2^(e-1), 2^e)
	ulp := e - p
	if lowest := emin - p + 1; ulp < lowest {
		ulp = lowest
	}
	r := math.Ldexp(math.RoundToEven(math.Ldexp(x, -ulp)), ulp)
	if math.Abs(r) > maxFinite {
		return math.Inf(int(math.Copysign(1, x)))
	}
	return r
}

// Decode reads one stored element (little endian) as float64. int64 values beyond 2^53
// lose low bits; none of ridge's tensors holds such.
func Decode(d record.DType, b []byte) float64 {
	switch d {
	case record.FP64:
		return math.Float64frombits(binary.LittleEndian.Uint64(b))
	case record.FP32, record.TF32:
		return float64(math.Float32frombits(binary.LittleEndian.Uint32(b)))
	case record.FP16:
		return halfToFloat(binary.LittleEndian.Uint16(b))
	case record.BF16:
		return float64(math.Float32frombits(uint32(binary.LittleEndian.Uint16(b)) << 16))
	case record.FP8E4M3:
		return e4m3ToFloat(b[0])
	case record.INT8:
		return float64(int8(b[0]))
	case record.UINT8:
		return float64(b[0])
	case record.INT32:
		return float64(int32(binary.LittleEndian.Uint32(b)))
	case record.INT64:
		return float64(int64(binary.LittleEndian.Uint64(b)))
	}
	panic("op: no storage for dtype " + string(d))
}

// DecodeElements decodes len(dst) elements of t from logical element from on; mem is the tensor's storage. Elements that lie one after
// another are decoded in one loop of their dtype: a projection reads whole outputs, and element by element that took most of a verification.
func DecodeElements(t Tensor, mem []byte, from int64, dst []float64) {
	size, row := t.DType.Size(), t.Row()
	for len(dst) > 0 {
		n := min(int64(len(dst)), row-from%row)
		decodeRun(t.DType, mem[t.Offset(from)*size:][:n*size], dst[:n])
		from, dst = from+n, dst[n:]
	}
}

func decodeRun(d record.DType, b []byte, dst []float64) {
	switch d {
	case record.FP32, record.TF32:
		for i := range dst {
			dst[i] = float64(math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:])))
		}
	case record.BF16:
		for i := range dst {
			dst[i] = float64(math.Float32frombits(uint32(binary.LittleEndian.Uint16(b[2*i:])) << 16))
		}
	default:
		size := int(d.Size())
		for i := range dst {
			dst[i] = Decode(d, b[i*size:])
		}
	}
}

// Encode stores x, rounded once, as one element.
func Encode(d record.DType, b []byte, x float64) {
	x = Round(d, x)
	switch d {
	case record.FP64:
		binary.LittleEndian.PutUint64(b, math.Float64bits(x))
	case record.FP32, record.TF32:
		binary.LittleEndian.PutUint32(b, math.Float32bits(float32(x)))
	case record.FP16:
		binary.LittleEndian.PutUint16(b, floatToHalf(x))
	case record.BF16:
		binary.LittleEndian.PutUint16(b, uint16(math.Float32bits(float32(x))>>16))
	case record.FP8E4M3:
		b[0] = floatToE4M3(x)
	case record.INT8:
		b[0] = byte(int8(x))
	case record.UINT8:
		b[0] = byte(x)
	case record.INT32:
		binary.LittleEndian.PutUint32(b, uint32(int32(x)))
	case record.INT64:
		binary.LittleEndian.PutUint64(b, uint64(int64(x)))
	default:
		panic("op: no storage for dtype " + string(d))
	}
}

func halfToFloat(h uint16) float64 {
	sign := 1.0
	if h&0x8000 != 0 {
		sign = -1
	}
	e, m := int(h>>10&31), float64(h&1023)
	switch e {
	case 0:
		return sign * math.Ldexp(m, -24)
	case 31:
		if m != 0 {
			return math.NaN()
		}
		return math.Inf(int(sign))
	}
	return sign * math.Ldexp(1024+m, e-25)
}

// floatToHalf encodes a value already rounded to fp16.
func floatToHalf(x float64) uint16 {
	var sign uint16
	if math.Signbit(x) {
		sign = 0x8000
		x = -x
	}
	switch {
	case math.IsNaN(x):
		return sign | 0x7e00
	case math.IsInf(x, 0):
		return sign | 0x7c00
	case x < 0x1p-14:
		return sign | uint16(math.Ldexp(x, 24))
	}
	f, e := math.Frexp(x) // f in [0.5, 1)
	return sign | uint16(e+14)<<10 | (uint16(math.Ldexp(f, 11)) & 1023)
}

// e4m3Max is the largest number of fp8_e4m3, which has no infinity.
const e4m3Max = 448

// e4m3ToFloat: a sign, 4 bits of exponent (bias 7), 3 of fraction; all ones is NaN (Micikevicius et al. 2022).
func e4m3ToFloat(b byte) float64 {
	sign := 1.0
	if b&0x80 != 0 {
		sign = -1
	}
	e, m := int(b>>3&15), float64(b&7)
	switch {
	case e == 15 && m == 7:
		return math.NaN()
	case e == 0:
		return sign * math.Ldexp(m, -9)
	}
	return sign * math.Ldexp(8+m, e-10)
}

// floatToE4M3 encodes a value already rounded to fp8_e4m3.
func floatToE4M3(x float64) byte {
	var sign byte
	if math.Signbit(x) {
		sign = 0x80
		x = -x
	}
	switch {
	case math.IsNaN(x):
		return sign | 0x7f
	case x < 0x1p-6:
		return sign | byte(math.Ldexp(x, 9))
	}
	f, e := math.Frexp(x) // f in [0.5, 1)
	return sign | byte(e+6)<<3 | byte(math.Ldexp(f, 4))&7
}
