//go:build cgo && linux

// Package native is the CPU platform: it binds programs to the C kernels of the family
// packages below it, owns their buffers and runs them on a pinned team of threads.
package native

import (
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"sort"
	"strings"

	"golang.org/x/sys/unix"

	"ridge/goharness/backend"
	"ridge/goharness/op"
	"ridge/goharness/record"
	"ridge/native/kernel"
	"ridge/native/team"
	"ridge/native/vendor"
)

// Backend is the CPU platform. Families are its kernels; Vendors are those of other makers' libraries,
// which are opened and picked only when asked for.
type Backend struct {
	Families []kernel.Family
	Vendors  []kernel.Family

	spare *spare // memory between devices; nil: none is kept
}

// New is the CPU platform with ridge's kernels and any further families.
func New(extra ...kernel.Family) *Backend {
	own := families()
	return &Backend{Families: append(own, extra...), Vendors: vendor.Families(own), spare: &spare{}}
}

// Name of the platform.
func (b *Backend) Name() string { return "cpu" }

// Available is nil: a CPU is always there.
func (b *Backend) Available() error { return nil }

// Devices lists the one device, "cpu".
func (b *Backend) Devices() ([]record.Device, error) {
	return []record.Device{{ID: "cpu", Platform: "cpu", Name: runtime.GOARCH, ISA: kernel.Detect().Names(), Threads: len(affinity())}}, nil
}

// Kernels lists every kernel compiled in.
func (b *Backend) Kernels() []backend.KernelInfo {
	var out []backend.KernelInfo
	for _, f := range b.Families {
		for _, k := range f.Kernels {
			for _, o := range k.Ops {
				out = append(out, k.Info(o, kernel.Detect()))
			}
		}
	}
	for _, f := range b.Vendors {
		for _, k := range f.Kernels {
			for _, o := range k.Ops {
				info := k.Info(o, kernel.Detect())
				info.Available = fmt.Errorf("a kernel of the library %s, which is opened when asked for by name; ridge info says whether it is here", f.Library)
				out = append(out, info)
			}
		}
	}
	return out
}

// Libraries lists the vendor libraries that ridge knows (backend.LibraryHost).
func (b *Backend) Libraries() []backend.LibraryWays { return vendor.Ways() }

// OpenLibrary takes a vendor library into use in this process (backend.LibraryHost).
func (b *Backend) OpenLibrary(name string, threads int) (record.VendorLibrary, error) {
	return vendor.Open(name, threads)
}

// Open starts the team.
func (b *Backend) Open(id string, o backend.OpenOptions) (backend.Device, error) {
	if id != "cpu" {
		return nil, fmt.Errorf("open device %q: the CPU platform has only \"cpu\"", id)
	}
	cpus := o.CPUs
	if len(cpus) == 0 {
		cpus = affinity()
	}
	t, err := team.New(len(cpus), cpus)
	if err != nil {
		return nil, fmt.Errorf("open device cpu: %w", err)
	}
	have := kernel.Detect()
	t.SetReading(ahead(have), runs(have))
	return &device{b: b, team: t, affinity: o.Affinity, stores: storing(have, o.LLCBytes, len(cpus)), tuning: o.Tuning, mem: b.spare.adopt(o.MemoryLimit, nodes() > 1)}, nil
}

// ahead is how far kernels that stream from memory ask ahead. On Granite Rapids, from DRAM with stores around the caches, two threads (2 KiB; 1 KiB the
// same, 4 KiB less): relu 35 -> 47 GB/s, exp 30 -> 45, tanh 25 -> 45; reading alone 31.9 -> 34.0. On Zen 3 to Zen 5 the prefetchers do better alone
// (docs/kernels/memory.md). On Ice Lake, one thread: relu of 64M 16.5 -> 18.9, one row of int8 by 4096x4096 weights stored [N,K] 1.5 to 1.7, of bf16 1.07, of
// fp32 1.03; sums and what L3 holds the same. Relatives of the two, with tiles and without AVX512-FP16, are taken for their like; others were not measured.
func ahead(have kernel.Mask) int {
	if icelake(have) || slices.Contains(have.Names(), "amx-tile") {
		return 2048
	}
	return 0
}

// runs is how many parts of what a thread has kernels go through side by side (docs/kernels/memory.md, Ice Lake; its relatives with VNNI are taken for its like). Elsewhere it was not measured, or the
// kernels that gained have the parts in themselves.
func runs(have kernel.Mask) int {
	if icelake(have) {
		return 4
	}
	return 0
}

