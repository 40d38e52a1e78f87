package profile

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"text/tabwriter"
	"time"

	pprof "github.com/google/pprof/profile"
)

// Change is one kernel in two profiles: the sums over the cases that both have it in.
type Change struct {
	Kernel string `json:"kernel"`
	Cases  int    `json:"cases"`
	OldNS  int64  `json:"old_ns"` // device time of one launch of each case
	NewNS  int64  `json:"new_ns"`
	// Known are the cases whose roofline both profiles know; the time over it is theirs alone.
	Known   int   `json:"over_roofline_cases"`
	OldLost int64 `json:"old_over_roofline_ns"`
	NewLost int64 `json:"new_over_roofline_ns"`
	// Ratio is new over old time: above 1 the kernel became slower; 0 where the old time is 0.
	Ratio float64 `json:"ratio"`
}

// Switch is a case that another kernel answers now.
type Switch struct {
	Case  string `json:"case"`
	Old   string `json:"old_kernel"`
	New   string `json:"new_kernel"`
	OldNS int64  `json:"old_ns"`
	NewNS int64  `json:"new_ns"`
}

// Comparison of two profiles of calibrations.
type Comparison struct {
	Changes  []Change `json:"changes"` // the largest difference in time first
	Switches []Switch `json:"other_kernel,omitempty"`
	OnlyOld  []string `json:"only_old,omitempty"` // cases that one profile lacks
	OnlyNew  []string `json:"only_new,omitempty"`
}

// entry is a case in one profile.
type entry struct {
	kernel   string
	ns, lost int64
	known    bool // there is a roofline that lost refers to
}

// entries reads the cases of a profile. Arms of a comparison are entries of their own.
func entries(p *pprof.Profile) (map[string]entry, error) {
	at := map[string]int{}
	for i, t := range p.SampleType {
		at[t.Type] = i
	}
	ns, ok1 := at[DeviceTime]
	lost, ok2 := at[TimeOverRoofline]
	if !ok1 || !ok2 {
		return nil, fmt.Errorf("the profile has no sample types %s and %s: expected one of a calibration (for others: go tool pprof -diff_base)", DeviceTime, TimeOverRoofline)
	}
	if err := fits(p); err != nil {
		return nil, err
	}
	out, seen := map[string]entry{}, map[string]bool{}
	for _, s := range p.Sample {
		id, kernel, arm := s.Label["case"], s.Label["kernel"], ""
		if len(id) != 1 || len(kernel) != 1 {
			return nil, fmt.Errorf("a sample has no labels case and kernel: expected a profile that ridge wrote")
		}
		if a := s.Label["arm"]; len(a) == 1 {
			arm = " " + a[0]
		}
		of, phase := id[0]+arm, ""
		if l := s.Label["phase"]; len(l) == 1 {
			phase = l[0]
		}
		e, more := out[of]
		if seen[of+"\x00"+phase] || more && e.kernel != kernel[0] {
			return nil, fmt.Errorf("it has case %s twice: expected a profile of one run", printable(of))
		}
		seen[of+"\x00"+phase] = true
		out[of] = entry{kernel[0], e.ns + s.Value[ns], e.lost + s.Value[lost], len(s.Label[roofline]) == 0}
	}
	return out, nil
}

// Compare holds two profiles of calibrations against each other, case by case.
func Compare(old, fresh *pprof.Profile) (Comparison, error) {
	var c Comparison
	a, err := entries(old)
	if err != nil {
		return c, fmt.Errorf("old profile: %w", err)
	}
	b, err := entries(fresh)
	if err != nil {
		return c, fmt.Errorf("new profile: %w", err)
	}
	kernels := map[string]*Change{}
	for _, id := range slices.Sorted(maps.Keys(a)) {
		x := a[id]
		y, both := b[id]
		switch {
		case !both:
			c.OnlyOld = append(c.OnlyOld, id)
			continue
		case x.kernel != y.kernel:
			c.Switches = append(c.Switches, Switch{id, x.kernel, y.kernel, x.ns, y.ns})
			continue
		}
		k := kernels[x.kernel]
		if k == nil {
			k = &Change{Kernel: x.kernel}
			kernels[x.kernel] = k
		}
		k.Cases++
		k.OldNS += x.ns
		k.NewNS += y.ns
		if x.known && y.known {
			k.Known++
			k.OldLost += x.lost
			k.NewLost += y.lost
		}
	}
	for _, id := range slices.Sorted(maps.Keys(b)) {
		if _, both := a[id]; !both {
			c.OnlyNew = append(c.OnlyNew, id)
		}
	}
	if len(kernels)+len(c.Switches) == 0 {
		return c, fmt.Errorf("the two profiles have no case in common: nothing can be compared")
	}
	for _, name := range slices.Sorted(maps.Keys(kernels)) {
		k := kernels[name]
		k.Ratio = ratio(k.OldNS, k.NewNS)
		c.Changes = append(c.Changes, *k)
	}
	slices.SortStableFunc(c.Changes, func(x, y Change) int {
		return cmp.Compare(abs(y.NewNS-y.OldNS), abs(x.NewNS-x.OldNS))
	})
	return c, nil
}

