package op

import (
	"math"
	"sync"
)

// lines remembers what the elements of a row or column have in common: of a line with a thousand elements that are compared each would go over all of
// it again.
type lines struct {
	mu    sync.Mutex
	key   uint64 // of the inputs that they belong to
	known map[int64]*line
}

type line struct {
	once sync.Once
	moments
}

// moments of a line of n values: of softmax top = max x, sum = Σ exp(x − top) and spread = Σ exp(x − top)·(top − x); of layer_norm the mean, the
// mean of |x| and of (x − mean)²; of rms_norm the mean of x² (squares).
type moments struct{ top, sum, spread, mean, abs, squares float64 }

// mostLines bounds what is remembered.
const mostLines = 1 << 16

// of gives the moments of the line that starts at an element.
func (l *lines) of(in *Inputs, start int64, compute func() moments) moments {
	key := uint64(14695981039346656037) // FNV-1a, by words
	for _, k := range in.keys {
		key = (key ^ k) * 1099511628211
	}
	if in.Integer {
		key = ^key
	}
	l.mu.Lock()
	if l.known == nil || l.key != key || len(l.known) >= mostLines {
		l.key, l.known = key, map[int64]*line{}
	}
	x := l.known[start]
	if x == nil {
		x = &line{}
		l.known[start] = x
	}
	l.mu.Unlock()
	x.once.Do(func() { x.moments = compute() })
	return x.moments
}

// momentsOf a line for softmax, layer_norm or rms_norm.
func momentsOf(name string, at func(int64) float64, n int64) (m moments) {
	switch name {
	case "softmax":
		m.top = math.Inf(-1)
		for k := int64(0); k < n; k++ {
			m.top = math.Max(m.top, at(k))
		}
		for k := int64(0); k < n; k++ {
			e := math.Exp(at(k) - m.top)
			m.sum += e
			m.spread += e * (m.top - at(k))
		}
	case "layer_norm":
		for k := int64(0); k < n; k++ {
			m.mean += at(k)
			m.abs += math.Abs(at(k))
		}
		m.mean, m.abs = m.mean/float64(n), m.abs/float64(n)
		for k := int64(0); k < n; k++ {
			m.squares += (at(k) - m.mean) * (at(k) - m.mean)
		}
		m.squares /= float64(n)
	default:
		for k := int64(0); k < n; k++ {
			m.squares += at(k) * at(k)
		}
		m.squares /= float64(n)
	}
	return m
}

// softmax of x: rounding x − max perturbs each exponential relatively by u·|x − max|;
// in the sum these perturbations average with the weights p_j. The exponentials, the sum,
// its reciprocal and the product add a few u.
func (m moments) softmax(x float64) Expectation {
	v := math.Exp(x-m.top) / m.sum
	return Expectation{Value: v, Magnitude: v * (2 + (m.top - x) + m.spread/m.sum)}
}

// layerNorm of x: the mean carries an error of the size of mean|x| (its rounding to
// fp32 and the sum's), which x − mean passes on; the variance is stationary in the mean.
func (m moments) layerNorm(x, gamma, beta, eps float64) Expectation {
	f := gamma / math.Sqrt(m.squares+eps)
	return Expectation{Value: (x-m.mean)*f + beta, Magnitude: math.Abs(f)*(m.abs+2*math.Abs(x-m.mean)) + math.Abs(beta)}
}

// rmsNorm of x: the root, the reciprocal and two products round once each.
func (m moments) rmsNorm(x, gamma, eps float64) Expectation {
	v := x / math.Sqrt(m.squares+eps) * gamma
	return Expectation{Value: v, Magnitude: 2 * math.Abs(v)}
}
