//go:build cuda && linux && cgo

package cuda

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"unsafe"

	"gorgonia.org/cu"

	"ridge/cuda/driver"
	"ridge/cuda/fill"
	"ridge/cuda/kernel"
	"ridge/cuda/vendor"
	"ridge/goharness/backend"
	"ridge/goharness/op"
)

// buffer is one tensor's memory in one set: lead, storage, guard.
type buffer struct {
	block block
	ptr   cu.DevicePtr // first logical element
	t     op.Tensor
	key   uint64
}

// executable is a program bound to kernels and buffers.
type executable struct {
	d       *device
	p       op.Program
	opts    backend.PrepareOptions
	kernels []backend.KernelInfo
	sets    [][]buffer
	scratch block
	list    *driver.List
	// resident, of a program that is handed to a kernel that stays on the device, in place of list.
	resident *driver.Resident
	// beside, of a program whose launches are timed while another stream keeps the device busy, beside list.
	beside *driver.Beside
	// calls are what a vendor library keeps for the program.
	calls []*vendor.Call
	ways  ways

	mu     sync.Mutex
	mirror map[string][]byte // of set 0, guards included; dropped when the device writes
}

func pointer(b []byte) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(b)) }

// Prepare picks a kernel for each step, takes buffers and binds them.
func (d *device) Prepare(p op.Program, o backend.PrepareOptions) (backend.Executable, error) {
	o.Sets = max(1, o.Sets)
	e := &executable{d: d, p: p, opts: o}
	if err := d.do(e.prepare); err != nil {
		_ = e.Release()
		return nil, fmt.Errorf("prepare %s: %w", p.Name, err)
	}
	return e, nil
}

func (e *executable) prepare() error {
	for range e.opts.Sets {
		set, err := e.allocate()
		e.sets = append(e.sets, set)
		if err != nil {
			return err
		}
	}
	plans := make([][]kernel.Plan, len(e.sets))
	picked := make([]kernel.Kernel, len(e.p.Steps))
	var need int64
	for i, st := range e.p.Steps {
		k, aside, err := e.pick(st)
		if err != nil {
			return err
		}
		params, limits, err := e.params(k, st.Op)
		if err != nil {
			return fmt.Errorf("plan %s: %w", k.Name, err)
		}
		info := k.Info(st.Op.Name(), nil)
		info.PassedOver, info.Params, picked[i] = aside, params, k
		e.kernels = append(e.kernels, info)
		for s := range e.sets {
			p, err := k.Plan(st.Op, e.bound(s, st), limits)
			if err != nil {
				return fmt.Errorf("plan %s: %w", k.Name, err)
			}
			plans[s] = append(plans[s], p)
			need = max(need, p.Workspace)
		}
	}
	if err := e.served(picked); err != nil {
		return err
	}
	if need > 0 {
		var err error
		if e.scratch, err = e.d.mem.take(need); err != nil {
			return fmt.Errorf("workspace: %w", err)
		}
	}
	if e.only("dispatch_graph") && e.d.graphs == backend.GraphsOff {
		return backend.Unsupported("graphs are off (--cuda-graphs off), and launches in one are what the op measures")
	}
	launches := make([][]driver.Launch, len(e.sets))
	for s := range plans {
		for i, p := range plans[s] {
			for _, l := range p.Launches {
				x, err := e.launch(i, picked[i], l)
				if err != nil {
					return err
				}
				launches[s] = append(launches[s], x)
			}
		}
	}
	var err error
	if e.only("dispatch_persistent") {
		e.resident, err = driver.NewResident(launches[0][0], residentLimit)
		return fail("kernel "+e.names(), err)
	}
	if e.list, err = driver.NewList(launches); err == nil && e.only("dispatch_priority") {
		return e.prepareBeside(launches[0][0])
	}
	return fail("kernel "+e.names(), err)
}

