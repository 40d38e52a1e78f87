//go:build cgo && linux

package native

import (
	"context"
	"fmt"
	"strings"
	"unsafe"

	"ridge/goharness/backend"
	"ridge/goharness/op"
	"ridge/native/fill"
	"ridge/native/kernel"
	"ridge/native/team"
	"ridge/native/vendor"
)

// args is a family's C argument struct.
type args struct{ p unsafe.Pointer }

// buffer is one tensor's memory in one set.
type buffer struct {
	block block
	ptr   unsafe.Pointer // first logical element, Guard bytes and more after the block's start
	t     op.Tensor
	key   uint64
}

// executable is a program bound to kernels and buffers.
type executable struct {
	d       *device
	p       op.Program
	opts    backend.PrepareOptions
	kernels []backend.KernelInfo
	sets    [][]buffer // per set, per program tensor
	argp    []unsafe.Pointer
	scratch block
	list    *team.List
	packed  []block    // operands packed beforehand
	packs   *team.List // what packs them, of all sets; nil: nothing
	// host and hosted, of a program with a vendor library's kernels: the team sleeps then.
	host   *vendor.Host
	hosted *vendor.Program
}

// Prepare picks a kernel for each step, takes buffers and binds them.
func (d *device) Prepare(p op.Program, o backend.PrepareOptions) (backend.Executable, error) {
	if o.Sets < 1 {
		o.Sets = 1
	}
	e := &executable{d: d, p: p, opts: o}
	if err := e.prepare(); err != nil {
		_ = e.Release()
		return nil, fmt.Errorf("prepare %s: %w", p.Name, err)
	}
	return e, nil
}

func (e *executable) prepare() error {
	for s := 0; s < e.opts.Sets; s++ {
		set, err := e.allocate()
		e.sets = append(e.sets, set)
		if err != nil {
			return err
		}
	}
	picked := make([]candidate, len(e.p.Steps))
	for i, st := range e.p.Steps {
		k, aside, err := e.pick(i)
		if err != nil {
			return err
		}
		picked[i] = k
		info := k.Info(st.Op.Name(), kernel.Detect())
		info.PassedOver, info.Params = aside, e.tuned(k, st.Op)
		e.kernels = append(e.kernels, info)
	}
	if err := e.library(picked); err != nil {
		return err
	}
	lists := make([][]team.Step, len(e.sets))
	var packs []team.Step
	var need int64
	for s := range e.sets {
		for i, st := range e.p.Steps {
			a, err := picked[i].bind(st.Op, e.bound(s, st), e.d.stores.around, e.kernels[i].Params)
			if err != nil {
				return fmt.Errorf("bind %s: %w", picked[i].Name, err)
			}
			e.argp = append(e.argp, a.p)
			if picked[i].family.Library != "" { // it keeps what it needs
				lists[s] = append(lists[s], team.Step{Fn: picked[i].Fn, Args: a.p})
				continue
			}
			alone := e.alone(picked[i], st.Op)
			e.kernels[i].Alone = alone
			need = max(need, picked[i].WorkspaceBytes(a.p, e.d.team.Size()))
			if alone {
				need = max(need, picked[i].WorkspaceBytes(a.p, 1))
			}
			if len(op.PackedOperands(st.Op)) > 0 {
				if e.kernels[i].PackedBytes, err = e.place(picked[i], a); err != nil {
					return err
				}
				packs = append(packs, team.Step{Fn: picked[i].Pack, Args: a.p})
			}
			lists[s] = append(lists[s], team.Step{Fn: picked[i].Fn, Args: a.p, Alone: alone})
		}
	}
	if need > 0 {
		var err error
		if e.scratch, err = e.d.mem.take(need); err != nil {
			return fmt.Errorf("workspace: %w", err)
		}
		for _, l := range append(lists, packs) {
			for i := range l {
				l[i].Workspace, l[i].WorkspaceBytes = e.scratch.ptr(), int64(len(e.scratch.mem))
			}
		}
	}
	if len(packs) > 0 {
		e.packs = team.NewList([][]team.Step{packs})
	}
	if e.host != nil {
		return e.load(picked, lists)
	}
	e.list = team.NewList(lists)
	return nil
}

