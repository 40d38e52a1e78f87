package cuda

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ridge/goharness/op"
)

// Sources that the platform itself launches; all others are kernels of the registry.
var ofThePlatform = map[string]bool{"fill_simt": true, "clock_simt": true}

func TestEverySourceIsRegisteredAndEveryKernelHasItsSource(t *testing.T) {
	registered := map[string]bool{}
	for _, f := range Families() {
		for _, k := range f.Kernels {
			if registered[k.Name] {
				t.Errorf("%s is registered twice", k.Name)
			}
			registered[k.Name] = true
			if _, err := os.Stat(filepath.Join(f.Name, k.Name+".cu")); err != nil {
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
