// Package objtest compiles kernel sources and checks the machine code of their innermost loops:
// the declared arithmetic and loads and little else, nothing on the stack. Tests of kernel
// families keep a table with one Loop per kernel.
package objtest

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// Loop is what the innermost loops of one function must hold. Loops of the function that have
// none of Main (copies, tails of another kind) are not judged; at least one must have it.
type Loop struct {
	File   string // in the test's own folder
	Define string // a macro to compile it with, such as one that leaves out all but the loop, or ""
	Symbol string // the function, which must be neither static inline nor renamed by the compiler
	// Main is the arithmetic of one unit of work, such as "vfmadd231ps" of one k: exact counts by
	// mnemonic. Keys may have alternatives ("vmovaps|vmovups"), and a suffix "/m" counts only
	// instructions with a memory operand.
	Main map[string]int
	// Loads are the other instructions of one unit, counted as Main.
	Loads map[string]int
	// Others is how many further instructions one unit may have at most: counters, addresses
	// and the branch. Where a loop has several units, they share what is saved.
	Others int
	// Units a loop may hold: 0 any whole number (the compiler's unrolling), else exactly so many.
	Units int
	// Least: loops of fewer units are the tail of an unrolled one and not judged.
	Least int
}

// Toolchain is a compiler and the objdump that reads what it makes.
type Toolchain struct {
	Name, CC, Objdump string
	Flags             []string
}

// The compilers that the kernels are built with. Ubuntu and Debian have all four under these names.
var (
	gccAMD64   = Toolchain{"amd64 gcc", "x86_64-linux-gnu-gcc", "x86_64-linux-gnu-objdump", nil}
	clangAMD64 = Toolchain{"amd64 clang", "clang", "x86_64-linux-gnu-objdump", []string{"--target=x86_64-linux-gnu"}}
	gccARM64   = Toolchain{"arm64 gcc", "aarch64-linux-gnu-gcc", "aarch64-linux-gnu-objdump", nil}
)

// AMD64 checks loops with gcc and clang, ARM64 with the cross gcc. A compiler that is not
// installed skips its part.
func AMD64(t *testing.T, loops []Loop) { check(t, loops, gccAMD64, clangAMD64) }

// ARM64 is AMD64's other architecture.
func ARM64(t *testing.T, loops []Loop) { check(t, loops, gccARM64) }

func check(t *testing.T, loops []Loop, tools ...Toolchain) {
	for _, c := range tools {
		t.Run(c.Name, func(t *testing.T) {
			for _, tool := range []string{c.CC, c.Objdump} {
				if _, err := exec.LookPath(tool); err != nil {
					t.Skipf("%s is not installed", tool)
				}
			}
			dir := t.TempDir()
			objects := map[string]func() (string, error){}
			for _, l := range loops {
				if objects[l.File+l.Define] == nil {
					objects[l.File+l.Define] = sync.OnceValues(func() (string, error) { return c.Disassemble(l.File, l.Define, dir) })
				}
			}
			t.Run("loops", func(t *testing.T) { // waits for the parallel ones before dir goes
				for _, l := range loops {
					t.Run(l.Symbol, func(t *testing.T) {
						t.Parallel()
						text, err := objects[l.File+l.Define]()
						if err != nil {
							t.Fatal(err)
						}
						for _, p := range l.Problems(text) {
							t.Error(p)
						}
					})
				}
			})
		})
	}
}

// Disassemble compiles a source file as cgo does, with a macro if define names one, and lists its
// object's instructions.
func (c Toolchain) Disassemble(file, define, dir string) (string, error) {
	obj := filepath.Join(dir, filepath.Base(file)+define+".o")
	args := append([]string{}, c.Flags...)
	if define != "" {
		args = append(args, "-D"+define)
	}
	args = append(args, "-O2", "-O3", "-Wall", "-Wno-psabi", "-I../include", "-c", file, "-o", obj)
	if out, err := exec.Command(c.CC, args...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("compile %s with %s: %w\n%s", file, c.CC, err, out)
	}
	out, err := exec.Command(c.Objdump, "-d", "--no-show-raw-insn", obj).Output()
	if err != nil {
		return "", fmt.Errorf("disassemble %s with %s: %w", file, c.Objdump, err)
	}
	return string(out), nil
}

// Problems says where the listing's loops depart from what is declared; nil when nowhere.
func (l Loop) Problems(listing string) []string {
	code, err := function(listing, l.Symbol)
	if err != nil {
		return []string{err.Error()}
	}
	var out []string
	judged := 0
	for _, turn := range innermost(code) {
		units := 0
		for key, n := range l.Main {
			units = max(units, (count(turn, key)+n-1)/n)
		}
		if units == 0 || units < l.Least {
			continue
		}
		judged++
		at := fmt.Sprintf("loop at %x of %d instructions, %d units of work", turn[0].at, len(turn), units)
		if l.Units > 0 && units != l.Units {
			out = append(out, fmt.Sprintf("%s: want %d units", at, l.Units))
		}
		counted := 0
		for _, set := range []map[string]int{l.Main, l.Loads} {
			for key, n := range set {
				got := count(turn, key)
				counted += got
				if got != n*units {
					out = append(out, fmt.Sprintf("%s: %d %s, want %d", at, got, key, n*units))
				}
			}
		}
		if others := len(turn) - counted; others > l.Others*units {
			out = append(out, fmt.Sprintf("%s: %d other instructions, want at most %d", at, others, l.Others*units))
		}
		if spills := onStack(code, turn); len(spills) > 0 {
			out = append(out, fmt.Sprintf("%s: %d instructions touch the stack: %s", at, len(spills), strings.Join(spills, "; ")))
		}
	}
	if judged == 0 {
		out = append(out, "no innermost loop has the declared instructions")
	}
	return out
}
