package attention

import (
	"fmt"

	"ridge/cuda/kernel"
	"ridge/goharness/op"
	"ridge/goharness/record"
)

// partsKeys are the most keys of a head whose scores the 32-bit offsets of attention_parts_qk.cuh and attention_parts_sv.cuh reach.
const partsKeys = 32768

// parts plans qk_softmax and softmax_v on tensor cores.
func parts(o op.Op, b []kernel.Buffer, d kernel.Device) (kernel.Plan, error) {
	a, ok := o.(*op.AttentionPart)
	if !ok || a.Causal() {
		return kernel.Plan{}, fmt.Errorf("op %s is neither qk_softmax nor softmax_v", o.Name())
	}
	switch own := 16 / a.D.Size(); {
	case a.Dim != 64 && a.Dim != 80 && a.Dim != 96 && a.Dim != 128:
		return kernel.Plan{}, kernel.Shape("d=%d: 64, 80, 96 and 128 are taken", a.Dim)
	case a.S%own != 0:
		return kernel.Plan{}, kernel.Shape("%d keys: multiples of %d are taken, rows of 16 bytes", a.S, own)
	case a.S > partsKeys:
		return kernel.Plan{}, kernel.Shape("%d keys: at most %d are taken", a.S, int64(partsKeys))
	}
	for _, x := range b {
		if x.Address%16 != 0 {
			return kernel.Plan{}, kernel.Shape("%s lies at address %#x: a multiple of 16 is needed", x.Tensor.Name, x.Address)
		}
	}
	s := weightsShape(a, d)
	if a.Name() == "softmax_v" {
		s = valuesShape(a, d)
	}
	tiles := (a.S + s.queries*s.rows - 1) / (s.queries * s.rows)
	if tiles > 0 && a.B > kernel.MaxGrid/tiles {
		return kernel.Plan{}, kernel.Shape("%d heads of %d queries: at most %d tiles of %d queries are taken", a.B, a.S, kernel.MaxGrid, s.queries*s.rows)
	}
	l := kernel.Launch{Grid: [3]int64{max(1, tiles*a.B), 1, 1}, Block: [3]int64{32 * s.rows * s.parts, 1, 1}, Args: kernel.Ints(a.B, a.S, s.parts)}
	l.Entry = "attention_bf16_sm80_parts_" + s.entry
	if a.D == record.FP32 {
		l.Entry = "attention_fp32_sm80_3xtf32_parts_" + s.entry
	}
	if a.Name() == "softmax_v" {
		l.Shared = s.rows * s.parts * s.queries * 4 * (a.Dim + 4)
	} else {
		l.Args = append(l.Args, kernel.Float(a.Scale()))
	}
	if room := l.Shared + 8*s.rows*s.parts*s.queries; room > int64(d.SharedMax) {
		return kernel.Plan{}, kernel.Shape("a block takes %d bytes of shared memory, this device gives %d", room, d.SharedMax)
	}
	for _, x := range b {
		l.Args = append(l.Args, kernel.Ptr(x))
	}
	return kernel.Plan{Launches: []kernel.Launch{l}}, nil
}

// partsShape is a block: `rows` rows of warps of `queries` queries each, whose keys `parts` warps share.
type partsShape struct {
	entry                string
	queries, rows, parts int64
}

// more is the rows of a block, at most so many: they read the same keys, which come from the second-level cache once for them; but blocks must fill the device twice.
func (s partsShape) more(a *op.AttentionPart, d kernel.Device, most int64) int64 {
	rows := int64(1)
	for each := s.queries * 2; 2*rows <= most && op.Product(a.B, (a.S+each*rows-1)/(each*rows)) >= 2*int64(max(1, d.SMs)); {
		rows *= 2
	}
	return rows
}

// weightsShape: up to 512 keys the scores of a block's queries stay in registers. Beyond, k would be read too often for 16 queries: scores are calculated twice, for more of them, but where
// these would be too few blocks.
func weightsShape(a *op.AttentionPart, d kernel.Device) partsShape {
	s := partsShape{queries: 16, rows: 1, parts: 8}
	keys, wide := int64(32), 128/a.D.Size() // of a warp, and queries of a warp where there are many
	switch {
	case a.S <= 512:
		if a.S > 8*keys {
			keys = 64
		}
		s.parts = max(1, (a.S+keys-1)/keys)
		most := int64(16)
		if keys == 64 && a.D == record.FP32 {
			most = 8 // by its registers
		}
		s.rows = s.more(a, d, most/s.parts)
		s.entry = fmt.Sprintf("qk_16x%d", keys)
	case op.Product(a.B, (a.S+wide-1)/wide, 2) >= int64(d.SMs):
		s.entry, s.queries = fmt.Sprintf("qk_twice_%dx32", wide), wide
	default:
		s.entry = "qk_twice_16x64"
	}
	s.entry += fmt.Sprintf("_d%d", a.Dim)
	return s
}

// valuesShape: 16 queries a warp, or 32 where blocks of them fill the device twice.
func valuesShape(a *op.AttentionPart, d kernel.Device) partsShape {
	s := partsShape{queries: 16, rows: 1, parts: 8}
	turn := 64 / a.D.Size()
	if a.D == record.BF16 && a.Dim < 128 && op.Product(a.B, (a.S+31)/32) >= 2*int64(max(1, d.SMs)) {
		s.queries = 32
	}
	s.parts = max(1, min(s.parts, (a.S+turn-1)/turn))
	if s.parts < 8 {
		s.rows = s.more(a, d, 8/s.parts)
	} else {
		s.rows = s.more(a, d, 4)
		s.parts = 8 / s.rows
	}
	s.entry = fmt.Sprintf("sv_%d_d%d", s.queries, a.Dim)
	return s
}
