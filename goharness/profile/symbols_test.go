package profile

import (
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"ridge/goharness/backend"
)

// A compiler puts join_parts into step and step into work; the symbol table knows work alone.
const inlining = `
static inline __attribute__((always_inline)) double join_parts(const double *p, int n) {
  double s = 0;
  for (int i = 0; i < n; i++) s += p[i] * p[n - i];
  return s;
}
static inline __attribute__((always_inline)) double step(double *p, int n) {
  p[0] += 1;
  return join_parts(p, n);
}
double work(double *p, int n) { return step(p, n) * 3; }
`

func TestFunctionsThatTheCompilerPutIntoAnotherAreNamedInnermostFirst(t *testing.T) {
	cc, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip("no C compiler here")
	}
	dir := t.TempDir()
	source, lib := filepath.Join(dir, "work.c"), filepath.Join(dir, "work.so")
	if err := os.WriteFile(source, []byte(inlining), 0o644); err != nil {
		t.Fatal(err)
	}
	if text, err := exec.Command(cc, "-g", "-O2", "-shared", "-fPIC", "-Wl,-z,separate-code", "-o", lib, source).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	o := open(lib)
	i := slices.IndexFunc(o.funcs, func(f elf.Symbol) bool { return f.Name == "work" })
	if i < 0 {
		t.Fatalf("functions %v", o.funcs)
	}
	s, found := NewSymbols("ridge"), map[string]bool{}
	// In the file the function lies behind the start of its segment; the mapping begins at the page before that.
	segment := o.code[0]
	m := backend.CodeMapping{File: lib, Start: 0x7f0000000000, Offset: segment.Off &^ 4095}
	for at := o.funcs[i].Value; at < o.funcs[i].Value+o.funcs[i].Size; at++ {
		code, ok := s.Resolve(m, m.Start+at-segment.Vaddr+segment.Off-m.Offset)
		if !ok || code.Function != "work" {
			t.Fatalf("%#x: %+v, %v", at, code, ok)
		}
		switch {
		case slices.Equal(code.Inlined, []string{"join_parts", "step"}):
			found[phaseOf(code.Function, code.At.File, lib, code.Inlined)] = true
		case len(code.Inlined) > 0 && code.Inlined[len(code.Inlined)-1] != "step":
			t.Errorf("%#x: inlined %v", at, code.Inlined)
		}
	}
	if !found["reduce"] || len(found) != 1 {
		t.Errorf("phases of the innermost function: %v", found)
	}
	// A mapping of another part of the file, as a loader makes that aligns segments more widely or splits one.
	other := m
	other.Offset -= min(4096, m.Offset)
	if code, ok := s.Resolve(other, other.Start+o.funcs[i].Value-segment.Vaddr+segment.Off-other.Offset); !ok || code.Function != "work" || other.Offset == m.Offset {
		t.Errorf("mapped from %#x on: %+v, %v", other.Offset, code, ok)
	}
	if code, ok := s.Resolve(m, m.Start+1<<30); ok {
		t.Errorf("behind the file's end: %+v", code)
	}
	if code, ok := s.Resolve(backend.CodeMapping{File: filepath.Join(dir, "missing")}, 4); ok {
		t.Errorf("a missing file: %+v", code)
	}
}
