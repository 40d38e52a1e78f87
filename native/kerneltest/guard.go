//go:build cgo && linux

package kerneltest

/*
#cgo CFLAGS: -O2 -Wall -I${SRCDIR}/../include -DRIDGE_STAMP=d425d404b121
#cgo LDFLAGS: -lpthread
#include <string.h>
#include "guard.h"
*/
import "C"

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"ridge/goharness/op"
	"ridge/native"
	"ridge/native/fill"
	"ridge/native/kernel"
)

// A child that runs longer hangs; emulated arm64 needs the most, a few seconds.
var guardTime = 2 * time.Minute

// Fault is what one kernel did to memory that is not its own, or how it failed to end.
type Fault struct {
	Kernel, Op string // the op with its precision and parameters
	Threads    int
	Flush      string // "end" or "start": the side on which the operands touch an inaccessible page
	What       string
}

func (f Fault) String() string {
	return fmt.Sprintf("%s %s threads=%d operands flush at their %s: %s", f.Kernel, f.Op, f.Threads, f.Flush, f.What)
}

// Guard runs every kernel that this machine can run for each op with all operands and the
// workspace between inaccessible pages, once flush against the page after the end and once
// against the page before the start, in a child process that a read or write of one byte too many
// ends. Of operands that a kernel packs beforehand only the copy is readable during the call, and it is not writable. Kernels named _nt run whatever the size: their predicates ask only what is faster.
func Guard(b *native.Backend, ops []op.Op) ([]Fault, error) {
	return guarded(b, ops, nil, func(string) bool { return false })
}

// guarded is Guard, where the kernels that thin names meet one combination of threads and side of each op, in turn.
func guarded(b *native.Backend, ops []op.Op, params map[string]int64, thin func(kernel string) bool) ([]Fault, error) {
	raw, err := unix.Mmap(-1, 0, C.sizeof_guard_report, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_ANONYMOUS)
	if err != nil {
		return nil, fmt.Errorf("map the report of a guarded run: %w", err)
	}
	defer func() { _ = unix.Munmap(raw) }()
	g := guard{b: b, params: params, thin: thin, met: map[string]int{}, report: (*C.guard_report)(unsafe.Pointer(&raw[0]))}
	for _, o := range ops {
		if err := g.run(o); err != nil {
			return g.faults, fmt.Errorf("guard %s %s %s: %w", o.Name(), o.DType(), Describe(o), err)
		}
	}
	return g.faults, nil
}

type guard struct {
	b      *native.Backend
	params map[string]int64 // given to every kernel
	thin   func(kernel string) bool
	met    map[string]int
	report *C.guard_report
	faults []Fault
}

// run tries all kernels of one op in one child process, and in one more after each fault.
func (g *guard) run(o op.Op) error {
	r := arrangement{params: g.params, thin: g.thin, met: g.met}
	defer r.free()
	for _, atEnd := range []bool{true, false} {
		if err := r.arrange(g.b, o, atEnd); err != nil {
			return err
		}
	}
	n := len(r.steps)
	list := kernel.Alloc(uintptr(max(1, n)) * C.sizeof_guard_step) // in C memory, because it holds pointers
	defer kernel.Free(list)
	for i, s := range r.steps {
		unsafe.Slice((*C.guard_step)(list), n)[i] = s.c
	}
	for from := 0; from < n; {
		status := C.guard_run((*C.guard_step)(list), C.int(from), C.int(n), C.int(guardTime.Milliseconds()), g.report)
		if status < 0 {
			return fmt.Errorf("run the kernels in a child process: no status")
		}
		if status == 0 {
			return nil
		}
		at := int(g.report.step)
		s := r.steps[at]
		g.faults = append(g.faults, Fault{Kernel: s.kernel, Op: strings.TrimSpace(fmt.Sprintf("%s %s %s", o.Name(), o.DType(), Describe(o))),
			Threads: int(s.c.nthreads), Flush: s.flush, What: g.explain(unix.WaitStatus(status), s)})
		from = at + 1
	}
	return nil
}

