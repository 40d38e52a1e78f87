//go:build cgo && linux

// Package badmemory holds memory kernels that cheat, each in a way that has been seen in
// published results: the verifier must refuse them. Only tests import it.
package badmemory

/*
#cgo CFLAGS: -O3 -Wall -I${SRCDIR}/../../include -DRIDGE_STAMP=d425d404b121
#include "badmemory.h"
*/
import "C"

import (
	"unsafe"

	"ridge/native/kernel"
	"ridge/native/memory"
)

// Family has the cheating kernels, preferred to the honest ones and bound as they are.
func Family() kernel.Family {
	return kernel.Family{
		Name:    "badmemory",
		Kernels: kernel.Table(unsafe.Pointer(C.ridge_badmemory_table()), int(C.ridge_badmemory_table_len())),
		Bind:    memory.Family().Bind,
	}
}
