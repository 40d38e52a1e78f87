//go:build cgo && linux

package main

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// markdown renders the document.
func (d *document) markdown() []byte {
	var w bytes.Buffer
	h := d.header
	fmt.Fprintf(&w, "# CPU kernels, peers and probes\n\nWritten by `make bench-peers`; the data, with every sample, is beside this file. ")
	w.WriteString("How it is measured and what the columns mean: [bench-peers](../bench-peers.md).\n\n")
	fmt.Fprintf(&w, "- Chip: %s; %s\n- System: %s\n", h.Chip, strings.Join(h.Features, ", "), h.System)
	d.summary(&w)
	w.WriteString("\n## Clocks, libraries and settings\n\n")
	for _, n := range slices.Sorted(maps.Keys(h.LoadedGHz)) {
		fmt.Fprintf(&w, "- Clock with busy vector units, %d threads: %.2f GHz (idle %.2f GHz)\n", n, h.LoadedGHz[n], h.IdleGHz)
	}
	for _, l := range slices.Sorted(maps.Keys(h.Versions)) {
		fmt.Fprintf(&w, "- %s: %s\n", l, strings.Join(strings.Fields(h.Versions[l]), " "))
	}
	for _, l := range slices.Sorted(maps.Keys(h.Missing)) {
		fmt.Fprintf(&w, "- not measured: %s: %s\n", l, h.Missing[l])
	}
	d.noise(&w)
	d.networks(&w)
	for _, rows := range d.groups() {
		d.group(&w, rows)
	}
	return w.Bytes()
}

// groups are the rows of a group at a thread count, in the order of their first ones.
func (d *document) groups() [][]result {
	var out [][]result
	at := map[string]int{}
	for _, r := range d.rows {
		key := title([]result{r})
		i, met := at[key]
		if !met {
			i = len(out)
			at[key], out = i, append(out, nil)
		}
		out[i] = append(out[i], r)
	}
	return out
}

// title is a group's name with its threads.
func title(rows []result) string {
	if rows[0].Threads == 1 {
		return rows[0].Group + ", 1 thread"
	}
	return fmt.Sprintf("%s, %d threads", rows[0].Group, rows[0].Threads)
}

// summary counts how ours stands against the best peer in each group. The rows where it is slower are named, and the group that has the
// slowest one stands first.
func (d *document) summary(w *bytes.Buffer) {
	if len(d.rows) == 0 {
		return
	}
	type line struct {
		title  string
		counts map[string]int
		slower []result // the slowest first
	}
	total, lines := map[string]int{}, []line{}
	for _, rows := range d.groups() {
		at := slices.IndexFunc(lines, func(l line) bool { return l.title == title(rows) }) // a group's rows may stand in several places
		if at < 0 {
			at, lines = len(lines), append(lines, line{title: title(rows), counts: map[string]int{}})
		}
		l := &lines[at]
		for _, r := range rows {
			is := r.againstPeer()
			l.counts[is]++
			total[is]++
			if is == slower {
				l.slower = append(l.slower, r)
			}
		}
		slices.SortStableFunc(l.slower, func(a, b result) int { return cmp.Compare(a.Ratio.Median, b.Ratio.Median) })
	}
	worst := func(l line) float64 {
		if len(l.slower) == 0 {
			return 1
		}
		return l.slower[0].Ratio.Median
	}
	slices.SortStableFunc(lines, func(a, b line) int { return cmp.Compare(worst(a), worst(b)) })
	fmt.Fprintf(w, "\n## Against the best peer\n\n%d rows: %d slower than the best peer, %d even, %d faster, %d without a peer. The 95 %% interval of the ratio (the best peer's time over ours) decides, "+
		"as it was before rounding:\n\n", len(d.rows), total[slower], total[even], total[faster], total[noPeer])
	fmt.Fprintf(w, "- **%s**: all of it is below 1.\n- %s: it contains 1.\n- %s: all of it is above 1; by how much the ratio says, no margin is asked for.\n"+
		"- %s: no library took the case with right outputs.\n\n", slower, even, faster, noPeer)
	fmt.Fprintf(w, "| group | slower | even | faster | no peer | the slower rows, with their ratio |\n|---|---|---|---|---|---|\n")
	for _, l := range lines {
		var names []string
		for _, r := range l.slower {
			names = append(names, fmt.Sprintf("%s: %.2f", r.name(), r.Ratio.Median))
			if r.disturbed() {
				names[len(names)-1] += " (disturbed)"
			}
		}
		fmt.Fprintf(w, "| %s | %d | %d | %d | %d | %s |\n", l.title, l.counts[slower], l.counts[even], l.counts[faster], l.counts[noPeer], strings.Join(names, "; "))
	}
}

