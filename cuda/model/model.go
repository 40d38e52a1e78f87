// Package model builds the tests' driver library: a libcuda.so.1 whose device is the CPU execution
// model (src), with every kernel source of cuda/*/*.cu compiled into it as C++.
package model

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
)

// Flags of every source. Kernels are compiled with the hooks of -fsanitize=thread, which the model
// itself defines.
var (
	Flags       = []string{"-std=c++17", "-g1", "-fPIC", "-fvisibility=hidden", "-Wall", "-Wextra"}
	modelFlags  = []string{"-O2"}
	kernelFlags = []string{"-O1", "-fsanitize=thread", "-Wno-unused-parameter", "-Wno-unknown-pragmas", "-Wno-psabi", "-DRIDGE_MODEL", "-x", "c++"}
)

// Root finds the repository's root from the working directory.
func Root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "cuda", "model", "src", "model.h")); err == nil {
			return dir, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", errors.New("the model's sources are not above the working directory")
		}
		dir = up
	}
}

// Library compiles what changed and links the library with all kernels and further sources. It
// returns the library's path, below build/cuda/model.
func Library(root string, further ...string) (string, error) {
	cxx := os.Getenv("CXX")
	if cxx == "" {
		cxx = "g++"
	}
	kernels, err := filepath.Glob(filepath.Join(root, "cuda", "*", "*.cu"))
	if err != nil {
		return "", err
	}
	out := filepath.Join(root, "build", "cuda", "model")
	if err := os.MkdirAll(out, 0o755); err != nil {
		return "", err
	}
	// Tests of several packages run side by side: the first compiles, the others wait and find it done.
	lock, err := os.Create(filepath.Join(out, "lock"))
	if err != nil {
		return "", err
	}
	defer lock.Close() // which unlocks it
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return "", fmt.Errorf("lock %s: %w", lock.Name(), err)
	}
	src := filepath.Join(root, "cuda", "model", "src")
	common := sha256.New()
	fmt.Fprintln(common, cxx, Flags, modelFlags, kernelFlags)
	for _, pattern := range []string{"cuda/model/src/*.h", "cuda/include/*"} {
		if err := hashFiles(common, filepath.Join(root, pattern)); err != nil {
			return "", err
		}
	}
	b := builder{cxx: cxx, out: out, seed: common.Sum(nil), include: []string{"-I" + src, "-I" + filepath.Join(root, "cuda", "include")}}
	own, _ := filepath.Glob(filepath.Join(src, "*.cc"))
	for _, f := range own {
		b.add(f, modelFlags)
	}
	for _, f := range append(kernels, further...) {
		b.add(f, kernelFlags)
	}
	return b.link()
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
		fmt.Fprintln(h, filepath.Base(f), len(b))
		_, _ = h.Write(b) // a hash takes everything
	}
	return nil
}

// builder compiles sources side by side into objects named by their content.
type builder struct {
	cxx, out string
	seed     []byte
	include  []string
	jobs     []job
}

type job struct {
	src, object string
	flags       []string
}

func (b *builder) add(src string, flags []string) {
	b.jobs = append(b.jobs, job{src: src, flags: append(flags, "-I"+filepath.Dir(src))})
}

func (b *builder) link() (string, error) {
	var wg sync.WaitGroup
	gate := make(chan struct{}, 2)
	errs := make([]error, len(b.jobs))
	for i := range b.jobs {
		wg.Add(1)
		go func() {
			defer wg.Done()
			gate <- struct{}{}
			defer func() { <-gate }()
			errs[i] = b.compile(&b.jobs[i])
		}()
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return "", err
	}
	all := sha256.New()
	args := []string{"-shared", "-Wl,-soname,libcuda.so.1", "-Wl,-z,defs"}
	var objects []string
	for _, j := range b.jobs {
		fmt.Fprintln(all, j.object)
		objects = append(objects, j.object)
	}
	lib := filepath.Join(b.out, "libcuda-"+hex.EncodeToString(all.Sum(nil))[:16]+".so")
	return lib, b.make(lib, append(args, objects...))
}

func (b *builder) compile(j *job) error {
	text, err := os.ReadFile(j.src)
	if err != nil {
		return err
	}
	h := sha256.New()
	h.Write(b.seed)
	h.Write(text)
	if err := hashFiles(h, filepath.Join(filepath.Dir(j.src), "*.cuh")); err != nil {
		return err
	}
	base := strings.TrimSuffix(filepath.Base(j.src), filepath.Ext(j.src))
	j.object = filepath.Join(b.out, base+"-"+hex.EncodeToString(h.Sum(nil))[:16]+".o")
	args := append(append(append([]string{}, Flags...), b.include...), j.flags...)
	return b.make(j.object, append(args, "-c", j.src))
}

// make runs the compiler unless the file is there. It appears complete or not at all, so that
// tests of several packages may build side by side.
func (b *builder) make(file string, args []string) error {
	if _, err := os.Stat(file); err == nil {
		return nil
	}
	tmp, err := os.CreateTemp(b.out, "part")
	if err != nil {
		return err
	}
	tmp.Close()
	defer os.Remove(tmp.Name())
	var report bytes.Buffer
	c := exec.Command(b.cxx, append(args, "-o", tmp.Name())...)
	c.Stdout, c.Stderr = &report, &report
	if err := c.Run(); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(c.Args, " "), err, report.String())
	}
	if err := os.Chmod(tmp.Name(), 0o755); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), file)
}
