package ceiling

import (
	"fmt"
	"math"

	"ridge/goharness/op"
	"ridge/goharness/record"
)

// ratioSlack is how far the ratio of two precisions may lie from the one that the
// instructions define.
const ratioSlack = 0.15

// OddRatios names pairs of arithmetic probes of one instruction set and thread count whose
// ratio differs from the operations that their instructions define: a register of 64-bit
// numbers holds half as many as one of 32 bits. Something slowed one of them, or one does not
// compute what it says. Only instructions that cores start at the same rate are compared.
func (m *Model) OddRatios() []string {
	var out []string
	for i := range m.list {
		for j := range m.list {
			a, b := &m.list[i], &m.list[j]
			if a.Kind != record.CeilingCompute || b.Kind != record.CeilingCompute || a.ISA != b.ISA || a.Threads != b.Threads ||
				a.Measured.Value == 0 || b.Measured.Value == 0 {
				continue
			}
			want := definedRatio(a.ISA, a.DType, b.DType)
			if want < 1 || want == 1 && i >= j {
				continue // the other order says it
			}
			if got := a.Measured.Value / b.Measured.Value; math.Abs(got/want-1) > ratioSlack {
				out = append(out, fmt.Sprintf("%s at %d threads: the %s probe is %.2f × the %s probe, the instructions define %.4g: one of them was slowed, or does not compute what it says",
					a.ISA, a.Threads, a.DType, got, b.DType, want))
			}
		}
	}
	return out
}

// definedRatio is the operations of an instruction of one precision over those of another;
// 0 when the two do not start at the same rate: floating-point and integer units differ but
// in the tile unit, and the portable probe is whatever the compiler made of it.
func definedRatio(isa string, a, b record.DType) float64 {
	if isa == "portable" || a == b || a.Float() != b.Float() && isa != "amx" {
		return 0
	}
	x, err := op.FindPeak(isa, a)
	if err != nil {
		return 0
	}
	y, err := op.FindPeak(isa, b)
	if err != nil {
		return 0
	}
	if x.Ops == 0 || y.Ops == 0 { // SVE: lanes by the size of a number
		return float64(b.Size()) / float64(a.Size())
	}
	return float64(x.Ops) / float64(y.Ops)
}
