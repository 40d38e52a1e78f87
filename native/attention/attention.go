//go:build cgo && linux

// Package attention holds the CPU kernels of attention and its parts.
package attention

/*
#cgo CFLAGS: -O3 -Wall -Wno-psabi -I${SRCDIR}/../include -DRIDGE_STAMP=d425d404b121
#cgo nomodels CFLAGS: -DRIDGE_WITHOUT_MODELS
#cgo LDFLAGS: -lm
#include "table.h"
*/
import "C"

import (
	"fmt"
	"unsafe"

	"ridge/goharness/op"
	"ridge/native/kernel"
)

// Family is the attention family.
func Family() kernel.Family {
	return kernel.Family{
		Name:    "attention",
		Kernels: Ranked(kernel.Table(unsafe.Pointer(C.ridge_attention_table()), int(C.ridge_attention_table_len())), kernel.Detect()),
		Bind:    bind,
	}
}

// Ranked adapts the ranks of the table to the CPU's features: on Intel's cores with AVX512-FP16, where VDPBF16PS runs at half the rate of fp32
// multiply-adds, its kernel ranks just below the one that widens to fp32. Emerald Rapids, the widening kernel's
// speed of that one's on one and two threads: 12 heads of 128 x 64 1.87 and 1.46, parts (8 heads of 128) 1.29 to 1.41 and 1.28 to 1.74; of 24
// queries beside 2048 keys 1.25 and 1.16. One thread: few queries 1.0 (one query, which both widen) to 2.5, 16 queries 1.13 to 1.45.
// causal_softmax, which multiplies nothing, has 0.84 and 0.79.
func Ranked(table []kernel.Kernel, have kernel.Mask) []kernel.Kernel {
	if !have.Has(kernel.Mask(C.RIDGE_ISA_AVX512FP16)) {
		return table
	}
	const belowWide = 29
	for i, k := range table {
		if k.Name != "attention_bf16_avx512bf16" {
			continue
		}
		table[i].RankFor = func(o op.Op, _ int) int {
			if o.Name() == "causal_softmax" {
				return k.Rank
			}
			return belowWide
		}
	}
	return table
}

func bind(o op.Op, bufs []kernel.Buffer) (unsafe.Pointer, error) {
	p := kernel.Alloc(C.sizeof_attention_args)
	full := (*C.attention_args)(p)
	a := &full.of
	switch t := o.(type) {
	case *op.Attention:
		a.B, a.H, a.HKV = C.int64_t(t.B), C.int64_t(t.H), C.int64_t(t.HKV)
		a.Sq, a.Skv, a.D = C.int64_t(t.Sq), C.int64_t(t.Skv), C.int64_t(t.Dim)
		a.scale = C.double(t.Scale())
		if t.Causal {
			a.causal = 1
		}
	case *op.AttentionPart:
		a.B, a.H, a.HKV = C.int64_t(t.B), 1, 1
		a.Sq, a.Skv, a.D = C.int64_t(t.S), C.int64_t(t.S), C.int64_t(t.Dim)
		a.scale = C.double(t.Scale())
		if t.Causal() {
			a.causal = 1
		}
	default:
		kernel.Free(p)
		return nil, fmt.Errorf("op %s is neither an attention nor a part of one", o.Name())
	}
	for _, b := range bufs {
		switch b.Tensor.Name {
		case "q":
			a.q = b.Ptr
		case "k":
			a.k = b.Ptr
		case "v":
			a.v = b.Ptr
		case "o":
			a.o = b.Ptr
		case "s":
			full.scores = b.Ptr
		case "p":
			full.weights = b.Ptr
		}
	}
	return p, nil
}