// alone reports whether one thread of a team of several runs a step.
func (e *executable) alone(k candidate, o op.Op) bool {
	return e.d.team.Size() > 1 && k.family.Alone != nil && k.family.Alone(o, k.Kernel)
}

// place gives bound arguments memory for the operands that their kernel packs beforehand; each set has its own.
func (e *executable) place(k candidate, a args) (int64, error) {
	n := k.PackedBytes(a.p, e.d.team.Size())
	b, err := e.d.mem.take(max(n, 1))
	if err != nil {
		return 0, fmt.Errorf("packed operand of %s, %d bytes: %w", k.Name, n, err)
	}
	e.packed = append(e.packed, b)
	k.family.Packed(a.p, b.ptr())
	return n, nil
}

// pack packs what is packed beforehand, in all sets: the inputs have changed.
func (e *executable) pack() error {
	if e.packs == nil {
		return nil
	}
	if err := e.d.team.Run(e.packs, 1); err != nil {
		return fmt.Errorf("pack operands of %s: %w", e.p.Name, err)
	}
	return nil
}

// allocate takes one set of buffers. Starts are staggered by 9 cache lines per tensor, so
// that equal indices of two arrays do not meet in the same 4 KiB offset (a load behind a
// store to the same low 12 bits waits on most cores).
func (e *executable) allocate() ([]buffer, error) {
	var set []buffer
	for n, t := range e.p.Tensors {
		if t.Role == op.Latent {
			continue
		}
		lead := int64(4096+576*(n%7)) + e.opts.Misalign
		b, err := e.d.mem.take(lead + t.StorageBytes() + fill.Guard + 64)
		if err != nil {
			return set, fmt.Errorf("tensor %s of %d bytes: %w", t.Name, t.StorageBytes(), err)
		}
		set = append(set, buffer{block: b, ptr: unsafe.Add(b.ptr(), lead), t: t, key: op.Key(e.opts.Seed, n)})
	}
	return set, nil
}

func (e *executable) bound(set int, st op.Step) []kernel.Buffer {
	ts := st.Op.Tensors()
	out := make([]kernel.Buffer, len(st.Bind))
	for i, name := range st.Bind {
		for _, b := range e.sets[set] {
			if b.t.Name == name {
				out[i] = kernel.Buffer{Ptr: b.ptr, Tensor: ts[i]}
			}
		}
	}
	return out
}

// tuned gives the parameters that a kernel takes for an op: those of the options for the forced
// kernel, else those of the device's table.
func (e *executable) tuned(k candidate, o op.Op) map[string]int64 {
	if len(e.opts.Params) > 0 && k.Name == e.opts.Kernel {
		return e.opts.Params
	}
	return e.d.tuning.ParamsFor(o, k.class(o), e.d.team.Size(), k.Name)
}

// prefer moves the kernel that a search found faster than the one picked by rank to the front. A
// quarantined or unsupported one is passed over there like any other.
func (e *executable) prefer(all []candidate, o op.Op) {
	for i, k := range all {
		if t, ok := e.d.tuning.Find(o, k.class(o), e.d.team.Size()); ok && t.Replaces != "" && t.Kernel == k.Name {
			copy(all[1:i+1], all[:i])
			all[0] = k
			return
		}
	}
}