// served refuses a way of using a library that has a kernel for no step: ridge's own never stand in for it under its name.
func (e *executable) served(picked []kernel.Kernel) error {
	if e.opts.Library != "" && !slices.ContainsFunc(picked, func(k kernel.Kernel) bool { return vendor.Serves(e.opts.Library, k) }) {
		return backend.Unsupported("%s has no kernel for any step of this program", e.opts.Library)
	}
	return nil
}

// launch turns a planned launch of a step's kernel into one for the driver, or into a call of the kernel's library.
func (e *executable) launch(step int, k kernel.Kernel, l kernel.Launch) (driver.Launch, error) {
	if k.Library == "" {
		return e.d.launch(k.Name, l, uint64(e.scratch.ptr))
	}
	h, err := e.d.host(k.Library)
	if err != nil {
		return driver.Launch{}, err
	}
	c, err := h.Call(l, uint64(e.scratch.ptr))
	if err != nil {
		return driver.Launch{}, err
	}
	e.calls = append(e.calls, c)
	e.kernels[step].Library = c.Path
	return driver.Launch{Call: &c.Call}, nil
}

// allocate takes one set of buffers.
func (e *executable) allocate() ([]buffer, error) {
	var set []buffer
	for n, t := range e.p.Tensors {
		if t.Role == op.Latent {
			continue
		}
		size := t.DType.Size() // a device has no access to an element across a multiple of its size
		lead := alignment + (e.opts.Misalign+size-1)/size*size
		b, err := e.d.home(t.Host).take(lead + t.StorageBytes() + fill.Guard)
		if err != nil {
			return set, fmt.Errorf("tensor %s of %d bytes: %w", t.Name, t.StorageBytes(), err)
		}
		set = append(set, buffer{block: b, ptr: b.ptr + cu.DevicePtr(lead), t: t, key: op.Key(e.opts.Seed, n)})
	}
	return set, nil
}

// home of a tensor: the device's memory, or page-locked memory of the host.
func (d *device) home(host bool) *arena {
	if host {
		return &d.pinned
	}
	return &d.mem
}

func (b buffer) kernel(t op.Tensor) kernel.Buffer {
	return kernel.Buffer{Address: uint64(b.ptr), Tensor: t}
}

func (e *executable) bound(set int, st op.Step) []kernel.Buffer {
	ts := st.Op.Tensors()
	out := make([]kernel.Buffer, len(st.Bind))
	for i, name := range st.Bind {
		for _, b := range e.sets[set] {
			if b.t.Name == name {
				out[i] = b.kernel(ts[i])
			}
		}
	}
	return out
}

// pick chooses the first kernel that this device and these arguments allow, and names those before
// it that are set aside.
func (e *executable) pick(st op.Step) (kernel.Kernel, []string, error) {
	forced := e.opts.Kernel
	all := e.d.b.candidates(st.Op, forced)
	if forced == "" && e.opts.Library != "" {
		all = append(e.d.b.hosted(st.Op, e.opts.Library), all...)
	}
	if len(all) == 0 && forced != "" && len(e.p.Steps) > 1 {
		all = e.d.b.candidates(st.Op, "") // the forced kernel is for another step
	}
	if len(all) == 0 {
		if forced != "" {
			return kernel.Kernel{}, nil, backend.Unsupported("no CUDA kernel %q for %s at %s", forced, st.Op.Name(), st.Op.DType())
		}
		return kernel.Kernel{}, nil, backend.Unsupported("no CUDA kernel is registered for %s at %s", st.Op.Name(), st.Op.DType())
	}
	if names := op.PackedOperands(st.Op); len(names) > 0 {
		return kernel.Kernel{}, nil, backend.Unsupported("the CUDA kernels pack no operand beforehand (packed=1 asks for %s)", strings.Join(names, " and "))
	}
	if forced == "" && e.opts.Library == "" {
		e.prefer(all, st.Op)
	}
	var why, aside []string
	for _, k := range all {
		err := k.Runs(e.d.id.limits.Capability)
		if err == nil && k.Library != "" {
			_, err = e.d.host(k.Library)
		}
		limits := e.d.id.limits
		if err == nil {
			_, limits, err = e.params(k, st.Op)
		}
		var plan kernel.Plan
		if err == nil {
			plan, err = k.Plan(st.Op, e.bound(0, st), limits)
		}
		if err == nil && k.Library != "" {
			err = e.d.takes(k.Library, plan)
		}
		switch {
		case err != nil:
			why = append(why, k.Name+": "+err.Error())
		case backend.Excluded(e.opts.Exclude, k.Name, st.Op.Name()):
			aside = append(aside, k.Name)
		default:
			return k, aside, nil
		}
	}
	if len(aside) > 0 {
		return kernel.Kernel{}, nil, &backend.SetAsideError{Step: fmt.Sprintf("%s at %s", st.Op.Name(), st.Op.DType()), Kernels: aside}
	}
	return kernel.Kernel{}, nil, backend.Unsupported("%s at %s: %s", st.Op.Name(), st.Op.DType(), strings.Join(why, "; "))
}

