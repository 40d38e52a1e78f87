// Package fakebackend is a toy platform in pure Go: the smallest complete backend, for tests
// of everything above a backend and as the example of how one is written. It computes every
// output element from the op's own expectation and runs on a virtual clock, on which a
// launch takes the time the test says. Only tests import it.
package fakebackend

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"ridge/goharness/backend"
	"ridge/goharness/op"
	"ridge/goharness/record"
)

// Faults a kernel can be given.
const (
	Wrong       = "wrong"       // one output element is off by one
	View        = "view"        // nothing is written: only the description of the output changes
	Quarter     = "quarter"     // every value is a quarter: three of four turns of a loop are gone
	Unsupported = "unsupported" // the kernel refuses every shape
	Fails       = "fails"       // running it is an error
	Loses       = "loses"       // running it loses the device
)

// Backend is the platform "toy" (or another name) with one device. For every op and dtype
// it has the kernels <op>_fast and <op>_plain, in this order of preference.
type Backend struct {
	Platform string // "" means toy
	// NS is the virtual time of one launch of a program in ns; nil means 1 ms for all.
	NS func(p op.Program, kernel string) float64
	// Spaces gives kernels parameters by name, and NSWith the time of a launch that has some; NS
	// is the time without.
	Spaces map[string]backend.Space
	NSWith func(p op.Program, kernel string, params map[string]int64) float64
	// Fault gives kernels a fault by name.
	Fault map[string]string
	// IdleGHz and LoadedGHz are what MeasureClock answers; 0 means 3 and 2.5.
	IdleGHz, LoadedGHz float64
	// Loaded is what it answers under load in place of LoadedGHz.
	Loaded func() float64
	// Barrier is what BarrierNS answers; nil: the device knows none.
	Barrier func() float64
	// Together is what TogetherOverAlone answers where there is a barrier; nil: 1.
	Together func() float64
	// Before, when set, is called at the start of each measurement of a program.
	Before func(p op.Program)
	// IDs are the devices that Devices lists; nil: one, named like the platform.
	IDs []string
	// Memory and Facts are what Devices says of each.
	Memory int64
	Facts  map[string]string
	// Gone are devices that are there and lost, by id.
	Gone []string
	// Unverified skips all arithmetic: outputs stay poison and tests bypass the verifier.
	Unverified bool

	clock    atomic.Int64 // virtual ns
	launches atomic.Int64
	held     atomic.Int64 // bytes
}

// HeldBytes are those of the buffers in use and of the released ones kept for the next case.
func (b *Backend) HeldBytes() int64 { return b.held.Load() }

// Launches is the number of timed launches so far.
func (b *Backend) Launches() int64 { return b.launches.Load() }

// ClockNS is the virtual clock.
func (b *Backend) ClockNS() int64 { return b.clock.Load() }

// Name of the platform.
func (b *Backend) Name() string {
	if b.Platform == "" {
		return "toy"
	}
	return b.Platform
}

// Available is nil: the toy runs everywhere.
func (b *Backend) Available() error { return nil }

// Devices lists them.
func (b *Backend) Devices() ([]record.Device, error) {
	ids := b.IDs
	if ids == nil {
		ids = []string{b.Name()}
	}
	var out []record.Device
	for _, id := range ids {
		out = append(out, record.Device{ID: id, Platform: b.Name(), Name: "toy", Memory: b.Memory, Facts: b.Facts})
	}
	return out, nil
}

// Space is the kernel's of Spaces, whatever the op.
func (b *Backend) Space(_ op.Op, kernel string, _ backend.Caches, _ int) (backend.Space, bool) {
	s, ok := b.Spaces[kernel]
	return s, ok
}

// Kernels compiled in: none, they are made up for any op (see Device.Kernels).
func (b *Backend) Kernels() []backend.KernelInfo { return nil }

// Open takes hold of the device, or of one with a number behind its name (toy:1).
func (b *Backend) Open(id string, o backend.OpenOptions) (backend.Device, error) {
	if platform, _, _ := strings.Cut(id, ":"); platform != b.Name() {
		return nil, fmt.Errorf("open device %q: the platform has only %q", id, b.Name())
	}
	if slices.Contains(b.Gone, id) {
		return nil, fmt.Errorf("open device %s: %w", id, &backend.LostError{Reason: "it is lost"})
	}
	return &device{b: b, o: o}, nil
}

type device struct {
	b     *Backend
	o     backend.OpenOptions
	inUse int64
	kept  int64 // released, not yet trimmed
}