// noise tells what was measured, how, and the steal time of the rows.
func (d *document) noise(w *bytes.Buffer) {
	if len(d.rows) == 0 {
		return
	}
	steal, revisions, settings := []float64{}, map[string]bool{}, map[string]bool{}
	for _, r := range d.rows {
		steal = append(steal, r.StealShare)
		revisions[r.Version], settings[r.Settings] = true, true
	}
	slices.Sort(steal)
	fmt.Fprintf(w, "- Revisions: %s\n- Settings: %s\n", strings.Join(slices.Sorted(maps.Keys(revisions)), ", "), strings.Join(slices.Sorted(maps.Keys(settings)), " | "))
	fmt.Fprintf(w, "- Steal by the hypervisor: median row %.1f %%, worst %.1f %% of the CPU time\n", 100*steal[len(steal)/2], 100*steal[len(steal)-1])
}

func unit(metric string) string {
	return map[string]string{"gflops": "GFLOP/s", "gbps": "GB/s", "ns": "ns"}[metric]
}

// both is the median with its spread, and the best round.
func (r result) both(f figures) string {
	return fmt.Sprintf("%s %s, best %s", r.rate(f.NS.Median), spread(f), r.rate(f.Best))
}

func (d *document) group(w *bytes.Buffer, rows []result) {
	fmt.Fprintf(w, "\n## %s\n\n", title(rows))
	fmt.Fprintf(w, "| %s | ours | best peer | its | ratio [95 %%] | of the limit | against the best peer | other contenders | refused | date |\n|---|---|---|---|---|---|---|---|---|---|\n", unit(rows[0].Metric))
	for _, r := range rows {
		best, its := "–", "–"
		var others []string
		for i, p := range r.Peers {
			if p.Lesser != "" {
				others = append(others, fmt.Sprintf("%s %s (%s)", p.Name, r.rate(p.NS.Median), p.Lesser))
				continue
			}
			if i == 0 {
				best, its = r.inLayout(p.Name), r.both(p)
				continue
			}
			others = append(others, p.Name+" "+r.rate(p.NS.Median))
		}
		for _, p := range r.OursOther {
			others = append(others, p.Name+" "+r.rate(p.NS.Median))
		}
		for _, p := range r.Probes {
			others = append(others, fmt.Sprintf("*%s %s*", p.Name, figure(p.Rate)))
		}
		var refused []string
		for _, name := range slices.Sorted(maps.Keys(r.Refused)) {
			refused = append(refused, name+": "+strings.ReplaceAll(r.Refused[name], "|", "\\|"))
		}
		against := r.againstPeer()
		if against == slower {
			against = "**" + against + "**"
		}
		if r.disturbed() {
			against += ", disturbed"
		}
		kernel := r.Ours.Kernel
		if strings.Contains(r.Ours.Name, "packed") {
			kernel = "packed beforehand, " + kernel
		}
		if l := r.layout(r.Ours.Name); l != "" {
			kernel = l + ", " + kernel
		}
		fmt.Fprintf(w, "| %s | %s (%s) | %s | %s | %s | %s | %s | %s | %s | %s |\n", r.name(), r.both(r.Ours), kernel, best, its,
			ratioText(r.Ratio), shareText(r.OfProbe), against, strings.Join(others, ", "), strings.Join(refused, "; "), r.Date)
	}
	layouts(w, rows)
}

