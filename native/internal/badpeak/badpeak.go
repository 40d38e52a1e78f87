//go:build cgo && linux

// Package badpeak holds arithmetic peaks that run fewer instructions than they are asked
// for: the proof of the count must refuse them. Only tests import it.
package badpeak

/*
#cgo CFLAGS: -O3 -Wall -I${SRCDIR}/../../include -DRIDGE_STAMP=d425d404b121
#include "badpeak.h"
*/
import "C"

import (
	"unsafe"

	"ridge/native/kernel"
	"ridge/native/probe"
)

// Family has the short peaks, bound as the honest ones are.
func Family() kernel.Family {
	return kernel.Family{
		Name:    "badpeak",
		Kernels: kernel.Table(unsafe.Pointer(C.ridge_badpeak_table()), int(C.ridge_badpeak_table_len())),
		Bind:    probe.Family().Bind,
	}
}