// icelake is whether the cores are Ice Lake's, or of its relatives with VNNI and without AVX512-FP16.
func icelake(have kernel.Mask) bool {
	names := have.Names()
	return have.Has(kernel.Intel) && slices.Contains(names, "avx512vnni") && !slices.Contains(names, "avx512fp16")
}

// nodes counts the NUMA nodes of the machine, 1 where the system does not tell.
func nodes() int {
	found, _ := filepath.Glob("/sys/devices/system/node/node[0-9]*") // the pattern is well formed
	return max(1, len(found))
}

// affinity lists the CPUs this process may run on.
func affinity() []int {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return []int{-1}
	}
	var out []int
	for i := 0; i < len(set)*64 && len(out) < set.Count(); i++ {
		if set.IsSet(i) {
			out = append(out, i)
		}
	}
	return out
}

// candidate is a kernel with the family that binds its arguments.
type candidate struct {
	kernel.Kernel
	family kernel.Family
}

// bind makes the kernel's arguments, with params in place of its defaults.
func (c candidate) bind(o op.Op, bufs []kernel.Buffer, around int64, params map[string]int64) (args, error) {
	p, err := c.family.Bind(o, bufs)
	if err != nil {
		return args{}, err
	}
	if c.family.Around != nil {
		c.family.Around(p, around)
	}
	if len(params) > 0 {
		err = fmt.Errorf("the kernels of family %s have no parameters", c.family.Name)
		if c.family.Tuning != nil {
			err = c.family.Tuning.Set(p, params)
		}
		if err != nil {
			kernel.Free(p)
			return args{}, err
		}
	}
	return args{p}, nil
}

// class is the class of shapes that tuned parameters are looked up by.
func (c candidate) class(o op.Op) string {
	if c.family.Tuning == nil {
		return ""
	}
	return c.family.Tuning.Class(o)
}

// Space says what a search may try for a kernel (backend.Tuner).
func (b *Backend) Space(o op.Op, kernelName string, caches backend.Caches, threads int) (backend.Space, bool) {
	for _, c := range b.candidates(o, kernelName, threads) {
		if c.family.Tuning != nil {
			return c.family.Tuning.Space(c.Kernel, o, caches, threads)
		}
	}
	return backend.Space{}, false
}

// candidates lists the kernels registered for the op, those preferred on so many threads first. With a forced
// name only that kernel.
func (b *Backend) candidates(o op.Op, forced string, threads int) []candidate {
	var out []candidate
	all := b.Families
	if forced != "" {
		all = append(slices.Clone(all), b.Vendors...)
	}
	for _, f := range all {
		for _, k := range f.Kernels {
			if !k.Implements(o.Name(), o.DType()) || (forced == "" && (k.Rank < 0 || k.Sums(o) != nil)) || (forced != "" && k.Name != forced) {
				continue
			}
			out = append(out, candidate{k, f})
		}
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].RankOn(o, threads) > out[j].RankOn(o, threads) })
	return out
}

// noKernel says that nothing is picked for the op, and which kernel runs when it is forced: the reference of a precision that no CPU has.
func (b *Backend) noKernel(o op.Op) error {
	for _, f := range b.Families {
		for _, k := range f.Kernels {
			if k.Implements(o.Name(), o.DType()) && k.ISA == 0 && !strings.HasSuffix(k.Name, "_model") {
				return backend.Unsupported("no CPU multiplies in %s: for %s there is the reference %s, which runs when it is forced (--kernel)", o.DType(), o.Name(), k.Name)
			}
		}
	}
	return backend.Unsupported("no CPU kernel is registered for %s at %s", o.Name(), o.DType())
}

// hosted lists the kernels of a vendor library for the op in a way of using it, the preferred first.
func (b *Backend) hosted(o op.Op, way string) []candidate {
	var out []candidate
	for _, f := range b.Vendors {
		for _, k := range f.Kernels {
			if vendor.Serves(way, k) >= 0 && k.Implements(o.Name(), o.DType()) {
				out = append(out, candidate{k, f})
			}
		}
	}
	sort.SliceStable(out, func(i, j int) bool { return vendor.Serves(way, out[i].Kernel) < vendor.Serves(way, out[j].Kernel) })
	return out
}
