// Package machine reads what the machine is: CPU identity and microarchitecture, topology,
// caches, NUMA nodes, memory, clocks, the limits that a container or an affinity mask
// sets, and the preflight checks. Everything is read through a Source, so that a fixture
// tree stands in for /sys and /proc in tests, and whatever cannot be read comes back as
// a reason instead of a zero.
package machine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sort"
	"strconv"
	"strings"
)

// Source is where facts come from. The zero value reads the running machine.
type Source struct {
	// Root is put in front of every /sys, /proc and /dev path. Empty reads the machine itself.
	Root string
	// OS and Arch in Go's names; empty means those of this binary.
	OS, Arch string
	// CPUID gives the processor's identity; nil asks the processor.
	CPUID func() CPUID
	// Affinity gives the CPUs this process may run on; nil reads /proc/self/status.
	Affinity func() ([]int, error)
	// Clock measures the core clock in GHz through a chain of dependent instructions,
	// with the FMA units idle or loaded; nil when the build has no probe.
	Clock func(load bool) (ghz float64, err error)
	// Sysctl reads an integer sysctl (darwin only); nil asks the kernel.
	Sysctl func(name string) (uint64, error)
	// Hostname gives the host's name; nil asks the kernel.
	Hostname func() (string, error)
}

func (s Source) os() string {
	if s.OS != "" {
		return s.OS
	}
	return runtime.GOOS
}

func (s Source) arch() string {
	if s.Arch != "" {
		return s.Arch
	}
	return runtime.GOARCH
}

func (s Source) cpuid() CPUID {
	if s.CPUID != nil {
		return s.CPUID()
	}
	return DetectCPUID()
}

func (s Source) path(p string) string { return filepath.Join(s.Root, filepath.FromSlash(p)) }

// read returns the whole file with surrounding white space removed.
func (s Source) read(p string) (string, error) {
	b, err := os.ReadFile(s.path(p))
	if err != nil {
		return "", s.explain(p, err)
	}
	return strings.TrimSpace(string(b)), nil
}

// explain turns an error of the file system into a reason that names the file as the
// machine knows it, without the root of a fixture.
func (s Source) explain(p string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s does not exist", p)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%s is not readable by this user", p)
	}
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return fmt.Errorf("%s: %v", p, pe.Err)
	}
	return fmt.Errorf("%s: %v", p, err)
}

// readInt reads a file that holds one decimal integer.
func (s Source) readInt(p string) (int64, error) {
	t, err := s.read(p)
	if err != nil {
		return 0, err
	}
	v, err := strconv.ParseInt(t, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s holds %q, not an integer", p, clip(t))
	}
	return v, nil
}

// glob lists the paths matching a pattern, without the root, in natural order (cpu2
// before cpu10). A pattern that matches nothing gives an empty list.
func (s Source) glob(pattern string) []string {
	m, err := filepath.Glob(s.path(pattern))
	if err != nil {
		return nil
	}
	for i := range m {
		if s.Root != "" {
			m[i] = filepath.ToSlash(strings.TrimPrefix(m[i], filepath.Clean(s.Root)))
		}
	}
	sort.Slice(m, func(i, j int) bool { return naturalLess(m[i], m[j]) })
	return m
}

func (s Source) exists(p string) bool {
	_, err := os.Stat(s.path(p))
	return err == nil
}

func naturalLess(a, b string) bool {
	for a != "" && b != "" {
		na, nb := digits(a), digits(b)
		if na > 0 && nb > 0 {
			x, y := strings.TrimLeft(a[:na], "0"), strings.TrimLeft(b[:nb], "0")
			if len(x) != len(y) {
				return len(x) < len(y)
			}
			if x != y {
				return x < y
			}
			a, b = a[na:], b[nb:]
			continue
		}
		if a[0] != b[0] {
			return a[0] < b[0]
		}
		a, b = a[1:], b[1:]
	}
	return len(a) < len(b)
}

func digits(s string) int {
	n := 0
	for n < len(s) && s[n] >= '0' && s[n] <= '9' {
		n++
	}
	return n
}

// trailingInt gives the number a name ends in ("node12" gives 12).
func trailingInt(name string) (int, bool) {
	i := len(name)
	for i > 0 && name[i-1] >= '0' && name[i-1] <= '9' {
		i--
	}
	v, err := strconv.Atoi(name[i:])
	return v, err == nil
}

func clip(s string) string {
	if len(s) > 40 {
		return s[:40] + "…"
	}
	return s
}
