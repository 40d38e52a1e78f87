package power

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// The reader may lose its CPU anywhere: before the first stamp of a call, between a stamp and the counter, and between two calls. The update
// that a reading shows lies in its edge all the same, and the edge is no wider than an interval and the call.
func TestTheUpdateLiesInItsEdgeWhereverTheReaderLosesItsCPU(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := Domain{Interval: 1000, Jitter: time.Duration(rapid.SampledFrom([]int64{0, 300, 900}).Draw(t, "jitter"))}
		late := rapid.SliceOfN(rapid.SampledFrom([]int64{0, int64(d.Jitter) / 2, int64(d.Jitter)}), 200, 200).Draw(t, "late")
		at := func(k int64) int64 { return k*int64(d.Interval) + late[k] } // update k
		shown := func(now int64) int64 {                                   // the last update by then
			k := now / int64(d.Interval)
			if at(k) > now {
				k--
			}
			return k
		}
		now := int64(5000)
		stamp := func() int64 {
			now += rapid.OneOf(rapid.Int64Range(0, 20), rapid.Int64Range(0, 1000), rapid.Int64Range(0, 20_000)).Draw(t, "lost")
			return now
		}
		read := func() (r Reading, k int64) {
			began := stamp()
			k = shown(stamp())
			ended := stamp()
			return Reading{AtNS: (began + ended) / 2, TookNS: ended - began}, k
		}
		before, k0 := read()
		r, k1 := read()
		if k0 == k1 {
			t.Skip("no update between them")
		}
		e := edgeBetween(before, r, d, uint64(k1))
		if off := at(k1) - int64(e.at); off > int64(e.gap)/2+2 || off < -int64(e.gap)/2-2 { // whole nanoseconds
			t.Errorf("update at %d, edge at %d ± %d", at(k1), e.at, e.gap/2)
		}
		if most := int64(d.Interval+d.Jitter) + r.TookNS; int64(e.gap) > most+2 || int64(e.gap) > r.AtNS+r.TookNS/2-before.AtNS+before.TookNS/2+2 {
			t.Errorf("the edge is %d wide: expected at most %d", e.gap, most)
		}
	})
}
