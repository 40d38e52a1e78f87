// Package toydevice is the smallest device that the harness can measure: the worked
// example of docs/extending.md. It adds two fp32 vectors in Go, on no accelerator at all.
package toydevice

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"ridge/goharness/backend"
	"ridge/goharness/op"
	"ridge/goharness/record"
)

// Backend is the platform "toy" with its one device, "toy:0".
type Backend struct{}

// Name, Available, Devices: see backend.Backend.
func (Backend) Name() string     { return "toy" }
func (Backend) Available() error { return nil }
func (Backend) Devices() ([]record.Device, error) {
	return []record.Device{{ID: "toy:0", Platform: "toy", Name: "addition in Go"}}, nil
}

var add = backend.KernelInfo{Name: "add_fp32_toy", Op: "add", DType: record.FP32, Accumulate: record.FP32,
	Portable: true, BoundC: 1, IntExact: true, Doc: "y = a + b"}

// Kernels lists what is compiled in.
func (Backend) Kernels() []backend.KernelInfo { return []backend.KernelInfo{add} }

// Open takes hold of the device.
func (Backend) Open(id string, o backend.OpenOptions) (backend.Device, error) {
	if id != "toy:0" {
		return nil, backend.Unsupported("device %q: the toy platform has only \"toy:0\"", id)
	}
	return &device{limit: o.MemoryLimit}, nil
}

type device struct{ used, limit int64 }

func (d *device) Info() record.Device                { ds, _ := Backend{}.Devices(); return ds[0] }
func (d *device) Synchronize() error                 { return nil }
func (d *device) MeasureClock(bool) (float64, error) { return 0, fmt.Errorf("the toy has no clock") }
func (d *device) MemoryInUse() int64                 { return d.used }
func (d *device) Close() error                       { return nil }

// Conditions: what a device does not know carries a reason.
func (d *device) Conditions() record.Conditions {
	return record.Conditions{Threads: 1, CPUs: []int{-1}, Affinity: "none", Compiler: "gc", Driver: "none",
		PageSize: "the Go heap's", HugePageShare: record.Unknown[float64]("not read for the Go heap"),
		FlushDenormals: record.Unknown[bool]("not read")}
}

// Kernels that may run the op here; none comes with the reason.
func (d *device) Kernels(o op.Op) ([]backend.KernelInfo, error) {
	if o.Name() != add.Op || o.DType() != add.DType {
		return nil, backend.Unsupported("the toy has no kernel for %s at %s", o.Name(), o.DType())
	}
	return []backend.KernelInfo{add}, nil
}

// Prepare binds a program of one step to buffers.
func (d *device) Prepare(p op.Program, o backend.PrepareOptions) (backend.Executable, error) {
	if len(p.Steps) != 1 {
		return nil, backend.Unsupported("the toy runs programs of one step, this one has %d", len(p.Steps))
	}
	if _, err := d.Kernels(p.Steps[0].Op); err != nil {
		return nil, err
	}
	if o.Kernel != "" && o.Kernel != add.Name {
		return nil, backend.Unsupported("the toy has no kernel %q", o.Kernel)
	}
	need := p.StorageBytes() * int64(max(1, o.Sets))
	if d.limit > 0 && need > d.limit-d.used {
		return nil, &backend.MemoryError{Need: need, Have: d.limit - d.used, What: "memory limit of the toy"}
	}
	e := &executable{d: d, p: p, seed: o.Seed, bytes: need}
	for range max(1, o.Sets) {
		set := map[string][]byte{}
		for _, t := range p.Tensors {
			set[t.Name] = make([]byte, t.StorageBytes()+2*guard)
		}
		e.sets = append(e.sets, set)
	}
	d.used += need
	return e, nil
}

// guard bytes on each side of a tensor show writes outside of it.
const guard = 64

type executable struct {
	d     *device
	p     op.Program
	seed  uint64
	bytes int64
	sets  []map[string][]byte // per set and tensor: guard, elements, guard
}

func (e *executable) Kernels() []backend.KernelInfo { return []backend.KernelInfo{add} }
func (e *executable) Release() error                { e.sets = nil; e.d.used -= e.bytes; return nil }

// Fill gives element i of tensor n its value, a pure function of seed, n and i, and
// poisons everything else.
func (e *executable) Fill(integer bool, poison int) error {
	in := op.NewInputs(e.seed, integer, e.p.Tensors)
	for n, t := range e.p.Tensors {
		if t.Role != op.In {
			continue
		}
		for _, set := range e.sets {
			spoil(set[t.Name], poison)
			for i := range t.Elements() {
				op.Encode(t.DType, set[t.Name][guard+4*i:], in.At(n, i))
			}
		}
	}
	return e.Poison(poison)
}

// Poison overwrites outputs with bytes that are NaN in every floating-point format (0), or
// with another sentinel (1).
func (e *executable) Poison(poison int) error {
	for _, t := range e.p.Tensors {
		for _, set := range e.sets {
			if t.Role != op.In {
				spoil(set[t.Name], poison)
			}
		}
	}
	return nil
}

func spoil(b []byte, poison int) {
	copy(b, bytes.Repeat([]byte{[2]byte{0xff, 0x7f}[poison]}, len(b)))
}

// Run executes the program n times on set 0.
func (e *executable) Run(n int) error {
	for range n {
		e.launch(0)
	}
	return nil
}

func (e *executable) launch(set int) {
	bind, s := e.p.Steps[0].Bind, e.sets[set]
	a, b, y := s[bind[0]][guard:], s[bind[1]][guard:], s[bind[2]][guard:]
	for i := 0; i < len(y)-guard; i += 4 {
		op.Encode(record.FP32, y[i:], op.Decode(record.FP32, a[i:])+op.Decode(record.FP32, b[i:]))
	}
}

// Measure takes samples of launches each. A real device takes the timestamps itself, with
// no Go inside; the toy has nothing but Go.
func (e *executable) Measure(ctx context.Context, launches, samples int) ([]backend.Sample, error) {
	var out []backend.Sample
	zero := time.Now()
	for k := range samples {
		if err := ctx.Err(); err != nil {
			return out, err
		}
		from := time.Since(zero)
		for i := range launches {
			e.launch((k*launches + i) % len(e.sets))
		}
		out = append(out, backend.Sample{StartNS: int64(from), EndNS: int64(time.Since(zero)), Launches: launches,
			Switches: -1, RunDelayNS: -1}) // unknown, not 0
	}
	return out, nil
}

// Read decodes n elements of a tensor of set 0.
func (e *executable) Read(tensor string, from, n int64, dst []float64) error {
	t, ok := e.p.Tensor(tensor)
	if !ok || from < 0 || n < 0 || n > t.Elements()-from || int64(len(dst)) < n {
		return fmt.Errorf("read %d elements from %d of tensor %q: there are %d", n, from, tensor, t.Elements())
	}
	for i := range n {
		dst[i] = op.Decode(t.DType, e.sets[0][tensor][guard+4*(from+i):])
	}
	return nil
}

// ReadRaw gives the storage of a tensor of set 0 and the guards around it.
func (e *executable) ReadRaw(tensor string) (storage, before, after []byte, err error) {
	b, ok := e.sets[0][tensor]
	if !ok {
		return nil, nil, nil, fmt.Errorf("no tensor %q", tensor)
	}
	return b[guard : len(b)-guard], b[:guard], b[len(b)-guard:], nil
}
