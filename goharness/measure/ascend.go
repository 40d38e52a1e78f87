package measure

import (
	"math"
	"math/bits"
	"sync"
)

// ascent is a series of finite values in ascending order, and where each of them stands in the series as it was taken.
type ascent struct {
	values []float64
	order  []int32
}

// entry is a value of a series with its place. The order of the keys is that of the values.
type entry struct {
	key   uint64
	place int32
}

// entries are two lists of them for a sort; those of thousands of series would be most of what is allocated.
var entries = sync.Pool{New: func() any { return new([]entry) }}

// ascend sorts by one byte after the other, the least first: comparisons of noise are mispredicted every other time, which takes longer
// than all else that a summary does, and the places in the series come for nothing. The three bytes that differ first nearly do it; what
// they leave is a step or two for few values.
func ascend(xs []float64) ascent {
	room := entries.Get().(*[]entry)
	defer entries.Put(room)
	if len(*room) < 2*len(xs) {
		*room = make([]entry, 2*len(xs))
	}
	es, spare := (*room)[:len(xs)], (*room)[len(xs):2*len(xs)]
	differ := uint64(0)
	for i, x := range xs {
		key := math.Float64bits(x)
		key ^= uint64(int64(key)>>63) | 1<<63 // below zero the larger magnitude is less
		es[i] = entry{key, int32(i)}
		differ |= key ^ es[0].key
	}
	for low := max(0, bits.Len64(differ)-24); ; low = 0 {
		for b := low; b < 64 && differ>>b != 0; b += 8 {
			byByte(es, spare, b)
			es, spare = spare, es
		}
		if low == 0 || insertion(es, 4*len(es)) {
			break
		}
	}
	a := ascent{make([]float64, len(xs)), make([]int32, len(xs))}
	for i, e := range es {
		a.values[i], a.order[i] = xs[e.place], e.place
	}
	return a
}

// byByte puts the entries in the order of a byte of their keys; equal ones keep theirs.
func byByte(from, to []entry, shift int) {
	var at [256]int32
	for i := range from {
		at[byte(from[i].key>>shift)]++
	}
	next := int32(0)
	for digit, n := range at {
		at[digit] = next
		next += n
	}
	for _, e := range from {
		i := &at[byte(e.key>>shift)]
		to[*i] = e
		*i++
	}
}

// insertion sorts entries that are nearly in order. False: it would take more than so many steps.
func insertion(es []entry, steps int) bool {
	for i := 1; i < len(es); i++ {
		e, j := es[i], i
		for ; j > 0 && es[j-1].key > e.key; j-- {
			if steps--; steps < 0 {
				es[j] = e
				return false
			}
			es[j] = es[j-1]
		}
		es[j] = e
	}
	return true
}

// midRanks replaces each value of the series by its rank from 1; equal values share their mean rank.
func (a ascent) midRanks() []float64 {
	out := make([]float64, len(a.values))
	for from := 0; from < len(out); {
		end := from + 1
		for end < len(out) && a.values[end] == a.values[from] {
			end++
		}
		for _, place := range a.order[from:end] {
			out[place] = float64(from+1+end) / 2
		}
		from = end
	}
	return out
}