// pick chooses for a step the first kernel that this CPU and these arguments allow, and names those
// before it that are set aside.
func (e *executable) pick(step int) (candidate, []string, error) {
	st, forced := e.p.Steps[step], e.opts.Kernel
	all := e.d.b.candidates(st.Op, forced, e.d.team.Size())
	if forced == "" && e.opts.Library != "" {
		all = append(e.d.b.hosted(st.Op, e.opts.Library), all...)
	}
	if len(all) == 0 && forced != "" && len(e.p.Steps) > 1 {
		all = e.d.b.candidates(st.Op, "", e.d.team.Size()) // the forced kernel is for another step
	}
	if len(all) == 0 {
		if forced != "" {
			return candidate{}, nil, backend.Unsupported("no CPU kernel %q for %s at %s", forced, st.Op.Name(), st.Op.DType())
		}
		return candidate{}, nil, e.d.b.noKernel(st.Op)
	}
	if e.opts.Library == "" {
		e.prefer(all, st.Op)
	}
	var why, aside []string
	for _, k := range all {
		if err := k.Info(st.Op.Name(), kernel.Detect()).Available; err != nil {
			why = append(why, fmt.Sprintf("%s: %v", k.Name, err))
			continue
		}
		if k.family.Library != "" {
			if _, err := e.d.host(k.family.Library); err != nil {
				why = append(why, err.Error())
				continue
			}
		}
		if err := k.Sums(st.Op); err != nil { // it was forced
			why = append(why, fmt.Sprintf("%s: %v", k.Name, err))
			continue
		}
		if err := k.Packs(st.Op); err != nil {
			why = append(why, fmt.Sprintf("%s: %v", k.Name, err))
			continue
		}
		if aroundCaches(k.Name) && k.Name != forced && readSoon(e.p, step, e.d.stores) {
			why = append(why, k.Name+": stores around the caches what is read next")
			continue
		}
		a, err := k.bind(st.Op, e.bound(0, st), e.d.stores.around, nil)
		if err != nil {
			return candidate{}, nil, fmt.Errorf("bind %s: %w", k.Name, err)
		}
		ok := k.Supports(a.p)
		kernel.Free(a.p)
		switch {
		case !ok:
			why = append(why, k.Name+": does not take this shape")
		case backend.Excluded(e.opts.Exclude, k.Name, st.Op.Name()):
			aside = append(aside, k.Name)
		default:
			return k, aside, nil
		}
	}
	if len(aside) > 0 {
		return candidate{}, nil, &backend.SetAsideError{Step: fmt.Sprintf("%s at %s", st.Op.Name(), st.Op.DType()), Kernels: aside}
	}
	return candidate{}, nil, backend.Unsupported("%s at %s: %s", st.Op.Name(), st.Op.DType(), strings.Join(why, "; "))
}

func (e *executable) Kernels() []backend.KernelInfo { return e.kernels }

// Fill writes inputs and poisons the rest, in all sets.
func (e *executable) Fill(integer bool, poison int) error {
	err := e.fill(func(t op.Tensor) (bool, int) {
		if t.Role.Input() {
			return true, -1
		}
		return true, poison
	}, integer)
	e.derive(integer)
	if err == nil {
		err = e.pack()
	}
	if err == nil && e.hosted != nil {
		err = e.hosted.Refill()
	}
	return err
}

// derive computes the Derived tensors of all sets on the host.
func (e *executable) derive(integer bool) {
	in := op.NewInputs(e.opts.Seed, integer, e.p.Tensors)
	for _, set := range e.sets {
		for _, b := range set {
			if b.t.Role != op.Derived {
				continue
			}
			from, size := in.Bind(b.t.DeriveFrom), b.t.DType.Size()
			mem := unsafe.Slice((*byte)(b.ptr), b.t.StorageBytes())
			for i := range b.t.Elements() {
				op.Encode(b.t.DType, mem[b.t.Offset(i)*size:], op.Round(b.t.DType, b.t.Derive(from, i)))
			}
		}
	}
}

// Poison poisons outputs and scratch only.
func (e *executable) Poison(poison int) error {
	return e.fill(func(t op.Tensor) (bool, int) { return !t.Role.Input(), poison }, false)
}