func (g *guard) explain(s unix.WaitStatus, at step) string {
	switch {
	case s.Signaled() && s.Signal() == unix.SIGALRM:
		return fmt.Sprintf("it did not end within %v", guardTime)
	case s.Signaled() && s.Signal() == unix.SIGKILL && g.report.killed == 0:
		return "it was ended by SIGKILL from outside: by the system, where memory ran out"
	case s.Signaled() && s.Signal() == unix.SIGKILL:
		return fmt.Sprintf("it did not end within %v, nor by its alarm, %d times", guardTime, int(C.GUARD_ATTEMPTS))
	case s.Signaled() && g.report.address != 0:
		address := uintptr(g.report.address)
		for _, x := range at.regions {
			if where := x.locate(address); where != "" {
				return fmt.Sprintf("%s at an access %s", unix.SignalName(s.Signal()), where)
			}
		}
		return fmt.Sprintf("%s at address %#x, beside no operand", unix.SignalName(s.Signal()), address)
	case s.Signaled():
		return unix.SignalName(s.Signal()) + " at an unknown address: an operand taken for aligned, or a wild pointer"
	case g.report.status == C.GUARD_SLACK:
		return "it wrote after the end of its workspace"
	case g.report.status == C.GUARD_PACKED:
		return "it wrote after the end of what it packs beforehand"
	case g.report.status != 0:
		return fmt.Sprintf("it returned status %d", int(g.report.status))
	}
	return fmt.Sprintf("the process ended with exit status %d (a sanitizer's report stands above)", s.ExitStatus())
}

// step is one kernel with one thread count, bound to operands between guard pages.
type step struct {
	c       C.guard_step
	kernel  string
	flush   string
	regions []region // its operands, its workspace and what it packs beforehand
}

// arrangement is the steps of one op with what they hold.
type arrangement struct {
	steps   []step
	regions []region
	args    []unsafe.Pointer
	params  map[string]int64
	thin    func(kernel string) bool // the kernel meets one combination of threads and side of an op, in turn
	met     map[string]int           // of each kernel: how many ops it has met, which says the combination
}

func (r *arrangement) free() {
	for _, x := range r.regions {
		x.free()
	}
	for _, p := range r.args {
		kernel.Free(p)
	}
}

func (r *arrangement) place(name string, n, align int64, atEnd bool) (region, error) {
	x, err := place(name, n, align, atEnd)
	if err == nil {
		r.regions = append(r.regions, x)
	}
	return x, err
}

// arrange adds the steps of all kernels with 1 and 3 threads on one placement of the operands.
func (r *arrangement) arrange(b *native.Backend, o op.Op, atEnd bool) error {
	flush := "start"
	if atEnd {
		flush = "end"
	}
	var bufs []kernel.Buffer
	var tensors []region
	for n, t := range o.Tensors() {
		x, err := r.place("tensor "+t.Name, t.StorageBytes(), 1, atEnd)
		if err != nil {
			return err
		}
		tensors = append(tensors, x)
		bufs = append(bufs, kernel.Buffer{Ptr: x.ptr(), Tensor: t})
		if err := load(x.bytes(), t, op.Key(42, n)); err != nil {
			return err
		}
	}
	for _, f := range b.Families {
		for _, k := range f.Kernels {
			if !k.Implements(o.Name(), o.DType()) || !kernel.Detect().Has(k.ISA) {
				continue
			}
			a, err := r.bind(f, o, bufs)
			if err != nil {
				return fmt.Errorf("bind %s: %w", k.Name, err)
			}
			if f.Around != nil {
				f.Around(a, kernel.Around)
			}
			if k.Packs(o) != nil || !k.Supports(a) && !strings.HasSuffix(k.Name, "_nt") {
				continue
			}
			for _, threads := range []int{1, 3} {
				if r.thin(k.Name) && r.met[k.Name]%4 != combination(threads, atEnd) {
					continue
				}
				w, err := r.place("the workspace", k.WorkspaceBytes(a, threads), cacheLine, atEnd)
				if err != nil {
					return err
				}
				C.memset(unsafe.Add(w.ptr(), w.n), C.GUARD_CANARY, C.size_t(w.slack))
				s := step{kernel: k.Name, flush: flush, regions: append(tensors[:len(tensors):len(tensors)], w),
					c: C.guard_step{fn: C.ridge_kernel_fn(k.Fn), args: a, workspace: w.ptr(),
						workspace_bytes: C.int64_t(w.n), slack: C.int64_t(w.slack), nthreads: C.int32_t(threads)}}
				if names := op.PackedOperands(o); len(names) > 0 {
					if a, err = r.bind(f, o, bufs); err != nil { // arguments of its own, for a copy of its own
						return fmt.Errorf("bind %s: %w", k.Name, err)
					}
					s.c.args = a
					var operands []region
					for i, b := range bufs {
						if slices.Contains(names, b.Tensor.Name) {
							operands = append(operands, tensors[i])
						}
					}
					if err := r.pack(&s, f, k, operands, atEnd); err != nil {
						return err
					}
				}
				r.steps = append(r.steps, s)
			}
			if !atEnd { // both sides have been arranged
				r.met[k.Name]++
			}
		}
	}
	return nil
}

