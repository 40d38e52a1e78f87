package attention

import (
	"fmt"

	"ridge/cuda/kernel"
	"ridge/goharness/op"
)

// wgmmaShape is an entry of attention_wgmma.cuh: warpgroups of 64 queries that a block has, keys of a tile and tiles of k and of v in shared memory.
type wgmmaShape struct{ groups, keys, stages int64 }

var wgmmaDims = map[int64]wgmmaShape{64: {3, 128, 4}, 128: {3, 80, 3}, 256: {2, 80, 2}}

// shared is the dynamic shared memory of a block with d columns, and barriers the bytes of its mbarriers (WgmmaAttention).
func (s wgmmaShape) shared(d int64) int64 {
	room := 1024 + (64*s.groups+2*s.stages*s.keys)*2*d
	if d < 256 {
		room += 16 * 128 // columns of ones
	}
	return room
}
func (s wgmmaShape) barriers() int64 { return 8 * (1 + 4*s.stages) }

// wgmma plans attention on Hopper's tensor cores.
func wgmma(o op.Op, b []kernel.Buffer, d kernel.Device) (kernel.Plan, error) {
	a, ok := o.(*op.Attention)
	if !ok {
		return kernel.Plan{}, fmt.Errorf("op %s is no attention", o.Name())
	}
	s, ok := wgmmaDims[a.Dim]
	switch {
	case !ok:
		return kernel.Plan{}, kernel.Shape("d=%d: 64, 128 and 256 are taken", a.Dim)
	case a.B == 0 || a.Sq == 0 || a.Skv == 0:
		return kernel.Plan{}, kernel.Shape("b=%d sq=%d skv=%d: an empty tensor has no tensor map", a.B, a.Sq, a.Skv)
	case a.Sq > mmaSequence || a.Skv > mmaSequence:
		return kernel.Plan{}, kernel.Shape("%d queries, %d keys: at most %d are taken", a.Sq, a.Skv, mmaSequence)
	case s.shared(a.Dim)+s.barriers() > int64(d.SharedMax):
		return kernel.Plan{}, kernel.Shape("a block takes %d bytes of shared memory, this device gives %d", s.shared(a.Dim)+s.barriers(), d.SharedMax)
	}
	for _, x := range b {
		if x.Address%16 != 0 {
			return kernel.Plan{}, kernel.Shape("%s lies at address %#x: a multiple of 16 is needed", x.Tensor.Name, x.Address)
		}
	}
	queries := 64 * s.groups
	tiles, heads := (a.Sq+queries-1)/queries, op.Product(a.B, a.H)
	if heads > kernel.MaxGrid/tiles {
		return kernel.Plan{}, kernel.Shape("%d heads of %d queries: at most %d tiles of %d queries are taken", heads, a.Sq, kernel.MaxGrid, queries)
	}
	args := []kernel.Arg{headMap(b[0], a.Dim, a.Sq, heads, queries), headMap(b[1], a.Dim, a.Skv, a.B*a.HKV, s.keys), headMap(b[2], a.Dim, a.Skv, a.B*a.HKV, s.keys)}
	args = append(args, kernel.Ints(heads, a.H, a.HKV, a.Sq, a.Skv)...)
	turns, k := together(a, d), s.share(tiles*heads, (a.Skv+s.keys-1)/s.keys, a.Causal, d)
	args = append(args, kernel.Bool(a.Causal), kernel.Int(turns), kernel.Float(a.Scale()), kernel.Ptr(b[3]))
	args = append(append(args, kernel.Ints(k.whole, k.parts, k.tiles, k.count)...), kernel.Work(0))
	plan := kernel.Plan{Launches: []kernel.Launch{{Entry: fmt.Sprintf("attention_%s_sm90_d%d", a.D, a.Dim), Grid: [3]int64{k.whole + k.count, 1, 1},
		Block: [3]int64{128 * (s.groups + 1), 1, 1}, Shared: s.shared(a.Dim), Args: args}}}
	if k.count == 0 {
		return plan, nil
	}
	plan.Workspace = k.count * queries * (a.Dim + 2) * 4
	args = append(kernel.Ints(heads, a.H, a.HKV, a.Sq, a.Skv), kernel.Bool(a.Causal), kernel.Int(turns), kernel.Float(a.Scale()), kernel.Ptr(b[3]))
	args = append(append(args, kernel.Ints(k.whole, k.parts, k.count)...), kernel.Work(0))
	plan.Launches = append(plan.Launches, kernel.Launch{Entry: plan.Launches[0].Entry + "_merge", Grid: [3]int64{k.count / k.parts * s.groups, a.Dim / 64, 1},
		Block: [3]int64{128, 1, 1}, Args: args})
	return plan, nil
}

// keyShare is KeyParts of attention_wgmma.cuh: whole blocks, and what the others' keys are parted into.
type keyShare struct{ whole, parts, tiles, count int64 }

// What a block's start and end, the sums that a part leaves, and the second launch take, in tiles of keys. d = 64, 16 heads of 8192: 0.885 of the time without parts by these,
// 0.888 measured on an H200.
const startCost, partCost, mergeCost = 1.5, 1.0, 3.0

// share parts the keys of the last blocks where that ends sooner: blocks that do not fill the multiprocessors, or the last round of them. Causal blocks are of
// unequal length and fill up by themselves, unless there are few of them.
func (s wgmmaShape) share(blocks, tiles int64, causal bool, d kernel.Device) keyShare {
	sms := int64(max(1, d.SMs))
	best := keyShare{whole: blocks, parts: 1, tiles: tiles}
	if causal && 2*blocks > sms {
		return best
	}
	ceil := func(n, per int64) int64 { return (n + per - 1) / per }
	least := 0.97 * float64(ceil(blocks, sms)) * (float64(tiles) + startCost)
	rest := blocks % sms
	for parts := int64(2); rest > 0 && parts <= min(tiles, 64); parts++ {
		each := ceil(tiles, parts)
		n := ceil(tiles, each)
		cost := float64(blocks/sms)*(float64(tiles)+startCost) + float64(ceil(rest*n, sms))*(float64(each)+startCost+partCost) + mergeCost
		if cost < least {
			best, least = keyShare{blocks - rest, n, each, rest * n}, cost
		}
	}
	return best
}

// headMap is the tensor map of heads of rows of d elements, in tiles of 64 columns (a swizzled row of 128 bytes) of so many rows.
func headMap(t kernel.Buffer, d, rows, heads, tile int64) kernel.Arg {
	pitch := uint64(d * t.Tensor.DType.Size())
	return kernel.Map(kernel.TensorMap{DType: t.Tensor.DType, Address: t.Address, Dims: []uint64{uint64(d), uint64(rows), uint64(heads)},
		Strides: []uint64{pitch, pitch * uint64(rows)}, Box: []uint32{64, uint32(tile), 1}})
}

// together is how many query heads take turns. Blocks of unequal length end together when those of many heads begin with the longest; the heads' k and v must
// stay in the second-level cache meanwhile, and sets of as many heads leave no few to the end. Without a mask all are as long, and one head after the other reads the least.
func together(a *op.Attention, d kernel.Device) int64 {
	if !a.Causal {
		return 1
	}
	heads, share := op.Product(a.B, a.H), a.H/a.HKV
	most := max(1, min(heads, op.Product(d.L2Bytes/op.Product(2*a.D.Size(), a.Skv, a.Dim), share)))
	sets := (heads + most - 1) / most
	return (heads + sets - 1) / sets
}
