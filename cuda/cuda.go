//go:build cuda && linux && cgo

// Package cuda is the NVIDIA platform: it binds programs to the kernels of the family packages
// below it, owns their buffers in device memory and times them by the device's events. The driver is
// opened at run time (package driver); docs/cuda.md describes the parts.
package cuda

import (
	"errors"
	"fmt"
	"sort"
	"strconv"
	"strings"

	"gorgonia.org/cu"

	"ridge/cuda/driver"
	"ridge/cuda/kernel"
	"ridge/cuda/vendor"
	"ridge/goharness/backend"
	"ridge/goharness/op"
	"ridge/goharness/record"
)

// Backend is the NVIDIA platform with its kernels.
type Backend struct {
	Families []kernel.Family
}

// New is the platform with ridge's kernels and any further families.
func New(extra ...kernel.Family) *Backend {
	return &Backend{Families: append(families(), extra...)}
}

// Name of the platform.
func (b *Backend) Name() string { return "cuda" }

// Available says in which of three states a platform without a usable device is: no driver, a
// driver without a device, a driver that cannot be initialised.
func (b *Backend) Available() error {
	_, err := usable()
	return err
}

// usable opens the driver. One that is there and does not start may start in another process: the device is lost to this one.
func usable() (driver.State, error) {
	state, err := driver.Open()
	if err != nil && !errors.Is(err, driver.ErrNoDriver) && !errors.Is(err, driver.ErrNoDevice) {
		err = &backend.LostError{Reason: err.Error()}
	}
	return state, err
}

// Devices lists cuda:0, cuda:1, …
func (b *Backend) Devices() ([]record.Device, error) {
	state, err := usable()
	if err != nil {
		return nil, err
	}
	n, err := cu.NumDevices()
	if err != nil {
		return nil, fail("count the devices", err)
	}
	var out []record.Device
	for i := range n {
		id, err := identify(i)
		if err != nil {
			return nil, err
		}
		d := id.record(state)
		d.Facts[record.FactDevices] = strconv.Itoa(n)
		out = append(out, d)
	}
	return out, nil
}

// Kernels lists every kernel compiled in; a kernel is available when the first device can run it.
func (b *Backend) Kernels() []backend.KernelInfo {
	capability, missing := 0, b.Available()
	if missing == nil {
		id, err := identify(0)
		capability, missing = id.limits.Capability, err
	}
	var out []backend.KernelInfo
	for _, f := range b.Families {
		for _, k := range f.Kernels {
			why := missing
			if why == nil {
				why = k.Runs(capability)
			}
			if k.Library != "" {
				why = fmt.Errorf("a kernel of the library %s, which is opened when asked for by name; ridge info says whether it is here", k.Library)
			}
			for _, o := range strings.Fields(k.Ops) {
				out = append(out, k.Info(o, why))
			}
		}
	}
	return out
}

// Open retains the primary context of a device.
func (b *Backend) Open(id string, o backend.OpenOptions) (backend.Device, error) {
	state, err := usable()
	if isLost(err) {
		return nil, fmt.Errorf("device %s: %w", id, err)
	}
	if err != nil {
		return nil, backend.Unsupported("device %s: %v", id, err)
	}
	n, err := cu.NumDevices()
	if err != nil {
		return nil, fail("device "+id+": count the devices", err)
	}
	number, ours := strings.CutPrefix(id, "cuda:")
	ordinal, err := strconv.Atoi(number)
	if err != nil || !ours || ordinal < 0 || ordinal >= n {
		return nil, backend.Unsupported("device %q: expected cuda:0 to cuda:%d (ridge list devices)", id, n-1)
	}
	return open(b, state, ordinal, o)
}

// candidates lists the kernels registered for the op, the preferred first; with a forced name
// only that kernel.
func (b *Backend) candidates(o op.Op, forced string) []kernel.Kernel {
	var out []kernel.Kernel
	for _, f := range b.Families {
		for _, k := range f.Kernels {
			if k.Implements(o.Name(), o.DType()) && (forced == "" && k.Rank >= 0 || forced == k.Name) {
				out = append(out, k)
			}
		}
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].Rank > out[j].Rank })
	return out
}

// hosted lists the kernels of a vendor library for the op in a way of using it.
func (b *Backend) hosted(o op.Op, way string) []kernel.Kernel {
	var out []kernel.Kernel
	for _, f := range b.Families {
		for _, k := range f.Kernels {
			if vendor.Serves(way, k) && k.Implements(o.Name(), o.DType()) {
				out = append(out, k)
			}
		}
	}
	return out
}

// Libraries lists the vendor libraries that ridge knows (backend.LibraryHost).
func (b *Backend) Libraries() []backend.LibraryWays { return vendor.Ways() }

// OpenLibrary takes a vendor library into use in this process (backend.LibraryHost). The device's threads are its own: the number is of no account.
func (b *Backend) OpenLibrary(name string, _ int) (record.VendorLibrary, error) {
	return vendor.Open(name)
}
