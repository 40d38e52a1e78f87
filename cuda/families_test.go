package cuda

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ridge/goharness/op"
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
