//go:build cgo && linux

// Package kerneltest forces every kernel that this machine can run through the verifier, so
// that a family's test is a list of shapes. Only tests import it.
package kerneltest

import (
	"context"
	"errors"
	"fmt"
	"math/bits"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"ridge/goharness/backend"
	"ridge/goharness/op"
	"ridge/goharness/record"
	"ridge/goharness/runner"
	"ridge/native"
	"ridge/native/kernel"
)

// Op builds an op from the builtin registry or fails the test. Parameters come as "m=3".
func Op(t testing.TB, name string, d record.DType, params map[string]string) op.Op {
	t.Helper()
	o, err := op.Builtin().New(name, params, d)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// All runs every registered kernel (test-only models included, see Names) that implements each op,
// with 1 and 3 threads (which ReadRuns), aligned and off every vector's alignment, and verifies the output; then
// again between guard pages (see Guard). Of these four combinations each op of a list meets two opposite ones with a kernel, see pair; an
// op that is alone meets all. It fails when no kernel took an op at all.
func All(t *testing.T, b *native.Backend, ops []op.Op) {
	t.Helper()
	AllWith(t, b, ops, nil)
}

// AllWith is All with parameters given to the kernels, as those that ridge tune stores.
func AllWith(t *testing.T, b *native.Backend, ops []op.Op, params map[string]int64) {
	t.Helper()
	verifyAll(t, b, ops, params)
	faults, err := guarded(b, ops, params, sparseGuard)
	if err != nil {
		t.Error(err)
	}
	for _, f := range faults {
		t.Error(f)
	}
}

func verifyAll(t *testing.T, b *native.Backend, ops []op.Op, params map[string]int64) {
	t.Helper()
	refs := make([]*remembered, len(ops))
	for i, o := range ops {
		refs[i] = remember(o)
	}
	for _, threads := range []int{1, 3} {
		cpus := make([]int, threads)
		for i := range cpus {
			cpus[i] = -1 // more threads than CPUs must work too
		}
		dev, err := b.Open("cpu", backend.OpenOptions{CPUs: cpus, Affinity: "none"})
		if err != nil {
			t.Fatal(err)
		}
		if threads > 1 {
			ReadRuns(dev)
		}
		met := map[string]int{}
		for i, o := range ops {
			ran := 0
			for n, k := range Names(b, o) {
				many := threads / 2
				mine := pair(met[k])
				met[k]++
				for at, shift := range []int64{0, offVectors(o)} {
					skip := len(ops) > 1 && mine != (many+at)%2
					if Sparse() {
						skip = (i+n)%4 != many*2+at
					}
					if skip {
						ran++
						continue
					}
					err := verify(dev, o, refs[i], backend.PrepareOptions{Kernel: k, Misalign: shift, Params: params})
					var unsupported *backend.UnsupportedError
					if errors.As(err, &unsupported) {
						continue
					}
					ran++
					if err != nil {
						t.Errorf("%s %s %s threads=%d shift=%d: %v", k, o.DType(), Describe(o), threads, shift, err)
					}
				}
			}
			if ran == 0 {
				t.Errorf("%s %s %s: no kernel ran", o.Name(), o.DType(), Describe(o))
			}
		}
		if err := dev.Close(); err != nil {
			t.Error(err)
		}
	}
}

// ReadRuns makes a device's kernels ask ahead in memory and read several runs of it side by side, whatever this processor gains by.
func ReadRuns(dev backend.Device) { dev.(interface{ SetReading(ahead, runs int) }).SetReading(2048, 4) }

// pair says which two opposite combinations of threads and alignment a kernel meets with the op that is its n-th: 0 aligned by one thread and off
// alignment by three, 1 the other two. In the order of Thue and Morse (0110 1001), which keeps step with no alternation of layouts or formats in a list.
func pair(n int) int { return bits.OnesCount(uint(n)) % 2 }

// Sparse reports whether each op meets each kernel in one of the four combinations of threads and alignment, in
// turn, and not in all. make asks for it where the same kernels run again: under emulation, sanitizers and
// the second compiler.
func Sparse() bool { return os.Getenv("RIDGE_TEST_SPARSE") != "" }

// Only is b with those kernels alone whose names hold the word: for shapes that are there for the paths of these, where
// others take most of the time and meet shapes of their own.
func Only(b *native.Backend, word string) *native.Backend {
	few := *b
	few.Families = nil
	for _, f := range b.Families {
		f.Kernels = slices.DeleteFunc(slices.Clone(f.Kernels), func(k kernel.Kernel) bool { return !strings.Contains(k.Name, word) })
		few.Families = append(few.Families, f)
	}
	return &few
}

// sparseGuard reports whether the same holds for the threads and the side on which a kernel meets guard pages. Under emulation for the
// portable ones alone, one plain C text for every machine: no other run meets the kernels of that machine.
func sparseGuard(name string) bool {
	return Sparse() && (runtime.GOARCH == "amd64" || strings.HasSuffix(name, "_portable"))
}

// Feature is the mask of a CPU feature by its name.
func Feature(t *testing.T, name string) kernel.Mask {
	t.Helper()
	for b := range 64 {
		if m := kernel.Mask(1) << b; slices.Contains(m.Names(), name) {
			return m
		}
	}
	t.Fatalf("no feature %q", name)
	return 0
}

// NeedModels skips a test of the models where they are not compiled in.
func NeedModels(t *testing.T) {
	t.Helper()
	if !models {
		t.Skip("built without models")
	}
}

// offVectors is the least shift of all tensors that leaves each aligned to its elements and to no
// vector: by contract a kernel may count on the former alone.
func offVectors(o op.Op) int64 {
	shift := int64(1)
	for _, t := range o.Tensors() {
		shift = max(shift, t.DType.Size())
	}
	return shift
}

// Names lists the kernels registered for an op that this CPU can run. Models stand for kernels of
// amd64 and are left out elsewhere: under emulation they would take most of the time. In sparse runs a model is left out beside the kernel that it stands for;
// between guard pages (arrange) it is not: what tile loads and stores touch the sanitizers see in a model alone.
func Names(b *native.Backend, o op.Op) []string {
	var out []string
	for _, f := range b.Families {
		for _, k := range f.Kernels {
			if k.Implements(o.Name(), o.DType()) && kernel.Detect().Has(k.ISA) && (!strings.HasSuffix(k.Name, model) || runtime.GOARCH == "amd64") {
				out = append(out, k.Name)
			}
		}
	}
	if !Sparse() {
		return out
	}
	all := slices.Clone(out)
	return slices.DeleteFunc(out, func(name string) bool {
		of, ok := strings.CutSuffix(name, model)
		return ok && slices.Contains(all, of)
	})
}

const model = "_model" // ends the name of a model

// Remember makes an op keep its expectations, for a test that gives it to One or With for many kernels.
func Remember(o op.Op) op.Op { return remember(o) }

// One verifies one kernel on one op; an UnsupportedError means its predicate refused.
func One(dev backend.Device, o op.Op, kernelName string, misalign int64) error {
	return verify(dev, o, o, backend.PrepareOptions{Kernel: kernelName, Misalign: misalign})
}

// With verifies one kernel on one op with parameters in place of its defaults.
func With(dev backend.Device, o op.Op, kernelName string, params map[string]int64) error {
	return verify(dev, o, o, backend.PrepareOptions{Kernel: kernelName, Params: params})
}

// Against reports whether one kernel's outputs on o are what another op with the same tensors expects, as one with a fault planted does.
func Against(dev backend.Device, o, reference op.Op, kernelName string) (bool, error) {
	v, err := verification(dev, o, reference, backend.PrepareOptions{Kernel: kernelName})
	return err == nil && v.Passed, err
}

// verify compares with the expectations of reference, which is o or a memory of it.
func verify(dev backend.Device, o, reference op.Op, how backend.PrepareOptions) error {
	v, err := verification(dev, o, reference, how)
	if err == nil && !v.Passed {
		err = fmt.Errorf("%+v", *v.Mismatch)
	}
	return err
}

func verification(dev backend.Device, o, reference op.Op, how backend.PrepareOptions) (record.Verification, error) {
	const seed = 42
	how.Seed = seed
	if r, ok := o.(*remembered); ok {
		o = r.Op // families bind the op itself
	}
	p := op.Single(o)
	p.Reference = reference
	e, err := dev.Prepare(p, how)
	if err != nil {
		return record.Verification{}, err
	}
	defer func() { _ = e.Release() }()
	return runner.Verify(context.Background(), e, p, seed, runner.Effort{AllBelow: 1 << 22, Samples: 1024})
}

// Describe prints an op's parameters.
func Describe(o op.Op) string {
	s := ""
	for _, p := range o.Params() {
		s += p.Name + "=" + p.Value + " "
	}
	return s
}
