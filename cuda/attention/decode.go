package attention

import (
	"fmt"
	"slices"

	"ridge/cuda/kernel"
	"ridge/goharness/op"
)

// Of attention_decode.cuh: queries that share k and v, the keys of a tile and the warps of a block; decodeLeast keys and more have something to share.
const decodeRows, decodeKeys, decodeWarps, decodeLeast = 16, 64, 4, 64

var decodeDims = []int64{64, 80, 96, 128}

// decode plans attention of few queries and many keys.
func decode(o op.Op, b []kernel.Buffer, d kernel.Device) (kernel.Plan, error) {
	a, ok := o.(*op.Attention)
	if !ok {
		return kernel.Plan{}, fmt.Errorf("op %s is no attention", o.Name())
	}
	rows := op.Product(a.Sq, a.H/a.HKV)
	shared := decodeShared(a.Dim)
	switch {
	case !slices.Contains(decodeDims, a.Dim):
		return kernel.Plan{}, kernel.Shape("d=%d: %v are taken", a.Dim, decodeDims)
	case a.B == 0:
		return kernel.Plan{}, kernel.Shape("b=0: a sequence and more are taken")
	case rows == 0 || rows > decodeRows:
		return kernel.Plan{}, kernel.Shape("%d queries share a head of k and v: 1 to %d are taken", rows, int64(decodeRows))
	case a.Skv < decodeLeast || a.Skv > mmaSequence:
		return kernel.Plan{}, kernel.Shape("%d keys: %d to %d are taken", a.Skv, int64(decodeLeast), int64(mmaSequence))
	case shared+8*decodeWarps*decodeRows > int64(d.SharedMax):
		return kernel.Plan{}, kernel.Shape("a block takes %d bytes of shared memory, this device gives %d", shared+8*decodeWarps*decodeRows, d.SharedMax)
	}
	for _, x := range b {
		if x.Address%16 != 0 {
			return kernel.Plan{}, kernel.Shape("%s lies at address %#x: a multiple of 16 is needed", x.Tensor.Name, x.Address)
		}
	}
	heads := op.Product(a.B, a.HKV)
	parts, tiles := decodeParts(heads, a, d)
	if heads > kernel.MaxGrid/max(parts, rows) {
		return kernel.Plan{}, kernel.Shape("%d heads of k and v: at most %d blocks are taken", heads, kernel.MaxGrid)
	}
	blocks := op.Product(heads, parts)
	l := kernel.Launch{Entry: fmt.Sprintf("attention_%s_sm80_decode_d%d", a.D, a.Dim), Grid: [3]int64{blocks, 1, 1}, Block: [3]int64{32 * decodeWarps, 1, 1}, Shared: shared}
	l.Args = append(kernel.Ints(a.Sq, a.Skv, rows, parts, tiles), kernel.Bool(a.Causal), kernel.Float(a.Scale()))
	for _, x := range b {
		l.Args = append(l.Args, kernel.Ptr(x))
	}
	if parts == 1 {
		l.Args = append(l.Args, kernel.Null())
		return kernel.Plan{Launches: []kernel.Launch{l}}, nil
	}
	l.Args = append(l.Args, kernel.Work(0))
	merge := kernel.Launch{Entry: l.Entry + "_merge", Grid: [3]int64{heads * rows, 1, 1}, Block: l.Block,
		Args: append(kernel.Ints(rows, parts, blocks), kernel.Float(a.Scale()), kernel.Work(0), kernel.Ptr(b[3]))}
	return kernel.Plan{Launches: []kernel.Launch{l, merge}, Workspace: blocks * rows * (a.Dim + 2) * 4}, nil
}

// decodeShared is a block's room for three batches of 16 keys a warp.
func decodeShared(dim int64) int64 { return decodeWarps * 3 * 2 * 16 * dim * 2 }

// What decodeParts reckons with, in microseconds and bytes a microsecond: the start and end of a block, the second launch, what a block (d = 128) fetches and what a multiprocessor's share
// of the memory is. The last is an H200's 4.1 TB/s, the others are estimates: a block is reckoned with half of that share, for two of them hide each other's start and end.
const decodeStart, decodeMerge, decodeBlock, decodeSM = 1.5, 2.5, 15e3, 31e3

// decodeParts is how many blocks share the keys of a head, and how many tiles each has: what ends first of the numbers up to 256. Multiprocessors have as many blocks at a time as their shared memory holds.
func decodeParts(heads int64, a *op.Attention, d kernel.Device) (parts, tiles int64) {
	sms := int64(max(1, d.SMs))
	slots := sms * max(1, int64(d.SharedMax)/(decodeShared(a.Dim)+1536))
	all := (a.Skv + decodeKeys - 1) / decodeKeys
	bytes := float64(decodeKeys * 2 * a.Dim * a.D.Size()) // of a tile
	parts, tiles = 1, all
	var least float64
	for n := int64(1); n <= min(all, 256); n++ {
		each := (all + n - 1) / n
		blocks := heads * ((all + each - 1) / each)
		rounds := (blocks + slots - 1) / slots
		memory := bytes * float64(each) * float64(max(1, min(blocks, slots))) / (decodeSM * float64(sms))
		alone := bytes * float64(max(0, each-3)) / (decodeBlock * float64(a.Dim) / 128) // three come with the start
		cost := float64(rounds) * (decodeStart + max(memory, alone))
		if n > 1 {
			cost += decodeMerge
		}
		if n == 1 || cost < least {
			parts, tiles, least = (all+each-1)/each, each, cost
		}
	}
	return parts, tiles
}
