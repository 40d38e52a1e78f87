//go:build cgo && linux

// Package badconv holds convolution kernels with planted faults, so that tests can show that
// the verifier catches them. Only tests import it.
package badconv

/*
#cgo CFLAGS: -O3 -Wall -I${SRCDIR}/../../include -DRIDGE_STAMP=d425d404b121
#include "badconv.h"
*/
import "C"

import (
	"unsafe"

	"ridge/native/conv"
	"ridge/native/kernel"
)

// Family is the family of wrong kernels; they run only when forced by name.
func Family() kernel.Family {
	return kernel.Family{
		Name:    "badconv",
		Kernels: kernel.Table(unsafe.Pointer(C.ridge_badconv_table()), int(C.ridge_badconv_table_len())),
		Bind:    conv.Bind,
	}
}
