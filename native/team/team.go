//go:build cgo && linux

// Package team runs kernels on a persistent team of pinned threads and times them.
package team

/*
#cgo CFLAGS: -O3 -Wall -I${SRCDIR}/../include -DRIDGE_STAMP=d425d404b121
#cgo LDFLAGS: -lpthread
#include <stdlib.h>
#include "team.h"
static void store_stop(int32_t *p) { __atomic_store_n(p, 1, __ATOMIC_RELAXED); }
static int nothing(const void *args, const ridge_ctx *ctx) { return (void)args, (void)ctx, RIDGE_OK; }
static void *nothing_fn(void) { return nothing; }
// Six chains of multiplications of whole numbers, 3 cycles each: they fill the multipliers of a core (one a cycle on x86, two on Arm).
static int busy(const void *args, const ridge_ctx *ctx) {
  uint64_t a = 3, b = 5, c = 7, d = 9, e = 11, f = 13;
  for (int i = 0; i < 8192; i++) {
    a *= 0x9e3779b97f4a7c15u, b *= 0x9e3779b97f4a7c15u, c *= 0x9e3779b97f4a7c15u;
    d *= 0x9e3779b97f4a7c15u, e *= 0x9e3779b97f4a7c15u, f *= 0x9e3779b97f4a7c15u;
    __asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f));
  }
  return (void)args, (void)ctx, RIDGE_OK;
}
static void *busy_fn(void) { return busy; }
*/
import "C"

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"unsafe"

	"ridge/goharness/backend"
)

// Team is a set of threads that run kernels together. It is used by one goroutine at a time.
type Team struct {
	c     *C.struct_ridge_team
	n     int
	event *os.File // readable when a call has ended; nil where the system gave none
}

// New starts n threads, thread i pinned to cpus[i]; a nil slice or a negative entry leaves
// threads unpinned.
func New(n int, cpus []int) (*Team, error) {
	if n < 1 || (cpus != nil && len(cpus) != n) {
		return nil, fmt.Errorf("start a team of %d threads on %d CPUs: expected one CPU per thread and at least one thread", n, len(cpus))
	}
	var list *C.int
	if cpus != nil {
		cc := make([]C.int, n)
		for i, c := range cpus {
			cc[i] = C.int(c)
		}
		list = &cc[0]
	}
	c, err := C.ridge_team_create(C.int(n), list)
	if c == nil {
		return nil, fmt.Errorf("start a team of %d threads: %w", n, err)
	}
	t := &Team{c: c, n: n}
	if fd := C.ridge_team_event(c); fd >= 0 {
		t.event = os.NewFile(uintptr(fd), "the team's eventfd")
	}
	return t, nil
}

// SetReading tells kernels how many bytes to ask ahead of what they read from memory, and how many parts of it to read side by side
// (ridge_ctx); 0, as a new team has them: none.
func (t *Team) SetReading(ahead, runs int) { C.ridge_team_set_reading(t.c, C.int(ahead), C.int(runs)) }

// Size is the number of threads.
func (t *Team) Size() int { return t.n }

// CPUs tells where each thread was really pinned; -1 when it was not.
func (t *Team) CPUs() []int {
	out := make([]int, t.n)
	for i := range out {
		out[i] = int(C.ridge_team_cpu(t.c, C.int(i)))
	}
	return out
}

// FlushesDenormals tells whether the threads flush denormal numbers to zero; known is false
// on an architecture where nobody reads it.
func (t *Team) FlushesDenormals() (flush, known bool) {
	v := C.ridge_team_flushes_denormals(t.c)
	return v == 1, v >= 0
}

// Close ends the threads.
func (t *Team) Close() {
	if t.c != nil {
		C.ridge_team_destroy(t.c)
		t.c = nil
		if t.event != nil {
			_ = t.event.Close()
		}
	}
}

// Step is one kernel call: a ridge_kernel_fn, its C arguments and its workspace.
type Step struct {
	Fn             unsafe.Pointer
	Args           unsafe.Pointer
	Workspace      unsafe.Pointer
	WorkspaceBytes int64
	// Alone: thread 0 runs it as a team of one. Between two such steps the team does not meet.
	Alone bool
}

