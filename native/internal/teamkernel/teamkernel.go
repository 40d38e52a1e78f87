//go:build cgo && linux

// Package teamkernel holds kernels of known behaviour for the tests of the team and of the
// timing that rests on it. Only tests import it.
package teamkernel

/*
#cgo CFLAGS: -O2 -Wall -I${SRCDIR}/../../include -DRIDGE_STAMP=d425d404b121
#include "teamkernel.h"
*/
import "C"

import "unsafe"

// Spin keeps its thread busy for NS nanoseconds; on the thread Only when that is 0 or more.
type Spin struct{ p *C.spin_args }

// NewSpin allocates the arguments in C memory.
func NewSpin(ns int64, only int) Spin {
	s := Spin{(*C.spin_args)(C.calloc(1, C.sizeof_spin_args))}
	s.p.ns, s.p.only = C.int64_t(ns), C.int32_t(only)
	return s
}

// Fn and Args are what a team's step takes.
func (s Spin) Fn() unsafe.Pointer   { return C.teamkernel_spin() }
func (s Spin) Args() unsafe.Pointer { return unsafe.Pointer(s.p) }
func (s Spin) Free()                { C.free(unsafe.Pointer(s.p)) }

// Calls is how often thread 0 ran the kernel with these arguments.
func (s Spin) Calls() int { return int(s.p.calls) }

// Order numbers the calls of several kernels: the n-th call of thread 0 over all of them
// appends the kernel's Number.
type Order struct{ p *C.order_args }

// NewOrder allocates a log of up to n calls.
func NewOrder(n int) Order {
	o := Order{(*C.order_args)(C.calloc(1, C.sizeof_order_args))}
	o.p.log = (*C.int32_t)(C.calloc(C.size_t(n), 4))
	o.p.room = C.int32_t(n)
	return o
}

// Step is the arguments of a kernel that logs number.
func (o Order) Step(number int) unsafe.Pointer {
	p := (*C.logged_args)(C.calloc(1, C.sizeof_logged_args))
	p.order, p.number = o.p, C.int32_t(number)
	return unsafe.Pointer(p)
}

// Fn is the logging kernel.
func (o Order) Fn() unsafe.Pointer { return C.teamkernel_log() }

// Log is what was called so far.
func (o Order) Log() []int {
	var out []int
	for _, x := range unsafe.Slice(o.p.log, int(min(o.p.n, o.p.room))) {
		out = append(out, int(x))
	}
	return out
}

// Relay is a value that one thread alone changes and the whole team copies, in steps that must not overtake each other.
type Relay struct{ p *C.relay_args }

// NewRelay allocates the value for a team of up to 64 threads.
func NewRelay(threads int) Relay {
	r := Relay{(*C.relay_args)(C.calloc(1, C.sizeof_relay_args))}
	r.p.threads = C.int32_t(threads)
	return r
}

// Copy is a step of the team; Change, which checks the copies first, and Recopy are of one thread alone.
func (r Relay) Copy() unsafe.Pointer   { return C.teamkernel_copy() }
func (r Relay) Change() unsafe.Pointer { return C.teamkernel_change() }
func (r Relay) Recopy() unsafe.Pointer { return C.teamkernel_recopy() }
func (r Relay) Args() unsafe.Pointer   { return unsafe.Pointer(r.p) }
func (r Relay) Free()                  { C.free(unsafe.Pointer(r.p)) }

// Reset forgets what was done.
func (r Relay) Reset() {
	r.p.value, r.p.wrong = 0, 0
	r.p.copies = [64]C.int64_t{}
}

// Value is how often Change ran, Wrong how often a step met another before its time or with another number of threads.
func (r Relay) Value() int { return int(r.p.value) }
func (r Relay) Wrong() int { return int(r.p.wrong) }
