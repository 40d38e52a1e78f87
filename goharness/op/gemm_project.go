package op

import (
	"math"

	"ridge/goharness/record"
)

// Project checks whole rows: C·x = alpha·A·(B·x) + … for the linear part (Freivalds). Integer
// sums that may wrap are not linear and have no projection.
func (g *Gemm) Project(in *Inputs, out int, x []float64) []Expectation {
	if g.Act != "none" || g.Requant || !g.D.Float() && g.K > wrapFree {
		return nil
	}
	var addX, addM float64 // bias
	if g.Bias {
		for n := int64(0); n < g.N; n++ {
			v := in.At(len(g.Tensors())-2, n)
			addX, addM = addX+v*x[n], addM+math.Abs(v)
		}
	}
	res := make([]Expectation, g.Batch*g.M)
	for product := range g.Batch {
		b := g.projectB(in, product, x)
		InParts(g.M, g.K, func(from, to int64) {
			v, tie := make([]float64, g.K), make([]float64, g.K)
			for m := product*g.M + from; m < product*g.M+to; m++ {
				e := g.projectRow(in, m, &b, v, tie)
				e.Value, e.Magnitude = e.Value*g.Alpha+addX, e.Magnitude*math.Abs(g.Alpha)+addM
				if g.Beta != 0 {
					for n := int64(0); n < g.N; n++ {
						v := in.At(2, m*g.N+n)
						e.Value, e.Magnitude = e.Value+v*x[n], e.Magnitude+math.Abs(v)
					}
				}
				res[m] = e
			}
		})
	}
	return res
}

// projectedB is op(B)·x of one product, the same of the magnitudes, of the ties and of the squares.
type projectedB struct{ x, magnitudes, ties, squares []float64 }

// projectRow is row m of A times op(B)·x, without what is added to it; v and tie are room for the row.
func (g *Gemm) projectRow(in *Inputs, m int64, b *projectedB, v, tie []float64) Expectation {
	g.operands(in, 0, m*g.K, 1, v, tie)
	var s, a, ties float64
	var lost cutOff
	for k, v := range v {
		s += v * b.x[k]
		a += math.Abs(v) * b.magnitudes[k]
	}
	if g.D == record.TF32 {
		for k, v := range v {
			ties += tie[k]*(math.Abs(b.x[k])+b.ties[k]) + math.Abs(v)*b.ties[k]
		}
	}
	if g.D == record.FP8E4M3 {
		for k, v := range v {
			lost.addSquares(v * v * b.squares[k])
		}
	}
	lost.stepSquares()
	return Expectation{Value: s, Magnitude: a, Rounded: lost.rounded() * math.Abs(g.Alpha), Tiny: ties*math.Abs(g.Alpha) + float64(g.N)*g.lostBelow()}
}

func (g *Gemm) projectB(in *Inputs, product int64, x []float64) projectedB {
	b := projectedB{make([]float64, g.K), make([]float64, g.K), make([]float64, g.K), make([]float64, g.K)}
	first := product * g.K * g.N
	add := func(k int64, v, tie, x float64) {
		b.x[k] += v * x
		b.magnitudes[k] += math.Abs(v)
		b.ties[k] += tie
		b.squares[k] += v * v * x * x
	}
	InParts(g.K, g.N, func(from, to int64) {
		if g.TransB { // [N,K]
			v, tie := make([]float64, to-from), make([]float64, to-from)
			for n := range g.N {
				g.operands(in, 1, first+n*g.K+from, 1, v, tie)
				for k := range v {
					add(from+int64(k), v[k], tie[k], x[n])
				}
			}
			return
		}
		v, tie := make([]float64, g.N), make([]float64, g.N)
		for k := from; k < to; k++ {
			g.operands(in, 1, first+k*g.N, 1, v, tie)
			for n := range v {
				add(k, v[n], tie[n], x[n])
			}
		}
	})
	return b
}

// operands are elements start, start+step, … of A (0) or B (1), as operand has them.
func (g *Gemm) operands(in *Inputs, t int, start, step int64, v, tie []float64) {
	if g.D != record.TF32 { // whose ties stay 0
		in.Span(t, start, step, v)
		return
	}
	for k := range v {
		v[k], tie[k] = g.operand(in, t, start+int64(k)*step)
	}
}