// name is the row's label, with how often its network has it.
func (r result) name() string {
	if r.Count > 1 {
		return fmt.Sprintf("%s (×%d)", r.Label, r.Count)
	}
	return r.Label
}

// layout is the order of x and y in which a contender computed a convolution, "" of other ops. Peers are asked for NHWC; what
// "blocked" names, the library chooses (nChw8c on AVX2, nChw16c on AVX-512).
func (r result) layout(name string) string {
	switch {
	case r.Op != "conv2d":
		return ""
	case strings.HasSuffix(name, "nchw"):
		return "NCHW"
	case strings.HasSuffix(name, "blocked"):
		return "blocked"
	}
	return "NHWC"
}

// inLayout is a peer's name with the layout it had, unless the name says it.
func (r result) inLayout(name string) string {
	if l := r.layout(name); l != "" && !strings.HasSuffix(name, l) {
		return name + ", " + l
	}
	return name
}

// layouts says in how many rows of a group which layout was the fastest, on each side.
func layouts(w *bytes.Buffer, rows []result) {
	ours, peers := map[string]int{}, map[string]int{}
	for _, r := range rows {
		if r.Op != "conv2d" {
			return
		}
		ours[r.layout(r.Ours.Name)]++
		if r.Ratio != nil {
			peers[r.layout(r.Peers[0].Name)]++
		}
	}
	count := func(of map[string]int) string {
		var parts []string
		for _, l := range slices.SortedFunc(maps.Keys(of), func(a, b string) int { return cmp.Or(of[b]-of[a], strings.Compare(a, b)) }) {
			parts = append(parts, fmt.Sprintf("%s in %d", l, of[l]))
		}
		if len(parts) == 0 {
			return "nowhere, for there is none to beat"
		}
		return strings.Join(parts, ", ")
	}
	fmt.Fprintf(w, "\nFastest layout: ours %s; the best peer's %s.\n", count(ours), count(peers))
}

// networks adds the layers of each network up, each as often as the network has it: ours, the
// best peer layer by layer, and each peer that was measured on every layer.
func (d *document) networks(w *bytes.Buffer) {
	type total struct {
		ours, best float64
		peers      map[string]float64
		layers     map[string]int
		n          int
	}
	totals, order := map[string]*total{}, []string{}
	for _, r := range d.rows {
		if r.Network == "" || r.Ratio == nil {
			continue
		}
		key := fmt.Sprintf("%s, %d threads", r.Network, r.Threads)
		t := totals[key]
		if t == nil {
			t = &total{peers: map[string]float64{}, layers: map[string]int{}}
			totals[key], order = t, append(order, key)
		}
		c := float64(r.Count)
		t.n++
		t.ours += c * r.Ours.NS.Median
		t.best += c * r.Peers[0].NS.Median
		for _, p := range r.Peers {
			t.peers[p.Name] += c * p.NS.Median
			t.layers[p.Name]++
		}
	}
	if len(order) == 0 {
		return
	}
	fmt.Fprintf(w, "\n## Convolutions of whole networks (sum of the layers' medians, ms)\n\n| network | layers | ours | best peer of each layer | ratio | one peer for all layers |\n|---|---|---|---|---|---|\n")
	for _, key := range order {
		t := totals[key]
		var one []string
		for _, name := range slices.Sorted(maps.Keys(t.peers)) {
			if t.layers[name] == t.n {
				one = append(one, fmt.Sprintf("%s %s", name, figure(t.peers[name]/1e6)))
			}
		}
		fmt.Fprintf(w, "| %s | %d | %s | %s | %.2f | %s |\n", key, t.n, figure(t.ours/1e6), figure(t.best/1e6), t.best/t.ours, strings.Join(one, ", "))
	}
}
