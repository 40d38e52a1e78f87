//go:build cgo && linux

// Package badgemm holds fp32 GEMM kernels with planted faults, and one without, for the test
// that the verifier catches each fault. Only tests import it.
package badgemm

/*
#cgo CFLAGS: -O2 -Wall -I${SRCDIR}/../../include -DRIDGE_STAMP=d425d404b121
#include "badgemm.h"
*/
import "C"

import (
	"unsafe"

	"ridge/native/kernel"
)

// Control is the kernel without a fault.
const Control = "bad_none"

// Family is the wrong kernels, bound as the given GEMM family binds its own.
func Family(gemm kernel.Family) kernel.Family {
	return kernel.Family{
		Name:    "badgemm",
		Kernels: kernel.Table(unsafe.Pointer(C.ridge_bad_table()), int(C.ridge_bad_table_len())),
		Bind:    gemm.Bind,
	}
}