func (d *device) Info() record.Device {
	infos, _ := d.b.Devices()
	return infos[0]
}

func (d *device) Kernels(o op.Op) ([]backend.KernelInfo, error) {
	var out []backend.KernelInfo
	for _, variant := range []string{"fast", "plain"} {
		exact, _ := o.IntegerExact()
		out = append(out, backend.KernelInfo{Name: o.Name() + "_" + variant, Op: o.Name(), DType: o.DType(), Accumulate: o.Accumulate(),
			Portable: variant == "plain", BoundC: 4, IntExact: exact, Doc: "made up"})
	}
	return out, nil
}

// Prepare picks a kernel and makes the buffers of one set; the others would hold the same.
func (d *device) Prepare(p op.Program, o backend.PrepareOptions) (backend.Executable, error) {
	if d.o.MemoryLimit > 0 && p.StorageBytes() > d.o.MemoryLimit {
		return nil, &backend.MemoryError{Need: p.StorageBytes(), Have: d.o.MemoryLimit, What: "the toy's memory"}
	}
	e := &executable{d: d, p: p, seed: o.Seed, mem: map[string][]byte{}}
	for _, s := range p.Steps {
		all, err := d.Kernels(s.Op)
		if err != nil {
			return nil, err
		}
		all = slices.DeleteFunc(all, func(k backend.KernelInfo) bool {
			return o.Kernel != "" && k.Name != o.Kernel || d.b.Fault[k.Name] == Unsupported
		})
		if len(all) == 0 {
			return nil, backend.Unsupported("no kernel takes %s at %s", s.Op.Name(), s.Op.DType())
		}
		var aside []string
		for len(all) > 0 && backend.Excluded(o.Exclude, all[0].Name, s.Op.Name()) {
			aside, all = append(aside, all[0].Name), all[1:]
		}
		if len(all) == 0 {
			return nil, &backend.SetAsideError{Step: fmt.Sprintf("%s at %s", s.Op.Name(), s.Op.DType()), Kernels: aside}
		}
		all[0].PassedOver = aside
		all[0].Params = d.o.Tuning.ParamsFor(s.Op, d.b.Spaces[all[0].Name].Class, max(1, len(d.o.CPUs)), all[0].Name)
		if len(o.Params) > 0 && all[0].Name == o.Kernel {
			all[0].Params = o.Params
		}
		e.kernels = append(e.kernels, all[0])
	}
	for _, t := range p.Tensors {
		if !d.b.Unverified {
			e.mem[t.Name] = make([]byte, guard+t.StorageBytes()+guard)
		}
	}
	reused := int64(0)
	if d.kept >= p.StorageBytes() {
		reused = p.StorageBytes()
	}
	d.kept -= reused
	d.b.held.Add(p.StorageBytes() - reused)
	d.inUse += p.StorageBytes()
	return e, nil
}

func (d *device) Synchronize() error { return nil }

func (d *device) Conditions() record.Conditions {
	return record.Conditions{Threads: len(d.o.CPUs), CPUs: d.o.CPUs, Affinity: d.o.Affinity, PageSize: "none",
		HugePageShare: record.Unknown[float64]("the toy has no pages"), FlushDenormals: record.Unknown[bool]("a toy"), Compiler: "none", CompilerFlags: "none", Driver: "none (toy)"}
}

func (d *device) MeasureClock(load bool) (float64, error) {
	ghz := []float64{3, 2.5}
	for i, v := range []float64{d.b.IdleGHz, d.b.LoadedGHz} {
		if v > 0 {
			ghz[i] = v
		}
	}
	if load && d.b.Loaded != nil {
		return d.b.Loaded(), nil
	}
	if load {
		return ghz[1], nil
	}
	return ghz[0], nil
}

func (d *device) BarrierNS() (float64, error) {
	if d.b.Barrier == nil {
		return 0, errors.New("the toy's threads do not wait for each other")
	}
	return d.b.Barrier(), nil
}

func (d *device) TogetherOverAlone() (float64, error) {
	if d.b.Barrier == nil || d.b.Together == nil {
		return 1, nil
	}
	return d.b.Together(), nil
}

func (d *device) MemoryInUse() int64 { return d.inUse }

// Trim lets go of the released buffers.
func (d *device) Trim() {
	d.b.held.Add(-d.kept)
	d.kept = 0
}

func (d *device) Close() error { d.Trim(); return nil }

// guard is the poisoned bytes before and after every buffer.
const guard = 64

