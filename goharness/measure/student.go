package measure

import "math"

// mostFreedom is where Student's distribution is as good as normal; more degrees only cost time.
const mostFreedom = 200

// StudentQuantile is the quantile p, ½ < p < 1, of Student's distribution with nu degrees of
// freedom (at least 1, more than 200 count as 200).
func StudentQuantile(p float64, nu int) float64 {
	return studentQuantile(p, min(max(nu, 1), mostFreedom))
}

// StudentTails is P(|T| > t) for t ≥ 0 and nu degrees of freedom, as StudentQuantile counts them.
func StudentTails(t float64, nu int) float64 {
	nu = min(max(nu, 1), mostFreedom)
	return math.Max(0, 1-studentCentral(math.Atan(t/math.Sqrt(float64(nu))), nu))
}
