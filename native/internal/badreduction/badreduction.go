//go:build cgo && linux

// Package badreduction holds sums with planted faults, which the verifier must catch. Only
// tests import it.
package badreduction

/*
#cgo CFLAGS: -O3 -Wall -I${SRCDIR}/../../include -DRIDGE_STAMP=d425d404b121
#include "bad.h"
*/
import "C"

import (
	"unsafe"

	"ridge/native/kernel"
	"ridge/native/reduction"
)

// Family has the faulty kernels without_{last,vector,tails,middle}_{fp32,bf16} and
// sum_order_varies, never chosen unless forced by name.
func Family() kernel.Family {
	return kernel.Family{
		Name:    "badreduction",
		Kernels: kernel.Table(unsafe.Pointer(C.ridge_badreduction_table()), int(C.ridge_badreduction_table_len())),
		Bind:    reduction.Family().Bind,
	}
}
