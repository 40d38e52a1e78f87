//go:build cgo && linux

package gemm

/*
#include "table.h"
*/
import "C"

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unsafe"

	"ridge/goharness/backend"
	"ridge/goharness/op"
	"ridge/goharness/record"
	"ridge/native/kernel"
)

// Class names shapes that block sizes are chosen alike for, by what the blocks are limited by:
//
//	few_rows     M <= 64: every packed element of B is used by few rows
//	few_columns  N <= 64: one or two panels of B
//	short_k      K <= 64: one short block of K, C is most of the traffic
//	small        at most 512^3 multiply-adds: the operands stay in the caches
//	large        all others
//
// Up to 3 rows, which most kernels do not pack for, up to 24 rows against B stored [N,K] (gemm_dots.h; AVX-512 64, but tiles pack for
// them), products that gemm_small_way.h, gemm_panels.h and gemm_dots_tall.h take, and GEMVs have none ("").
func Class(o op.Op) string {
	g, ok := o.(*op.Gemm)
	if !ok || g.M <= 3 || g.TransB && g.M <= 24 || g.N == 0 || g.K == 0 || small(g) {
		return ""
	}
	switch {
	case g.M <= 64:
		return "few_rows"
	case g.N <= 64:
		return "few_columns"
	case g.K <= 64:
		return "short_k"
	case op.Product(g.M, g.N, g.K) <= 512*512*512:
		return "small"
	}
	return "large"
}

// small is is_small of gemm_small_way.h for some number of threads, and the ways of panels and tall: how much of a 16-bit A a thread has to widen depends on it, and
// block sizes would keep the product from that way where it is open.
func small(g *op.Gemm) bool {
	size := int64(4)
	if g.D == record.FP64 {
		size = 8
	}
	if g.D.Size() >= 4 && !g.Packed && g.N <= 4 && (g.TransB || g.N == 1 && g.LDB <= 1) { // dot products along K: gemm_small.h, gemm_cross.h
		return true
	}
	if panels(g, size) || tall(g) {
		return true
	}
	if !g.D.Float() || g.N > 1<<12 || g.K > C.GEMM_SLIM_K || g.N*g.K*size > C.GEMM_SMALL_B {
		return false
	}
	return g.M <= 1<<12 && g.K <= C.GEMM_SMALL_K && g.M*g.N*g.K <= C.GEMM_SMALL_MACS || slim(g, size)
}

// slim is is_slim of gemm_small_way.h as far as it holds in every variant but those that read A where it lies, whose packed loops keep their own blocks for what they have of it.
func slim(g *op.Gemm, size int64) bool {
	switch {
	case g.Packed || g.M > 1<<24:
		return false
	case g.TransB && g.M <= 64: // gemm_cross.h
		return g.D.Size() >= 4 && g.M > 3 && 11*g.M <= g.K && g.K*size <= 3200 && g.N > 1
	case g.D.Size() < 4:
		return g.N <= 32
	case g.TransB:
		return g.N*size <= 1024 && g.K >= 128
	}
	return max(g.LDB, g.N)*size < 4096 && g.N*size <= 768
}

// panels is is_panels of gemm_panels.h where it holds for most: rows of A where they lie against panels of B.
func panels(g *op.Gemm, size int64) bool {
	bytes, least := g.N*g.K*size, int64(1<<20)
	switch {
	case g.D.Size() < 4 || g.K > C.GEMM_SLIM_K || bytes > least*3/2:
		return false
	case !g.Packed:
		return bytes <= least && g.K <= 32 && g.M >= 128 && g.N >= 96 && g.M*g.N*size > least
	}
	return g.M <= 32 || bytes <= least && (g.K <= 32 || g.N*size <= 768)
}

// tall is is_tall of gemm_dots_tall.h with vectors of 16 lanes: few columns of 16-bit products by dot products along K.
func tall(g *op.Gemm) bool {
	if g.D.Size() != 2 || g.Packed || g.N > 12 || g.M <= 8 {
		return false
	}
	return g.TransB && g.M <= 64 && g.M >= 2*g.N || 5*g.N*(g.K/32+5) < 2*g.K
}

