//go:build cgo && linux

package toyop

/*
#cgo CFLAGS: -O3 -Wall -I${SRCDIR}/../../native/include -DRIDGE_STAMP=d425d404b121
#include "saxpby.h"
*/
import "C"

import (
	"fmt"
	"unsafe"

	"ridge/goharness/op"
	"ridge/native/kernel"
)

// Family is the toy family.
func Family() kernel.Family {
	return kernel.Family{
		Name:    "toy",
		Kernels: kernel.Table(unsafe.Pointer(C.ridge_toy_table()), int(C.ridge_toy_table_len())),
		Bind:    bind,
	}
}

func bind(o op.Op, bufs []kernel.Buffer) (unsafe.Pointer, error) {
	s, ok := o.(*Saxpby)
	if !ok {
		return nil, fmt.Errorf("op %s is not a saxpby", o.Name())
	}
	p := kernel.Alloc(C.sizeof_ridge_saxpby_args)
	g := (*C.ridge_saxpby_args)(p)
	g.n, g.a, g.b = C.int64_t(s.N), C.float(s.A), C.float(s.B)
	g.x, g.y, g.z = (*C.float)(bufs[0].Ptr), (*C.float)(bufs[1].Ptr), (*C.float)(bufs[2].Ptr)
	return p, nil
}
