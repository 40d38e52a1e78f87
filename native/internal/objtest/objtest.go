// Package objtest compiles kernel sources and checks the machine code of their innermost loops:
// the declared arithmetic and loads and little else, nothing on the stack. Tests of kernel
// families keep a table with one Loop per kernel.
package objtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
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

// The compilers that the kernels are built with. Ubuntu and Debian have all four under these names. On amd64 gcc and clang go by the
// name and the flag by which the go command calls them.
var (
	gccAMD64   = Toolchain{"amd64 gcc", here("gcc", "x86_64-linux-gnu-gcc"), "x86_64-linux-gnu-objdump", []string{"-m64"}}
	clangAMD64 = Toolchain{"amd64 clang", "clang", "x86_64-linux-gnu-objdump", []string{here("-m64", "--target=x86_64-linux-gnu")}}
	gccARM64   = Toolchain{"arm64 gcc", "aarch64-linux-gnu-gcc", "aarch64-linux-gnu-objdump", nil}
)

// here is the first where amd64 is the test's own architecture.
func here(amd64, elsewhere string) string {
	if runtime.GOARCH == "amd64" {
		return amd64
	}
	return elsewhere
}

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
	args, err := c.args(define)
	if err != nil {
		return "", fmt.Errorf("find the flags of %s: %w", file, err)
	}
	args = append(args, "-c", file, "-o", obj)
	if out, err := exec.Command(c.CC, args...).CombinedOutput(); err != nil {
		return "", fmt.Errorf("compile %s with %s: %w\n%s", file, c.CC, err, out)
	}
	out, err := exec.Command(c.Objdump, "-d", "--no-show-raw-insn", obj).Output()
	if err != nil {
		return "", fmt.Errorf("disassemble %s with %s: %w", file, c.Objdump, err)
	}
	return string(out), nil
}

// cgoFlags is the line by which a family's package asks for its flags.
var cgoFlags = regexp.MustCompile(`(?m)^#cgo CFLAGS: (.*)$`)

// args are the flags with which the go command compiles the files of this folder, in its order: what is judged is the code that is
// built, and a compiler cache that has it gives it at once.
func (c Toolchain) args(define string) ([]string, error) {
	args := append([]string{"-fPIC"}, c.Flags...)
	args = append(args, "-pthread")
	if c.CC == "clang" {
		args = append(args, "-fno-caret-diagnostics", "-Qunused-arguments")
	}
	args = append(args, "-Wl,--no-gc-sections", "-fmessage-length=0", "-gno-record-gcc-switches")
	if define != "" {
		args = append(args, "-D"+define)
	}
	user := strings.Fields(os.Getenv("CGO_CFLAGS"))
	if len(user) == 0 {
		user = []string{"-O2", "-g"}
	}
	args = append(args, user...)
	files, err := filepath.Glob("*.go")
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		text, err := os.ReadFile(f)
		if err != nil {
			return nil, err
		}
		if m := cgoFlags.FindSubmatch(text); m != nil {
			return append(args, strings.Fields(strings.ReplaceAll(string(m[1]), "${SRCDIR}", "."))...), nil
		}
	}
	return append(args, "-O3", "-I../include"), nil
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
