package compare

import (
	"math"
	"math/rand/v2"
	"testing"
)

func TestDigammaAndTrigamma(t *testing.T) {
	for _, c := range []struct{ got, want float64 }{
		{digamma(1), -0.5772156649015329}, {digamma(0.5), -1.9635100260214235}, {digamma(10), 2.251752589066721},
		{trigamma(1), math.Pi * math.Pi / 6}, {trigamma(0.5), math.Pi * math.Pi / 2}, {trigamma(inverseTrigamma(0.3)), 0.3},
	} {
		if math.Abs(c.got-c.want) > 1e-9 {
			t.Errorf("%.12f, expected %.12f", c.got, c.want)
		}
	}
}

// χ² variances of one true value say so; those of very different values lend each other little.
func TestCasesLendEachOtherDegreesOfFreedom(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	draw := func(dof int, sigma float64) spread {
		sum := 0.0
		for range dof {
			z := rng.NormFloat64()
			sum += z * z
		}
		return spread{sigma * math.Sqrt(sum/float64(dof)), float64(dof)}
	}
	var alike, apart []spread
	for range 400 {
		alike = append(alike, draw(4, 0.01))
		apart = append(apart, draw(4, 0.01*math.Exp(2*rng.NormFloat64())))
	}
	a, b := moderate(alike), moderate(apart)
	if a[0].dof < 34 {
		t.Errorf("alike: %v degrees of freedom from 4", a[0].dof)
	}
	if b[0].dof > 6 {
		t.Errorf("apart: %v degrees of freedom from 4", b[0].dof)
	}
	for i := range a {
		if a[i].se < alike[i].se || a[i].se < 0.009 && alike[i].se < 0.005 {
			t.Fatalf("case %d: %v from %v", i, a[i], alike[i])
		}
	}
	if few := moderate(alike[:3]); few[0] != alike[0] {
		t.Error("three cases are moderated")
	}
}
