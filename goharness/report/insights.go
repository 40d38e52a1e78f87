package report

import (
	"fmt"
	"io"
	"sort"
	"strings"

	"ridge/goharness/record"
)

// worstShown is how many results far from their limit are named.
const worstShown = 5

func writeInsights(w io.Writer, docs []record.Calibration) error {
	var b strings.Builder
	for i := range docs {
		if i > 0 {
			b.WriteString("\n")
		}
		b.WriteString(title(&docs[i]))
		for _, d := range docs[i].Devices {
			deviceInsights(&b, &docs[i], d.ID)
		}
		profiles, err := record.FusionProfiles(&docs[i])
		if err != nil {
			return err
		}
		for n := range profiles {
			fusionInsights(&b, &profiles[n])
		}
		fmt.Fprintf(&b, "Results: %s\n", countsText(&docs[i].Summary))
		for n := range docs[i].Results {
			r := &docs[i].Results[n]
			if r.Status == record.Invalid || r.Status == record.Wrong || r.Status == record.Crashed || r.Status == record.TimedOut {
				fmt.Fprintf(&b, "  %s %s: %s\n", clean(string(r.Status)), clean(r.ID), orNone(r.Reason))
			}
		}
	}
	betweenDevices(&b, docs)
	_, err := io.WriteString(w, b.String())
	return err
}

// deviceInsights takes the limits that the page and the plots draw.
func deviceInsights(b *strings.Builder, d *record.Calibration, device string) {
	r := roofOf(d, device)
	var dram *limit
	for i := range r.Memory {
		if l := &r.Memory[i]; l.Name == "DRAM" || l.Name == "HBM" {
			dram = l
		}
	}
	b.WriteString("Peaks of " + clean(device) + ":\n")
	for _, l := range r.Compute {
		if l.Shared {
			continue
		}
		fmt.Fprintf(b, "  %s: %s %s measured", l.Name, digits(l.Value), l.Unit)
		if l.products > 1 {
			b.WriteString(" by " + l.Detail)
		}
		if l.ceiling.Ratio > 0 {
			fmt.Fprintf(b, ", %s of the theoretical %s", percent(l.ceiling.Ratio), digits(l.Theoretical))
		}
		if dram != nil {
			fmt.Fprintf(b, "; ridge point %s operations per byte", digits(l.Value/dram.Value))
		}
		fmt.Fprintf(b, " (%s)\n", gap(l.ceiling))
	}
	if dram == nil {
		b.WriteString("  DRAM: no bandwidth was measured, so there is no ridge point\n")
	} else {
		fmt.Fprintf(b, "  %s: %s %s measured by %s with %d threads (%s)\n", dram.Name, digits(dram.Value), dram.Unit, clean(dram.ceiling.Access), dram.ceiling.Threads, gap(dram.ceiling))
	}
	worst(b, d, device)
	workInsights(b, d, device)
}

// fusionInsights says what to fuse.
func fusionInsights(b *strings.Builder, f *record.Fusion) {
	_, _, lists := fusionRows(f)
	if text := fusionLists(lists, Options{}); text != "" {
		b.WriteString("Fusion on " + clean(f.Device.ID) + ":\n")
		for _, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
			b.WriteString("  " + line + "\n")
		}
	}
}

// hasLimit leaves out probes and sweeps, which are limits themselves, latencies, which have
// none, and results with arithmetic for which no compute ceiling was measured.
func hasLimit(r *record.Result) bool {
	return !r.Probe() && metricOf(r) != plainTime && (r.FLOPs == 0 || r.Ceiling.ComputeGFLOPS > 0)
}

// worst names the results that reach the least of what their ceilings allow.
func worst(b *strings.Builder, d *record.Calibration, device string) {
	var rs []*record.Result
	for i := range d.Results {
		r := &d.Results[i]
		if r.Device == device && r.Status.Counts() && r.Ceiling != nil && r.Ceiling.Fraction > 0 && hasLimit(r) {
			rs = append(rs, r)
		}
	}
	if len(rs) == 0 {
		return
	}
	sort.SliceStable(rs, func(i, j int) bool { return rs[i].Ceiling.Fraction < rs[j].Ceiling.Fraction })
	b.WriteString("Farthest from their limit:\n")
	for _, r := range rs[:min(worstShown, len(rs))] {
		fmt.Fprintf(b, "  %s of the %s limit: %s, %s by %s\n", ofRoof(r), bound(r), clean(r.ID), performance(r), orNone(r.Kernel))
	}
}
