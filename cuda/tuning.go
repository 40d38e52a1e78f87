//go:build cuda && linux && cgo

package cuda

import (
	"fmt"
	"slices"

	"ridge/cuda/kernel"
	"ridge/goharness/backend"
	"ridge/goharness/op"
)

// tileParam is the one parameter of kernels that have a choice of tiles: its columns.
const tileParam = "tile"

// tileCols are the columns of all tiles of all kernels.
var tileCols = []int64{64, 128, 192, 256}

// choices are the tiles that a kernel can take for an op on a device, and the one that it takes by itself; none where it has no choice. Only the
// plans are looked at: a kernel that ignores the choice makes the same of each.
func choices(k kernel.Kernel, o op.Op, d kernel.Device) (cols []int64, own int64) {
	ts := o.Tensors()
	b := make([]kernel.Buffer, len(ts))
	for i, t := range ts {
		b[i] = kernel.Buffer{Address: uint64(i+1) << 40, Tensor: t} // aligned to everything
	}
	form := func(c int64) string {
		d.TileCols = c
		p, err := k.Plan(o, b, d)
		if err != nil || len(p.Launches) == 0 {
			return ""
		}
		return p.Launches[0].Entry
	}
	entries := map[string]bool{}
	for _, c := range tileCols {
		if f := form(c); f != "" {
			cols, entries[f] = append(cols, c), true
			if f == form(0) {
				own = c
			}
		}
	}
	if len(entries) < 2 {
		return nil, 0
	}
	return cols, own
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
	case g.M <= side || g.N <= side:
		fills = "skinny"
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
		cols, own := choices(k, o, d.id.limits)
		tunable = tunable || len(cols) > 0
		if k.Name != name {
			continue
		}
		found = true
		for _, c := range cols {
			if c != own {
				s.Start = append(s.Start, map[string]int64{tileParam: c})
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
	for name, v := range p {
		if name != tileParam {
			return nil, limits, kernel.Shape("parameter %s=%d: the CUDA kernels have %s alone", name, v, tileParam)
		}
		if cols, _ := choices(k, o, limits); !slices.Contains(cols, v) {
			return nil, limits, kernel.Shape("%s=%d: the kernel takes %v", name, v, cols)
		}
		limits.TileCols = v
	}
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
