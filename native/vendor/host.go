//go:build cgo && linux

package vendor

/*
#include "vendor.h"
static void *pin_fn(void) { return (void *)ridge_vendor_pin; }
static void *call_fn(void) { return (void *)ridge_vendor_call; }
static void *prepare_fn(void) { return (void *)ridge_vendor_prepare; }
static void *refill_fn(void) { return (void *)ridge_vendor_refill; }
static void set_fn(ridge_vendor_step *s, void *fn) { s->fn = (ridge_kernel_fn)fn; }
*/
import "C"

import (
	"context"
	"fmt"
	"time"
	"unsafe"

	"ridge/goharness/backend"
	"ridge/goharness/record"
	"ridge/native/kernel"
	"ridge/native/team"
)

// Host is a library in use by a device: the leader that calls it and the pool of its threads.
type Host struct {
	Library record.VendorLibrary
	leader  *team.Team
	pool    *C.ridge_vendor_pool
}

// NewHost opens a library for as many threads as there are CPUs and pins them, the leader first.
// An entry of -1 leaves that thread unpinned. An UnsupportedError says why it cannot be used.
func NewHost(name string, cpus []int) (*Host, error) {
	v, pool, err := open(name, len(cpus))
	if err != nil {
		return nil, backend.Unsupported("%v", err)
	}
	h := &Host{Library: v, pool: pool}
	pool.n = C.int(len(cpus))
	list := (*C.int)(kernel.Alloc(uintptr(len(cpus)) * C.sizeof_int))
	for i, c := range cpus {
		unsafe.Slice(list, len(cpus))[i] = C.int(c)
	}
	pool.cpus, pool.tids = list, (*C.int)(kernel.Alloc(uintptr(len(cpus))*C.sizeof_int))
	if h.leader, err = team.New(1, cpus[:1]); err == nil {
		pin := team.NewList([][]team.Step{{{Fn: C.pin_fn(), Args: unsafe.Pointer(pool)}}})
		err = h.leader.Run(pin, 1)
		pin.Free()
	}
	if err != nil {
		h.Close()
		return nil, backend.Unsupported("%s: pin its threads: %v", v.Name, err)
	}
	return h, nil
}

// Close ends the leader. The library stays loaded, its threads asleep.
func (h *Host) Close() {
	if h.leader != nil {
		h.leader.Close()
	}
	kernel.Free(unsafe.Pointer(h.pool.cpus))
	kernel.Free(unsafe.Pointer(h.pool.tids))
	kernel.Free(unsafe.Pointer(h.pool))
}

// Step is one kernel call, as team.Step; Library marks the library's own.
type Step struct {
	team.Step
	Library bool
}

// Program is a launch list for a host: for each buffer set the program's steps.
type Program struct {
	h     *Host
	steps []unsafe.Pointer // *C.ridge_vendor_step
	call  *team.List
	all   [2]*team.List // prepare and refill, all sets
	// Paths are the code paths that the library names for its steps; "" for ridge's own.
	Paths []string
}

// Load prepares a program: the library makes its primitives and buffers. An UnsupportedError
// says what it has no code for.
func (h *Host) Load(sets [][]Step) (*Program, error) {
	p := &Program{h: h}
	call, prepare, refill := [][]team.Step{}, []team.Step{}, []team.Step{}
	for _, steps := range sets {
		var list []team.Step
		for _, s := range steps {
			c := (*C.ridge_vendor_step)(kernel.Alloc(C.sizeof_ridge_vendor_step))
			C.set_fn(c, s.Fn)
			c.args, c.workspace, c.workspace_bytes, c.pool = s.Args, s.Workspace, C.int64_t(s.WorkspaceBytes), h.pool
			if s.Library {
				c.library = 1
			}
			at := unsafe.Pointer(c)
			p.steps = append(p.steps, at)
			list = append(list, team.Step{Fn: C.call_fn(), Args: at})
			prepare, refill = append(prepare, team.Step{Fn: C.prepare_fn(), Args: at}), append(refill, team.Step{Fn: C.refill_fn(), Args: at})
		}
		call = append(call, list)
	}
	p.call, p.all[0], p.all[1] = team.NewList(call), team.NewList([][]team.Step{prepare}), team.NewList([][]team.Step{refill})
	err := h.leader.Run(p.all[0], 1)
	for i := range sets[0] {
		p.Paths = append(p.Paths, C.GoString(&(*C.ridge_vendor_step)(p.steps[i]).state.text[0]))
	}
	if err != nil {
		err = backend.Unsupported("%s %s: %s", h.Library.Name, h.Library.Version, p.failure(err))
		p.Free()
		return nil, err
	}
	return p, nil
}

// failure finds what the library said.
func (p *Program) failure(err error) string {
	for _, s := range p.steps {
		c := (*C.ridge_vendor_step)(s)
		if text := C.GoString(&c.state.text[0]); c.status != 0 && text != "" {
			return text
		}
	}
	return err.Error()
}

// Refill has the library pack its weights anew, in all sets: the inputs have changed.
func (p *Program) Refill() error { return p.quiet(p.h.leader.Run(p.all[1], 1)) }

// Run runs launches on the first set.
func (p *Program) Run(launches int) error { return p.quiet(p.h.leader.Run(p.call.First(), launches)) }

// Measure takes samples as team.Measure does; switches and waiting are the leader's alone.
func (p *Program) Measure(ctx context.Context, launches, samples int) ([]backend.Sample, error) {
	s, err := p.h.leader.Measure(ctx, p.call, launches, samples)
	return s, p.quiet(err)
}

// quietWithin is how long a library's threads may stay runnable after a call. They spin for 1 ms at most, but
// on a machine with other work they wait for a CPU before they can go to sleep.
const quietWithin = 2 * time.Second

// quiet returns when the library's threads sleep, so that they take no CPU from what comes next. A failed
// call is told in the library's words.
func (p *Program) quiet(err error) error {
	if err == team.Status(C.RIDGE_VENDOR_E_CALL) {
		for _, s := range p.steps {
			if c := (*C.ridge_vendor_step)(s); c.library != 0 && c.status != 0 {
				err = fmt.Errorf("%s %s: %s", p.h.Library.Name, p.h.Library.Version, C.GoString(&c.state.text[0]))
			}
		}
	}
	if n := C.ridge_vendor_quiet(p.h.pool, C.int64_t(quietWithin)); n > 0 && err == nil {
		return fmt.Errorf("%s: %d of its threads still run %v after its last call: they would slow what is compared with it", p.h.Library.Name, int(n), quietWithin)
	}
	return err
}

// Free releases what the library keeps for the program.
func (p *Program) Free() {
	for _, l := range append(p.all[:], p.call) {
		l.Free()
	}
	for _, s := range p.steps {
		C.ridge_vendor_release((*C.ridge_vendor_step)(s))
		kernel.Free(s)
	}
	p.steps = nil
}