// ratio is 0 where there is none.
func ratio(old, fresh int64) float64 {
	if old <= 0 {
		return 0
	}
	return float64(fresh) / float64(old)
}

func abs(x int64) int64 { return max(x, -x) }

// Slower lists what became slower by more than the threshold (0.03 is 3 %): kernels, and cases that
// another kernel answers.
func (c Comparison) Slower(threshold float64) []string {
	var out []string
	for _, k := range c.Changes {
		if k.Ratio > 1+threshold {
			out = append(out, fmt.Sprintf("kernel %s takes %.3f times as long", printable(k.Kernel), k.Ratio))
		}
	}
	for _, s := range c.Switches {
		if r := ratio(s.OldNS, s.NewNS); r > 1+threshold {
			out = append(out, fmt.Sprintf("%s takes %.3f times as long with %s", printable(s.Case), r, printable(s.New)))
		}
	}
	return out
}

// Write prints the comparison; kernels within the threshold count as unchanged and are not listed.
func (c Comparison) Write(w io.Writer, threshold float64) error {
	out := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	same := 0
	fmt.Fprintln(out, "kernel\tcases\told\tnew\tnew/old\tlost old\tlost new")
	for _, k := range c.Changes {
		if k.Ratio > 0 && math.Abs(k.Ratio-1) <= threshold {
			same++
			continue
		}
		lostOld, lostNew := "-", "-"
		if k.Known > 0 {
			lostOld, lostNew = duration(k.OldLost), duration(k.NewLost)
		}
		fmt.Fprintf(out, "%s\t%d\t%s\t%s\t%.3f\t%s\t%s\n", printable(k.Kernel), k.Cases, duration(k.OldNS), duration(k.NewNS), k.Ratio, lostOld, lostNew)
	}
	if err := out.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(w, "%d of %d kernels are within %.3g %% of the old time\n", same, len(c.Changes), 100*threshold)
	for _, s := range c.Switches {
		fmt.Fprintf(w, "other kernel: %s: %s (%s) -> %s (%s), new/old %.3f\n", printable(s.Case), printable(s.Old), duration(s.OldNS), printable(s.New), duration(s.NewNS), ratio(s.OldNS, s.NewNS))
	}
	for _, x := range []struct {
		where string
		ids   []string
	}{{"old", c.OnlyOld}, {"new", c.OnlyNew}} {
		switch len(x.ids) {
		case 0:
		case 1:
			fmt.Fprintf(w, "only in the %s profile: 1 case, %s\n", x.where, printable(x.ids[0]))
		default:
			fmt.Fprintf(w, "only in the %s profile: %d cases, the first %s\n", x.where, len(x.ids), printable(x.ids[0]))
		}
	}
	_, err := fmt.Fprintln(w, "lost: time over the roofline, of the cases of which both profiles know it. Both profiles hold one launch of each case at its median; intervals are in ridge compare.")
	return err
}

// duration in the unit that suits it.
func duration(ns int64) string {
	d := time.Duration(ns)
	switch {
	case d >= time.Second:
		return fmt.Sprintf("%.3f s", d.Seconds())
	case d >= time.Millisecond:
		return fmt.Sprintf("%.3f ms", float64(ns)/1e6)
	case d >= time.Microsecond:
		return fmt.Sprintf("%.3f µs", float64(ns)/1e3)
	}
	return fmt.Sprintf("%d ns", ns)
}

// Difference is the new profile less the old one, as go tool pprof -diff_base makes it: the old
// samples are negative and carry the label pprof::base, to which percentages refer. Sample types that one of them
// lacks (bytes that were counted in one run alone) are left out.
func Difference(old, fresh *pprof.Profile) (*pprof.Profile, error) {
	two := []*pprof.Profile{old.Copy(), fresh.Copy()}
	if err := pprof.CompatibilizeSampleTypes(two); err != nil {
		return nil, fmt.Errorf("new profile less the old one: %w", err)
	}
	two[0].SetLabel("pprof::base", []string{"true"})
	two[0].Scale(-1)
	p, err := pprof.Merge(two)
	if err != nil {
		return nil, fmt.Errorf("new profile less the old one: %w", err)
	}
	return p, p.CheckValid()
}