// bind gives the arguments of one step.
func (r *arrangement) bind(f kernel.Family, o op.Op, bufs []kernel.Buffer) (unsafe.Pointer, error) {
	a, err := f.Bind(o, bufs)
	if err != nil {
		return nil, err
	}
	r.args = append(r.args, a)
	if len(r.params) > 0 {
		err = f.Tuning.Set(a, r.params)
	}
	return a, err
}

// combination numbers the four of threads and side.
func combination(threads int, atEnd bool) int {
	n := threads / 2 * 2
	if atEnd {
		n++
	}
	return n
}

// pack gives a step's kernel memory for the operands that it packs beforehand.
func (r *arrangement) pack(s *step, f kernel.Family, k kernel.Kernel, operands []region, atEnd bool) error {
	if len(operands) > len(s.c.operands) {
		return fmt.Errorf("%s packs %d operands, and a step has room for %d", k.Name, len(operands), len(s.c.operands))
	}
	copied, err := r.place("the packed operands", k.PackedBytes(s.c.args, int(s.c.nthreads)), cacheLine, atEnd)
	if err != nil {
		return err
	}
	f.Packed(s.c.args, copied.ptr())
	s.regions = append(s.regions, copied)
	end := unsafe.Add(copied.ptr(), copied.n)
	C.memset(end, C.GUARD_CANARY, C.size_t(copied.slack))
	s.c.pack, s.c.packed_end, s.c.packed_slack = C.ridge_kernel_fn(k.Pack), end, C.int64_t(copied.slack)
	for i, o := range operands {
		at, n := o.inside()
		s.c.operands[i], s.c.operand_bytes[i] = at, C.int64_t(n)
	}
	at, n := copied.inside()
	s.c.copy, s.c.copy_bytes = at, C.int64_t(n)
	return nil
}

// load writes the bytes of an input tensor as the fill kernel makes them, and poison to the rest.
func load(dst []byte, t op.Tensor, key uint64) error {
	for i := range dst {
		dst[i] = fill.PoisonByte(0)
	}
	if t.Role != op.In || len(dst) == 0 {
		return nil
	}
	mem := kernel.Alloc(uintptr(len(dst) + 2*fill.Guard)) // the fill kernel poisons guard bytes around the tensor
	defer kernel.Free(mem)
	at := unsafe.Add(mem, fill.Guard)
	a, err := fill.Args(t, at, key, false, -1)
	if err != nil {
		return err
	}
	defer kernel.Free(a)
	if rc := C.guard_call(C.ridge_kernel_fn(fill.Fn()), a); rc != 0 {
		return fmt.Errorf("fill tensor %s: status %d", t.Name, int(rc))
	}
	copy(dst, unsafe.Slice((*byte)(at), len(dst)))
	return nil
}
