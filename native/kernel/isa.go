//go:build cgo && linux

package kernel

// Mask is a set of instruction-set features (RIDGE_ISA_* of native/include/ridge.h).
type Mask uint64

// Intel marks Intel's processors in what Detect finds. It is no feature and has no name: no kernel needs it, but of two that both run the
// ranks of a family may prefer one there.
const Intel Mask = 1 << 63

// isaNames maps each bit to the name used in documents and by goharness/machine.
var isaNames = []struct {
	bit  uint
	name string
}{
	{0, "sse2"}, {1, "avx"}, {2, "avx2"}, {3, "fma"}, {4, "f16c"},
	{5, "avx512f"}, {6, "avx512bw"}, {7, "avx512vl"}, {8, "avx512dq"}, {9, "avx512vnni"},
	{10, "avx512bf16"}, {11, "avx512fp16"}, {12, "avxvnni"},
	{13, "amx-tile"}, {14, "amx-bf16"}, {15, "amx-int8"}, {16, "amx-fp16"},
	{32, "neon"}, {33, "dotprod"}, {34, "fp16"}, {35, "bf16"}, {36, "i8mm"}, {37, "sve"},
}

// Names lists the features in the mask.
func (m Mask) Names() []string {
	var out []string
	for _, n := range isaNames {
		if m&(1<<n.bit) != 0 {
			out = append(out, n.name)
		}
	}
	return out
}

// Has reports whether all features of need are in m.
func (m Mask) Has(need Mask) bool { return m&need == need }

func maskOf(have map[string]bool) Mask {
	var m Mask
	for _, n := range isaNames {
		if have[n.name] {
			m |= 1 << n.bit
		}
	}
	return m
}