// Status is a kernel's nonzero return code.
type Status int

func (s Status) Error() string {
	switch s {
	case C.RIDGE_E_ARG:
		return "kernel refused its arguments (status 1)"
	case C.RIDGE_E_WORKSPACE:
		return "kernel was given too small a workspace (status 2)"
	case C.RIDGE_E_SYSTEM:
		return "the operating system refused what the kernel needs (status 3)"
	}
	return fmt.Sprintf("kernel returned status %d", int(s))
}

// List is a launch list kept in C memory: for each buffer set the program's steps.
type List struct {
	p           *C.ridge_step
	steps, sets int
	next        int // the set of the next launch
}

// First is the list of the first set alone, in the same memory.
func (l *List) First() *List { return &List{p: l.p, steps: l.steps, sets: 1} }

// NewList copies steps[set][step] to C memory; Free releases it.
func NewList(sets [][]Step) *List {
	l := &List{steps: len(sets[0]), sets: len(sets)}
	n := l.steps * l.sets
	l.p = (*C.ridge_step)(C.calloc(C.size_t(max(n, 1)), C.sizeof_ridge_step))
	out := unsafe.Slice(l.p, n)
	for s, steps := range sets {
		for k, st := range steps {
			o := &out[s*l.steps+k]
			o.fn = C.ridge_kernel_fn(st.Fn)
			o.args = st.Args
			o.workspace = st.Workspace
			o.workspace_bytes = C.int64_t(st.WorkspaceBytes)
			if st.Alone {
				o.alone = 1
			}
		}
	}
	return l
}

// Free releases the list.
func (l *List) Free() {
	C.free(unsafe.Pointer(l.p))
	l.p = nil
}

// settleNS is spun before the samples of Measure: the goroutine that made the call and the
// scheduler's reaction to it have left the team's CPUs by then.
const settleNS = 200_000

// Run runs launches launches once, untimed.
func (t *Team) Run(l *List, launches int) error {
	_, err := t.run(context.Background(), l, launches, 1, 0, 0)
	return err
}

// Measure takes samples of launches launches each, the sets in turn from where the last call
// ended. Untimed before the first: a short spin, and as many launches as a sample has when
// those are several (a launch that fills a sample alone is not run twice). When ctx ends
// between samples it returns the whole samples taken so far with the context's error.
func (t *Team) Measure(ctx context.Context, l *List, launches, samples int) ([]backend.Sample, error) {
	lead := launches
	if launches == 1 {
		lead = 0
	}
	return t.run(ctx, l, launches, samples, lead, settleNS)
}

// BarrierNS is the time in nanoseconds from one step of the team to the next where the steps do nothing: the median of 9 samples of 64. It tells
// how fast the threads' CPUs exchange cache lines. A virtual machine's CPUs may share a last-level cache at one time and not at another:
// 0.10 and 0.21 µs on Zen 3.
func (t *Team) BarrierNS() (float64, error) {
	if t.n < 2 {
		return 0, fmt.Errorf("time the barrier of a team: it has one thread")
	}
	const launches, samples = 64, 9
	list := NewList([][]Step{{{Fn: C.nothing_fn()}}})
	defer list.Free()
	got, err := t.run(context.Background(), list, launches, samples, launches, 0)
	if err != nil {
		return 0, fmt.Errorf("time the barrier of a team of %d threads: %w", t.n, err)
	}
	var each []float64
	for _, x := range got {
		each = append(each, float64(x.EndNS-x.StartNS)/launches)
	}
	slices.Sort(each)
	return each[len(each)/2], nil
}

// TogetherOverAlone is how much longer work that fills a core's multipliers takes on all threads at once than on the first alone, the least of 7
// samples each, of some 14 µs: 1 where each thread has a core to itself, 2 where two have one between them. An error where the samples were
// disturbed throughout.
func (t *Team) TogetherOverAlone() (float64, error) {
	if t.n < 2 {
		return 0, fmt.Errorf("compare the threads of a team with one alone: it has one thread")
	}
	ratio, err := togetherOverAlone(func(alone bool) ([]backend.Sample, error) {
		list := NewList([][]Step{{{Fn: C.busy_fn(), Alone: alone}}})
		defer list.Free()
		return t.run(context.Background(), list, 1, 7, 1, 0)
	})
	if err != nil {
		return 0, fmt.Errorf("compare the threads of a team of %d with one alone: %w", t.n, err)
	}
	return ratio, nil
}

