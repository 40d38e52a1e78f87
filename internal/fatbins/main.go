// Command fatbins compiles the CUDA kernels (cuda/*/*.cu) into the fat binaries that the build
// tag cuda embeds: one file per source in cuda/fatbin/bin, ptxas's report beside it in
// cuda/fatbin/log. A source is compiled again when it, a header of its
// folder or of cuda/include, the flags or the compiler changed. It fails when ptxas spilled a register or made a stack frame that the source does not
// allow by a line
//
//	// ptxas allows ENTRY ARCH: REASON
//
// where ARCH may be "all".
package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

// chips that kernels are tuned for; all others from 8.0 on get the PTX that stands beside sm_80's code.
const chips = "80,90a,100a,120"

// targets are nvcc's flags for a list of chips.
func targets(list string) ([]string, error) {
	var out []string
	for _, c := range strings.Split(list, ",") {
		switch {
		case c == "80":
			out = append(out, "-gencode=arch=compute_80,code=[sm_80,compute_80]")
		case slices.Contains(strings.Split(chips, ","), c):
			out = append(out, "-gencode=arch=compute_"+c+",code=sm_"+c)
		default:
			return nil, fmt.Errorf("-chips %s: %q is none of %s", list, c, chips)
		}
	}
	if !strings.Contains(out[0], "compute_80]") {
		return nil, fmt.Errorf("-chips %s: expected 80 first, whose PTX serves all other chips", list)
	}
	return out, nil
}

// of picks the code that a source gets: _sm90 in its name stands for instructions that 9.0 alone has (sm_90a).
func of(name string, architectures []string) []string {
	if strings.Contains(name+"_", "_sm90_") {
		return []string{"-gencode=arch=compute_90a,code=sm_90a"}
	}
	return architectures
}

// flags of every kernel. -Werror: a warning in a kernel is a defect. Compressed for size they take a quarter less, which drivers from 550 on
// decompress, as all do that take code of CUDA 13.
var flags = []string{"-fatbin", "-O3", "-std=c++17", "-Xptxas=-v", "-Xfatbin=-compress-all", "-compress-mode=size", "-Werror=all-warnings", "-Icuda/include"}

func main() {
	nvcc := flag.String("nvcc", "nvcc", "the compiler")
	jobs := flag.Int("j", runtime.NumCPU(), "compilers side by side")
	list := flag.String("chips", chips, "compute capabilities to make code for, 80 first")
	flag.Parse()
	if err := run(*nvcc, *list, *jobs); err != nil {
		fmt.Fprintln(os.Stderr, "fatbins:", err)
		os.Exit(1)
	}
}

const out, logs = "cuda/fatbin/bin", "cuda/fatbin/log"

func run(nvcc, list string, jobs int) error {
	start := time.Now()
	architectures, err := targets(list)
	if err != nil {
		return err
	}
	version, err := exec.Command(nvcc, "--version").Output()
	if err != nil {
		return fmt.Errorf("ask %s for its version: %w", nvcc, err)
	}
	sources, err := filepath.Glob("cuda/*/*.cu")
	if err != nil || len(sources) == 0 {
		return fmt.Errorf("no kernels in cuda/*/*.cu: run in the repository's root (%v)", err)
	}
	for _, d := range []string{out, logs} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return err
		}
	}
	common := sha256.New()
	common.Write(version)
	fmt.Fprintln(common, flags, architectures)
	if err := hashFiles(common, "cuda/include/*"); err != nil {
		return err
	}
	seed := common.Sum(nil)
	var mu sync.Mutex
	var failed []string
	compiled := 0
	gate := make(chan struct{}, max(1, jobs))
	var wg sync.WaitGroup
	keep := map[string]bool{}
	for _, src := range sources {
		name := strings.TrimSuffix(filepath.Base(src), ".cu")
		if keep[name] {
			return fmt.Errorf("two sources are called %s.cu: a kernel's name is its file's", name)
		}
		keep[name] = true
		wg.Add(1)
		go func() {
			defer wg.Done()
			gate <- struct{}{}
			defer func() { <-gate }()
			did, err := compile(nvcc, architectures, src, name, seed)
			mu.Lock()
			defer mu.Unlock()
			if did {
				compiled++
			}
			if err != nil {
				failed = append(failed, err.Error())
			}
		}()
	}
	wg.Wait()
	prune(keep)
	if err := os.WriteFile(out+"/compiler.txt", []byte(compiler(string(version), architectures)), 0o644); err != nil {
		return err
	}
	if len(failed) > 0 {
		slices.Sort(failed)
		return fmt.Errorf("%s", strings.Join(failed, "\n"))
	}
	fmt.Printf("fatbins: %d sources, %d compiled, %.1f s\n", len(sources), compiled, time.Since(start).Seconds())
	return nil
}

