package record

import "slices"

// Number formats that no kernel of ridge has and that graphs files name.
const (
	FP8   DType = "fp8" // 8-bit floating point of a kind that the file does not name
	FP4   DType = "fp4"
	INT16 DType = "int16"
)

// foreign reports whether d is a format of imported documents alone.
func (d DType) foreign() bool { return slices.Contains([]DType{FP8, FP4, INT16}, d) }
