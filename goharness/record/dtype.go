// Package record holds the document types that ridge writes and reads: results,
// ceilings, the calibration document, the journal, and their JSON schemas. It is the
// lowest package of the harness and imports no other one.
package record

// DType names a number format. The names are the ones used in documents, case ids and
// on the command line.
type DType string

// The number formats ridge knows. U8S8 is a GEMM with unsigned 8-bit A, signed 8-bit B
// and 32-bit accumulation, kept apart from INT8 (signed × signed) because they are
// different instructions with different limits.
const (
	FP64    DType = "fp64"
	FP32    DType = "fp32"
	TF32    DType = "tf32"
	FP16    DType = "fp16"
	BF16    DType = "bf16"
	FP8E4M3 DType = "fp8_e4m3"
	FP8E5M2 DType = "fp8_e5m2"
	INT8    DType = "int8"
	U8S8    DType = "u8s8"
	INT4    DType = "int4"

	// Storage-only formats (accumulators and indices).
	UINT8 DType = "uint8"
	INT32 DType = "int32"
	INT64 DType = "int64"
)

// Precisions lists every precision a user may ask for, in display order.
var Precisions = []DType{FP64, FP32, TF32, FP16, BF16, FP8E4M3, FP8E5M2, INT8, U8S8, INT4}

// Size is the bytes of one stored element; 0 for formats that no tensor is stored in.
func (d DType) Size() int64 {
	switch d {
	case FP64, INT64:
		return 8
	case FP32, TF32, INT32:
		return 4
	case FP16, BF16:
		return 2
	case INT8, UINT8, FP8E4M3, FP8E5M2, U8S8:
		return 1
	}
	return 0
}

// Unit is the unit roundoff u of the format: half the distance from 1 to the next larger
// number (2^-p for p bits of significand). Integers have 0.
func (d DType) Unit() float64 {
	switch d {
	case FP64:
		return 0x1p-53
	case FP32:
		return 0x1p-24
	case TF32, FP16:
		return 0x1p-11
	case BF16:
		return 0x1p-8
	case FP8E4M3:
		return 0x1p-4
	case FP8E5M2:
		return 0x1p-3
	}
	return 0
}

// Floor is the largest rounding error of the smallest numbers of the format: half the step between its subnormals. Where that is no error of a
// product of this project's inputs (fp32 and fp64: below 2^-149) and for integers it is 0.
func (d DType) Floor() float64 {
	switch d {
	case FP16:
		return 0x1p-25
	case BF16:
		return 0x1p-134
	case FP8E4M3:
		return 0x1p-10
	case FP8E5M2:
		return 0x1p-17
	}
	return 0
}

// Float reports whether the format is a floating-point one.
func (d DType) Float() bool { return d.Unit() != 0 || d == FP8 || d == FP4 }

// Known reports whether d is a precision a user may name.
func (d DType) Known() bool {
	for _, p := range Precisions {
		if p == d {
			return true
		}
	}
	return false
}