type executable struct {
	d       *device
	p       op.Program
	kernels []backend.KernelInfo
	seed    uint64
	integer bool
	mem     map[string][]byte // guards included
}

func (e *executable) Kernels() []backend.KernelInfo { return e.kernels }

func (e *executable) Fill(integer bool, poison int) error {
	e.integer = integer
	if err := e.Poison(poison); err != nil || e.d.b.Unverified {
		return err
	}
	in := op.NewInputs(e.seed, integer, e.p.Tensors)
	for n, t := range e.p.Tensors {
		if t.Role != op.In {
			continue
		}
		for i := range t.Elements() {
			e.set(t, i, in.At(n, i))
		}
	}
	return nil
}

func (e *executable) set(t op.Tensor, i int64, v float64) {
	op.Encode(t.DType, e.mem[t.Name][guard+t.Offset(i)*t.DType.Size():], v)
}

func (e *executable) Poison(poison int) error {
	for _, t := range e.p.Tensors {
		if t.Role == op.In {
			continue
		}
		for i := range e.mem[t.Name] {
			e.mem[t.Name][i] = [2]byte{0xff, 0x7f}[poison]
		}
	}
	return nil
}

// Run writes every output element from the reference's expectation.
func (e *executable) Run(n int) error {
	last := e.kernels[len(e.kernels)-1].Name
	switch fault := e.d.b.Fault[last]; {
	case fault == Fails:
		return fmt.Errorf("run %s: made to fail", last)
	case fault == Loses:
		return fmt.Errorf("run %s: %w", last, &backend.LostError{Reason: "the device is lost"})
	case fault == View || n == 0 || e.d.b.Unverified:
		return nil
	}
	names := []string{}
	for _, t := range e.p.Reference.Tensors() {
		names = append(names, t.Name)
	}
	in := op.NewInputs(e.seed, e.integer, e.p.Tensors).Bind(names)
	for k, t := range e.p.Reference.Tensors() {
		if t.Role != op.Out {
			continue
		}
		for i := range t.Elements() {
			v := e.p.Reference.Expect(in, k, i).Value
			if e.d.b.Fault[last] == Wrong && i == t.Elements()-1 {
				v++
			}
			if e.d.b.Fault[last] == Quarter {
				v /= 4
			}
			e.set(t, i, op.Round(t.DType, v))
		}
	}
	return nil
}

// Measure advances the virtual clock.
func (e *executable) Measure(ctx context.Context, launches, samples int) ([]backend.Sample, error) {
	if e.d.b.Before != nil {
		e.d.b.Before(e.p)
	}
	ns := 1e6
	last := e.kernels[len(e.kernels)-1]
	switch {
	case e.d.b.NSWith != nil && len(last.Params) > 0:
		ns = e.d.b.NSWith(e.p, last.Name, last.Params)
	case e.d.b.NS != nil:
		ns = e.d.b.NS(e.p, last.Name)
	}
	var out []backend.Sample
	for range samples {
		if err := ctx.Err(); err != nil {
			return out, err
		}
		took := int64(ns * float64(launches))
		end := e.d.b.clock.Add(took)
		e.d.b.launches.Add(int64(launches))
		out = append(out, backend.Sample{StartNS: end - took, EndNS: end, Launches: launches})
	}
	return out, nil
}

func (e *executable) tensor(name string) (op.Tensor, error) {
	t, ok := e.p.Tensor(name)
	if !ok || e.mem[name] == nil {
		return t, fmt.Errorf("program %s has no tensor %q in memory", e.p.Name, name)
	}
	return t, nil
}

func (e *executable) Read(name string, from, n int64, dst []float64) error {
	t, err := e.tensor(name)
	if err != nil {
		return err
	}
	if from < 0 || n < 0 || n > t.Elements()-from || int64(len(dst)) < n {
		return fmt.Errorf("read %d elements from %d of tensor %s: it has %d", n, from, name, t.Elements())
	}
	op.DecodeElements(t, e.mem[name][guard:], from, dst[:n])
	return nil
}

func (e *executable) ReadRaw(name string) (storage, before, after []byte, err error) {
	if _, err := e.tensor(name); err != nil {
		return nil, nil, nil, err
	}
	m := e.mem[name]
	return m[guard : len(m)-guard], m[:guard], m[len(m)-guard:], nil
}

func (e *executable) Release() error {
	e.d.inUse -= e.p.StorageBytes()
	e.d.kept += e.p.StorageBytes()
	return nil
}
