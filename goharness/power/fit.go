package power

import (
	"fmt"
	"math"
)

// Launch is one measured program in the terms of the energy roofline.
type Launch struct {
	FLOPs, Bytes, Seconds float64 // of one launch
	Joules                float64
}

// Roofline is the fit of joules = PerFLOP·FLOPs + PerByte·bytes + Watts·seconds (Choi, Bedard, Fowler and
// Vuduc, A Roofline Model of Energy, 2013), each with its 95 % interval.
type Roofline struct {
	PerFLOP, PerByte, Watts       float64 // J, J, W
	FLOPCI95, ByteCI95, WattsCI95 [2]float64
	RelativeError                 float64 // root mean square of the relative residuals
	Cases                         int
}

// Limits of a fit that says something.
const (
	leastCases     = 6
	worstResidual  = 0.15 // relative, root mean square
	worstCondition = 200  // of the scaled columns
)

// FitRoofline fits by least squares on relative residuals: the energies span orders of magnitude and are
// known to a share of themselves. A fit that would say nothing is refused with the reason.
func FitRoofline(ls []Launch) (Roofline, error) {
	if len(ls) < leastCases {
		return Roofline{}, noData("%d cases with energy: %d are needed", len(ls), leastCases)
	}
	const k = 3
	var rows [][]float64
	var scale [k]float64
	for _, l := range ls {
		if sum := l.Joules + l.Seconds + l.FLOPs + l.Bytes; !(l.Joules > 0 && l.Seconds > 0 && l.FLOPs >= 0 && l.Bytes >= 0) || math.IsInf(sum, 0) {
			return Roofline{}, noData("a case has %v J, %v s, %v FLOP, %v bytes", l.Joules, l.Seconds, l.FLOPs, l.Bytes)
		}
		row := []float64{l.FLOPs / l.Joules, l.Bytes / l.Joules, l.Seconds / l.Joules, 1}
		for j := range k {
			scale[j] += row[j] * row[j]
		}
		rows = append(rows, row)
	}
	for j := range k {
		scale[j] = math.Sqrt(scale[j])
		if scale[j] == 0 {
			return Roofline{}, noData("no case has any %s", []string{"FLOP", "bytes", "time"}[j])
		}
		for _, row := range rows {
			row[j] /= scale[j]
		}
	}
	r, rss := triangular(rows, k)
	inv, ok := invert(r)
	condition := math.Inf(1)
	if ok {
		condition = norm(r) * norm(inv)
	}
	if !(condition <= worstCondition) {
		return Roofline{}, noData("the cases are too much alike to tell the energy of a FLOP from that of a byte and of time (condition %.3g)", condition)
	}
	out := Roofline{Cases: len(ls), RelativeError: math.Sqrt(rss / float64(len(ls)))}
	if out.RelativeError > worstResidual {
		return out, noData("the fit is poor: it misses the measured energies by %.0f %% (root mean square)", 100*out.RelativeError)
	}
	free := float64(len(ls) - k)
	sigma := math.Sqrt(rss / free)
	for j, to := range []struct {
		value *float64
		ci    *[2]float64
		name  string
	}{{&out.PerFLOP, &out.FLOPCI95, "a FLOP"}, {&out.PerByte, &out.ByteCI95, "a byte"}, {&out.Watts, &out.WattsCI95, "time"}} {
		v, sq := 0.0, 0.0
		for c := j; c < k; c++ {
			v += inv[j][c] * r[c][k]
			sq += inv[j][c] * inv[j][c]
		}
		half := student(free) * sigma * math.Sqrt(sq)
		*to.value, *to.ci = v/scale[j], [2]float64{(v - half) / scale[j], (v + half) / scale[j]}
		if to.name != "time" && to.ci[0] <= 0 {
			return out, noData("the energy of %s is not told apart from 0 (%.3g pJ, 95 %% from %.3g to %.3g)", to.name, *to.value*1e12, to.ci[0]*1e12, to.ci[1]*1e12)
		}
	}
	if out.Watts < 0 && out.WattsCI95[1] < 0 {
		return out, noData("the fit is poor: it has a constant power of %.3g W", out.Watts)
	}
	return out, nil
}

// triangular brings rows of k columns and a right side to triangular form by Householder reflections; r holds the
// first k rows with the right side in column k, rss is what the fit leaves.
func triangular(rows [][]float64, k int) (r [][]float64, rss float64) {
	a := make([][]float64, len(rows))
	for i := range rows {
		a[i] = append([]float64(nil), rows[i]...)
	}
	for j := range k {
		length := 0.0
		for i := j; i < len(a); i++ {
			length = math.Hypot(length, a[i][j])
		}
		if length == 0 {
			continue
		}
		if a[j][j] > 0 {
			length = -length
		}
		v := make([]float64, len(a))
		v[j] = a[j][j] - length
		sq := v[j] * v[j]
		for i := j + 1; i < len(a); i++ {
			v[i] = a[i][j]
			sq += v[i] * v[i]
		}
		if sq == 0 {
			continue
		}
		for c := j; c <= k; c++ {
			dot := 0.0
			for i := j; i < len(a); i++ {
				dot += v[i] * a[i][c]
			}
			for i := j; i < len(a); i++ {
				a[i][c] -= 2 * dot / sq * v[i]
			}
		}
	}
	for i := k; i < len(a); i++ {
		rss += a[i][k] * a[i][k]
	}
	return a[:k], rss
}

// invert the upper triangle of the first k columns.
func invert(r [][]float64) ([][]float64, bool) {
	k := len(r)
	inv := make([][]float64, k)
	for i := range inv {
		inv[i] = make([]float64, k)
	}
	for j := range k {
		if math.Abs(r[j][j]) < 1e-12 {
			return inv, false
		}
		inv[j][j] = 1 / r[j][j]
		for i := j - 1; i >= 0; i-- {
			sum := 0.0
			for c := i + 1; c <= j; c++ {
				sum += r[i][c] * inv[c][j]
			}
			inv[i][j] = -sum / r[i][i]
		}
	}
	return inv, true
}

// norm is Frobenius' of the first k columns.
func norm(m [][]float64) float64 {
	sum := 0.0
	for i := range m {
		for j := range m {
			sum += m[i][j] * m[i][j]
		}
	}
	return math.Sqrt(sum)
}

// String is the fit in one line.
func (r Roofline) String() string {
	return fmt.Sprintf("%.3g pJ/FLOP + %.3g pJ/byte + %.3g W", r.PerFLOP*1e12, r.PerByte*1e12, r.Watts)
}
