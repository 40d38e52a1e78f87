//go:build cgo && linux

package main

/*
#cgo LDFLAGS: -ldl
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
static const void *call_table(void *f, int *n) { return ((const void *(*)(int *))f)(n); }
static const char *call_text(void *f) { return ((const char *(*)(void))f)(); }
static void call_threads(void *f, int n, const int *cpus) { ((void (*)(int, const int *))f)(n, cpus); }
static void call(void *f) { ((void (*)(void))f)(); }
*/
import "C"

import (
	"fmt"
	"math"
	"slices"
	"unsafe"

	"ridge/goharness/backend"
	"ridge/goharness/op"
	"ridge/native/kernel"
)

// peerLib is an adapter library (scripts/peers.d/peer.h).
type peerLib struct {
	handle   unsafe.Pointer
	version  string
	families []kernel.Family
}

// openPeer loads an adapter and makes families of its kernels: each is bound to its op as
// ridge's own family of that op binds it.
func openPeer(path string, cpus []int, own []kernel.Family) (*peerLib, error) {
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	l := &peerLib{handle: C.dlopen(name, C.RTLD_NOW|C.RTLD_LOCAL)}
	if l.handle == nil {
		return nil, fmt.Errorf("load peer library: %s; run scripts/peers", C.GoString(C.dlerror()))
	}
	for _, s := range []string{"table", "version", "threads", "refilled", "finish", "release"} {
		if l.symbol(s) == nil {
			return nil, fmt.Errorf("load peer library %s: it lacks ridge_peer_%s", path, s)
		}
	}
	list := make([]C.int, len(cpus))
	for i, c := range cpus {
		list[i] = C.int(c)
	}
	C.call_threads(l.symbol("threads"), C.int(len(cpus)), &list[0])
	l.version = C.GoString(C.call_text(l.symbol("version")))
	var n C.int
	first := C.call_table(l.symbol("table"), &n)
	kernels := kernel.Table(unsafe.Pointer(first), int(n))
	for _, f := range own {
		var mine []kernel.Kernel
		for _, k := range kernels {
			if implements(f, k.Ops[0]) {
				mine = append(mine, k)
			}
		}
		if len(mine) > 0 {
			f.Kernels = mine
			l.families = append(l.families, f)
		}
	}
	return l, nil
}

// implements reports whether a family has a kernel of the op.
func implements(f kernel.Family, opName string) bool {
	return slices.ContainsFunc(f.Kernels, func(k kernel.Kernel) bool { return slices.Contains(k.Ops, opName) })
}

func (l *peerLib) symbol(name string) unsafe.Pointer {
	s := C.CString("ridge_peer_" + name)
	defer C.free(unsafe.Pointer(s))
	return C.dlsym(l.handle, s)
}

// path is the code path that the library says it took last.
func (l *peerLib) path() string {
	if f := l.symbol("path"); f != nil {
		return C.GoString(C.call_text(f))
	}
	return ""
}

// peerExecutable tells the adapter when inputs change, and fetches results that it keeps in a
// format of its own.
type peerExecutable struct {
	backend.Executable
	lib *peerLib
}

// Fill writes new inputs: packed and reordered copies are stale.
func (e peerExecutable) Fill(integer bool, poison int) error {
	err := e.Executable.Fill(integer, poison)
	C.call(e.lib.symbol("refilled"))
	return err
}

// Run executes the program and delivers its results.
func (e peerExecutable) Run(n int) error {
	err := e.Executable.Run(n)
	if err == nil {
		C.call(e.lib.symbol("finish"))
	}
	return err
}

// Release frees what the adapter keeps for the arguments, then them.
func (e peerExecutable) Release() error {
	C.call(e.lib.symbol("release"))
	return e.Executable.Release()
}

var _ backend.Executable = peerExecutable{}

// lenient is the reference that peers are held to: ridge's own, but for GELU an error relative
// to the argument is allowed too. The libraries compute its negative tail with cancellation.
type lenient struct{ op.Op }

// Expect implements op.Op.
func (l lenient) Expect(in *op.Inputs, out int, i int64) op.Expectation {
	e := l.Op.Expect(in, out, i)
	if n := l.Name(); n == "gelu" || n == "gelu_tanh" {
		e.Magnitude += math.Abs(in.At(0, i))
	}
	return e
}

// ExpectCost implements op.Coster.
func (l lenient) ExpectCost() int64 {
	if c, ok := l.Op.(op.Coster); ok {
		return c.ExpectCost()
	}
	return 0
}

// Project implements op.Projector; nil where the op has no projection.
func (l lenient) Project(in *op.Inputs, out int, x []float64) []op.Expectation {
	if p, ok := l.Op.(op.Projector); ok {
		return p.Project(in, out, x)
	}
	return nil
}

// single builds the program of a request.
func single(q request) (op.Program, error) {
	o, err := op.Builtin().New(q.Op, q.Params, q.DType)
	if err != nil {
		return op.Program{}, err
	}
	return op.Single(o), nil
}
