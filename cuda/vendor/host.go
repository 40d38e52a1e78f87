//go:build cuda && linux && cgo

package vendor

/*
#cgo CFLAGS: -O2 -Wall
#include <dlfcn.h>
#include <stdlib.h>
#include "cublaslt.h"
#include "cudnn.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"unsafe"

	"ridge/cuda/driver"
	"ridge/cuda/kernel"
	"ridge/goharness/backend"
	"ridge/goharness/record"
)

// library is one that ridge knows: how it is found and taken into use.
type library struct {
	files backend.LibraryFiles
	// open gives what C keeps of an opened file, nil with the reason in text, else text is the version; start a handle for the context that is current.
	open  func(handle unsafe.Pointer, text *C.char) unsafe.Pointer
	start func(lib unsafe.Pointer, text *C.char) unsafe.Pointer
	end   func(lib, handle unsafe.Pointer)
}

var libraries = map[string]library{
	CuBLASLt: {
		files: backend.LibraryFiles{Title: "cuBLASLt", Stem: "libcublasLt.so", Names: []string{"libcublasLt.so.13", "libcublasLt.so.12", "libcublasLt.so"}},
		open: func(h unsafe.Pointer, text *C.char) unsafe.Pointer {
			return unsafe.Pointer(C.ridge_cublaslt_open(h, text, textBytes))
		},
		start: func(lib unsafe.Pointer, text *C.char) unsafe.Pointer {
			return C.ridge_cublaslt_handle((*C.ridge_cublaslt)(lib), text, textBytes)
		},
		end: func(lib, handle unsafe.Pointer) { C.ridge_cublaslt_free((*C.ridge_cublaslt)(lib), handle) },
	},
	CuDNN: {
		files: backend.LibraryFiles{Title: "cuDNN", Stem: "libcudnn.so", Names: []string{"libcudnn.so.9", "libcudnn.so"}},
		open: func(h unsafe.Pointer, text *C.char) unsafe.Pointer {
			return unsafe.Pointer(C.ridge_cudnn_open(h, text, textBytes))
		},
		start: func(lib unsafe.Pointer, text *C.char) unsafe.Pointer {
			return C.ridge_cudnn_handle((*C.ridge_cudnn)(lib), text, textBytes)
		},
		end: func(lib, handle unsafe.Pointer) { C.ridge_cudnn_free((*C.ridge_cudnn)(lib), handle) },
	},
}

const textBytes = 256 // of versions and reasons from C

// said runs f with room for a text, and gives the text.
func said(f func(*C.char)) string {
	text := (*C.char)(C.calloc(1, textBytes))
	defer C.free(unsafe.Pointer(text))
	f(text)
	return C.GoString(text)
}

// opened is a library that this process has tried to open. It stays for the process's life.
type opened struct {
	record.VendorLibrary
	library
	lib unsafe.Pointer // what C keeps of it
	err error
}

var (
	mu    sync.Mutex
	tried = map[string]*opened{}
)

func take(name string) (*opened, error) {
	l, ok := libraries[name]
	if !ok {
		return nil, fmt.Errorf("open library %q: ridge knows no such library of this platform", name)
	}
	mu.Lock()
	defer mu.Unlock()
	o := tried[name]
	if o == nil {
		o = &opened{VendorLibrary: record.VendorLibrary{Name: name}, library: l}
		o.err = o.load()
		tried[name] = o
	}
	return o, o.err
}

// load takes the first file that is the library in a version that is known.
func (o *opened) load() (err error) {
	o.Path, err = o.files.Open(os.Getenv(backend.LibraryPathVariable), func(file string) error {
		name := C.CString(file)
		defer C.free(unsafe.Pointer(name))
		handle := C.dlopen(name, C.RTLD_NOW|C.RTLD_LOCAL)
		if handle == nil {
			return errors.New(C.GoString(C.dlerror()))
		}
		text := said(func(to *C.char) { o.lib = o.open(handle, to) })
		if o.lib == nil {
			return fmt.Errorf("%s: %s", file, text)
		}
		o.Version = text
		return nil
	})
	return err
}

// Open takes a library into use in this process and says which it is.
func Open(name string) (record.VendorLibrary, error) {
	o, err := take(name)
	if err != nil {
		return record.VendorLibrary{Name: name}, err
	}
	return o.VendorLibrary, nil
}

// Host is a library in use on a device.
type Host struct {
	*opened
	handle unsafe.Pointer
}

// NewHost opens a library for the context that is current on the calling thread. An UnsupportedError says why it cannot be used.
func NewHost(name string) (*Host, error) {
	o, err := take(name)
	if err != nil {
		return nil, backend.Unsupported("%v", err)
	}
	h := &Host{opened: o}
	if text := said(func(to *C.char) { h.handle = o.start(o.lib, to) }); h.handle == nil {
		return nil, backend.Unsupported("%s: %s", o.Path, text)
	}
	return h, nil
}

// Close gives the handle back. The library stays loaded.
func (h *Host) Close() { h.end(h.lib, h.handle) }

// Call is a step that is ready for a launch list.
type Call struct {
	driver.Call
	// Path is the code path that the library chose.
	Path string
	free func()
}

// Free gives up what the library keeps for it.
func (c *Call) Free() { c.free() }

// Call prepares what a launch asks of the library, with a workspace at an address. An UnsupportedError says what the library has no algorithm for.
func (h *Host) Call(l kernel.Launch, work uint64) (*Call, error) {
	var c Call
	var text string
	switch {
	case l.Product != nil && h.Name == CuBLASLt:
		c, text = h.product(*l.Product, work)
	case l.Convolution != nil && h.Name == CuDNN:
		c, text = h.convolution(*l.Convolution, work)
	default:
		return nil, fmt.Errorf("%s is asked for a step that it has no function for", h.Name)
	}
	if c.Argument == nil {
		return nil, backend.Unsupported("%s %s: %s", h.Name, h.Version, text)
	}
	c.Path = strings.TrimSpace(h.Name + " " + h.Version + " " + text)
	return &c, nil
}
