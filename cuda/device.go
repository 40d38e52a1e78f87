//go:build cuda && linux && cgo

package cuda

import (
	"encoding/binary"
	"fmt"
	"strings"

	"gorgonia.org/cu"

	"ridge/cuda/driver"
	"ridge/cuda/fatbin"
	"ridge/cuda/fill"
	"ridge/cuda/kernel"
	"ridge/cuda/probe"
	"ridge/goharness/backend"
	"ridge/goharness/op"
	"ridge/goharness/record"
)

// device is an opened GPU: its primary context, held by a thread of its own, one stream, the
// loaded images and an arena.
type device struct {
	b       *Backend
	state   driver.State
	id      identity
	calls   chan func()
	stream  cu.Stream
	modules map[string]cu.Module
	entries map[string]cu.Function
	mem     arena
	pinned  arena  // of the host
	staging []byte // page-locked, for copies to the host
	clock   *clock
	gate    *driver.Gate // nil until it is needed
	gates   gates        // how it fared
	tuning  backend.Tuning
	graphs  string // backend.GraphsOn or GraphsOff
	// resolution of the events in ns; 0: not measured yet
	resolution float64
}

// stagingBytes of page-locked memory: large enough that the bus binds and not the calls.
const stagingBytes = 4 << 20

func open(b *Backend, s driver.State, ordinal int, o backend.OpenOptions) (*device, error) {
	id, err := identify(ordinal)
	if err != nil {
		return nil, err
	}
	d := &device{b: b, state: s, id: id, graphs: o.Graphs, tuning: o.Tuning, pinned: arena{host: true}, calls: make(chan func()), modules: map[string]cu.Module{}, entries: map[string]cu.Function{}}
	ready := make(chan error)
	go d.serve(ready)
	if err := <-ready; err != nil {
		return nil, fmt.Errorf("open device cuda:%d: %w", ordinal, err)
	}
	return d, nil
}

// serve holds the context on one thread: everything that needs it runs here. The thread stays locked,
// so it ends with this goroutine.
func (d *device) serve(ready chan<- error) {
	ctx, err := d.id.dev.RetainPrimaryCtx()
	if err != nil {
		ready <- fail("retain the primary context", err)
		return
	}
	if err := d.hold(ctx); err != nil {
		_ = d.id.dev.ReleasePrimaryCtx() // the first error is the one to tell
		ready <- err
		return
	}
	ready <- nil
	for f := range d.calls {
		f()
	}
}

func (d *device) hold(ctx cu.CUContext) (err error) {
	if err := ctx.Lock(); err != nil {
		return fail("bind the context to a thread", err)
	}
	if d.stream, err = cu.MakeStream(cu.DefaultStream); err != nil {
		return fail("make a stream", err)
	}
	if d.staging, err = driver.Pinned(stagingBytes); err != nil {
		_ = d.stream.Destroy() // the first error is the one to tell
	}
	return fail("make the staging buffer", err)
}

// do runs f on the device's thread.
func (d *device) do(f func() error) error {
	done := make(chan error, 1)
	d.calls <- func() { done <- f() }
	return <-done
}

func (d *device) Info() record.Device { return d.id.record(d.state) }

// Kernels that this device can run for the op, the preferred first.
func (d *device) Kernels(o op.Op) ([]backend.KernelInfo, error) {
	all := d.b.candidates(o, "")
	if len(all) == 0 {
		return nil, backend.Unsupported("no CUDA kernel is registered for %s at %s", o.Name(), o.DType())
	}
	var out []backend.KernelInfo
	var missing []string
	for _, k := range all {
		if err := k.Runs(d.id.limits.Capability); err != nil {
			missing = append(missing, k.Name+": "+err.Error())
			continue
		}
		out = append(out, k.Info(o.Name(), nil))
	}
	if len(out) == 0 {
		return nil, backend.Unsupported("%s", strings.Join(missing, "; "))
	}
	return out, nil
}

// entry loads an image on first use and finds an entry of it. Called on the device's thread.
func (d *device) entry(image, name string) (cu.Function, error) {
	if f, ok := d.entries[name]; ok {
		return f, nil
	}
	m, ok := d.modules[image]
	if !ok {
		code, err := fatbin.Image(image)
		if err != nil {
			return cu.Function{}, err
		}
		if m, err = cu.LoadData(string(code)); err != nil {
			return cu.Function{}, d.notLoaded(image, "load kernel "+image, err)
		}
		d.modules[image] = m
	}
	f, err := m.Function(name) // a driver that loads lazily says here what it says above else
	if err != nil {
		return f, d.notLoaded(image, fmt.Sprintf("find %s in kernel %s", name, image), err)
	}
	d.entries[name] = f
	return f, nil
}

