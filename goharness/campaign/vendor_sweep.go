package campaign

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"ridge/goharness/fusion"
	"ridge/goharness/record"
)

// A library's pilot is spared where launches are long (lostFrom) if the two next smaller shapes of the sweep, the nearer of which takes a sixteenth of this
// one's time at least, showed that the way takes lostBy times as long as ridge's own or more.
const (
	lostFrom = 5 * time.Millisecond
	lostBy   = 1.5
	lostNear = 16
)

// sweptShape is what a pilot of a library's way showed of one shape.
type sweptShape struct {
	params   map[string]string
	launchNS float64
	times    float64 // as long as ridge's own the way takes, at least
}

// sweep is the key of pilotsShown.sweeps.
func (c *campaign) sweep(k record.Case, own record.ProgramRef, way string) string {
	return fmt.Sprint(way, "|", own.Pattern, "|", own.DType, "|", k.Device, "|", k.Threads, "|", k.Mode, "|", strings.HasSuffix(own.Name, fusion.Packed), "|", len(c.runner.Quarantined()))
}

// shows keeps the outcome of a library's pilot against ridge's own.
func (c *campaign) shows(k record.Case, own record.ProgramRef, way string, r record.Result) {
	if !r.Status.Counts() || r.Ratio == nil || !(r.Ratio.CI95[1] > 0) {
		return
	}
	if c.tried.sweeps == nil {
		c.tried.sweeps = map[string][]sweptShape{}
	}
	key := c.sweep(k, own, way)
	c.tried.sweeps[key] = append(c.tried.sweeps[key], sweptShape{own.Params, c.launchNS(k), 1 / r.Ratio.CI95[1]})
}

// loses says why a library's way is not tried on a shape; "" where it is.
func (c *campaign) loses(k record.Case, own record.ProgramRef, way string) string {
	return lostAt(c.tried.sweeps[c.sweep(k, own, way)], own.Params, c.launchNS(k))
}

// lostAt is loses by what is known of other shapes, of one whose launches take ns by the ceilings.
func lostAt(known []sweptShape, params map[string]string, ns float64) string {
	if ns < float64(lostFrom) {
		return ""
	}
	smaller := map[string][]sweptShape{} // by the parameter that is swept
	for _, x := range known {
		if name := sweptBy(x.params, params); name != "" && x.launchNS < ns {
			smaller[name] = append(smaller[name], x)
		}
	}
	for _, xs := range smaller {
		slices.SortStableFunc(xs, func(a, b sweptShape) int { return cmp.Compare(b.launchNS, a.launchNS) })
		if len(xs) >= 2 && xs[0].launchNS*lostNear >= ns && min(xs[0].times, xs[1].times) >= lostBy {
			return fmt.Sprintf("takes %.2g and %.2g times as long as ridge's own, or more, at %s and %s, which are smaller", xs[0].times, xs[1].times, shape(xs[0].params), shape(xs[1].params))
		}
	}
	return ""
}

// sweptBy names the parameter that two shapes of a pattern differ in; "" where it is not just one.
func sweptBy(a, b map[string]string) (name string) {
	if len(a) != len(b) {
		return ""
	}
	for k, v := range a {
		if w, ok := b[k]; !ok {
			return ""
		} else if v != w && name != "" {
			return ""
		} else if v != w {
			name = k
		}
	}
	return name
}

// shape writes parameters as a case's ID has them, in the order of their names.
func shape(params map[string]string) string {
	var out []string
	for k, v := range params {
		out = append(out, k+"="+v)
	}
	slices.Sort(out)
	return strings.Join(out, ",")
}