// setBlocks writes mc, kc and nc (rows of A, depth, columns of B) to bound arguments.
func setBlocks(args unsafe.Pointer, params map[string]int64) error {
	a := (*C.ridge_gemm_args)(args)
	for name, v := range params {
		if v < 1 || v > 1<<20 {
			return fmt.Errorf("GEMM block size %s=%d: expected 1 to %d", name, v, 1<<20)
		}
		switch name {
		case "mc":
			a.mc = C.int32_t(v)
		case "kc":
			a.kc = C.int32_t(v)
		case "nc":
			a.nc = C.int32_t(v)
		default:
			return fmt.Errorf("GEMM kernels have no parameter %q: expected mc, kc or nc", name)
		}
	}
	return nil
}

// tile is the register tile of a kernel on gemm_driver.h and the bytes of a packed element.
type tile struct{ mr, nr, bytes int64 }

var tileName = regexp.MustCompile(`_(\d+)x(\d+)(?:_model)?$`)

// tileOf reads the tile from the kernel's name, where it stands by convention.
func tileOf(k kernel.Kernel) (tile, bool) {
	m := tileName.FindStringSubmatch(k.Name)
	if m == nil {
		return tile{}, false
	}
	mr, errM := strconv.ParseInt(m[1], 10, 64)
	nr, errN := strconv.ParseInt(m[2], 10, 64)
	if errM != nil || errN != nil || mr == 0 || nr == 0 {
		return tile{}, false
	}
	t := tile{mr, nr, k.Accumulate.Size()} // packed in the accumulator's format
	dot := strings.Contains(k.Name, "_amx_") || strings.Contains(k.Name, "_avx512bf16_")
	switch {
	case k.DType.Float() && dot:
		t.bytes = k.DType.Size()
	case !k.DType.Float() && strings.Contains(k.Name, "_avx2_"):
		t.bytes = 2 // widened to int16 for vpmaddwd
	case !k.DType.Float():
		t.bytes = 1
	}
	return t, true
}

// analytical gives the block sizes that the caches suggest, after Low et al. 2016 ("Analytical
// modeling is enough for high-performance BLIS"): a KC x NR panel of B takes half of L1, beside the
// streams of A and C; an MC x KC block of A half of L2; two KC x NC blocks of B, one being
// packed, half of the last level.
func analytical(t tile, c backend.Caches) map[string]int64 {
	kc := max(64, c.L1/2/(t.nr*t.bytes)/64*64)
	mc := max(1, c.L2/2/(kc*t.bytes)/t.mr) * t.mr
	nc := max(1, c.LLC/4/(kc*t.bytes)/t.nr) * t.nr
	return map[string]int64{"mc": mc, "kc": kc, "nc": min(nc, 1<<14/t.nr*t.nr)}
}

// space is what a search tries: the sizes that the caches suggest, halves and doubles of their kc
// and mc, and from the best of those its neighbours.
func space(k kernel.Kernel, o op.Op, c backend.Caches, _ int) (backend.Space, bool) {
	t, ok := tileOf(k)
	class := Class(o)
	if !ok || class == "" {
		return backend.Space{}, false
	}
	s := backend.Space{Class: class}
	kcs := []int64{64, 128, 192, 256, 320, 384, 512, 768, 1024, 1536, 2048}
	if k.DType.Float() {
		kcs = kcs[:len(kcs)-2] // beyond 1024 a float panel leaves every L1
	}
	s.Axes = []backend.Axis{
		{Name: "kc", Values: kcs},
		{Name: "mc", Values: multiples(t.mr, 24, 48, 72, 96, 144, 192, 288, 384, 576, 768)},
		{Name: "nc", Values: multiples(t.nr, 256, 512, 1024, 2048, 4096, 8192, 16384)},
	}
	if c.L1 == 0 || c.L2 == 0 || c.LLC == 0 {
		return s, true // nothing to compute with: the neighbours of the defaults are left
	}
	a := analytical(t, c)
	for _, halves := range [][2]int64{{2, 2}, {1, 2}, {2, 1}, {4, 2}, {2, 4}, {1, 4}, {4, 1}, {1, 1}, {4, 4}} {
		s.Start = append(s.Start, map[string]int64{"kc": max(64, a["kc"]*halves[0]/2/64*64),
			"mc": max(t.mr, a["mc"]*halves[1]/2/t.mr*t.mr), "nc": a["nc"]})
	}
	return s, true
}

// multiples rounds sizes up to whole tiles and leaves out those that meet.
func multiples(unit int64, sizes ...int64) []int64 {
	var out []int64
	for _, n := range sizes {
		if v := (n + unit - 1) / unit * unit; len(out) == 0 || v > out[len(out)-1] {
			out = append(out, v)
		}
	}
	return out
}
