//go:build cgo && linux

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"ridge/goharness/record"
)

// header says on what a document was measured; it is the data file's first line.
type header struct {
	Schema    string            `json:"schema"`
	Chip      string            `json:"chip"`
	Features  []string          `json:"features"`
	IdleGHz   float64           `json:"idle_ghz,omitempty"`
	LoadedGHz map[int]float64   `json:"loaded_ghz,omitempty"` // by threads
	System    string            `json:"system"`
	Versions  map[string]string `json:"versions"` // of every library
	Missing   map[string]string `json:"missing,omitempty"`
}

const schema = "ridge.peers/1"

// folder names a chip's folder: the microarchitecture and, where known, the product; of a class of chips that features tell, its name alone.
func folder(c record.CPU) string {
	name, _, _ := strings.Cut(c.Microarchitecture, " class (")
	name = strings.ToLower(strings.ReplaceAll(name, " ", ""))
	if m := regexp.MustCompile(`\(([A-Za-z ]+)\)`).FindStringSubmatch(c.MicroarchitectureSource); m != nil {
		name += "-" + strings.ToLower(strings.ReplaceAll(m[1], " ", ""))
	}
	return name
}

// document is the data and its Markdown.
type document struct {
	path   string // of the Markdown
	header header
	rows   []result
}

func (d *document) data() string { return strings.TrimSuffix(d.path, filepath.Ext(d.path)) + ".jsonl" }

// read takes the rows measured before; none is no error.
func (d *document) read() error {
	b, err := os.ReadFile(d.data())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	in := bufio.NewScanner(bytes.NewReader(b))
	in.Buffer(nil, 64<<20)
	for n := 1; in.Scan(); n++ {
		if n == 1 {
			if err := json.Unmarshal(in.Bytes(), &d.header); err != nil || d.header.Schema != schema {
				return fmt.Errorf("%s: its first line is no header of %s", d.data(), schema)
			}
			continue
		}
		var r result
		if err := json.Unmarshal(in.Bytes(), &r); err != nil {
			return fmt.Errorf("%s:%d: %w", d.data(), n, err)
		}
		d.rows = append(d.rows, r)
	}
	return in.Err()
}

// put adds a row or replaces the one with its id.
func (d *document) put(r result) {
	if i := slices.IndexFunc(d.rows, func(x result) bool { return x.ID == r.ID && x.Group == r.Group }); i >= 0 {
		d.rows[i] = r
		return
	}
	d.rows = append(d.rows, r)
}

// has reports whether a row is there already.
func (d *document) has(r row) bool {
	return slices.ContainsFunc(d.rows, func(x result) bool { return x.Group == r.group && x.Label == r.label && x.Threads == r.threads })
}

