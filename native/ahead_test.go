//go:build cgo && linux

package native

import (
	"testing"

	"ridge/native/kernel"
)

// feature is the mask of a CPU feature by its name.
func feature(t *testing.T, name string) kernel.Mask {
	t.Helper()
	for b := range 63 {
		if m := kernel.Mask(1) << b; len(m.Names()) == 1 && m.Names()[0] == name {
			return m
		}
	}
	t.Fatalf("no feature %q", name)
	return 0
}

func TestKernelsAskAheadAndReadRunsWhereThatWasFaster(t *testing.T) {
	vnni, fp16, tiles := feature(t, "avx512vnni"), feature(t, "avx512fp16"), feature(t, "amx-tile")
	for _, c := range []struct {
		core        string
		have        kernel.Mask
		ahead, runs int
	}{
		{"Zen 4", vnni, 0, 0},
		{"Ice Lake", kernel.Intel | vnni, 2048, 4},
		{"Cascade Lake", kernel.Intel | vnni, 2048, 4},
		{"Skylake", kernel.Intel, 0, 0},
		{"Emerald Rapids, its tiles masked", kernel.Intel | vnni | fp16, 0, 0},
		{"Granite Rapids", kernel.Intel | vnni | fp16 | tiles, 2048, 0},
	} {
		if a, r := ahead(c.have), runs(c.have); a != c.ahead || r != c.runs {
			t.Errorf("%s: %d bytes and %d runs, want %d and %d", c.core, a, r, c.ahead, c.runs)
		}
	}
}