var errDisturbed = errors.New("something else had the CPU")

// togetherOverAlone is the least time of all threads over the least of one. The first thread does the same work both times, so that all cannot
// be done sooner: where they seem to be, the host took the CPU away for as long as the samples of one lasted, and both are taken again.
func togetherOverAlone(run func(alone bool) ([]backend.Sample, error)) (float64, error) {
	const most, soonest = 8, 0.9
	least := [2]float64{math.Inf(1), math.Inf(1)}
	for range most {
		for i, alone := range []bool{false, true} {
			got, err := run(alone)
			if err != nil {
				return 0, err
			}
			for _, x := range got {
				least[i] = min(least[i], float64(x.EndNS-x.StartNS))
			}
		}
		if ratio := least[0] / least[1]; ratio >= soonest {
			return ratio, nil
		}
	}
	return 0, fmt.Errorf("%w: %d times in turn all threads took %.3g µs and one %.3g µs", errDisturbed, most, least[0]/1e3, least[1]/1e3)
}

func (t *Team) run(ctx context.Context, l *List, launches, samples, lead int, settle int64) ([]backend.Sample, error) {
	if launches < 1 || samples < 1 {
		return nil, fmt.Errorf("run %d samples of %d launches: expected at least one of each", samples, launches)
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	out := make([]C.ridge_sample, samples)
	run := (*C.ridge_run)(C.calloc(1, C.sizeof_ridge_run+4))
	defer C.free(unsafe.Pointer(run))
	stop := (*C.int32_t)(unsafe.Add(unsafe.Pointer(run), C.sizeof_ridge_run))
	var pin runtime.Pinner
	pin.Pin(&out[0])
	*run = C.ridge_run{steps: l.p, nsteps: C.int(l.steps), sets: C.int(l.sets), set: C.int(l.next), settle_ns: C.int64_t(settle),
		lead: C.int64_t(lead), launches: C.int64_t(launches), samples: C.int(samples), out: &out[0], stop: stop}
	unwatch := watch(ctx, stop)
	C.ridge_team_start(t.c, run)
	t.await()
	rc := C.ridge_team_finish(t.c, run)
	unwatch()
	pin.Unpin()
	l.next = int(run.set)
	if rc != 0 {
		return nil, Status(rc)
	}
	res := make([]backend.Sample, int(run.done))
	for i := range res {
		s := out[i]
		res[i] = backend.Sample{StartNS: int64(s.start_ns), EndNS: int64(s.end_ns), Launches: launches,
			Switches: int64(s.switches), RunDelayNS: int64(s.run_delay_ns), StealNS: -1}
	}
	if len(res) > 0 {
		res[0].Untimed = lead
	}
	if len(res) < samples {
		return res, ctx.Err()
	}
	return res, nil
}

// await sleeps until the call has ended, in the poller and not within a C function: while a thread of the Go runtime sits in one, the runtime's
// monitor looks after it every 20 µs at first, then less often, some sixty times in 10 ms, and each time takes a CPU from the team for as long
// (20 µs on a virtual machine). When all of the runtime sleeps, the monitor sleeps too. An error leaves the waiting to ridge_team_finish.
func (t *Team) await() {
	if t.event != nil {
		var count [8]byte
		_, _ = t.event.Read(count[:])
	}
}

// watch sets *stop when ctx ends. The goroutine that does so waits before watch returns: a
// goroutine that is only ready would be run on a CPU of the team in the first sample.
func watch(ctx context.Context, stop *C.int32_t) (unwatch func()) {
	if ctx.Done() == nil {
		return func() {}
	}
	finished, watched := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watched)
		select {
		case <-ctx.Done():
			C.store_stop(stop)
		case <-finished:
		}
	}()
	runtime.Gosched()
	return func() {
		close(finished)
		<-watched
	}
}

// DefaultSignals makes a crashing kernel end the process by its signal, without a core
// dump. Worker processes call it once at their start.
func DefaultSignals() { C.ridge_team_default_signals() }