// notLoaded is why an image's code cannot be used: none in it is for this GPU and driver, or another failure of doing what.
func (d *device) notLoaded(image, doing string, err error) error {
	if e, is := driver.Wrap(err).(driver.Error); is && e.WrongImage() {
		return backend.Unsupported("kernel %s: no code in this binary runs on %s (compute capability %d.%d) with driver %s: %v; a newer driver runs it or can compile the PTX inside",
			image, d.id.name, d.id.limits.Capability/10, d.id.limits.Capability%10, driverVersion(d.state), e)
	}
	return fail(doing, err)
}

// launch turns a planned launch into one for the driver. Called on the device's thread.
func (d *device) launch(image string, l kernel.Launch, work uint64) (driver.Launch, error) {
	out := driver.Launch{Shared: uint32(l.Shared)}
	if k := l.Copy; k != nil {
		out.Copy = &driver.Copy{To: k.To.Address, From: k.From.Address, Bytes: uint64(k.From.Tensor.StorageBytes()), ToDevice: k.From.Tensor.Host}
		return out, nil
	}
	for i := range 3 {
		limit := int64(kernel.MaxGrid)
		if i > 0 {
			limit = 65535
		}
		if l.Grid[i] < 1 || l.Grid[i] > limit || l.Block[i] < 1 || l.Block[i] > 1024 {
			return out, backend.Unsupported("kernel %s: a grid of %v blocks of %v threads exceeds the device's limits", l.Entry, l.Grid, l.Block)
		}
		out.Grid[i], out.Block[i], out.Cluster[i] = uint32(l.Grid[i]), uint32(l.Block[i]), uint32(l.Cluster[i])
	}
	if l.Shared > int64(d.id.limits.SharedMax) {
		return out, backend.Unsupported("kernel %s needs %d bytes of shared memory a block, the device has %d", l.Entry, l.Shared, d.id.limits.SharedMax)
	}
	var err error
	if l.Image != "" {
		image = l.Image
	}
	if out.Function, err = d.entry(image, l.Entry); err != nil {
		return out, err
	}
	for _, a := range l.Args {
		if a.Work {
			a.Bits += work
		}
		if a.Map != nil {
			t := *a.Map
			if a.Work {
				t.Address += work
			}
			m, err := encode(t)
			if err != nil {
				return out, fmt.Errorf("kernel %s: parameter %d: %w", l.Entry, len(out.Params), err)
			}
			if out.Maps == nil {
				out.Maps = map[int][128]byte{}
			}
			out.Maps[len(out.Params)] = m
		}
		out.Params = append(out.Params, a.Bits)
	}
	return out, nil
}

// mapTypes are CU_TENSOR_MAP_DATA_TYPE_*.
var mapTypes = map[record.DType]int{record.UINT8: 0, record.INT8: 0, record.FP8E4M3: 0, record.INT32: 3, record.FP16: 6, record.FP32: 7, record.FP64: 8, record.BF16: 9,
	record.TF32: 11} // fp32 in memory, rounded as it is copied

// encode makes the driver's form of a tensor map.
func encode(m kernel.TensorMap) ([128]byte, error) {
	t, ok := mapTypes[m.DType]
	if !ok {
		return [128]byte{}, fmt.Errorf("there are no tensor maps of %s", m.DType)
	}
	lines := 3
	if m.Lines == 128 {
		lines = 2
	}
	out, err := driver.TensorMap{DType: t, Address: m.Address, Dims: m.Dims, Strides: m.Strides, Box: m.Box, Swizzle: driver.Swizzle128, Lines: lines}.Encode()
	return out, fail("describe a tensor for TMA", err)
}

// Synchronize waits for the stream.
func (d *device) Synchronize() error {
	return d.do(func() error { return fail("synchronize", d.stream.Synchronize()) })
}

func (d *device) MemoryInUse() int64 { return d.mem.inUse }

// MemoryReserved is what the arena holds from the driver, and the most that was in use since the last call.
func (d *device) MemoryReserved() (held, peak int64) {
	_ = d.do(func() error {
		held, peak = d.mem.reserved, d.mem.peak
		d.mem.peak = d.mem.inUse
		return nil
	})
	return held, peak
}

// Trim returns released buffers to the driver.
func (d *device) Trim() {
	_ = d.do(func() error {
		d.mem.trim()
		d.pinned.trim()
		return nil
	})
}

// LLCBytes is the second-level cache.
func (d *device) LLCBytes() int64 { return d.id.limits.L2Bytes }

// FreeMemory asks the driver.
func (d *device) FreeMemory() (int64, string, error) {
	var n int64
	err := d.do(func() error {
		left, _, err := cu.MemInfo()
		n = left
		return fail("ask for the free memory", err)
	})
	return n, "the free memory of " + d.id.name, err
}