func (e *executable) fill(choose func(op.Tensor) (do bool, poison int), integer bool) error {
	var steps []team.Step
	var ptrs []unsafe.Pointer
	defer func() {
		for _, p := range ptrs {
			kernel.Free(p)
		}
	}()
	for _, set := range e.sets {
		for _, b := range set {
			do, poison := choose(b.t)
			if !do {
				continue
			}
			a, err := fill.Args(b.t, b.ptr, b.key, integer, poison)
			if err != nil {
				return err
			}
			ptrs = append(ptrs, a)
			steps = append(steps, team.Step{Fn: fill.Fn(), Args: a})
		}
	}
	if len(steps) == 0 {
		return nil
	}
	l := team.NewList([][]team.Step{steps})
	defer l.Free()
	return e.d.team.Run(l, 1)
}

// Run executes n launches on set 0.
func (e *executable) Run(n int) error {
	run := func() error { return e.d.team.Run(e.list.First(), n) }
	if e.hosted != nil {
		run = func() error { return e.hosted.Run(n) }
	}
	if err := run(); err != nil {
		return fmt.Errorf("run %s: %w", e.p.Name, err)
	}
	return nil
}

// Measure takes samples on all sets in turn.
func (e *executable) Measure(ctx context.Context, launches, samples int) ([]backend.Sample, error) {
	measure := func() ([]backend.Sample, error) { return e.d.team.Measure(ctx, e.list, launches, samples) }
	if e.hosted != nil {
		measure = func() ([]backend.Sample, error) { return e.hosted.Measure(ctx, launches, samples) }
	}
	s, err := measure()
	e.d.sampling.measured(s, e.hosted != nil)
	if err != nil && ctx.Err() == nil {
		return s, fmt.Errorf("measure %s: %w", e.p.Name, err)
	}
	return s, err
}

func (e *executable) tensor(name string) (buffer, error) {
	for _, b := range e.sets[0] {
		if b.t.Name == name {
			return b, nil
		}
	}
	return buffer{}, fmt.Errorf("program %s has no tensor %q", e.p.Name, name)
}

// Read decodes n logical elements from index from.
func (e *executable) Read(name string, from, n int64, dst []float64) error {
	b, err := e.tensor(name)
	if err != nil {
		return err
	}
	if from < 0 || n < 0 || n > b.t.Elements()-from || int64(len(dst)) < n {
		return fmt.Errorf("read %d elements from %d of tensor %s: it has %d", n, from, name, b.t.Elements())
	}
	op.DecodeElements(b.t, unsafe.Slice((*byte)(b.ptr), b.t.StorageBytes()), from, dst[:n])
	return nil
}

// ReadRaw gives the tensor's storage in place (valid until Release) and its guards.
func (e *executable) ReadRaw(name string) (storage, before, after []byte, err error) {
	b, err := e.tensor(name)
	if err != nil {
		return nil, nil, nil, err
	}
	n := b.t.StorageBytes()
	return unsafe.Slice((*byte)(b.ptr), n),
		unsafe.Slice((*byte)(unsafe.Add(b.ptr, -fill.Guard)), fill.Guard),
		unsafe.Slice((*byte)(unsafe.Add(b.ptr, n)), fill.Guard), nil
}

// Release gives all memory back to the arena.
func (e *executable) Release() error {
	if e.list != nil {
		e.list.Free()
		e.list = nil
	}
	if e.hosted != nil {
		e.hosted.Free()
		e.hosted = nil
	}
	if e.packs != nil {
		e.packs.Free()
		e.packs = nil
	}
	for _, p := range e.argp {
		kernel.Free(p)
	}
	e.argp = nil
	for _, set := range e.sets {
		for _, b := range set {
			e.d.mem.give(b.block)
		}
	}
	e.sets = nil
	for _, b := range e.packed {
		e.d.mem.give(b)
	}
	e.packed = nil
	if e.scratch.mem != nil {
		e.d.mem.give(e.scratch)
		e.scratch = block{}
	}
	return nil
}
