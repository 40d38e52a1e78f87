package cuda

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ridge/cuda/kernel"
	"ridge/goharness/backend"
	"ridge/goharness/op"
	"ridge/goharness/plan"
	"ridge/goharness/record"
)

// Sources that the platform itself launches; all others are kernels of the registry.
var ofThePlatform = map[string]bool{"fill_simt": true, "clock_simt": true, "gate_simt": true}

func TestEverySourceIsRegisteredAndEveryKernelHasItsSource(t *testing.T) {
	registered := map[string]bool{}
	for _, f := range Families() {
		for _, k := range f.Kernels {
			if registered[k.Name] {
				t.Errorf("%s is registered twice", k.Name)
			}
			registered[k.Name] = true
			if _, err := os.Stat(filepath.Join(f.Name, k.Name+".cu")); (err != nil) != k.Engine {
				t.Errorf("kernel %s: %v", k.Name, err)
			}
			if k.Plan == nil {
				t.Errorf("kernel %s has no plan", k.Name)
			}
			for _, o := range strings.Fields(k.Ops) {
				if s, ok := op.Builtin().Spec(o); !ok {
					t.Errorf("kernel %s: there is no op %q", k.Name, o)
				} else if !slices.Contains(s.DTypes, k.DType) {
					t.Errorf("kernel %s: op %s has no precision %s", k.Name, o, k.DType)
				}
			}
		}
	}
	sources, err := filepath.Glob("*/*.cu")
	if err != nil || len(sources) == 0 {
		t.Fatal(sources, err)
	}
	for _, s := range sources {
		if name := strings.TrimSuffix(filepath.Base(s), ".cu"); !registered[name] && !ofThePlatform[name] {
			t.Errorf("%s has no line in its family's table", s)
		}
	}
}

// What verify asks of a device reaches every kernel that the device can run.
func TestEveryKernelTakesOneOfTheShapesThatVerifyAsks(t *testing.T) {
	ops := op.Builtin()
	for _, d := range []kernel.Device{{Capability: 80, SMs: 108, SharedMax: 166912}, {Capability: 90, SMs: 132, SharedMax: 232448}, {Capability: 90, SMs: 114, SharedMax: 232448},
		{Capability: 100, SMs: 148, SharedMax: 232448}, {Capability: 120, SMs: 170, SharedMax: 101376}} {
		for _, f := range Families() {
			for _, k := range f.Kernels {
				if k.Runs(d.Capability) != nil {
					continue
				}
				for _, name := range strings.Fields(k.Ops) {
					if err := takesOne(ops, k, name, d); err != nil {
						t.Errorf("%d.%d with %d multiprocessors: %s of %s: %v", d.Capability/10, d.Capability%10, d.SMs, k.Name, name, err)
					}
				}
			}
		}
	}
}

// A kernel is used where it is known to be worth it.
func TestAKernelOfSomeCapabilitiesRunsOnThose(t *testing.T) {
	k := kernel.Kernel{Least: 80, Among: []int{80, 90}}
	for capability, want := range map[int]bool{80: true, 90: true, 86: false, 120: false} {
		if err := k.Runs(capability); (err == nil) != want {
			t.Errorf("%d: %v", capability, err)
		}
	}
}

// takesOne plans the shapes that verify asks of a kernel for an op; the error is the first reason where it takes none.
func takesOne(ops *op.Registry, k kernel.Kernel, name string, d kernel.Device) error {
	cases, err := plan.Checks(ops, "cuda:0", []backend.KernelInfo{k.Info(name, nil)})
	if err != nil {
		return err
	}
	why := errors.New("it is asked nothing")
	for n, c := range cases {
		o, err := ops.New(name, c.Program.Params, k.DType)
		if err != nil {
			return err
		}
		var b []kernel.Buffer
		for _, x := range o.Tensors() {
			b = append(b, kernel.Buffer{Address: 1 << 20, Tensor: x})
		}
		if _, err = k.Plan(o, b, d); err == nil {
			return nil
		}
		if n == 0 {
			why = err
		}
	}
	return why
}

// unserved are the ops of ridge without a CUDA kernel, with the reason.
var unserved = map[string]string{
	"clock fp64": "its steps of 3 cycles are the CPU's multiplications; the device's clock is measured by clock_simt",
}

func TestEveryOpHasAPortableKernelAtEveryPrecision(t *testing.T) {
	for _, s := range op.Builtin().Specs() {
		for _, d := range s.DTypes {
			served := ""
			for _, f := range Families() {
				for _, k := range f.Kernels {
					if k.Implements(s.Name, d) && k.Rank >= 0 && k.ISA() == nil {
						served = k.Name
					}
				}
			}
			name := s.Name + " " + string(d)
			if s.Name == "peak" && (d == record.BF16 || d == record.U8S8 || d == record.TF32 || d == record.FP8E4M3) { // no instruction of that precision outside tensor cores
				continue
			}
			if _, no := unserved[name]; (served == "") != no {
				t.Errorf("%s: kernel %q, listed as unserved %v", name, served, no)
			}
		}
	}
}