func (e *executable) Kernels() []backend.KernelInfo { return e.kernels }

// Fill writes inputs and poisons the rest, in all sets.
func (e *executable) Fill(integer bool, poison int) error {
	return e.change("fill", func() error {
		for _, set := range e.sets {
			for _, b := range set {
				if err := e.spoil(b, poison); err != nil {
					return err
				}
				var err error
				switch b.t.Role {
				case op.In:
					err = e.d.fillOne(b.kernel(b.t), b.key, integer)
				case op.Derived:
					err = e.derive(b, integer)
				}
				if err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// Poison poisons outputs and scratch only.
func (e *executable) Poison(poison int) error {
	return e.change("poison", func() error {
		for _, set := range e.sets {
			for _, b := range set {
				if b.t.Role.Input() {
					continue
				}
				if err := e.spoil(b, poison); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// spoil overwrites storage, row padding and guards of a buffer; inputs always with pattern 0.
func (e *executable) spoil(b buffer, poison int) error {
	if b.t.Role.Input() {
		poison = 0
	}
	err := cu.MemsetD8(b.ptr-fill.Guard, fill.PoisonByte(poison), b.t.StorageBytes()+2*fill.Guard)
	return fail("poison tensor "+b.t.Name, err)
}

// derive computes a Derived tensor on the host.
func (e *executable) derive(b buffer, integer bool) error {
	from := op.NewInputs(e.opts.Seed, integer, e.p.Tensors).Bind(b.t.DeriveFrom)
	mem, size := make([]byte, b.t.StorageBytes()), b.t.DType.Size()
	for i := range mem {
		mem[i] = fill.PoisonByte(0)
	}
	for i := range b.t.Elements() {
		op.Encode(b.t.DType, mem[b.t.Offset(i)*size:], op.Round(b.t.DType, b.t.Derive(from, i)))
	}
	return e.d.write(b.ptr, mem)
}

// Write gives an input of all sets values of its own, rounded to its type: what the inputs of a verification do not have, such as infinity, can be seen so.
func (e *executable) Write(name string, values []float64) error {
	b, err := e.buffer(name)
	if err != nil {
		return err
	}
	if int64(len(values)) != b.t.Elements() {
		return fmt.Errorf("write %d elements to tensor %s: it has %d", len(values), name, b.t.Elements())
	}
	mem, size := make([]byte, b.t.StorageBytes()), b.t.DType.Size()
	for i, v := range values {
		op.Encode(b.t.DType, mem[b.t.Offset(int64(i))*size:], op.Round(b.t.DType, v))
	}
	return e.change("write to tensor "+name+" of", func() error {
		for s := range e.sets {
			for _, b := range e.sets[s] {
				if b.t.Name != name {
					continue
				}
				if err := e.d.write(b.ptr, mem); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

// change runs f, which writes device memory, on the device's thread.
func (e *executable) change(doing string, f func() error) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.mirror = nil
	if err := e.d.do(f); err != nil {
		return fmt.Errorf("%s %s: %w", doing, e.p.Name, err)
	}
	return nil
}

// names of the kernels, for errors.
func (e *executable) names() string {
	var out []string
	for _, k := range e.kernels {
		out = append(out, k.Name)
	}
	return strings.Join(out, ", ")
}

// Run executes n launches on set 0.
func (e *executable) Run(n int) error {
	return e.change("run", func() error {
		if e.resident != nil {
			_, err := e.handOver(driver.Timing{Lead: 0, Launches: n, Samples: 1})
			return err
		}
		return fail("kernel "+e.names(), e.list.Run(e.d.stream, n))
	})
}

// host gives the bytes of a tensor of set 0 with its guards, copied once after each change.
func (e *executable) host(name string) (buffer, []byte, error) {
	b, err := e.buffer(name)
	if err != nil {
		return b, nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if mem, ok := e.mirror[name]; ok {
		return b, mem, nil
	}
	mem := make([]byte, b.t.StorageBytes()+2*fill.Guard)
	if err := e.d.do(func() error { return e.d.read(mem, b.ptr-fill.Guard) }); err != nil {
		return b, nil, fmt.Errorf("read tensor %s: %w", name, err)
	}
	if e.mirror == nil {
		e.mirror = map[string][]byte{}
	}
	e.mirror[name] = mem
	return b, mem, nil
}

// buffer of set 0.
func (e *executable) buffer(name string) (buffer, error) {
	for _, b := range e.sets[0] {
		if b.t.Name == name {
			return b, nil
		}
	}
	return buffer{}, fmt.Errorf("program %s has no tensor %q", e.p.Name, name)
}

// Read decodes n logical elements from index from.
func (e *executable) Read(name string, from, n int64, dst []float64) error {
	b, mem, err := e.host(name)
	if err != nil {
		return err
	}
	if from < 0 || n < 0 || n > b.t.Elements()-from || int64(len(dst)) < n {
		return fmt.Errorf("read %d elements from %d of tensor %s: it has %d", n, from, name, b.t.Elements())
	}
	op.DecodeElements(b.t, mem[fill.Guard:], from, dst[:n])
	return nil
}

// ReadRaw gives a copy of the tensor's storage and its guards, valid until the next change.
func (e *executable) ReadRaw(name string) (storage, before, after []byte, err error) {
	_, mem, err := e.host(name)
	if err != nil {
		return nil, nil, nil, err
	}
	end := len(mem) - fill.Guard
	return mem[fill.Guard:end], mem[:fill.Guard], mem[end:], nil
}

// ReadGuards gives the bytes on each side of a tensor's storage, without a copy of it.
func (e *executable) ReadGuards(name string) (before, after []byte, err error) {
	b, err := e.buffer(name)
	if err != nil {
		return nil, nil, err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	before, after = make([]byte, fill.Guard), make([]byte, fill.Guard)
	err = e.d.do(func() error {
		if err := e.d.read(before, b.ptr-fill.Guard); err != nil {
			return err
		}
		return e.d.read(after, b.ptr+cu.DevicePtr(b.t.StorageBytes()))
	})
	if err != nil {
		return nil, nil, fmt.Errorf("read the guards of tensor %s: %w", name, err)
	}
	return before, after, nil
}

// Release gives all memory back to the arena.
func (e *executable) Release() error {
	return e.d.do(func() error {
		if e.list != nil {
			e.list.Free()
			e.list = nil
		}
		if e.resident != nil {
			_ = e.resident.Free()
			e.resident = nil
		}
		if e.beside != nil {
			e.beside.Free()
			e.beside = nil
		}
		for _, c := range e.calls {
			c.Free()
		}
		e.calls = nil
		for _, set := range e.sets {
			for _, b := range set {
				e.d.home(b.block.host).give(b.block)
			}
		}
		e.sets = nil
		if e.scratch.size > 0 {
			e.d.mem.give(e.scratch)
			e.scratch = block{}
		}
		return nil
	})
}