// clock is the prepared clock kernel, idle and under load.
type clock struct {
	out  block
	list [2]*driver.List
}

// MeasureClock runs a chain of dependent instructions on one multiprocessor or on all.
func (d *device) MeasureClock(load bool) (ghz float64, err error) {
	err = d.do(func() error {
		c, err := d.prepareClock()
		if err != nil {
			return err
		}
		l := c.list[0]
		if load {
			l = c.list[1]
		}
		if err := l.Run(d.stream, 1); err != nil {
			return fail("measure the clock", err)
		}
		var b [16]byte
		if err := d.read(b[:], c.out.ptr); err != nil {
			return err
		}
		cycles, ns := binary.LittleEndian.Uint64(b[:8]), binary.LittleEndian.Uint64(b[8:])
		if ns == 0 {
			return fmt.Errorf("measure the clock: the device's timer stood still over %d cycles", cycles)
		}
		ghz = float64(cycles) / float64(ns)
		return nil
	})
	return ghz, err
}

func (d *device) prepareClock() (*clock, error) {
	if d.clock != nil {
		return d.clock, nil
	}
	c := &clock{}
	var err error
	if c.out, err = d.mem.take(24); err != nil {
		return nil, err
	}
	for i := range c.list {
		var l driver.Launch
		if l, err = d.launch(probe.ClockImage, probe.Clock(uint64(c.out.ptr), i == 1, d.id.limits), 0); err == nil {
			c.list[i], err = driver.NewList([][]driver.Launch{{l}})
		}
		if err != nil {
			if c.list[0] != nil {
				c.list[0].Free()
			}
			d.mem.give(c.out)
			return nil, fail("prepare the clock", err)
		}
	}
	d.mem.inUse -= c.out.size // of no case
	d.clock = c
	return c, nil
}

// read copies device memory to the host through the staging buffer. Called on the device's thread.
func (d *device) read(dst []byte, from cu.DevicePtr) error {
	for at := 0; at < len(dst); at += len(d.staging) {
		n := min(len(d.staging), len(dst)-at)
		if err := cu.MemcpyDtoH(pointer(d.staging), from+cu.DevicePtr(at), int64(n)); err != nil {
			return fail(fmt.Sprintf("copy %d bytes to the host", n), err)
		}
		copy(dst[at:], d.staging[:n])
	}
	return nil
}

// write copies host memory to the device.
func (d *device) write(to cu.DevicePtr, src []byte) error {
	for at := 0; at < len(src); at += len(d.staging) {
		n := copy(d.staging, src[at:])
		if err := cu.MemcpyHtoD(to+cu.DevicePtr(at), pointer(d.staging), int64(n)); err != nil {
			return fail(fmt.Sprintf("copy %d bytes to the device", n), err)
		}
	}
	return nil
}

// fillOne makes the inputs of one tensor. Called on the device's thread.
func (d *device) fillOne(b kernel.Buffer, key uint64, integer bool) error {
	l, err := fill.Launch(b, key, integer, d.id.limits)
	if err != nil {
		return err
	}
	x, err := d.launch(fill.Image, l, 0)
	if err != nil {
		return err
	}
	list, err := driver.NewList([][]driver.Launch{{x}})
	if err != nil {
		return fail("fill tensor "+b.Tensor.Name, err)
	}
	defer list.Free()
	return fail("fill tensor "+b.Tensor.Name, list.Run(d.stream, 1))
}

func (d *device) Conditions() record.Conditions {
	compiler, flags := fatbin.Compiler()
	return record.Conditions{Threads: 1, CPUs: []int{-1}, Affinity: "none (device)", Compiler: compiler, CompilerFlags: flags,
		Driver: driverVersion(d.state), PageSize: "the device's", HugePageShare: record.Unknown[float64]("device memory"),
		FlushDenormals: record.Known(false, "kernels are compiled without -ftz")}
}

// Close gives the memory back and releases the primary context.
func (d *device) Close() error {
	err := d.do(func() error {
		if d.clock != nil {
			d.clock.list[0].Free()
			d.clock.list[1].Free()
			d.clock.out.free()
		}
		if d.gate != nil {
			_ = d.gate.Free()
		}
		for _, m := range d.modules {
			_ = m.Unload() // fails when the context is lost; releasing it frees everything
		}
		d.mem.trim()
		d.pinned.trim()
		_ = driver.FreePinned(d.staging)
		_ = d.stream.Destroy()
		return fail("release the primary context", d.id.dev.ReleasePrimaryCtx())
	})
	close(d.calls)
	return err
}
