package ceiling

import (
	"math"
	"sort"
	"strings"

	"ridge/goharness/record"
)

// insideFrom is how many times what the inner caches hold a working set is at least when it is called a level's own. Below, part of
// it may stay in them from launch to launch, and it is read faster than the level alone could: on Granite Rapids 2.2 times as fast at the
// capacity of L2, 1.03 times at twice that.
const insideFrom = 4

// between is the name of the range of working sets that begins behind one cache and ends where they are the next level's own.
func between(inner, outer string) string { return inner + "-" + outer }

// EdgeSizes are working sets at which reading is probed to know what lies between the caches: at the capacity of each cache that another one
// follows, and beyond it.
func EdgeSizes(levels []Level) []int64 {
	var out []int64
	for i := 1; i < len(levels); i++ {
		at, most := levels[i-1].Capacity, levels[i].Capacity
		for _, n := range []int64{at, at / 2 * 3, at * 2} {
			if n > 0 && n <= most {
				out = append(out, n/4096*4096)
			}
		}
	}
	return out
}

// Observe keeps the rate of a probe that reads, with its size: working sets between two levels stand against it.
func (m *Model) Observe(r *record.Result) {
	if r.Op != "bandwidth" || r.Params["access"] != "read" || !r.Status.Counts() || r.Time == nil || !(r.Time.MedianNS > 0) {
		return
	}
	if m.reads == nil {
		m.reads = map[int][]Point{}
	}
	ps := m.reads[r.Threads]
	p := Point{Bytes: r.WorkingSetBytes, Value: float64(r.Bytes) / r.Time.MedianNS}
	i := sort.Search(len(ps), func(i int) bool { return ps[i].Bytes >= p.Bytes })
	switch {
	case i == len(ps) || ps[i].Bytes > p.Bytes:
		m.reads[r.Threads] = append(ps[:i], append([]Point{p}, ps[i:]...)...)
	case ps[i].Value < p.Value:
		ps[i].Value = p.Value
	}
}

// stage is a level beside the caches inside it: where the working sets between them begin and end.
type stage struct {
	inner, outer string
	from, to     int64 // to: insideFrom times all that the inner caches hold
}

// stageOf finds the two levels that a name of between tells; false for one level, or none.
func (m *Model) stageOf(level string, threads int) (s stage, ok bool) {
	inner, outer, ok := strings.Cut(level, "-")
	if !ok || outer == DRAM {
		return s, false
	}
	s = stage{inner: inner, outer: outer}
	for _, l := range m.levels(threads) {
		if l.Name == outer {
			break
		}
		s.to += insideFrom * l.Capacity
		if l.Name == inner {
			s.from = l.Capacity
		}
	}
	return s, s.from > 0
}

// inside reports whether a read of so many bytes tells about the working sets of a stage. Probes are of whole pages.
func (s stage) inside(bytes int64) bool { return bytes >= s.from/4096*4096 && bytes < s.to }

// lift is how many times as fast as from the outer level alone a working set between two levels is read, 1 where nothing is known. The probes
// of one thread count speak for the others at the same multiple of their caches: those of the thread count itself where one of them is no
// larger than the working set, else the most. Between two sizes, and from the largest to where the level is alone, the rate is taken to fall with the
// logarithm of the size; below the smallest it is at least that one's.
func (m *Model) lift(s stage, workingSet int64, threads int) float64 {
	by, most := 0, 0
	for t, ps := range m.reads {
		n := 0
		if x, ok := m.stageOf(between(s.inner, s.outer), t); ok {
			for _, p := range ps {
				if !x.inside(p.Bytes) {
					continue
				}
				if n++; t == threads && p.Bytes <= workingSet {
					n += 1 << 20
				}
			}
		}
		if n > most || n == most && n > 0 && t > by {
			by, most = t, n
		}
	}
	alone := m.Bandwidth(s.outer, by, "read")
	if most == 0 || alone == nil {
		return 1
	}
	x, _ := m.stageOf(between(s.inner, s.outer), by)
	at := float64(workingSet) * float64(x.to) / float64(s.to)
	lo, hi := Point{}, Point{Bytes: x.to, Value: alone.Measured.Value}
	for _, p := range m.reads[by] {
		if !x.inside(p.Bytes) {
			continue
		}
		if float64(p.Bytes) > at {
			hi = p
			break
		}
		lo = p
	}
	rate := hi.Value
	if lo.Bytes > 0 && float64(hi.Bytes) > at {
		share := math.Log(at/float64(lo.Bytes)) / math.Log(float64(hi.Bytes)/float64(lo.Bytes))
		rate = lo.Value + share*(hi.Value-lo.Value)
	}
	return math.Max(1, rate/alone.Measured.Value)
}