// compiler is what results say of the compiler: its release and the flags, a line each.
func compiler(version string, architectures []string) string {
	release := "nvcc of an unknown release"
	for _, line := range strings.Split(version, "\n") {
		if _, v, ok := strings.Cut(line, ", V"); ok {
			release = "nvcc " + v
		}
	}
	return release + "\n" + strings.Join(slices.Concat(flags, architectures), " ") + "\n"
}

// hashFiles adds names and contents of the files that a pattern matches.
func hashFiles(h io.Writer, pattern string) error {
	files, err := filepath.Glob(pattern)
	if err != nil {
		return err
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			return err
		}
		fmt.Fprintln(h, f, len(b))
		_, _ = h.Write(b) // a hash takes everything
	}
	return nil
}

// compile makes one fat binary unless its stamp says that it is up to date.
func compile(nvcc string, architectures []string, src, name string, seed []byte) (bool, error) {
	text, err := os.ReadFile(src)
	if err != nil {
		return false, err
	}
	h := sha256.New()
	h.Write(seed)
	h.Write(text)
	if err := hashFiles(h, filepath.Join(filepath.Dir(src), "*.cuh")); err != nil {
		return false, err
	}
	stamp := hex.EncodeToString(h.Sum(nil))
	image, stampFile, log := filepath.Join(out, name+".fatbin"), filepath.Join(logs, name+".stamp"), filepath.Join(logs, name+".ptxas")
	if old, err := os.ReadFile(stampFile); err == nil && string(old) == stamp {
		if _, err := os.Stat(image); err == nil {
			return false, nil
		}
	}
	_ = os.Remove(stampFile)
	args := append(slices.Concat(flags, of(name, architectures)), "-I"+filepath.Dir(src), "-o", image, src)
	c := exec.Command(nvcc, args...)
	var report bytes.Buffer
	c.Stdout, c.Stderr = &report, &report
	if err := c.Run(); err != nil {
		return true, fmt.Errorf("compile %s: %w\n%s", src, err, report.String())
	}
	if err := os.WriteFile(log, report.Bytes(), 0o644); err != nil {
		return true, err
	}
	if bad := spills(report.String(), allowed(string(text))); len(bad) > 0 {
		return true, fmt.Errorf("%s: ptxas reports spills, a stack frame or lost speed: %s (mend the kernel, or allow it in the source with its reason: // ptxas allows ENTRY ARCH: REASON)",
			src, strings.Join(bad, "; "))
	}
	bad, err := broken(nvcc, src, string(text))
	if err != nil {
		return true, err
	}
	if len(bad) > 0 {
		return true, fmt.Errorf("%s: the machine code is not what the source says: %s (ptxas left out what a probe counts: make it depend on what ptxas cannot know)", src, strings.Join(bad, "; "))
	}
	return true, os.WriteFile(stampFile, []byte(stamp), 0o644)
}

// prune removes images of kernels that are gone: go:embed would take them along.
func prune(keep map[string]bool) {
	for _, pattern := range []string{out + "/*.fatbin", logs + "/*.stamp", logs + "/*.ptxas"} {
		files, _ := filepath.Glob(pattern)
		for _, f := range files {
			if name, _, _ := strings.Cut(filepath.Base(f), "."); !keep[name] {
				_ = os.Remove(f)
			}
		}
	}
}
