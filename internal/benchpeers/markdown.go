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
	for i := 0; i < len(d.rows); {
		j := i
		for j < len(d.rows) && d.rows[j].Group == d.rows[i].Group && d.rows[j].Threads == d.rows[i].Threads {
			j++
		}
		d.group(&w, d.rows[i:j])
		i = j
	}
	return w.Bytes()
}

// noise counts goals and tells the steal time of the rows.
func (d *document) noise(w *bytes.Buffer) {
	if len(d.rows) == 0 {
		return
	}
	goals, steal, revisions, settings := map[string]int{}, []float64{}, map[string]bool{}, map[string]bool{}
	for _, r := range d.rows {
		goals[strings.Trim(r.goal(), "*")]++
		steal = append(steal, r.StealShare)
		revisions[r.Version], settings[r.Settings] = true, true
	}
	slices.Sort(steal)
	fmt.Fprintf(w, "- Revisions: %s\n- Settings: %s\n", strings.Join(slices.Sorted(maps.Keys(revisions)), ", "), strings.Join(slices.Sorted(maps.Keys(settings)), " | "))
	fmt.Fprintf(w, "- Steal by the hypervisor: median row %.1f %%, worst %.1f %% of the CPU time\n", 100*steal[len(steal)/2], 100*steal[len(steal)-1])
	fmt.Fprintf(w, "\n%d rows: faster than the best peer in %d, even in %d, slower in %d, without a peer %d.\n",
		len(d.rows), goals["met"], goals["even"], goals["missed"], goals["no peer"])
}

func unit(metric string) string {
	return map[string]string{"gflops": "GFLOP/s", "gbps": "GB/s", "ns": "ns"}[metric]
}

// both is the median with its spread, and the best round.
func (r result) both(f figures) string {
	return fmt.Sprintf("%s %s, best %s", r.rate(f.NS.Median), spread(f), r.rate(f.Best))
}

func (d *document) group(w *bytes.Buffer, rows []result) {
	threads := "threads"
	if rows[0].Threads == 1 {
		threads = "thread"
	}
	fmt.Fprintf(w, "\n## %s, %d %s\n\n", rows[0].Group, rows[0].Threads, threads)
	fmt.Fprintf(w, "| %s | ours | best peer | its | ratio [95 %%] | of the limit | goal | other contenders | refused | date |\n|---|---|---|---|---|---|---|---|---|---|\n", unit(rows[0].Metric))
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
		label := r.Label
		if r.Count > 1 {
			label += fmt.Sprintf(" (×%d)", r.Count)
		}
		goal := r.goal()
		if r.disturbed() {
			goal += ", disturbed"
		}
		kernel := r.Ours.Kernel
		if strings.Contains(r.Ours.Name, "packed") {
			kernel = "packed beforehand, " + kernel
		}
		if l := r.layout(r.Ours.Name); l != "" {
			kernel = l + ", " + kernel
		}
		fmt.Fprintf(w, "| %s | %s (%s) | %s | %s | %s | %s | %s | %s | %s | %s |\n", label, r.both(r.Ours), kernel, best, its,
			ratioText(r.Ratio), shareText(r.OfProbe), goal, strings.Join(others, ", "), strings.Join(refused, "; "), r.Date)
	}
	layouts(w, rows)
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
