//go:build cuda && linux && cgo

package cuda

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"ridge/cuda/kernel"
	"ridge/goharness/backend"
	"ridge/goharness/op"
)

// What a search chooses of kernels that have a choice: the columns of the tile, and the blocks of a cluster (1: none).
const tileParam, clusterParam = "tile", "cluster"

// tileCols are the columns of all tiles of all kernels, clusterBlocks the blocks of all clusters.
var tileCols, clusterBlocks = []int64{64, 128, 192, 256}, []int64{1, 2}

// choices are the parameters that a kernel can take for an op on a device, and those that it takes by itself; none where it has no choice. Only the
// plans are looked at: a kernel that ignores the choice makes the same of each.
func choices(k kernel.Kernel, o op.Op, d kernel.Device) (all []map[string]int64, own map[string]int64) {
	ts := o.Tensors()
	b := make([]kernel.Buffer, len(ts))
	for i, t := range ts {
		b[i] = kernel.Buffer{Address: uint64(i+1) << 40, Tensor: t} // aligned to everything
	}
	form := func(cols, cluster int64) string {
		d.TileCols, d.Cluster = cols, cluster
		p, err := k.Plan(o, b, d)
		if err != nil || len(p.Launches) == 0 {
			return ""
		}
		var entries []string
		for _, l := range p.Launches {
			entries = append(entries, l.Entry)
		}
		return strings.Join(entries, " ")
	}
	entries, free := map[string]bool{}, form(0, 0)
	add := func(entry string, p map[string]int64) {
		if entry == "" {
			return
		}
		all, entries[entry] = append(all, p), true
		if entry == free {
			own = p
		}
	}
	for _, cols := range tileCols {
		alone := form(cols, 1)
		clusters := slices.DeleteFunc(slices.Clone(clusterBlocks), func(n int64) bool { f := form(cols, n); return n == 1 || f == "" || f == alone })
		if len(clusters) == 0 {
			add(alone, map[string]int64{tileParam: cols})
			continue
		}
		add(alone, map[string]int64{tileParam: cols, clusterParam: 1})
		for _, n := range clusters {
			add(form(cols, n), map[string]int64{tileParam: cols, clusterParam: n})
		}
	}
	if len(entries) < 2 {
		return nil, nil
	}
	return all, own
}

// values that a parameter has in a list of them.
func values(all []map[string]int64, name string) []int64 {
	var out []int64
	for _, p := range all {
		if v, ok := p[name]; ok && !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	return out
}

// class of shapes that a search on this device is good for: the name tells other devices apart, the rest how a product of matrices fills it.
func (id identity) class(o op.Op) string {
	g, ok := o.(*op.Gemm)
	if !ok {
		return ""
	}
	const side = 128 // of the smallest square tile
	sms := int64(max(1, id.limits.SMs))
	tiles := float64((g.M+side-1)/side) * float64((g.N+side-1)/side) * float64(max(1, g.Batch))
	fills := "more than four rounds of tiles"
	switch {
	case g.M <= side: // one row of tiles: no neighbour for a cluster
		fills = "skinny"
	case g.N <= side:
		fills = "few columns"
	case tiles <= float64(sms):
		fills = "one round of tiles"
	case tiles <= 4*float64(sms):
		fills = "two to four rounds of tiles"
	}
	if g.K < 512 {
		fills += ", short k"
	}
	stored := "B as [K,N]"
	if g.TransB {
		stored = "B as [N,K]"
	}
	return fmt.Sprintf("%s, %d multiprocessors: %s, %s", id.name, sms, fills, stored)
}

// Space is the tiles to try for a kernel (backend.Tuner). A kernel without a choice of them is a candidate as it is, where another kernel has one.
func (d *device) Space(o op.Op, name string, _ backend.Caches, _ int) (backend.Space, bool) {
	s := backend.Space{Class: d.id.class(o)}
	if s.Class == "" {
		return s, false
	}
	tunable, found := false, false
	for _, k := range d.b.candidates(o, "") {
		if k.Runs(d.id.limits.Capability) != nil || !plans(k, o, d.id.limits) {
			continue
		}
		all, own := choices(k, o, d.id.limits)
		tunable = tunable || len(all) > 0
		if k.Name != name {
			continue
		}
		found = true
		for _, p := range all {
			if !maps.Equal(p, own) {
				s.Start = append(s.Start, p)
			}
		}
	}
	return s, found && tunable
}

// Takes reports whether a kernel of the list of Kernels takes an op's shape, when its operands are aligned.
func (d *device) Takes(o op.Op, name string) bool {
	return slices.ContainsFunc(d.b.candidates(o, name), func(k kernel.Kernel) bool { return plans(k, o, d.id.limits) })
}

// plans reports whether a kernel takes an op with aligned operands.
func plans(k kernel.Kernel, o op.Op, d kernel.Device) bool {
	ts := o.Tensors()
	b := make([]kernel.Buffer, len(ts))
	for i, t := range ts {
		b[i] = kernel.Buffer{Address: uint64(i+1) << 40, Tensor: t}
	}
	_, err := k.Plan(o, b, d)
	return err == nil
}

// params of a kernel for an op: those of the options for the forced kernel, else those that a search found. The limits are the device's with them.
func (e *executable) params(k kernel.Kernel, o op.Op) (map[string]int64, kernel.Device, error) {
	limits := e.d.id.limits
	p := e.d.tuning.ParamsFor(o, e.d.id.class(o), 1, k.Name)
	if len(e.opts.Params) > 0 && k.Name == e.opts.Kernel {
		p = e.opts.Params
	}
	if len(p) == 0 {
		return nil, limits, nil
	}
	all, _ := choices(k, o, limits)
	for _, name := range slices.Sorted(maps.Keys(p)) {
		v := p[name]
		if name != tileParam && name != clusterParam {
			return nil, limits, kernel.Shape("parameter %s=%d: the CUDA kernels have %s and %s alone", name, v, tileParam, clusterParam)
		}
		if has := values(all, name); !slices.Contains(has, v) {
			return nil, limits, kernel.Shape("%s=%d: the kernel takes %v", name, v, has)
		}
	}
	limits.TileCols, limits.Cluster = p[tileParam], p[clusterParam]
	return p, limits, nil
}

// prefer moves the kernel that a search found faster than the one picked by rank to the front. A quarantined or unsupported one is passed over there
// like any other.
func (e *executable) prefer(all []kernel.Kernel, o op.Op) {
	t, ok := e.d.tuning.Find(o, e.d.id.class(o), 1)
	i := slices.IndexFunc(all, func(k kernel.Kernel) bool { return k.Name == t.Kernel })
	if !ok || t.Replaces == "" || i < 0 {
		return
	}
	k := all[i]
	copy(all[1:i+1], all[:i])
	all[0] = k
}
