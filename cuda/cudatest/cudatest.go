//go:build cuda && linux && cgo

// Package cudatest runs CUDA kernels without a GPU: behind the tests' driver, in the CPU execution
// model, judged by the verifier that also runs before every measurement.
package cudatest

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"ridge/cuda"
	"ridge/cuda/driver"
	"ridge/cuda/model"
	"ridge/goharness/backend"
	"ridge/goharness/op"
	"ridge/goharness/record"
	"ridge/goharness/runner"
)

// Main is a package's TestMain: it builds the driver of the tests with all kernels and further
// sources, and runs the tests with it.
func Main(m *testing.M, further ...string) {
	if err := Use(further...); err != nil {
		fmt.Fprintln(os.Stderr, "cudatest:", err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// Use builds the driver of the tests and makes this process open it.
func Use(further ...string) error {
	root, err := model.Root()
	if err != nil {
		return err
	}
	lib, err := model.Library(root, further...)
	if err != nil {
		return err
	}
	return os.Setenv(driver.LibraryEnv, lib)
}

// Orders in which the model runs threads and blocks. A kernel that depends on one is wrong.
var Orders = []string{"forward", "reverse", "random:1"}

// Op makes an op of ridge's registry.
func Op(t *testing.T, name string, d record.DType, params string) op.Op {
	t.Helper()
	values := map[string]string{}
	for _, p := range strings.FieldsFunc(params, func(r rune) bool { return r == ',' || r == ' ' }) {
		k, v, _ := strings.Cut(p, "=")
		values[k] = v
	}
	o, err := op.Builtin().New(name, values, d)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// All runs every registered kernel of each op in all orders, with aligned and with shifted
// operands, through the verifier. An op that no kernel takes fails.
func All(t *testing.T, b *cuda.Backend, ops []op.Op) {
	t.Helper()
	all(t, b, ops, "")
}

// all runs the kernels whose names hold tier.
func all(t *testing.T, b *cuda.Backend, ops []op.Op, tier string) {
	t.Helper()
	for i, order := range Orders {
		t.Setenv("RIDGE_MODEL_ORDER", order)
		d, err := b.Open("cuda:0", backend.OpenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range ops {
			kernels, err := d.Kernels(o)
			if err != nil {
				t.Errorf("%s %s: %v", o.Name(), o.DType(), err)
			}
			var notRun []string
			kernels = slices.DeleteFunc(kernels, func(k backend.KernelInfo) bool { return !strings.Contains(k.Name, tier) })
			for _, k := range kernels {
				// One element off the alignment, so that vectors of 16 bytes cannot be used.
				alive, why := check(t, d, o, backend.PrepareOptions{Kernel: k.Name, Misalign: int64(i%2) * o.Tensors()[0].DType.Size(), Seed: runner.Seed}, order)
				if why != nil {
					notRun = append(notRun, why.Error())
				}
				if alive {
					continue
				}
				_ = d.Close() // of a lost context
				if d, err = b.Open("cuda:0", backend.OpenOptions{}); err != nil {
					t.Fatal(err)
				}
			}
			if len(notRun) == len(kernels) && (tier == "" || i%2 == 0) { // a tier may ask for alignment
				t.Errorf("%s %s %v: no kernel takes it: %v", o.Name(), o.DType(), o.Params(), notRun)
			}
		}
		if err := d.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}
}

// Taken runs the kernels of a tier (a part of their names) as All does, and fails for an op that none of them is chosen for when
// operands are aligned.
func Taken(t *testing.T, b *cuda.Backend, tier string, ops []op.Op) {
	t.Helper()
	d, err := b.Open("cuda:0", backend.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range ops {
		e, err := d.Prepare(op.Single(o), backend.PrepareOptions{Seed: runner.Seed})
		if err != nil {
			t.Errorf("%s %s %v: %v", o.Name(), o.DType(), o.Params(), err)
			continue
		}
		if k := e.Kernels()[0].Name; !strings.Contains(k, tier) {
			t.Errorf("%s %s %v: kernel %s is chosen, want one of %s", o.Name(), o.DType(), o.Params(), k, tier)
		}
		if err := e.Release(); err != nil {
			t.Error(err)
		}
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	all(t, b, ops, tier)
}

// With runs a kernel with parameters that a search could give it, in all orders, operands aligned. An op that it does not take so fails.
func With(t *testing.T, b *cuda.Backend, kernel string, params map[string]int64, ops []op.Op) {
	t.Helper()
	for _, order := range Orders {
		t.Setenv("RIDGE_MODEL_ORDER", order)
		d, err := b.Open("cuda:0", backend.OpenOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range ops {
			alive, why := check(t, d, o, backend.PrepareOptions{Kernel: kernel, Params: params, Seed: runner.Seed}, order)
			if why != nil {
				t.Error(why)
			}
			if alive {
				continue
			}
			_ = d.Close() // of a lost context
			if d, err = b.Open("cuda:0", backend.OpenOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		if err := d.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	}
}

// Device opens the model's device for a test.
func Device(t *testing.T) backend.Device {
	t.Helper()
	d, err := cuda.New().Open("cuda:0", backend.OpenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return d
}

// Names of the kernels that may run an op.
func Names(t *testing.T, d backend.Device, o op.Op) []string {
	t.Helper()
	kernels, err := d.Kernels(o)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, k := range kernels {
		out = append(out, k.Name)
	}
	return out
}

// Apply runs a kernel on chosen inputs, by their tensors' names, each input of the op one, and gives the outputs by theirs; nil where it does not take the op. misalign: elements.
func Apply(d backend.Device, kernel string, o op.Op, misalign int64, in map[string][]float64) (out map[string][]float64, err error) {
	e, err := d.Prepare(op.Single(o), backend.PrepareOptions{Kernel: kernel, Misalign: misalign * o.Tensors()[0].DType.Size(), Seed: runner.Seed})
	if backend.IsUnsupported(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, e.Release()) }()
	if err := e.Fill(false, 0); err != nil {
		return nil, err
	}
	w := e.(interface {
		Write(name string, values []float64) error
	})
	for name, values := range in {
		if err := w.Write(name, values); err != nil {
			return nil, err
		}
	}
	if err := e.Run(1); err != nil {
		return nil, err
	}
	out = map[string][]float64{}
	for _, x := range o.Tensors() {
		if x.Role.Input() {
			continue
		}
		y := make([]float64, x.Elements())
		if err := e.Read(x.Name, 0, int64(len(y)), y); err != nil {
			return nil, err
		}
		out[x.Name] = y
	}
	return out, nil
}

// check verifies one kernel; alive is false when it cost the device its context, why says that it does not take the op.
func check(t *testing.T, d backend.Device, o op.Op, opts backend.PrepareOptions, order string) (alive bool, why error) {
	t.Helper()
	what := fmt.Sprintf("%s %v for %s %s %v misalign=%d order=%s", opts.Kernel, opts.Params, o.Name(), o.DType(), o.Params(), opts.Misalign, order)
	e, err := d.Prepare(op.Single(o), opts)
	if backend.IsUnsupported(err) {
		return true, fmt.Errorf("%s: %w", what, err)
	}
	if err != nil {
		t.Errorf("%s: %v", what, err)
		return true, nil
	}
	v, err := runner.Verify(t.Context(), e, op.Single(o), runner.Seed, runner.DefaultEffort)
	switch {
	case err != nil:
		t.Errorf("%s: %v", what, err)
	case !v.Passed:
		t.Errorf("%s: %+v", what, *v.Mismatch)
	}
	if err := e.Release(); err != nil {
		t.Errorf("%s: release: %v", what, err)
	}
	var lost *backend.LostError
	return !errors.As(err, &lost), nil
}
