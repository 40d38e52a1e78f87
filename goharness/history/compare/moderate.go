package compare

import "math"

// leastModerated is the fewest cases whose spreads are looked at together.
const leastModerated = 10

// mostPrior bounds what the others may add to a case's degrees of freedom.
const mostPrior = 60

// moderate lends to each case's standard error what all cases say of how such errors lie: a series of few
// effective samples knows its own spread badly. The variances are taken for draws of a scaled inverse
// χ² distribution, whose scale and degrees of freedom come from the moments of their logarithms (Smyth 2004,
// "Linear models and empirical Bayes methods"). No case gets less than its own standard error.
func moderate(own []spread) []spread {
	if len(own) < leastModerated {
		return own
	}
	n := float64(len(own))
	e := make([]float64, len(own))
	mean, known := 0.0, 0.0
	for i, s := range own {
		e[i] = 2*math.Log(s.se) - digamma(s.dof/2) + math.Log(s.dof/2)
		mean += e[i] / n
		known += trigamma(s.dof/2) / n
	}
	excess := -known
	for _, x := range e {
		excess += (x - mean) * (x - mean) / (n - 1)
	}
	prior := float64(mostPrior)
	if excess > 0 {
		prior = math.Min(2*inverseTrigamma(excess), mostPrior)
	}
	scale := math.Exp(mean + digamma(prior/2) - math.Log(prior/2))
	out := make([]spread, len(own))
	for i, s := range own {
		v := (prior*scale + s.dof*s.se*s.se) / (prior + s.dof)
		out[i] = spread{math.Sqrt(math.Max(v, s.se*s.se)), prior + s.dof}
	}
	return out
}

// digamma is the derivative of ln Γ, by recurrence and Stirling's series (Abramowitz and Stegun, 6.3.18).
func digamma(x float64) float64 {
	sum := 0.0
	for ; x < 8; x++ {
		sum -= 1 / x
	}
	y := 1 / (x * x)
	return sum + math.Log(x) - 1/(2*x) - y*(1.0/12-y*(1.0/120-y/252))
}

// trigamma is the derivative of digamma (6.4.12).
func trigamma(x float64) float64 {
	sum := 0.0
	for ; x < 8; x++ {
		sum += 1 / (x * x)
	}
	y := 1 / (x * x)
	return sum + 1/x + y/2 + y/x*(1.0/6-y*(1.0/30-y/42))
}

// inverseTrigamma by bisection of the logarithm: trigamma falls.
func inverseTrigamma(v float64) float64 {
	lo, hi := math.Log(1e-4), math.Log(1e6)
	for range 60 {
		if mid := (lo + hi) / 2; trigamma(math.Exp(mid)) > v {
			lo = mid
		} else {
			hi = mid
		}
	}
	return math.Exp((lo + hi) / 2)
}
