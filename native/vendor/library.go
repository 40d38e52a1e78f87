//go:build cgo && linux

// Package vendor runs kernels of other makers' libraries (oneDNN, MKL) where they are installed, as
// baselines for ridge's own. Nothing links with them: they are looked up at run time, a library of
// an unknown version is refused, and nothing depends on one being there. A further library is a C file with
// its kernels' table and an entry in libraries.
package vendor

/*
#cgo CFLAGS: -O2 -Wall -I${SRCDIR}/../include -DRIDGE_STAMP=d425d404b121
#cgo LDFLAGS: -ldl -lpthread
#include <dlfcn.h>
#include <stdlib.h>
#include "vendor.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unsafe"

	"ridge/goharness/backend"
	"ridge/goharness/record"
	"ridge/native/kernel"
)

// library is one that ridge knows: how it is found and what it is asked for.
type library struct {
	name  string
	files backend.LibraryFiles
	ways  backend.LibraryWays
	table func(*C.int) *C.ridge_kernel
	open  func(handle unsafe.Pointer, path string, threads int, pool *C.ridge_vendor_pool, text *C.char) C.int
}

const textBytes = 256 // of versions and reasons from C

// libraries are all that ridge knows, by name.
var libraries = []library{
	{
		name:  "onednn",
		files: backend.LibraryFiles{Title: "oneDNN", Stem: "libdnnl.so", Names: []string{"libdnnl.so.3", "libdnnl.so.2", "libdnnl.so"}},
		ways:  backend.LibraryWays{Name: "onednn", Unfused: []string{"onednn packed", "onednn", "onednn blocked"}, Instead: packedInstead("onednn"), Fused: []string{"onednn fused", "onednn fused blocked"}},
		table: func(n *C.int) *C.ridge_kernel { return C.ridge_onednn_table(n) },
		open: func(handle unsafe.Pointer, _ string, threads int, pool *C.ridge_vendor_pool, text *C.char) C.int {
			return C.ridge_onednn_open(handle, C.int(threads), pool, text, textBytes)
		},
	},
	{
		name:  "mkl",
		files: backend.LibraryFiles{Title: "MKL", Stem: "libmkl_rt.so", Names: []string{"libmkl_rt.so.3", "libmkl_rt.so.2", "libmkl_rt.so"}},
		ways:  backend.LibraryWays{Name: "mkl", Unfused: []string{"mkl packed", "mkl"}, Instead: packedInstead("mkl")},
		table: func(n *C.int) *C.ridge_kernel { return C.ridge_mkl_table(n) },
		open:  openMKL,
	},
}

// packedInstead: a way without weights packed beforehand packs them in each launch. Of 151 comparisons on Emerald Rapids in which both ways of oneDNN or MKL ran, the
// one without was the baseline in one.
func packedInstead(name string) map[string]string { return map[string]string{name: name + " packed"} }

// variants of kernels that a way uses, the preferred first. The first one must serve some step.
var variants = map[string][]string{"": {""}, "packed": {"packed", ""}, "blocked": {"blocked", ""}, "fused": {"post"}, "fused blocked": {"postblocked"}}

func find(name string) (library, bool) {
	i := slices.IndexFunc(libraries, func(l library) bool { return l.name == name })
	if i < 0 {
		return library{}, false
	}
	return libraries[i], true
}

// Ways lists the libraries and how each may serve a program.
func Ways() []backend.LibraryWays {
	var out []backend.LibraryWays
	for _, l := range libraries {
		out = append(out, l.ways)
	}
	return out
}

// Families are the libraries' kernels, bound as ridge's own families of the same ops bind theirs.
func Families(own []kernel.Family) []kernel.Family {
	var out []kernel.Family
	for _, l := range libraries {
		var n C.int
		first := l.table(&n)
		all := kernel.Table(unsafe.Pointer(first), int(n))
		for _, f := range own {
			mine := slices.DeleteFunc(slices.Clone(all), func(k kernel.Kernel) bool { return !implements(f, k.Ops[0]) })
			if len(mine) > 0 {
				out = append(out, kernel.Family{Name: l.name + " " + f.Name, Library: l.name, Kernels: mine, Bind: f.Bind})
			}
		}
	}
	return out
}

func implements(f kernel.Family, opName string) bool {
	return slices.ContainsFunc(f.Kernels, func(k kernel.Kernel) bool { return slices.Contains(k.Ops, opName) })
}

// Serves says whether a kernel belongs to a way ("onednn packed") and how much it is preferred
// there: 0 for what gives the way its name, more for what it may use beside it; -1: not at all.
func Serves(way string, k kernel.Kernel) int {
	name, variant, _ := strings.Cut(way, " ")
	if !strings.HasPrefix(k.Name, name+"_") {
		return -1
	}
	of := ""
	for _, v := range []string{"packed", "blocked", "post", "postblocked"} {
		if strings.Contains(k.Name, "_"+v+"_") {
			of = v
		}
	}
	return slices.Index(variants[variant], of)
}

// opened is a library that this process has tried to open. It stays for the process's life: libraries with threads
// of their own are not made to be closed.
type opened struct {
	library
	handle unsafe.Pointer
	path   string
	err    error
}

var (
	mu      sync.Mutex
	tried   = map[string]*opened{}
	onEntry = make(chan func())
	entry   sync.Once
)

// onOpener runs f on a thread that is kept for this alone, is pinned nowhere and lives as long
// as the process: an OpenMP runtime takes the first thread that it sees for its main thread, and
// that thread's CPUs for all that there are.
func onOpener(f func()) {
	entry.Do(func() {
		go func() {
			runtime.LockOSThread()
			for g := range onEntry {
				g()
			}
		}()
	})
	done := make(chan struct{})
	onEntry <- func() { defer close(done); f() }
	<-done
}

// Open takes a library into use for a number of threads and says which it is. The first call of a
// process sets the environment that an OpenMP runtime reads when it is loaded.
func Open(name string, threads int) (record.VendorLibrary, error) {
	v, pool, err := open(name, threads)
	kernel.Free(unsafe.Pointer(pool))
	return v, err
}

// open also gives the functions of the library's OpenMP runtime; in C memory, for the caller to free.
func open(name string, threads int) (record.VendorLibrary, *C.ridge_vendor_pool, error) {
	v := record.VendorLibrary{Name: name}
	l, ok := find(name)
	if !ok {
		return v, nil, fmt.Errorf("open library %q: ridge knows no such library", name)
	}
	if threads < 1 || threads > C.RIDGE_VENDOR_THREADS {
		return v, nil, fmt.Errorf("open %s for %d threads: expected 1 to %d", l.files.Title, threads, C.RIDGE_VENDOR_THREADS)
	}
	mu.Lock()
	defer mu.Unlock()
	o := tried[name]
	if o == nil {
		o = &opened{library: l}
		environment(threads)
		onOpener(func() { o.load() })
		tried[name] = o
	}
	if o.err != nil {
		return v, nil, o.err
	}
	v.Path = o.path
	pool := (*C.ridge_vendor_pool)(kernel.Alloc(C.sizeof_ridge_vendor_pool))
	text := (*C.char)(kernel.Alloc(textBytes))
	defer kernel.Free(unsafe.Pointer(text))
	var rc C.int
	onOpener(func() { rc = l.open(o.handle, o.path, threads, pool, text) })
	if rc != 0 {
		kernel.Free(unsafe.Pointer(pool))
		return v, nil, fmt.Errorf("%s: %s", o.path, C.GoString(text))
	}
	v.Version = C.GoString(text)
	return v, pool, nil
}

// load opens the library's file.
func (o *opened) load() {
	o.path, o.err = o.files.Open(os.Getenv(backend.LibraryPathVariable), func(file string) error {
		path := C.CString(file)
		defer C.free(unsafe.Pointer(path))
		if o.handle = C.dlopen(path, C.RTLD_NOW|C.RTLD_LOCAL); o.handle == nil {
			return errors.New(C.GoString(C.dlerror()))
		}
		return nil
	})
}

func exists(path string) bool { _, err := os.Stat(path); return err == nil }

// openMKL loads the OpenMP runtime first, the one beside the library before others: MKL's threading layer is
// chosen by it, and ridge's kernels run on its threads.
func openMKL(handle unsafe.Pointer, path string, threads int, pool *C.ridge_vendor_pool, text *C.char) C.int {
	layer := C.int(C.RIDGE_MKL_SEQUENTIAL)
	for _, r := range []struct {
		file  string
		layer C.int
		name  string
	}{
		{filepath.Join(filepath.Dir(path), "libiomp5.so"), C.RIDGE_MKL_INTEL, "INTEL"}, {"libiomp5.so", C.RIDGE_MKL_INTEL, "INTEL"}, {"libgomp.so.1", C.RIDGE_MKL_GNU, "GNU"},
	} {
		if strings.Contains(r.file, "/") && !exists(r.file) {
			continue
		}
		file := C.CString(r.file)
		h := C.dlopen(file, C.RTLD_NOW|C.RTLD_GLOBAL)
		C.free(unsafe.Pointer(file))
		if h != nil && C.ridge_vendor_runtime(h, pool) == 0 {
			layer = r.layer
			_ = os.Setenv("MKL_THREADING_LAYER", r.name) // it goes before what the program sets
			break
		}
	}
	if layer == C.RIDGE_MKL_SEQUENTIAL {
		if threads > 1 {
			reason := C.CString("no OpenMP runtime for its threads: neither libiomp5.so nor libgomp.so.1 can be loaded")
			defer C.free(unsafe.Pointer(reason))
			copy(unsafe.Slice((*byte)(unsafe.Pointer(text)), textBytes-1), C.GoString(reason))
			return -1
		}
		_ = os.Setenv("MKL_THREADING_LAYER", "SEQUENTIAL")
	}
	return C.ridge_mkl_open(handle, C.int(threads), layer, pool, text, textBytes)
}

// environment is set before a library and its OpenMP runtime are loaded. Its threads spin for a moment
// between the calls of a sample, as ridge's team does (100 µs there; 5000 pauses of libgomp are 75 to
// 250 µs, 1 ms is the least that every libiomp5 takes), and then sleep: Program.quiet waits for it. Without any
// spinning a call waits for a futex each time; on two cores of Zen 3, for a product of 0.42 ms, that was 50 µs
// more of oneDNN on libgomp and 125 to 190 µs of MKL on libiomp5. ridge pins the threads itself.
func environment(threads int) {
	n := strconv.Itoa(threads)
	for k, v := range map[string]string{"OMP_WAIT_POLICY": "passive", "GOMP_SPINCOUNT": "5000", "KMP_BLOCKTIME": "1"} {
		if _, set := os.LookupEnv(k); !set { // Program.quiet refuses what spins too long
			_ = os.Setenv(k, v)
		}
	}
	for k, v := range map[string]string{
		"OMP_NUM_THREADS": n, "OMP_DYNAMIC": "false",
		"KMP_AFFINITY": "disabled", "KMP_WARNINGS": "off", "MKL_NUM_THREADS": n, "MKL_DYNAMIC": "FALSE", "MKL_INTERFACE_LAYER": "LP64",
	} {
		_ = os.Setenv(k, v)
	}
	for _, k := range []string{"OMP_PROC_BIND", "OMP_PLACES", "GOMP_CPU_AFFINITY", "OMP_THREAD_LIMIT", "OMP_MAX_ACTIVE_LEVELS", "KMP_HW_SUBSET",
		"ONEDNN_VERBOSE", "DNNL_VERBOSE", "MKL_VERBOSE", "MKL_DOMAIN_NUM_THREADS"} {
		_ = os.Unsetenv(k)
	}
}