// threads are the thread counts of the document's rows and those given, ascending.
func (d *document) threads(more []int) []int {
	out := slices.Clone(more)
	for _, r := range d.rows {
		out = append(out, r.Threads)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// write saves data and Markdown, rows in the table's order.
func (d *document) write(order []row) error {
	at := map[string]int{}
	for i, r := range order {
		at[fmt.Sprintf("%s|%s|%d", r.group, r.label, r.threads)] = i + 1
	}
	key := func(r result) int { return at[fmt.Sprintf("%s|%s|%d", r.Group, r.Label, r.Threads)] }
	slices.SortStableFunc(d.rows, func(a, b result) int { return key(a) - key(b) })
	d.header.Schema = schema
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	if err := enc.Encode(d.header); err != nil {
		return err
	}
	for _, r := range d.rows {
		if err := enc.Encode(r); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(filepath.Dir(d.path), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(d.data(), out.Bytes(), 0o644); err != nil {
		return err
	}
	return d.render()
}

// render saves the Markdown alone.
func (d *document) render() error { return os.WriteFile(d.path, d.markdown(), 0o644) }

// header reads what the machine is and measures its clock; versions and clocks of an earlier
// header stay.
func (b *bench) header(ctx context.Context, h record.Host, threads []int, old header) (header, error) {
	out := header{Schema: schema, Chip: fmt.Sprintf("%s (%s), %s", h.CPU.Microarchitecture, h.CPU.Model, h.CPU.MicroarchitectureSource),
		Features: h.CPU.Features, Versions: map[string]string{}, LoadedGHz: map[int]float64{}}
	maps.Copy(out.Versions, old.Versions)
	maps.Copy(out.LoadedGHz, old.LoadedGHz)
	kernel, _ := h.Kernel.Get()
	hypervisor, _ := h.Hypervisor.Get()
	out.System = fmt.Sprintf("%s %s, hypervisor %s", h.OS, kernel, hypervisor)
	for _, n := range threads {
		c, err := b.contender(entry{maker: "ridge", seat: "ridge#0"}, n)
		if err != nil {
			return out, err
		}
		r, err := b.ask(ctx, entry{maker: "ridge", seat: "ridge#0"}, n, c, request{Verb: verbClock})
		if err != nil {
			return out, err
		}
		out.IdleGHz, out.LoadedGHz[n] = r.IdleGHz, r.LoadedGHz
	}
	return out, nil
}

// note adds the libraries that took part so far, and those that could not be opened.
func (h *header) note(b *bench) {
	maps.Copy(h.Versions, b.versions)
	h.Missing = map[string]string{}
	for l, err := range b.Missing {
		h.Missing[l] = err.Error()
	}
}

// rate of a row at a time, in its metric.
func (r result) rate(ns float64) string {
	switch r.Metric {
	case "gflops":
		return figure(float64(r.FLOPs) / ns)
	case "gbps":
		return figure(float64(r.Bytes) / ns)
	}
	return figure(ns)
}

// figure has three significant digits.
func figure(x float64) string {
	switch {
	case x >= 100:
		return fmt.Sprintf("%.0f", x)
	case x >= 10:
		return fmt.Sprintf("%.1f", x)
	}
	return fmt.Sprintf("%.2f", x)
}

// What a row says of ours and the best peer.
const (
	faster = "faster"
	even   = "even"
	slower = "slower"
	noPeer = "no peer"
)

// againstPeer is how ours stands against the best peer. The 95 % interval of the ratio decides, not a margin.
func (r result) againstPeer() string {
	switch {
	case r.Ratio == nil:
		return noPeer
	case r.Ratio.Lo > 1:
		return faster
	case r.Ratio.Hi < 1:
		return slower
	}
	return even
}

func ratioText(i *interval) string {
	if i == nil {
		return "–"
	}
	return fmt.Sprintf("%.2f [%.2f, %.2f]", i.Median, i.Lo, i.Hi)
}

func shareText(i *interval) string {
	if i == nil {
		return "–"
	}
	return fmt.Sprintf("%.0f %% [%.0f, %.0f]", 100*i.Median, 100*i.Lo, 100*i.Hi)
}

// spread is half the interval, relative.
func spread(f figures) string {
	return fmt.Sprintf("±%.0f %%", 50*(f.NS.Hi-f.NS.Lo)/f.NS.Median)
}

// disturbed reports whether other processes had our CPUs in more than a quarter of the rounds.
func (r result) disturbed() bool { return 4*r.Ours.Disturbed > r.Ours.Rounds }

// line is the row on one line of progress.
func (r result) line() string {
	best := "no peer"
	if r.Ratio != nil {
		best = r.Peers[0].Name + " " + r.rate(r.Peers[0].NS.Median)
	}
	return fmt.Sprintf("%s, %s, %d threads: %s %s %s, best peer %s, ratio %s, of probe %s, steal %.1f %%, %.0f s, %s%s", r.Group, r.Label, r.Threads,
		r.rate(r.Ours.NS.Median), r.Metric, spread(r.Ours), best, ratioText(r.Ratio), shareText(r.OfProbe), 100*r.StealShare, r.Seconds, r.againstPeer(),
		map[bool]string{true: ", disturbed"}[r.disturbed()])
}
