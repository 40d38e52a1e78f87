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
// compute what it says. Only instructions that cores start at the same rate are compared. A GPU has
// units of their own for each precision: its table of rates defines the ratios, at the clock that each probe held.
func (m *Model) OddRatios() []string {
	var out []string
	for i := range m.list {
		for j := range m.list {
			a, b := &m.list[i], &m.list[j]
			if a.Kind != record.CeilingCompute || b.Kind != record.CeilingCompute || a.ISA != b.ISA || a.Threads != b.Threads ||
				a.Measured.Value == 0 || b.Measured.Value == 0 {
				continue
			}
			want, by := definedRatio(a.ISA, a.DType, b.DType), "the instructions define"
			got := a.Measured.Value / b.Measured.Value
			if m.GPU != nil {
				want, by = m.GPU.definedRatio(a.ISA, a.DType, b.DType), "the table of the device's rates has"
				if x, y := clockOfBest(a), clockOfBest(b); x > 0 && y > 0 {
					got *= y / x
				}
			}
			if want < 1 || want == 1 && i >= j {
				continue // the other order says it
			}
			if math.Abs(got/want-1) > ratioSlack {
				out = append(out, fmt.Sprintf("%s at %d threads: the %s probe is %.2f × the %s probe, %s %.4g: one of them was slowed, or does not compute what it says",
					a.ISA, a.Threads, a.DType, got, b.DType, by, want))
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

// definedRatio is that of the table's rates; 0 where it has no row for one of them. From 9.0 on mma.sync reaches the whole row of fp64 and 0.58 of the
// others (H200), so that fp64 is compared with none of them.
func (g GPU) definedRatio(isa string, a, b record.DType) float64 {
	if a == b || isa == record.ISAMma && g.Capability >= 90 && (a == record.FP64) != (b == record.FP64) {
		return 0
	}
	x, y := g.rate(isa, a), g.rate(isa, b)
	if x == nil || y == nil {
		return 0
	}
	return x.ops / y.ops
}

// clockOfBest is the clock that a ceiling's best probe held; 0 where it is not known.
func clockOfBest(x *record.Ceiling) float64 {
	for _, p := range x.Probes {
		if p.Value == x.Measured.Value && p.ClockGHz > 0 {
			return p.ClockGHz
		}
	}
	return 0
}
