// Package backend is the one interface that native, cuda, hip and metal implement: find
// devices, open one, prepare programs, run and time them. A backend's life is Available,
// Devices, Open, Prepare, Synchronize, Close.
package backend

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"ridge/goharness/op"
	"ridge/goharness/record"
)

// Backend is a platform.
type Backend interface {
	// Name of the platform: "cpu", "cuda", "hip", "metal".
	Name() string
	// Available says why the platform cannot be used here; nil when it can.
	Available() error
	// Devices lists the usable devices, id "cpu" or "cuda:0".
	Devices() ([]record.Device, error)
	// Open takes hold of a device. Close must be called.
	Open(id string, o OpenOptions) (Device, error)
	// Kernels lists every kernel compiled in, runnable here or not.
	Kernels() []KernelInfo
}

// OpenOptions configure a device.
type OpenOptions struct {
	// CPUs that the threads are pinned to, one thread each; an entry of -1 leaves that
	// thread unpinned. Empty: one thread per CPU of this process's affinity mask, pinned.
	CPUs []int
	// Affinity is the policy's name for the record: compact, scatter, none or a list.
	Affinity string
	// LLCBytes is the last-level cache that the threads reach together, for the choice between
	// ordinary and non-temporal stores; 0: unknown.
	LLCBytes int64
	// MemoryLimit in bytes refuses larger allocations; 0: no limit of ridge's own.
	MemoryLimit int64
	// Tuning replaces the defaults of kernels by what a search on this machine found.
	Tuning Tuning
	// Graphs says whether a device that has them replays batches of short kernels as graphs: GraphsOn, which "" means too, or GraphsOff.
	Graphs string
}

// Values of OpenOptions.Graphs.
const (
	GraphsOn  = "on"
	GraphsOff = "off"
)

// KernelInfo describes one registered kernel.
type KernelInfo struct {
	Name       string
	Op         string
	DType      record.DType
	Accumulate record.DType
	ISA        []string // required features, empty for portable
	Portable   bool
	BoundC     float64 // c of op.Expectation
	RoundedC   float64 // r of op.Expectation; 0: no computed operand is rounded to the dtype
	IntExact   bool    // whether small integers are exact for it
	FLOPShare  float64 // of the op's FLOP, what the algorithm executes at least (Winograd; above 1: 3×TF32); 0 and 1: all of it
	// Computes is the precision of the multiplications where it is not DType: ceilings of that one bound the kernel.
	Computes  record.DType
	PeakISA   string // of a peak probe: the isa of its row, where ISA does not tell
	Available error  // nil, or why this machine cannot run it
	Doc       string
	// PassedOver, of an executable's kernel, names the kernels that would have been picked
	// before it, had PrepareOptions.Exclude not ruled them out; the preferred one first.
	PassedOver []string
	// Params, of an executable's kernel, are those that stand in place of its defaults.
	Params map[string]int64
	// Library, of a vendor library's kernel in an executable, is its version and code path; "" for ridge's own.
	Library string
	// PackedBytes, of an executable's kernel, are those of the operands that it packed beforehand (op.Packer), which it reads in their place.
	PackedBytes int64
	// Alone, of an executable's kernel: one thread of the team runs it, since meeting the others would take longer.
	Alone bool
}

// Device is an open device. It is used by one goroutine at a time.
type Device interface {
	Info() record.Device
	// Kernels that may run the op here, the preferred one first. An empty list comes with
	// an UnsupportedError that says why.
	Kernels(o op.Op) ([]KernelInfo, error)
	// Prepare picks kernels, takes buffers from the arena and binds them.
	Prepare(p op.Program, o PrepareOptions) (Executable, error)
	// Synchronize waits until everything enqueued is done.
	Synchronize() error
	// Conditions under which the device works now (threads, pinning, pages, compiler …).
	Conditions() record.Conditions
	// MeasureClock times a dependent-instruction chain, in GHz, with the arithmetic units idle
	// or (load) busy on all threads; an error where impossible.
	MeasureClock(load bool) (float64, error)
	// MemoryInUse is the bytes held by buffers now.
	MemoryInUse() int64
	Close() error
}

// Trimmer is a Device that keeps released buffers for the next case. Trim returns them to
// the system, so that its free memory tells what a case can really have.
type Trimmer interface{ Trim() }

// Reserver is a Device whose driver hands out memory: the bytes held from it now, and the most that buffers held at once since the last call.
type Reserver interface{ MemoryReserved() (held, peak int64) }

// Barrier is a Device whose threads wait for each other after each step. BarrierNS is how long that takes, in nanoseconds: it tells how far
// apart their CPUs are. TogetherOverAlone is how much longer arithmetic takes on all threads at once than on one: 1 where each has a core to
// itself, 2 where two share one. Errors where there is one thread.
type Barrier interface {
	BarrierNS() (float64, error)
	TogetherOverAlone() (float64, error)
}

// LaunchReporter is an Executable whose samples reach the device in more than one way: how they did, and what went another way than
// was asked for.
type LaunchReporter interface {
	Launching() (record.Launching, []string)
}

