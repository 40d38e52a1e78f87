package record

import (
	"math"
	"math/bits"
	"strconv"
)

// arenaNumbers is how many numbers of lists get memory at a time.
const arenaNumbers = 1 << 15

// list judges a list of numbers as array does, decodes it, puts it aside and cuts its items from the text.
func (f *fitter) list(i int, s *shape) (end int, ok bool) {
	open := i + 1
	begin := len(f.arena)
	n := 0
	i = f.space(open)
	for ; ; n++ {
		if i >= len(f.data) {
			return 0, false
		}
		if f.data[i] == ']' {
			break
		}
		if n > 0 {
			if f.data[i] != ',' {
				return 0, false
			}
			i = f.space(i + 1)
		}
		var x float64
		if x, i, ok = f.decimal(i); !ok || f.numbers+n >= maxNumbers {
			return 0, false
		}
		if len(f.arena) == cap(f.arena) { // the lists before keep the old one
			f.arena = append(make([]float64, 0, max(arenaNumbers, 2*n)), f.arena[begin:]...)
			begin = 0
		}
		f.arena = append(f.arena, x)
		i = f.space(i)
	}
	if n > keptNumbers { // counted as samples are
		f.numbers += n
	} else {
		f.values += max(n, 1) // as skim counts an empty one
	}
	if f.values > maxValues || n < s.min || s.max != 0 && n > s.max {
		return 0, false
	}
	f.aside = append(f.aside, f.arena[begin:len(f.arena):len(f.arena)])
	if i > open {
		f.leaveOut(open, i)
	}
	return i + 1, true
}

// decimal is the number at i, as the grammar of JSON has it. One of at most 19 digits without exponent is decoded at once.
func (f *fitter) decimal(i int) (x float64, end int, ok bool) {
	data, begin := f.data, i
	if i < len(data) && data[i] == '-' {
		i++
	}
	whole, mantissa := i, uint64(0)
	for ; i < len(data) && data[i]-'0' < 10; i++ {
		mantissa = mantissa*10 + uint64(data[i]-'0')
	}
	digits, decimals := i-whole, 0
	if digits == 0 || digits > 1 && data[whole] == '0' {
		return 0, 0, false
	}
	if i < len(data) && data[i] == '.' {
		part := i + 1
		for i = part; i < len(data) && data[i]-'0' < 10; i++ {
			mantissa = mantissa*10 + uint64(data[i]-'0')
		}
		if decimals = i - part; decimals == 0 {
			return 0, 0, false
		}
	}
	if digits+decimals > 19 || i < len(data) && data[i]|0x20 == 'e' { // of 20 digits the mantissa may have run over
		if end, _ = f.number(begin); end == 0 {
			return 0, 0, false
		}
		x, err := strconv.ParseFloat(string(data[begin:end]), 64)
		return x, end, err == nil
	}
	if x = decimalQuotient(mantissa, decimals); data[begin] == '-' {
		x = -x
	}
	return x, i, true
}

// decimalQuotient is the float64 nearest to m/10^decimals, decimals ≤ 19. Where m is one, as the power of ten is, it is their quotient (Clinger 1990).
// Else it is that of integers to 56 bits or more, of which the last stands for all that is left: what lies halfway is seen as such.
func decimalQuotient(m uint64, decimals int) float64 {
	ten := powersOfTen[decimals]
	if m <= 1<<53 {
		return float64(m) / float64(ten)
	}
	shift := max(0, 56-bits.Len64(m)+bits.Len64(ten))
	hi, lo := m>>(64-shift), m<<shift
	if shift >= 64 {
		hi, lo = m<<(shift-64), 0
	}
	q, rest := bits.Div64(hi, lo, ten)
	if rest != 0 {
		q |= 1
	}
	return math.Ldexp(float64(q), -shift)
}

var powersOfTen = [...]uint64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19}

// giveBack gives the results the samples that were put aside. False: they are not those of these results.
func giveBack(results []Result, aside [][]float64) bool {
	for i := range results {
		t := results[i].Time
		if t == nil || t.SamplesNS == nil {
			continue
		}
		if len(aside) == 0 || len(t.SamplesNS) > 0 {
			return false
		}
		if len(aside[0]) > 0 {
			t.SamplesNS = aside[0]
		}
		aside = aside[1:]
	}
	return len(aside) == 0
}
