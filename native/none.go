//go:build !cgo || !linux

// Package native is the CPU platform. This build has no C kernels in it.
package native

import (
	"errors"
	"runtime"

	"ridge/goharness/backend"
	"ridge/goharness/record"
)

// Backend stands in for the CPU platform in a build without its kernels.
type Backend struct{}

// New is the CPU platform.
func New() *Backend { return &Backend{} }

// Name of the platform.
func (*Backend) Name() string { return "cpu" }

// Available says what to do to get the CPU kernels.
func (*Backend) Available() error {
	if runtime.GOOS != "linux" {
		return errors.New("the CPU kernels are built for linux only; this is " + runtime.GOOS)
	}
	return errors.New("built without C: install gcc (Debian: apt-get install gcc libc6-dev) and build with CGO_ENABLED=1")
}

// Devices is empty.
func (b *Backend) Devices() ([]record.Device, error) { return nil, b.Available() }

// Kernels is empty.
func (*Backend) Kernels() []backend.KernelInfo { return nil }

// Open always fails with the reason.
func (b *Backend) Open(string, backend.OpenOptions) (backend.Device, error) {
	return nil, b.Available()
}

// Compiler is empty: there are no kernels.
func Compiler() (name, flags string) { return "none", "" }

// PrepareWorker does nothing.
func PrepareWorker() {}

// SVEBits is 0: there are no kernels.
func SVEBits() int { return 0 }