// GuardReader is an Executable of a device whose memory is copied to be read: what ReadRaw gives, without the storage.
type GuardReader interface {
	ReadGuards(tensor string) (before, after []byte, err error)
}

// EventClock is a Device that times by events. EventResolutionNS is the least difference that they show.
type EventClock interface{ EventResolutionNS() (float64, error) }

// PrepareOptions choose how a program is set up.
type PrepareOptions struct {
	// Kernel forces a kernel by name for every step that it implements ("" = preferred).
	Kernel string
	// Library names a way of using a vendor library (LibraryWays): its kernels are picked for the
	// steps that it has one for, and at least one must be there. "": ridge's own alone.
	Library string
	// Params of the forced kernel, in place of its defaults and of OpenOptions.Tuning.
	Params map[string]int64
	// Exclude lists quarantined kernels: by name, or "name@op" for one that failed in one of
	// its ops (the op of the step, not of the program). See Excluded.
	Exclude []string
	// Sets of buffers: 1 for hot, ≥ 2 for cold (launch i uses set i mod Sets).
	Sets int
	// Misalign shifts every buffer by so many bytes from its 64-byte boundary (tests).
	Misalign int64
	// Seed and Integer select the inputs.
	Seed uint64
}

// Executable is a prepared program with its buffers.
type Executable interface {
	// Kernels used, one per step.
	Kernels() []KernelInfo
	// Fill writes the inputs of every set (random or integer mode) and poisons outputs,
	// scratch and padding: NaN for floats; for integers one of two sentinels by poison 0 or 1.
	Fill(integer bool, poison int) error
	// Poison poisons outputs and scratch only.
	Poison(poison int) error
	// Run executes the program n times on set 0, to completion.
	Run(n int) error
	// Measure takes samples of launches launches each, back to back, rotating sets. The
	// device timestamps them; no Go runs inside.
	Measure(ctx context.Context, launches, samples int) ([]Sample, error)
	// Read returns n logical elements of a tensor of set 0 from index from.
	Read(tensor string, from, n int64, dst []float64) error
	// ReadRaw returns the storage of a tensor of set 0 with its padding and guard bytes
	// before and after; len(guard) bytes on each side are poison that nothing may change.
	ReadRaw(tensor string) (storage, before, after []byte, err error)
	Release() error
}

// Sample is one timed batch.
type Sample struct {
	StartNS  int64 // monotonic clock of the device or host
	EndNS    int64
	Launches int
	// Untimed launches that the device ran before this sample, after the last of the same call. They draw power.
	Untimed int
	// Disturbances seen by the team's threads during the sample; -1 when unknown.
	Switches   int64 // involuntary context switches
	RunDelayNS int64 // time spent runnable but not running
	StealNS    int64
}

// NS is the time of one launch.
func (s Sample) NS() float64 { return float64(s.EndNS-s.StartNS) / float64(s.Launches) }

// UnsupportedError says that a device cannot run a case; it becomes status unsupported.
type UnsupportedError struct{ Reason string }

func (e *UnsupportedError) Error() string { return e.Reason }

// Unsupported makes an UnsupportedError.
func Unsupported(format string, a ...any) error {
	return &UnsupportedError{Reason: fmt.Sprintf(format, a...)}
}

// SetAsideError says that PrepareOptions.Exclude alone keeps a step from running: kernels for
// it are there, all of them quarantined. It becomes status skipped.
type SetAsideError struct {
	Step    string   // op and dtype
	Kernels []string // what was excluded, the preferred one first
}

func (e *SetAsideError) Error() string {
	return fmt.Sprintf("no kernel is left for %s: %s set aside after a failure", e.Step, strings.Join(e.Kernels, ", "))
}

// Excluded reports whether a list as PrepareOptions.Exclude rules kernel out for an op.
func Excluded(list []string, kernel, op string) bool {
	return slices.Contains(list, kernel) || slices.Contains(list, kernel+"@"+op)
}

// MemoryError says that a case does not fit; it becomes status skipped.
type MemoryError struct {
	Need, Have int64
	What       string
}

func (e *MemoryError) Error() string {
	return fmt.Sprintf("needs %d bytes, %d are available (%s)", e.Need, e.Have, e.What)
}

// LostError says that the device can do nothing more in this process: the worker must end and
// another one start. It becomes status crashed of the case that saw it.
type LostError struct{ Reason string }

func (e *LostError) Error() string { return e.Reason }

// Accelerator is a Device with memory and caches of its own, which the host's figures do not describe.
type Accelerator interface {
	// LLCBytes of the device's last-level cache; 0 when unknown.
	LLCBytes() int64
	// FreeMemory is the bytes of the device's memory that may be allocated and what limits them.
	FreeMemory() (int64, string, error)
}

// IsUnsupported reports whether err means the device cannot run the case.
func IsUnsupported(err error) bool {
	var u *UnsupportedError
	return errors.As(err, &u)
}
