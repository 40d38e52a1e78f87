//go:build cuda && linux && cgo

// Package driver is the glue to the NVIDIA driver: the library is opened at run time, so that a
// binary with CUDA inside starts on every machine, and what gorgonia.org/cu lacks is added.
//
// cu links libcuda, and its package init calls cuInit and exits the process when that fails. Here
// every driver function is a jump through a table (table.c); Open fills it. Nothing of cu may be
// called before Open has returned nil.
package driver

/*
#cgo LDFLAGS: -Wl,--as-needed -L${SRCDIR}/lib -ldl
#cgo CFLAGS: -O2 -Wall
#include <stdlib.h>
#include "driver.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"sync"
	"unsafe"

	"gorgonia.org/cu"
)

// LibraryEnv names another driver library in the environment: the tests' fake one.
const LibraryEnv = "RIDGE_LIBCUDA"

// ErrNoDriver: no driver library can be loaded here.
var ErrNoDriver = errors.New("no NVIDIA driver")

// ErrNoDevice: there is a driver, and it has no device.
var ErrNoDevice = errors.New("an NVIDIA driver without a device")

// State of the driver after Open.
type State struct {
	Version int    // 13000 for 13.0
	Fake    string // what the tests' driver says of itself; "" for a real one
}

var (
	once    sync.Once
	state   State
	openErr error
)

// Open loads the driver once and initialises it. The error is ErrNoDriver, ErrNoDevice or what
// cuInit says.
func Open() (State, error) {
	once.Do(func() { state, openErr = open() })
	return state, openErr
}

func open() (State, error) {
	name := "libcuda.so.1"
	if p := os.Getenv(LibraryEnv); p != "" {
		name = p
	}
	path := C.CString(name)
	defer C.free(unsafe.Pointer(path))
	var msg, fake *C.char
	var s State
	rc := C.ridge_driver_open(path, &msg, &fake)
	if fake != nil {
		s.Fake = C.GoString(fake)
	}
	switch {
	case rc < 0:
		return s, fmt.Errorf("%w: %s (install NVIDIA's driver; in a container, start it with the GPU)", ErrNoDriver, C.GoString(msg))
	case rc == codeNoDevice:
		return s, fmt.Errorf("%w: cuInit: %w", ErrNoDevice, Error(rc))
	case rc > 0:
		return s, fmt.Errorf("the NVIDIA driver cannot be used: cuInit: %w", Error(rc))
	}
	s.Version = cu.Version()
	n, err := cu.NumDevices()
	if err != nil {
		return s, fmt.Errorf("count the devices: %w", Wrap(err))
	}
	if n == 0 {
		return s, fmt.Errorf("%w: it counts 0 devices (CUDA_VISIBLE_DEVICES=%q)", ErrNoDevice, os.Getenv("CUDA_VISIBLE_DEVICES"))
	}
	return s, nil
}

// CUresults that ridge tells apart (cuda.h).
const (
	codeOutOfMemory = 2
	codeNoDevice    = 100
)

// Error is a CUresult.
type Error int

func (e Error) Error() string {
	if e >= C.RIDGE_CALL_FAILED {
		return fmt.Sprintf("a call of a library failed with status %d", int(e)-C.RIDGE_CALL_FAILED)
	}
	return fmt.Sprintf("%s (%d): %s", C.GoString(C.ridge_error_name(C.int(e))), int(e), C.GoString(C.ridge_error_string(C.int(e))))
}

// Lost reports an error that leaves the context unusable: cuda.h says of each of these that the
// process must be ended and started anew, or that the device or its context is gone.
func (e Error) Lost() bool {
	switch e {
	case 46, // device unavailable
		214, 220, 226, // ECC, NVLink, contained
		700, 702, 709, 710, // illegal address, launch time-out, context destroyed, assert
		714, 715, 716, 717, 718, 719, 721, // traps of a kernel, launch failed, tensor memory leak
		911, 999: // external device, unknown
		return true
	}
	return false
}

// OutOfMemory reports CUDA_ERROR_OUT_OF_MEMORY.
func (e Error) OutOfMemory() bool { return e == codeOutOfMemory }

// WrongImage reports an image without code that this driver can run on this GPU.
func (e Error) WrongImage() bool {
	switch e {
	case 200, // invalid image: what older drivers say of code, or of a compression, of a later toolkit
		209,                // no code for this GPU in the image
		218, 221, 222, 223: // PTX: invalid, no compiler for it, of a newer toolkit than the driver, not to be compiled
		return true
	}
	return false
}

// Wrap gives an error of cu its CUDA name and text. Other errors and nil pass through.
func Wrap(err error) error {
	for x := err; x != nil; x = errors.Unwrap(x) {
		if v := reflect.ValueOf(x); v.Kind() == reflect.Int && v.Type().PkgPath() == "gorgonia.org/cu" {
			return Error(v.Int())
		}
	}
	return err
}

func check(rc C.int) error {
	if rc == 0 {
		return nil
	}
	return Error(rc)
}
