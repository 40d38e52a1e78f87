//go:build cgo && linux

// Package badguard holds copy kernels that touch memory beside their operands: the runs between
// guard pages must name each. Only tests import it.
package badguard

/*
#cgo CFLAGS: -O2 -Wall -I${SRCDIR}/../../include -DRIDGE_STAMP=d425d404b121
#include "badguard.h"
*/
import "C"

import (
	"errors"
	"unsafe"

	"ridge/native/kernel"
	"ridge/native/memory"
)

// Sanitized tells whether this is a build with sanitizers, which must find bad_stack_read, bad_stack_vector and
// bad_overflow.
func Sanitized() bool { return C.ridge_badguard_sanitized() != 0 }

// Family is the faulty kernels and the faultless bad_none, bound as the memory family's.
func Family() kernel.Family {
	return kernel.Family{
		Name:    "badguard",
		Kernels: kernel.Table(unsafe.Pointer(C.ridge_badguard_table()), int(C.ridge_badguard_table_len())),
		Bind:    memory.Family().Bind,
	}
}

// Stuck is bad_stuck, which stands still and which no alarm ends, bad_stuck_once, which does so in its first call alone, and bad_none.
func Stuck() (kernel.Family, error) {
	if C.ridge_badguard_share() != 0 {
		return kernel.Family{}, errors.New("map memory shared with children")
	}
	return kernel.Family{
		Name:    "badguard",
		Kernels: kernel.Table(unsafe.Pointer(C.ridge_badguard_stuck()), int(C.ridge_badguard_stuck_len())),
		Bind:    memory.Family().Bind,
	}, nil
}
